"""The report page, read without a browser: whole, self-contained, escaped, the same every time."""

import hashlib
import json
import re
import warnings
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

from mkclust import METHODS, MKCDNM, MultiView, choose_k, datasets
from mkclust.agreement.chance import ranking
from mkclust.agreement.spectra import Evidence
from mkclust.chunked.rows import Rows
from mkclust.dual_noise.dimensions import Certificate, Round
from mkclust.dual_noise.noise import Noise
from mkclust.exceptions import InputError, MkclustWarning
from mkclust.report import layout, pageable, write_report
from mkclust.report.groups import class_table, silhouettes
from mkclust.report.page import ECHARTS

HOSTILE = "</script><img src=x onerror=alert(1)>&'\"<!--"


class Page(HTMLParser):
    """Elements with their attributes, the text outside scripts, and the charts' data."""

    def __init__(self, path):
        super().__init__()
        self.elements, self.words, self.scripts, self.open = [], [], [], []
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        self.text = " ".join("".join(self.words).split())
        self.data = json.loads(self.scripts[0])

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.words.append(data)

    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]


@pytest.fixture(scope="module")
def views():
    planted = datasets.make_views(90, 3, 3, noise=0.5, n_noise_views=1, random_state=0)
    return MultiView(planted, index=[f"patient {i}" for i in range(90)])


@pytest.fixture(scope="module")
def model(views):
    return MKCDNM(3, random_state=0).fit(views)


@pytest.fixture(scope="module")
def page(model, views, tmp_path_factory):
    return Page(model.report(tmp_path_factory.mktemp("page") / "out.html", views))


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
    model.threshold_, model.unrelated_views_ = float(k), []
    model.singular_values_ = np.ones(k)
    spectrum = np.geomspace(1, 1e-3, 4 * k)
    model._evidence = Evidence((spectrum,) * m, tuple(head.astype(np.float32) for head in heads))
    return model


def test_the_page_has_every_section_and_a_link_to_each(page):
    names = ["summary", "views", "samples", "blocks", "clusters", "classes", "proof", "details"]
    sections = [a["id"] for tag, a in page.elements if tag == "section"]
    links = [a["href"] for tag, a in page.elements if tag == "a" and "class" not in a]
    assert sections == names and links == [f"#{name}" for name in names]
    assert len(set(page.ids())) == len(page.ids())


def test_the_page_says_it_in_words(page, model):
    assert "MKC-DNM sorted 90 samples, described by 4 views, into 3 clusters" in page.text
    assert str(model.certificate_)[1:] in page.text
    assert "MKCDNM(n_clusters=3, random_state=0).fit(views)" in page.text
    assert "NMI (max)" in page.text and "100.0 % of the samples" in page.text
    heading = page.text.split("Summary", 1)[1]
    assert page.text.count("noise1 agrees with no other view beyond chance") == 2
    assert "Summary noise1 agrees with no other view beyond chance. MKC-DNM sorted" in page.text
    assert heading.index("noise1 agrees") < heading.index("MKC-DNM sorted")
    assert any(a.get("role") == "alert" for _, a in page.elements)


@pytest.fixture(scope="module")
def answers(model, views):
    choice = choose_k(views, (2, 4), n_splits=1)
    return [choice, model.stability(views, n_splits=2), model.view_influence(views)]


@pytest.fixture(scope="module")
def answered(model, views, answers, tmp_path_factory):
    return Page(model.report(tmp_path_factory.mktemp("page") / "full.html", views, answers=answers))


def test_answers_have_their_sections(answered, answers):
    choice, stable, influence = answers
    names = [
        "summary", "choice", "views", "samples", "blocks", "clusters", "stability", "classes",
        "proof", "details",
    ]  # fmt: skip
    assert [a["id"] for tag, a in answered.elements if tag == "section"] == names
    assert len(set(answered.ids())) == len(answered.ids())
    assert f"{choice}." in answered.text and str(influence) in answered.text
    assert str(stable)[1:] in answered.text
    assert answered.data["choice"]["chosen"] == choice.k
    assert answered.data["choice"]["ks"] == [2, 3, 4]
    assert max(answered.data["choice"]["lines"]["score"]) == 1
    np.testing.assert_allclose(answered.data["stability"]["clusters"], stable.clusters, atol=1e-3)


def test_the_alarm_says_what_leaving_out_changes(answered, answers):
    left = answers[2].without_unrelated
    assert f"keep {left.kept} directions instead of {left.kept_before}" in answered.text


