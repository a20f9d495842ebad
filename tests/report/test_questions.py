"""The sections about the number of clusters, stability and leaving out views."""

import numpy as np
import pytest

from _support.page import Page
from mkclust import GraphFusion, MultiView, choose_k, stability, write_report
from mkclust.exceptions import InputError


def test_answers_have_their_sections(answered, answers):
    choice, stable, influence = answers
    names = answered.sections()
    assert names[3:9] == ["confidence", "views", "samples", "stability", "influence", "choice"]
    assert len(set(answered.ids())) == len(answered.ids())
    assert str(choice)[1:] in answered.text and str(influence) in answered.text
    assert str(stable)[1:] in answered.text
    data = answered.data["choice"]
    assert data["ks"] == [2, 3, 4] and data["chosen"] == (choice.k if choice.structure else None)
    for name in ("held_out", "tested", "null", "null_high"):
        expected = [getattr(row, name) for row in choice.table]
        np.testing.assert_allclose(data[name], expected, atol=5e-4)


def test_the_alarm_says_what_leaving_out_changes(answered, answers):
    left = answers[2].without_unrelated
    assert f"Without noise1 the labels are nearly the same (ARI {left.ari:.3f}" in answered.text


def test_samples_that_change_cluster_are_listed_by_name(tmp_path):
    rng = np.random.default_rng(0)
    noise = MultiView(
        [rng.standard_normal((60, 4)) for _ in range(2)], index=[f"p{i}" for i in range(60)]
    )
    model = GraphFusion(3, random_state=0).fit(noise)
    stable = stability(model, noise, n_splits=2)
    page = Page(write_report(model, tmp_path / "moved.html", noise, answers=[stable]))
    assert stable.moved and f"{len(stable.moved)} of 60 samples change cluster" in page.text
    assert str(stable.moved[0].sample) in page.text.split("Samples, least stable first")[1]
    assert "least stable cluster" in page.text and "-0.0" not in page.text


def test_data_without_cluster_structure(tmp_path):
    rng = np.random.default_rng(0)
    noise = [rng.standard_normal((80, 4)) for _ in range(2)]
    model = GraphFusion(3, random_state=0).fit(noise)
    choice = choose_k(model, noise, (2, 4))
    assert not choice.structure
    page = Page(write_report(model, tmp_path / "none.html", noise, answers=[choice]))
    assert "The clusters on this page may be arbitrary." in page.text
    assert page.data["choice"]["chosen"] is None


def test_what_is_no_answer_is_refused(model, views, tmp_path):
    with pytest.raises(InputError, match="not int"):
        write_report(model, tmp_path / "out.html", views, answers=[3])


def test_a_page_for_another_number_than_recommended_says_so(views, answers, tmp_path):
    model = GraphFusion(2, random_state=0).fit(views)
    assert answers[0].k == 3
    page = Page(write_report(model, tmp_path / "two.html", views, answers=answers[:1]))
    assert "This page shows 2 clusters" in page.text
