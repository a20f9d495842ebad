"""The confidence section: clusters, and the least certain samples by name."""

import numpy as np

from _support.page import Page
from mkclust import METHODS, write_report
from mkclust.inspection import confidence


def test_the_twenty_least_certain_samples_are_listed_by_name(page, model, views):
    found = confidence(model, views.index)
    text = page.text
    assert "the 20 least certain samples" in text
    order = [text.index(str(each.sample)) for each in found.least()[:3]]
    assert all(place > text.index("Confidence of clusters") for place in order)
    assert str(found)[1:] in text


def test_the_first_screen_has_the_mean(page, model):
    assert f"<dt>confidence</dt><dd>{model.confidence_.mean():.2f}</dd>" in page.source


def test_a_method_without_centers_has_no_section(views, tmp_path):
    model = METHODS["swmc"](3).fit(views)
    assert "confidence" not in Page(write_report(model, tmp_path / "a.html", views)).sections()


def test_a_cluster_of_few_samples_lists_all_of_them(views, tmp_path):
    model = METHODS["graph-fusion"](2, random_state=0).fit(views[:15])
    page = Page(write_report(model, tmp_path / "a.html", views[:15]))
    assert "Confidence of all samples" in page.text
    assert np.all([str(name) in page.text for name in views.index[:15]])
