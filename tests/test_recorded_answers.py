"""The same answer in every supported version of numpy, scipy and scikit-learn.

The record of tools/answers.py is compared by `make test` with the newest versions and by
`make test-oldest` with the oldest.
"""

import json

import numpy as np
import pytest
from answers import QUESTIONS, RECORD, SOLVERS, answer, as_text, digits, fitted
from threadpoolctl import threadpool_limits

from mkclust import MKCDNM, datasets, metrics

pytestmark = pytest.mark.versions

RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))
AGAIN = [q for q in QUESTIONS if q.startswith(("graph-fusion", "mkc-dnm", "snf"))]


@pytest.fixture(scope="module")
def views():
    return digits()


def differing(found, question):
    """Samples that are not where the record has them."""
    pairs = zip(found["clusters"], RECORDED[question]["clusters"], strict=True)
    return [row for row, (one, other) in enumerate(pairs) if one != other]


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_those_recorded(question, views):
    found = answer(question, views)
    assert found.get("dimensions") == RECORDED[question].get("dimensions")
    assert not differing(found, question)


@pytest.mark.parametrize("question", AGAIN)
def test_two_threads_give_the_recorded_answers_too(question, views):
    with threadpool_limits(2):
        found = answer(question, views)
    assert found.get("dimensions") == RECORDED[question].get("dimensions")
    assert not differing(found, question)


def test_the_record_is_complete():
    assert set(RECORDED) == set(QUESTIONS)


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_is_recorded_holds_for_another_eigensolver(solver, views):
    model = fitted(f"mkc-dnm {solver}", views)
    verdict = model.verify(views)
    assert verdict.holds, str(verdict)
    assert as_text(model.labels_) == RECORDED[f"mkc-dnm {solver}"]["clusters"]


def test_what_is_recorded_follows_the_classes(views):
    for question, recorded in RECORDED.items():
        letters = np.frombuffer(recorded["clusters"].encode(), dtype=np.uint8)
        assert metrics.ari(views.labels, letters) > 0.3, question


def test_all_the_digits():
    whole = datasets.load_mfeat()
    model = MKCDNM(10, kernel="gaussian", random_state=0).fit(whole)
    assert model.dimensions_.tolist() == [79, 36, 62, 41, 49, 79]
    exact = MKCDNM(10, kernel="gaussian", solver="exact", random_state=0).fit(whole)
    assert model.objective_ == 346 and exact.objective_ == 345 == exact.lower_bound_
    assert model.lower_bound_ in (345, 346)  # of the eigenvectors that the search has computed
    assert round(metrics.accuracy(whole.labels, model.labels_) * 2000) == 1668
