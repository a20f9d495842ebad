"""Questions as tasks: they share the cores, and one that fails does not spoil the others."""

import time
from threading import Barrier, Lock

import pytest
from threadpoolctl import threadpool_limits

from mkclust import GraphFusion, stability, view_influence
from mkclust.agreement.cache import shared_views
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError
from mkclust.inspection import fitting
from mkclust.inspection.fitting import Question, ask, ask_all
from mkclust.inspection.stability import stability_question
from mkclust.inspection.view_influence import influence_question


def refuse():
    raise InputError("too few samples")


def test_a_question_that_cannot_be_answered_does_not_spoil_the_others():
    questions = [
        Question([lambda: 1, lambda: 2], sum, 10),
        Question([lambda: 3, refuse], sum, 10),
        Question([lambda: 4], sum, fitting.SIDE_BY_SIDE + 1),
    ]
    first, second, third = ask_all(questions)
    assert (first, third) == (3, 4)
    assert isinstance(second, InputError) and str(second) == "too few samples"
    with pytest.raises(InputError, match="too few"):
        ask(questions[1])


def test_answers_are_the_same_together_and_alone():
    views = make_views(80, 3, 3, noise=1.5, random_state=0)
    model = GraphFusion(3, random_state=0).fit(views)
    with threadpool_limits(2, user_api="blas"), shared_views():
        kept, left = ask_all([stability_question(model, views), influence_question(model, views)])
    alone = stability(model, views)
    assert kept.agreement == alone.agreement and (kept.samples == alone.samples).all()
    for one, two in zip(left.without, view_influence(model, views).without, strict=True):
        assert one.views == two.views and (one.labels == two.labels).all()


def test_tasks_of_few_samples_run_at_once():
    both = Barrier(2, timeout=60)
    with threadpool_limits(2, user_api="blas"):
        assert sorted(ask(Question([both.wait] * 2, list, 10))) == [0, 1]


def test_tasks_of_many_samples_run_one_at_a_time():
    running = Lock()

    def task():
        assert running.acquire(blocking=False)
        time.sleep(0.01)
        running.release()
        return 1

    with threadpool_limits(2, user_api="blas"):
        assert ask(Question([task] * 4, sum, fitting.SIDE_BY_SIDE + 1)) == 4
