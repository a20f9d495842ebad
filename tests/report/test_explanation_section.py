"""The sections about who sees what, conflicts and other answers."""

import numpy as np
import pytest

from _support.disagreeing import planted
from _support.page import Page
from mkclust import GraphFusion, MultiView, datasets, write_report
from mkclust.inspection import explain


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    views, _ = planted("contradicting", k=8)
    model = GraphFusion(8, random_state=0).fit(views)
    found = explain(model, views)
    path = tmp_path_factory.mktemp("page") / "out.html"
    return found, Page(write_report(model, path, views, answers=[found])), model


def test_the_story_has_its_order(explained):
    _, page, _ = explained
    order = ["summary", "clusters", "classes", "confidence", "views"]
    order += ["alternatives", "samples", "blocks"]
    assert page.sections() == [*order, "spectra", "details"]
    assert page.text.index("Who sees what") < page.text.index("Conflicts between views")


def test_every_sentence_is_on_the_page(explained):
    found, page, _ = explained
    text = page.text.lower()
    lines = [*found.profile.describe(), *map(str, found.conflicts)]
    assert found.conflicts and all(line.lower() in text for line in lines)
    assert str(found).lower() in text  # on the first screen
    for other in found.alternatives:
        assert other.difference in page.text and other.origin in page.text
    assert all(str(sample) in page.text for sample in found.conflicts[0].moved)


def test_the_chart_has_views_as_rows_and_clusters_as_columns(explained):
    found, page, _ = explained
    data = page.data["profile"]
    names = [view["name"] for view in page.data["views"]]
    order = [list(found.profile.names).index(name) for name in names]
    assert np.allclose(data["values"], found.profile.clusters.T[order], atol=0.005)
    assert np.shape(data["chance"]) == (3, 8)
    assert page.data["samples"]["alternatives"][0] == found.alternatives[0].labels.tolist()


def test_the_legend_mentions_brackets_only_where_there_are_some(explained, tmp_path):
    _, page, _ = explained
    assert not np.any(page.data["profile"]["chance"])
    assert "0 where edges leave it as often as by chance." in page.text
    assert "brackets" not in page.text
    for k, mentioned in ((3, True), (17, False)):  # of 17 clusters, no numbers are drawn
        views = planted("noise", k=k)[0][::8]
        model = GraphFusion(k, random_state=0).fit(views)
        path = write_report(model, tmp_path / f"{k}.html", views, answers=[explain(model, views)])
        page = Page(path)
        assert np.any(page.data["profile"]["chance"])
        assert ("Numbers in brackets are within chance." in page.text) == mentioned


def test_a_page_without_explanation_has_no_empty_section(page):
    assert "alternatives" not in page.sections() and "chart-profile" not in page.ids()
    assert page.data["profile"] is None and page.data["samples"]["alternatives"] == []


def test_no_conflict_and_no_other_answer_are_said(tmp_path):
    views = datasets.make_views(90, 3, 2, noise=0.5, random_state=0)
    model = GraphFusion(3, random_state=0).fit(views)
    page = Page(write_report(model, tmp_path / "a.html", views, answers=[explain(model, views)]))
    assert "No two trusted views contradict each other about a pair of clusters." in page.text
    assert "None of 13 other partitions is both different" in page.text


def test_one_cluster(tmp_path):
    views = datasets.make_views(40, 2, 2, random_state=0)
    model = GraphFusion(1, random_state=0).fit(views)
    page = Page(write_report(model, tmp_path / "a.html", views, answers=[explain(model, views)]))
    assert page.data["profile"] is None and "alternatives" in page.sections()


def test_names_are_escaped(tmp_path):
    hostile = "</script><img src=x onerror=alert(1)>"
    views, _ = planted("contradicting", k=8)
    data = MultiView(dict(zip([hostile, "two", "three"], views.views, strict=True)))
    model = GraphFusion(8, random_state=0).fit(data)
    path = write_report(model, tmp_path / "a.html", data, answers=[explain(model, data)])
    assert hostile not in path.read_text()
