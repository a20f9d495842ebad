"""Planted views with one noise view, both estimators fitted to them, and pages."""

import pytest

from _support.disagreeing import planted
from _support.page import Page
from mkclust import MKCDNM, GraphFusion, MultiView, choose_k, datasets, explain, write_report


@pytest.fixture(scope="session")
def views():
    planted = datasets.make_views(90, 3, 3, noise=0.5, n_noise_views=1, random_state=0)
    return MultiView(planted, index=[f"patient {i}" for i in range(90)])


@pytest.fixture(scope="session")
def model(views):
    return GraphFusion(3, random_state=0).fit(views)


@pytest.fixture(scope="session")
def published(views):
    return MKCDNM(3, random_state=0).fit(views)


@pytest.fixture(scope="session")
def choice(model, views):
    return choose_k(model, views, (2, 4))


@pytest.fixture(scope="session")
def page(model, views, choice, tmp_path_factory):
    """The page with everything that is computed from the views."""
    path = tmp_path_factory.mktemp("page") / "out.html"
    return Page(write_report(model, path, views, answers=[choice]))


@pytest.fixture(scope="session")
def contradicting():
    """Views of which one contradicts the others, a model, and its explanation."""
    views, _ = planted("contradicting", k=8)
    model = GraphFusion(8, random_state=0).fit(views)
    return views, model, explain(model, views)
