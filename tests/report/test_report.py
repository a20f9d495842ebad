"""The report page without a browser: complete, self-contained, escaped, reproducible."""

import hashlib
import re
import warnings
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

import mkclust
from _support.page import Page
from mkclust import METHODS, MKCDNM, GraphFusion, MultiView, datasets, stability, write_report
from mkclust.exceptions import InputError, MkclustWarning
from mkclust.inspection import compare_annotations
from mkclust.large import LargeViews
from mkclust.report import pageable
from mkclust.report.page import ECHARTS, SECTIONS
from mkclust.report.words import ranking

HOSTILE = "</script><img src=x onerror=alert(1)>&'\"<!--"


def bare(model, path, views=None, **more):
    """A page without answers to later questions."""
    return Page(write_report(model, path, views, compute=False, **more))


def test_the_page_has_every_section_and_a_link_to_each(page):
    expected = [name for name in SECTIONS if name != "annotations"]
    links = [a["href"] for tag, a in page.elements if tag == "a" and "class" not in a]
    assert page.sections() == expected and links == [f"#{name}" for name in expected]
    assert len(set(page.ids())) == len(page.ids())


def test_the_first_screen(page, model):
    first = page.text.split("What separates the clusters")[0]
    assert "<h1>There are clusters beyond chance" in page.source
    assert "Graph fusion divided 90 samples, described by 4 views, into 3 clusters" in first
    assert "Distrust noise1: agrees with no other view beyond chance." in first
    assert "NMI (max)" in first and "reproducibility" in first
    sizes = np.bincount(model.labels_)
    assert all(f"cluster {c} {size}" in first for c, size in enumerate(sizes))
    assert "map" in page.ids()


def test_the_lines_of_a_page_make_the_same_page(page, views, tmp_path, monkeypatch):
    code = page.text.split("How to reproduce")[1]
    lines = re.search(r"<pre><code>(.*?)</code>", page.source, re.S).group(1).replace("&#34;", '"')
    assert "import mkclust" in code
    monkeypatch.chdir(tmp_path)
    exec(lines, {"views": views})
    assert (tmp_path / "report.html").read_text("utf-8") == page.source


def test_a_page_of_mkc_dnm_has_its_dimensions_certificate_and_noise(published, views, tmp_path):
    page = bare(published, tmp_path / "out.html", views)
    assert "MKC-DNM divided 90 samples" in page.text and "J. Zhang et al." in page.text
    assert str(published.certificate_)[1:] in page.text
    assert "Zelnik-Manor" not in page.text and "raph fusion" not in page.text
    kept = [panel["kept"] for panel in page.data["spectra"]["panels"]]
    assert kept == published.dimensions_[ranking(published)].tolist()
    assert all(f"{value:.2f}" in page.text for value in published.noise_.column)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_report(name, views, tmp_path):
    views = views[:45]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MkclustWarning)
        model = METHODS[name](1 if name == "akkm" else 3, random_state=0).fit(views)
    page = bare(model, tmp_path / "out.html", views)
    assert METHODS[name].title in page.text
    assert name == "graph-fusion" or model.reference in page.text
    assert (page.data["samples"] is not None) == hasattr(model, "embedding_")
    assert page.data["blocks"] is not None


def test_the_charts_have_their_data(page, model, choice):
    data = page.data
    assert data["views"][-1] == {"name": "noise1", "unrelated": True}
    assert data["samples"]["names"][:2] == ["patient 0", "patient 1"]
    layouts = data["samples"]["layouts"]
    assert len(layouts["principal"]) == len(layouts["tsne"]) == 5
    assert data["samples"]["clusters"] == model.labels_.tolist()
    titles = [panel["title"] for panel in data["spectra"]["panels"]]
    assert titles == ["Fused graph", *(view["name"] for view in data["views"])]
    assert len(data["blocks"]["images"]) == 5 and data["blocks"]["cells"] == 90
    assert data["choice"]["ks"] == [2, 3, 4] and data["choice"]["chosen"] == choice.k
    held_out = [row.held_out for row in choice.table]
    np.testing.assert_allclose(data["choice"]["held_out"], held_out, atol=5e-4)


