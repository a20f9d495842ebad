"""The same answer in every supported version of numpy, scipy and scikit-learn.

The record of tools/answers.py is compared by `make test` with the newest versions and by
`make test-oldest` with the oldest.
"""

import json
from functools import cache

import numpy as np
import pytest
from answers import QUESTIONS, RECORD, SOLVERS, as_text, digits, fitted
from threadpoolctl import threadpool_limits

from mkclust import MKCDNM, datasets, metrics

pytestmark = pytest.mark.versions

RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))
AGAIN = ["graph-fusion", "mkc-dnm authors"]


@pytest.fixture(scope="module")
def views():
    return digits()


@pytest.fixture(scope="module")
def models(views):
    """Return a function that fits the model of a question once."""
    return cache(lambda question: fitted(question, views))


def assert_recorded(model, question):
    recorded = RECORDED[question]
    assert as_text(model.labels_) == recorded["clusters"]
    if "dimensions" in recorded:
        assert model.dimensions_.tolist() == recorded["dimensions"]
    else:
        assert not hasattr(model, "dimensions_")


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_those_recorded(question, models):
    assert_recorded(models(question), question)


@pytest.mark.parametrize("question", AGAIN)
def test_two_threads_give_the_recorded_answers_too(question, views):
    with threadpool_limits(2):
        assert_recorded(fitted(question, views), question)


def test_the_record_is_complete():
    assert set(RECORDED) == set(QUESTIONS)


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_is_recorded_holds_for_another_eigensolver(solver, models, views):
    verdict = models(f"mkc-dnm {solver}").verify(views)
    assert verdict.holds, str(verdict)


def test_what_is_recorded_follows_the_classes(views):
    for question, recorded in RECORDED.items():
        letters = np.frombuffer(recorded["clusters"].encode(), dtype=np.uint8)
        assert metrics.ari(views.labels, letters) > 0.3, question


@pytest.mark.slow
def test_all_the_digits():
    whole = datasets.load_mfeat()
    model = MKCDNM(10, kernel="gaussian", random_state=0).fit(whole)
    assert model.dimensions_.tolist() == [79, 36, 62, 41, 49, 79]
    exact = MKCDNM(10, kernel="gaussian", solver="exact", random_state=0).fit(whole)
    assert model.objective_ == 346 and exact.objective_ == 345 == exact.lower_bound_
    assert model.lower_bound_ in (345, 346)  # of the eigenvectors that the search has computed
    assert round(metrics.accuracy(whole.labels, model.labels_) * 2000) == 1668