def test_samples_that_flip_are_listed_by_name(tmp_path):
    rng = np.random.default_rng(0)
    noise = MultiView(
        [rng.standard_normal((60, 4)) for _ in range(2)], index=[f"p{i}" for i in range(60)]
    )
    model = MKCDNM(3, random_state=0).fit(noise)
    stable = model.stability(noise, n_splits=2)
    page = Page(model.report(tmp_path / "flips.html", noise, answers=[stable]))
    assert stable.flips and f"{len(stable.flips)} of 60 samples flip" in page.text
    assert str(stable.flips[0].sample) in page.text.split("The least stable first")[1]
    assert sum(page.data["stability"]["flips"]) == len(stable.flips)


def test_what_is_no_answer_is_refused(model, views, tmp_path):
    with pytest.raises(InputError, match="not int"):
        model.report(tmp_path / "out.html", views, answers=[3])


def test_a_page_for_another_number_than_recommended_says_so(views, answers, tmp_path):
    model = MKCDNM(2, random_state=0).fit(views)
    page = Page(model.report(tmp_path / "two.html", views, answers=answers[:1]))
    assert "The clusters on this page are 2, not 3." in page.text


def test_the_charts_have_their_data(page, model):
    data = page.data
    assert data["views"][-1] == {"name": "noise1", "unrelated": True}
    assert not any(view["unrelated"] for view in data["views"][:-1])
    assert data["samples"]["names"][:2] == ["patient 0", "patient 1"]
    assert len(data["samples"]["principal"]) == len(data["samples"]["corners"]) == 5
    assert data["samples"]["clusters"] == model.labels_.tolist()
    assert [s["kept"] for s in data["spectra"]["views"]] == model.dimensions_[
        ranking(model)
    ].tolist()
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
    assert model.report(tmp_path / "again.html", views).read_text("utf-8") == page.source


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


def test_ten_thousand_samples_stay_under_six_megabytes(tmp_path):
    model = fitted_to_heads(10_000, 20, 30)
    names = [f"sample with quite a long name {i:06d}" for i in range(10_000)]
    path = tmp_path / "large.html"
    write_report(model, path, classes=np.array(names))
    page = Page(path)
    assert path.stat().st_size < 6e6
    assert 1000 < len(page.data["samples"]["names"]) < 10_000
    assert len(page.data["samples"]["principal"]) == 25
    assert "of 10000 samples are drawn" in page.text and "24 most trusted of 30" in page.text
    assert set(page.data["samples"]["clusters"]) == set(range(20))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("k", [1, 3])
def test_every_method_has_a_report(name, k, views, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MkclustWarning)
        model = METHODS[name](k, random_state=0).fit(views)
    page = Page(model.report(tmp_path / "out.html", views))
    data = page.data
    assert METHODS[name].title in page.text
    assert (data["samples"] is not None) == hasattr(model, "embedding_")
    assert (data["weights"] is not None) == hasattr(model, "weights_")
    assert (data["agreement"] is not None) == ("What is proven" in page.text) == (name == "mkc-dnm")
    assert data["blocks"] is not None


@pytest.mark.parametrize("occupied", [[0, 2], [1]])
def test_clusters_that_ran_empty_have_a_page(occupied, tmp_path):
    views = datasets.make_views(60, 3, 2, noise=0.5, random_state=0)
    model = METHODS["oplf"](3, random_state=0).fit(views)
    model.labels_ = np.array(occupied)[model.labels_ % len(occupied)]
    page = Page(model.report(tmp_path / "out.html", views))
    sizes = np.bincount(model.labels_)
    assert page.data["sizes"] == sizes.tolist()
    if len(occupied) == 1:
        assert page.data["silhouettes"] is None
    else:
        there = [quantiles is not None for quantiles in page.data["silhouettes"]]
        assert there == (sizes > 0).tolist() and "0.0 %––" in page.text
    assert np.isfinite(page.data["samples"]["corners"]).all()


def test_a_page_without_views_or_with_one(model, views, tmp_path):
    page = Page(model.report(tmp_path / "bare.html"))
    assert page.data["samples"]["names"][:2] == ["0", "1"] and page.data["classes"] is None
    assert "columns" not in page.text.split("Agreement is")[0]
    alone = views.select(["view1"])
    page = Page(MKCDNM(3, random_state=0).fit(alone).report(tmp_path / "one.html", alone))
    assert page.data["agreement"] is None and "chart-agreement" not in page.ids()
    arrays = Page(
        model.report(tmp_path / "dict.html", dict(zip(views.names, views.views, strict=True)))
    )
    assert arrays.data["views"] == Page(model.report(tmp_path / "again.html")).data["views"]