def test_conflicts_and_other_answers(contradicting, tmp_path):
    views, model, found = contradicting
    page = bare(model, tmp_path / "out.html", views, answers=[found])
    text = page.text.lower()
    lines = [*found.profile.describe(), *map(str, found.conflicts)]
    assert found.conflicts and all(line.lower() in text for line in lines)
    for other in found.alternatives:
        assert other.difference in page.text and other.origin in page.text
    assert all(str(sample) in page.text for sample in found.conflicts[0].moved)
    assert page.data["samples"]["alternatives"][0] == found.alternatives[0].labels.tolist()
    row = page.text.split("by each view alone")[1].split(views.names[0])[1]
    assert f"{found.profile.clusters[0, 0]:.2f}" in row[:12]


def test_no_structure_is_said_first(tmp_path):
    rng = np.random.default_rng(0)
    tables = [rng.standard_normal((80, 4)) for _ in range(2)]
    noise = MultiView(tables, index=[f"p{i}" for i in range(80)])
    model = GraphFusion(3, random_state=0).fit(noise)
    found = mkclust.choose_k(model, noise, (2, 4))
    stable = stability(model, noise, n_splits=2)
    page = bare(model, tmp_path / "none.html", noise, answers=[found, stable])
    assert not found.structure and page.data["choice"]["chosen"] is None
    assert "may be arbitrary" in page.text.split("Clusters")[0]
    assert f"{len(stable.moved)} of 80 samples change cluster" in page.text
    listed = page.text.split("Samples, least reproducible first")[1]
    assert str(stable.moved[0]) in listed and not re.search(r"-0\.0+\b", page.text)


def test_markers_and_annotations(page, model, views, tmp_path):
    shades = [a["style"] for tag, a in page.elements if a.get("class") == "heat"]
    assert len(shades) > 3 * 3 and all("rgb(var(--" in shade for shade in shades)
    pytest.importorskip("lifelines")
    rng = np.random.default_rng(0)
    times = rng.exponential(9, 90)
    table = pd.DataFrame({"time": times, "event": rng.integers(0, 2, 90), "one": 1})
    found = compare_annotations(model.labels_, table)
    made = bare(model, tmp_path / "a.html", views, answers=[found])
    data = made.data["survival"]
    assert [curve["cluster"] for curve in data["curves"]] == [0, 1, 2]
    for c, tick in ((0, data["ticks"][1]), (2, data["ticks"][2])):
        count = int(np.sum(times[model.labels_ == c] >= tick))
        row = made.text.split("Samples at risk")[1].split(f"cluster {c}")[1]
        assert int(row.split()[data["ticks"].index(tick)]) == count
    assert "log-rank" in made.text.lower() and "Not compared" in made.text and "Holm" in made.text


def test_nothing_is_loaded_from_anywhere(page):
    for tag, attributes in page.elements:
        for name in ("src", "href", "action", "data", "srcset", "poster"):
            target = attributes.get(name) or ""
            assert target.startswith(("#", "data:")) or not target, (tag, attributes)
    style = re.search(r"<style>(.*?)</style>", page.source, re.S).group(1)
    assert "url(" not in style and "@import" not in style
    policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_names_from_data_cannot_become_markup(tmp_path):
    planted = datasets.make_views(40, 2, 2, noise=0.3, random_state=0)
    index = [f"{i}{HOSTILE}" for i in range(40)]
    frames = [
        pd.DataFrame(view, columns=[f"{HOSTILE}{j}" for j in range(view.shape[1])])
        for view in planted.views
    ]
    views = MultiView(
        {HOSTILE: frames[0], "b" + HOSTILE: frames[1]}, index=index,
        labels=[HOSTILE + str(c) for c in planted.labels], notes=[HOSTILE],
    )  # fmt: skip
    model = MKCDNM(2, random_state=0, kernel={HOSTILE: "linear", "b" + HOSTILE: "gaussian"})
    table = pd.DataFrame({HOSTILE: np.array(["x", HOSTILE])[np.arange(40) % 2]})
    model.fit(views)
    answers = [compare_annotations(model.labels_, table)]
    given = {"answers": answers, "notes": [HOSTILE], "command": HOSTILE}
    page = Page(write_report(model, tmp_path / "x.html", views, **given))
    assert not [a for tag, a in page.elements if tag == "img" or "onerror" in a]
    assert len(page.scripts) == 4 and "<img" not in page.scripts[0]
    assert page.data["views"][0]["name"].endswith(HOSTILE)
    assert page.data["samples"]["names"][0] == f"0{HOSTILE}"
    assert HOSTILE in page.text and HOSTILE not in page.source


