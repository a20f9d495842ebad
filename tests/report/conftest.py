"""Planted views with one noise view, both estimators fitted to them, and pages."""

import pytest

from _support.page import Page
from mkclust import (
    MKCDNM,
    GraphFusion,
    MultiView,
    choose_k,
    datasets,
    stability,
    view_influence,
    write_report,
)


@pytest.fixture(scope="module")
def views():
    planted = datasets.make_views(90, 3, 3, noise=0.5, n_noise_views=1, random_state=0)
    return MultiView(planted, index=[f"patient {i}" for i in range(90)])


@pytest.fixture(scope="module")
def model(views):
    return GraphFusion(3, random_state=0).fit(views)


@pytest.fixture(scope="module")
def published(views):
    return MKCDNM(3, random_state=0).fit(views)


@pytest.fixture(scope="module")
def page(model, views, tmp_path_factory):
    return Page(write_report(model, tmp_path_factory.mktemp("page") / "out.html", views))


@pytest.fixture(scope="module")
def answers(model, views):
    return [
        choose_k(model, views, (2, 4)),
        stability(model, views, n_splits=2),
        view_influence(model, views),
    ]


@pytest.fixture(scope="module")
def answered(model, views, answers, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "full.html"
    return Page(write_report(model, path, views, answers=answers))
