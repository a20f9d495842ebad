"""The report page without a browser: complete, self-contained, escaped, reproducible."""

import hashlib
import re
import subprocess
import sys
import warnings
from importlib.resources import files

import numpy as np
import pytest

from _support.page import Page
from mkclust import (
    METHODS,
    MKCDNM,
    GraphFusion,
    MultiView,
    datasets,
    write_report,
)
from mkclust.agreement.cache import shared_views
from mkclust.agreement.chance import ranking
from mkclust.agreement.spectra import ViewSpectra
from mkclust.agreement.weights import discounted_agreement
from mkclust.dual_noise.dimensions import Certificate, Round
from mkclust.dual_noise.noise import Noise
from mkclust.exceptions import InputError, MkclustWarning
from mkclust.large import LargeViews
from mkclust.report import charts, pageable, prepare_report, words
from mkclust.report.drawing import tsne
from mkclust.report.page import ECHARTS

HOSTILE = "</script><img src=x onerror=alert(1)>&'\"<!--"


def fitted_to_heads(n, k, m, seed=0):
    """A model as if fitted to n samples in m views, without the kernels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    labels[:k] = np.arange(k)
    heads = [np.eye(k)[labels] + 0.3 * rng.standard_normal((n, k)) for _ in range(m + 1)]
    H, *heads = (np.linalg.qr(head)[0] for head in heads)
    model = MKCDNM(k, random_state=0)
    model.view_names_in_ = np.array([f"view{p}" for p in range(m)], dtype=object)
    model.labels_, model.embedding_ = labels, H
    model.agreement_ = np.where(np.eye(m), 1.0, 0.5)
    model.noise_ = Noise(*np.array([[3.0], [-1.0], [0.5]]) * np.ones(m))
    model.dimensions_ = np.full(m, 2 * k)
    model.certificate_ = Certificate(2 * k * m, 2 * k * m - 3, 4 * k, False, 0.0)
    model.history_ = (Round(1.0, (2 * k,) * m, (2 * k,) * m, 2 * k * m),)
    model.threshold_, model.unrelated_views_, model.notes_ = float(k), [], ()
    model.singular_values_ = np.ones(k)
    spectrum = np.geomspace(1, 1e-3, 4 * k)
    model._spectra = ViewSpectra((spectrum,) * m, tuple(head.astype(np.float32) for head in heads))
    return model


SECTIONS = [
    "summary", "clusters", "classes", "confidence", "views", "samples", "blocks", "spectra",
    "details",
]  # fmt: skip
OF_MKC_DNM = ("MKC-DNM", "Zhang", "certificate", "N-noise", "C-noise", "threshold", "dimensions_")


def test_the_page_has_every_section_and_a_link_to_each(page):
    links = [a["href"] for tag, a in page.elements if tag == "a" and "class" not in a]
    assert page.sections() == SECTIONS and links == [f"#{name}" for name in SECTIONS]
    assert len(set(page.ids())) == len(page.ids())


def test_a_page_of_graph_fusion_names_only_graph_fusion(page, answered, model):
    for text in (page.text, answered.text):
        assert "Graph fusion divided 90 samples, described by 4 views, into 3 clusters" in text
        assert "Zelnik-Manor" in text and "Coifman" in text and "graph-fusion" in text
        assert not [word for word in OF_MKC_DNM if word.lower() in text.lower()]
        assert all(line in text for line in words.description(model))
    assert page.data["noise"] is None
    assert "GraphFusion(n_clusters=3, random_state=0).fit(views)" in page.text
    assert 'mkclust.write_report(model, "report.html", views)' in page.text


def test_a_page_of_mkc_dnm_has_its_dimensions_certificate_and_noise(published, views, tmp_path):
    page = Page(write_report(published, tmp_path / "out.html", views))
    assert page.sections() == [*SECTIONS[:-2], "dimensions", "details"]
    assert "MKC-DNM divided 90 samples" in page.text and "J. Zhang et al." in page.text
    assert str(published.certificate_)[1:] in page.text
    assert "Zelnik-Manor" not in page.text and "raph fusion" not in page.text
    kept = [panel["kept"] for panel in page.data["spectra"]["panels"]]
    assert kept == published.dimensions_[ranking(published)].tolist()


def test_c_noise_has_the_same_sign_in_chart_and_table(published, views, tmp_path):
    page = Page(write_report(published, tmp_path / "out.html", views))
    for value in page.data["noise"]["column"]:
        assert value < 0 and f"{value:.2f}" in page.text


def test_compared_methods_cite_their_own_reference(views, tmp_path):
    model = METHODS["mkkm"](3, random_state=0).fit(views)
    page = Page(write_report(model, tmp_path / "out.html", views))
    assert model.reference in page.text
    assert not [word for word in ("MKC-DNM", "Zhang", "raph fusion") if word in page.text]


def test_the_page_warns_of_an_unrelated_view_first(page):
    assert "Answer noise1 agrees with no other view beyond chance. Graph fusion" in page.text
    assert "NMI (max)" in page.text and "100.0 % of the samples" in page.text
    assert any(a.get("role") == "alert" for _, a in page.elements)


def test_agreement_redundancy_and_weight_are_in_one_table(page, model):
    table = page.text.split("Agreement, copies and weight", 1)[1]
    agreement, copies = discounted_agreement(model.agreement_, model.redundancy_)
    quotient = agreement / copies / np.sum(agreement / copies)
    for p, name in enumerate(model.view_names_in_):
        row = table.split(f". {name}", 1)[1]
        assert words.number(agreement[p], 2) in row and words.number(copies[p], 2) in row
        assert f"{model.weights_[p]:.2f}" in row and abs(quotient[p] - model.weights_[p]) < 0.01
    assert words.SHARED_WEIGHT in page.text


def test_the_weight_of_a_redundant_view_is_explained(tmp_path):
    views = datasets.make_views(90, 3, 3, noise=0.5, random_state=0)
    twice = MultiView([*views.views, views.views[0] + 1e-6], names=["a", "b", "c", "copy"])
    model = GraphFusion(3, random_state=0).fit(twice)
    page = Page(write_report(model, tmp_path / "out.html", twice))
    assert re.search("because it is redundant with (a|copy)", page.text)


def test_the_charts_have_their_data(page, model):
    data = page.data
    assert data["views"][-1] == {"name": "noise1", "unrelated": True}
    assert not any(view["unrelated"] for view in data["views"][:-1])
    assert data["samples"]["names"][:2] == ["patient 0", "patient 1"]
    layouts = data["samples"]["layouts"]
    assert len(layouts["principal"]) == len(layouts["tsne"]) == 5
    assert data["samples"]["clusters"] == model.labels_.tolist()
    titles = [panel["title"] for panel in data["spectra"]["panels"]]
    assert titles == ["Fused graph", *(view["name"] for view in data["views"])]
    assert len(data["blocks"]["images"]) == 5 and data["blocks"]["cells"] == 90
    assert np.sum(data["classes"]["counts"]) == 90


def test_nothing_is_loaded_from_anywhere(page):
    for tag, attributes in page.elements:
        for name in ("src", "href", "action", "data", "srcset", "poster"):
            target = attributes.get(name) or ""
            assert target.startswith(("#", "data:")) or not target, (tag, attributes)
    style = re.search(r"<style>(.*?)</style>", page.source, re.S).group(1)
    assert "url(" not in style and "@import" not in style
    policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_the_same_model_gives_the_same_page(model, views, tmp_path, page):
    assert write_report(model, tmp_path / "again.html", views).read_text("utf-8") == page.source


def test_names_from_data_cannot_become_markup(tmp_path):
    planted = datasets.make_views(40, 2, 2, noise=0.3, random_state=0)
    views = MultiView(
        {HOSTILE: planted.views[0], "b" + HOSTILE: planted.views[1]},
        index=[f"{i}{HOSTILE}" for i in range(40)],
        labels=[HOSTILE + str(c) for c in planted.labels],
        notes=[HOSTILE],
    )
    model = MKCDNM(2, random_state=0, kernel={HOSTILE: "linear", "b" + HOSTILE: "gaussian"})
    page = Page(
        write_report(model.fit(views), tmp_path / "x.html", views, notes=[HOSTILE], command=HOSTILE)
    )
    assert not [a for tag, a in page.elements if tag == "img" or "onerror" in a]
    assert len(page.scripts) == 4 and "<img" not in page.scripts[0]
    assert page.data["views"][0]["name"].endswith(HOSTILE)
    assert page.data["samples"]["names"][0] == f"0{HOSTILE}"
    assert HOSTILE in page.text


@pytest.mark.slow
def test_ten_thousand_samples_stay_under_six_megabytes(tmp_path):
    model = fitted_to_heads(10_000, 20, 30)
    names = [f"sample with quite a long name {i:06d}" for i in range(10_000)]
    path = tmp_path / "large.html"
    write_report(model, path, classes=np.array(names))
    page = Page(path)
    assert path.stat().st_size < 6e6
    assert 1000 < len(page.data["samples"]["names"]) < 10_000
    assert len(page.data["samples"]["layouts"]["principal"]) == 25
    assert "of 10000 samples are drawn" in page.text and "The first 24 of 30 views" in page.text
    assert set(page.data["samples"]["clusters"]) == set(range(20))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("k", [1, 3])
def test_every_method_has_a_report(name, k, views, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MkclustWarning)
        model = METHODS[name](k, random_state=0).fit(views)
    page = Page(write_report(model, tmp_path / "out.html", views))
    data = page.data
    assert METHODS[name].title in page.text
    assert (data["samples"] is not None) == hasattr(model, "embedding_")
    assert (data["agreement"] is not None) == (name in ("graph-fusion", "mkc-dnm"))
    assert (data["noise"] is not None) == ("dimensions" in page.sections()) == (name == "mkc-dnm")
    assert (data["redundancy"] is not None) == (name == "graph-fusion")
    assert data["blocks"] is not None


@pytest.mark.parametrize("occupied", [[0, 2], [1]])
def test_clusters_that_ran_empty_have_a_page(occupied, tmp_path):
    views = datasets.make_views(60, 3, 2, noise=0.5, random_state=0)
    model = METHODS["oplf"](3, random_state=0).fit(views)
    model.labels_ = np.array(occupied)[model.labels_ % len(occupied)]
    page = Page(write_report(model, tmp_path / "out.html", views))
    sizes = np.bincount(model.labels_)
    assert page.data["sizes"] == sizes.tolist()
    if len(occupied) == 1:
        assert page.data["silhouettes"] is None
    else:
        there = [quantiles is not None for quantiles in page.data["silhouettes"]]
        assert there == (sizes > 0).tolist() and "0.0 %––" in page.text
    assert np.isfinite(page.data["samples"]["layouts"]["tsne"]).all()


def test_a_page_without_views_or_with_one(model, views, tmp_path):
    page = Page(write_report(model, tmp_path / "bare.html"))
    assert page.data["samples"]["names"][:2] == ["patient 0", "patient 1"]
    assert page.data["classes"] is None
    assert "columns" not in page.text.split("Agreement:")[0] and "SHA-256" not in page.text
    alone = views.select(["view1"])
    page = Page(
        write_report(GraphFusion(3, random_state=0).fit(alone), tmp_path / "one.html", alone)
    )
    assert page.data["agreement"] is None and "chart-agreement" not in page.ids()
    arrays = Page(
        write_report(
            model, tmp_path / "dict.html", dict(zip(views.names, views.views, strict=True))
        )
    )
    assert arrays.data["views"] == Page(write_report(model, tmp_path / "again.html")).data["views"]


def test_other_data_than_the_models_are_refused(model, views, tmp_path):
    with pytest.raises(InputError, match="90 samples"):
        write_report(model, tmp_path / "out.html", views[:50])
    with pytest.raises(InputError, match="3 classes for 90"):
        write_report(model, tmp_path / "out.html", classes=[1, 2, 3])
    with pytest.raises(ValueError, match="not fitted"):
        write_report(GraphFusion(3), tmp_path / "out.html")
    assert not list(tmp_path.iterdir())


def test_data_in_parts_have_a_page_without_pictures_of_views(tmp_path):
    views = datasets.make_views(300, 3, 2, noise=0.5, random_state=0)
    rows = LargeViews(dict(zip(views.names, views.views, strict=True)), labels=views.labels)
    model = MKCDNM(3, n_samples_fit=100, random_state=0).fit(rows)
    assert pageable(model, rows) and pageable(model, views)
    page = Page(write_report(model, tmp_path / "rows.html", rows))
    assert len(page.data["samples"]["layouts"]["principal"]) == 1 and page.data["spectra"] is None
    assert page.data["classes"] is not None and "dimensions" in page.sections()
    model.embedding_ = None
    assert not pageable(model, rows)


def test_views_that_share_too_few_samples_have_no_agreement(tmp_path):
    views = datasets.make_views(80, 2, 3, noise=0.3, random_state=0)
    tables = [np.array(view) for view in views.views]
    tables[0][:40], tables[1][40:] = np.nan, np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MkclustWarning)
        model = MKCDNM(2, random_state=0).fit(tables)
    page = Page(write_report(model, tmp_path / "gaps.html"))
    found = np.array(page.data["agreement"], dtype=float)
    assert np.isnan(found).sum() == 2 and np.isnan(model.agreement_).sum() == 2


def test_absent_samples_are_not_drawn(tmp_path):
    views = datasets.make_views(80, 2, 3, noise=0.3, random_state=0)
    tables = {f"view{p}": np.array(view) for p, view in enumerate(views.views)}
    tables["view1"][:30] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MkclustWarning)
        model = GraphFusion(2, random_state=0).fit(tables)
    page = Page(write_report(model, tmp_path / "gaps.html", tables))
    place = 1 + [view["name"] for view in page.data["views"]].index("view1")
    for points in page.data["samples"]["layouts"].values():
        drawn = np.array([value is not None for value in points[place]]).reshape(-1, 2)
        assert not drawn[:30].any() and drawn[30:].all()
        assert all(value is not None for value in points[0])
    assert "A view shows only the samples it holds" in page.text
    assert page.text.count("30 of view1") == 1


def test_warnings_are_shown_once(views, tmp_path):
    model = MKCDNM(3, random_state=0, max_dimension=3)
    with pytest.warns(MkclustWarning) as caught:
        model.fit(views)
    notes = [str(warning.message) for warning in caught]
    for given in ([], notes):
        page = Page(write_report(model, tmp_path / "a.html", notes=given))
        assert page.text.count(model.notes_[0]) == 1
    page = Page(write_report(model, tmp_path / "b.html", notes=["Mind the gap"]))
    assert "Mind the gap" in page.text and model.notes_[0] in page.text


def test_the_checksum_depends_on_the_data_alone(views, model, page, tmp_path):
    other = MultiView([view + 1 for view in views.views], names=views.names)
    shown = [re.search("[0-9a-f]{64}", Page(write_report(model, tmp_path / "x.html", some)).text)
             for some in (views, other)]  # fmt: skip
    assert shown[0].group() in page.text and shown[1].group() not in page.text


def test_importing_the_report_does_not_load_matplotlib():
    code = "import sys, mkclust.report, mkclust; mkclust.write_report; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not {"matplotlib", "mkclust.report.page"} & set(loaded.stdout.split())


def test_the_chart_library_is_the_one_in_the_list():
    folder = files("mkclust.report")
    listed = folder.joinpath("VENDOR.md").read_text(encoding="utf-8")
    library = folder.joinpath("static", "echarts.min.js").read_bytes()
    assert hashlib.sha256(library).hexdigest() in listed
    assert ECHARTS in listed and f'version="{ECHARTS}"'.encode() in library
    assert folder.joinpath("static", "LICENSE.echarts.txt").is_file()


def test_a_layout_that_was_prepared_is_not_computed_again(views, model, monkeypatch, tmp_path):
    drawn = []
    monkeypatch.setattr(charts, "tsne", lambda H: drawn.append(1) or tsne(H))
    with shared_views():
        prepare_report(model)
        prepared = write_report(model, tmp_path / "a.html", views)
    assert drawn == [1]
    assert prepared.read_bytes() == write_report(model, tmp_path / "b.html", views).read_bytes()
    assert drawn == [1, 1]