@pytest.mark.parametrize("occupied", [[0, 2], [1]])
def test_clusters_that_ran_empty_have_a_page(occupied, tmp_path):
    views = datasets.make_views(60, 3, 2, noise=0.5, random_state=0)
    model = METHODS["oplf"](3, random_state=0).fit(views)
    model.labels_ = np.array(occupied)[model.labels_ % len(occupied)]
    page = bare(model, tmp_path / "out.html", views)
    assert page.data["sizes"] == np.bincount(model.labels_).tolist()
    assert np.isfinite(page.data["samples"]["layouts"]["tsne"]).all()


def test_a_page_without_views_or_with_one(model, views, tmp_path):
    page = Page(write_report(model, tmp_path / "bare.html"))
    assert page.data["samples"]["names"][:2] == ["patient 0", "patient 1"]
    assert "classes" not in page.sections() and "SHA-256" not in page.text
    alone = views.select(["view1"])
    model = GraphFusion(3, random_state=0).fit(alone)
    page = Page(write_report(model, tmp_path / "one.html", alone))
    assert "All pairs of views" not in page.text
    assert "View influence was not computed: there is one view only." in page.text


def test_other_data_than_the_models_are_refused(model, views, tmp_path):
    with pytest.raises(InputError, match="90 samples"):
        write_report(model, tmp_path / "out.html", views[:50])
    with pytest.raises(InputError, match="3 classes for 90"):
        write_report(model, tmp_path / "out.html", classes=[1, 2, 3])
    with pytest.raises(InputError, match="markers or compare_annotations, not str"):
        write_report(model, tmp_path / "a.html", views, answers=["something"])
    with pytest.raises(ValueError, match="not fitted"):
        write_report(GraphFusion(3), tmp_path / "out.html")
    assert not list(tmp_path.iterdir())


def test_data_in_parts_have_a_page_without_pictures_of_views(tmp_path):
    views = datasets.make_views(300, 3, 2, noise=0.5, random_state=0)
    rows = LargeViews(dict(zip(views.names, views.views, strict=True)), labels=views.labels)
    model = MKCDNM(3, n_samples_fit=100, random_state=0).fit(rows)
    assert pageable(model, rows) and pageable(model, views)
    page = bare(model, tmp_path / "rows.html", rows)
    assert len(page.data["samples"]["layouts"]["principal"]) == 1 and page.data["spectra"] is None
    model.embedding_ = None
    assert not pageable(model, rows)


def test_absent_samples_are_not_drawn(tmp_path):
    views = datasets.make_views(80, 2, 3, noise=0.3, random_state=0)
    tables = {f"view{p}": np.array(view) for p, view in enumerate(views.views)}
    tables["view1"][:30] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MkclustWarning)
        model = GraphFusion(2, random_state=0).fit(tables)
    page = bare(model, tmp_path / "gaps.html", tables)
    place = 1 + [view["name"] for view in page.data["views"]].index("view1")
    for points in page.data["samples"]["layouts"].values():
        drawn = np.array([value is not None for value in points[place]]).reshape(-1, 2)
        assert not drawn[:30].any() and drawn[30:].all()
        assert all(value is not None for value in points[0])
    assert "A view shows only the samples it holds" in page.text
    assert page.text.count("30 of view1") == 1


def test_the_chart_library_is_the_one_in_the_list():
    folder = files("mkclust.report")
    listed = folder.joinpath("VENDOR.md").read_text(encoding="utf-8")
    library = folder.joinpath("static", "echarts.min.js").read_bytes()
    assert hashlib.sha256(library).hexdigest() in listed
    assert ECHARTS in listed and f'version="{ECHARTS}"'.encode() in library
    assert folder.joinpath("static", "LICENSE.echarts.txt").is_file()
