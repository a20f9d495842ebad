"""Refits share the cores, unless each needs much memory."""

from threading import Barrier, Lock

import pytest
from threadpoolctl import threadpool_limits

from mkclust import GraphFusion, stability, view_influence
from mkclust.data.datasets import make_views
from mkclust.inspection import fitting
from mkclust.inspection.fitting import refit_all


def test_refits_of_few_samples_run_at_once():
    both = Barrier(2, timeout=60)
    with threadpool_limits(2, user_api="blas"):
        assert sorted(refit_all(lambda _: both.wait(), [0, 1], 10)) == [0, 1]


def test_refits_of_many_samples_run_one_at_a_time():
    running = Lock()

    def refit(item):
        assert running.acquire(blocking=False)
        running.release()
        return item

    with threadpool_limits(2, user_api="blas"):
        assert refit_all(refit, [1, 2, 3], fitting.SIDE_BY_SIDE + 1) == [1, 2, 3]


@pytest.mark.parametrize("threads", [1, 2])
def test_answers_do_not_depend_on_the_number_of_cores(threads, monkeypatch):
    views = make_views(80, 3, 3, noise=1.5, random_state=0)
    model = GraphFusion(3, random_state=0).fit(views)
    with threadpool_limits(threads, user_api="blas"):
        kept, left = stability(model, views), view_influence(model, views)
    monkeypatch.setattr(fitting, "SIDE_BY_SIDE", 0)
    assert (kept.samples == stability(model, views).samples).all()
    for one, two in zip(left.without, view_influence(model, views).without, strict=True):
        assert one.view == two.view and (one.labels == two.labels).all()