def test_other_data_than_the_models_are_refused(model, views, tmp_path):
    with pytest.raises(InputError, match="90 samples"):
        model.report(tmp_path / "out.html", views[:50])
    with pytest.raises(InputError, match="3 classes for 90"):
        model.report(tmp_path / "out.html", classes=[1, 2, 3])
    with pytest.raises(ValueError, match="not fitted"):
        MKCDNM(3).report(tmp_path / "out.html")
    assert not list(tmp_path.iterdir())


def test_data_in_parts_have_a_page_without_pictures_of_views(tmp_path):
    views = datasets.make_views(300, 3, 2, noise=0.5, random_state=0)
    rows = Rows(views)
    model = MKCDNM(3, approximation="nystroem", n_components=60, random_state=0).fit(rows)
    assert pageable(model, rows) and pageable(model, views)
    page = Page(model.report(tmp_path / "rows.html", rows))
    assert len(page.data["samples"]["principal"]) == 1 and page.data["spectra"] is None
    assert page.data["classes"] is not None and "What is proven" in page.text
    model.embedding_ = None
    assert not pageable(model, rows)


def test_views_that_share_too_few_samples_have_no_agreement(tmp_path):
    views = datasets.make_views(80, 2, 3, noise=0.3, random_state=0)
    tables = [np.array(view) for view in views.views]
    tables[0][:40], tables[1][40:] = np.nan, np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MkclustWarning)
        model = MKCDNM(2, random_state=0).fit(tables)
    page = Page(model.report(tmp_path / "gaps.html"))
    found = np.array(page.data["agreement"], dtype=float)
    assert np.isnan(found).sum() == 2 and np.isnan(model.agreement_).sum() == 2
    with pytest.raises(InputError, match="absent from some views"):
        model.stability(tables)


def test_warnings_are_shown_or_read_off_the_model(views, tmp_path):
    model = MKCDNM(3, random_state=0, max_dimension=3)
    with pytest.warns(MkclustWarning):
        model.fit(views)
    model.__dict__.pop("notes_", None)
    assert "could not be reached" in Page(model.report(tmp_path / "a.html")).text
    assert "Mind the gap" in Page(model.report(tmp_path / "b.html", notes=["Mind the gap"])).text


def test_blocks_are_means_of_all_pairs():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 40)[rng.permutation(120)]
    H = rng.standard_normal((120, 3))
    Z = H / np.linalg.norm(H, axis=1, keepdims=True)
    order = np.argsort(labels, kind="stable")
    full = (Z @ Z.T)[np.ix_(order, order)]
    expected = full.reshape(12, 10, 12, 10).mean(axis=(1, 3))
    np.testing.assert_allclose(layout.block_means(H, labels, 12), expected, atol=1e-12)
    np.testing.assert_allclose(layout.block_means(H, labels, 500), full, atol=1e-12)


def test_layouts():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 25)
    H = np.eye(4)[labels]
    ends = layout.corners(labels, H)
    np.testing.assert_allclose(layout.between_corners(H, labels, ends), ends[labels], atol=1e-12)
    lost = layout.between_corners(rng.standard_normal((100, 4)), labels, ends)
    assert np.linalg.norm(lost.mean(axis=0)) < 0.2
    plane = layout.principal_plane(H + 0.1 * rng.standard_normal((100, 4)))
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    np.testing.assert_allclose(layout.turned(plane @ turn, plane), plane, atol=1e-10)


def test_clusters_in_numbers():
    H, labels = np.repeat(np.eye(3), 1000, axis=0), np.repeat(np.arange(3), 1000)
    found = silhouettes(H, labels)
    assert found.n_rows <= 2000 and found.mean == pytest.approx(1.0)
    assert silhouettes(H, np.zeros(3000, dtype=int)) is None
    names, counts = class_table(np.array(["10", "9", "b", "9"]), np.array([0, 0, 1, 1]))
    assert names == ["9", "10", "b"] and counts.tolist() == [[1, 1, 0], [1, 0, 1]]


def test_the_chart_library_is_the_one_in_the_list():
    folder = files("mkclust.report")
    listed = folder.joinpath("VENDOR.md").read_text(encoding="utf-8")
    library = folder.joinpath("static", "echarts.min.js").read_bytes()
    assert hashlib.sha256(library).hexdigest() in listed
    assert ECHARTS in listed and f'version="{ECHARTS}"'.encode() in library
    assert folder.joinpath("static", "LICENSE.echarts.txt").is_file()
