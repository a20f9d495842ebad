"""The same answer: on any number of threads, run after run, in any layout, type or container."""

import hashlib
import os
import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from _support.fits import fit_quietly
from _support.planted import projector
from mkclust import METHODS, MKCDNM, MultiView, metrics
from mkclust.data.datasets import make_views

every_method = pytest.mark.parametrize("name", METHODS)
THREADS = 1e-10  # sums on several threads are rounded differently: entries of projectors


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def views():
    return make_views(45, 3, 3, noise=0.4, separation=5.0, random_state=0)


@pytest.fixture(scope="module")
def expected(views):
    """A method fitted to the arrays of the views, which every other form is compared with."""

    @cache
    def fitted(name):
        with threadpool_limits(1):
            return fit_quietly(name, list(views.views))

    return fitted


def numbers(model):
    """Every public fitted array and number."""
    found = {key: value for key, value in vars(model).items() if key.endswith("_")}
    kinds = (np.ndarray, float, int)
    return {k: v for k, v in found.items() if isinstance(v, kinds) and k != "view_names_in_"}


def assert_same_bits(one, other):
    first, second = numbers(one), numbers(other)
    assert first.keys() == second.keys() and "labels_" in first
    for key, value in first.items():
        np.testing.assert_array_equal(value, second[key], err_msg=key)


@every_method
def test_repeated_runs_agree_to_the_last_bit(name, views, expected):
    assert_same_bits(fit_quietly(name, list(views.views)), expected(name))


@every_method
def test_one_or_two_threads_give_the_same_labels(name, views, expected):
    with threadpool_limits(2, user_api="blas"):
        found = fit_quietly(name, views)
    np.testing.assert_array_equal(found.labels_, expected(name).labels_)
    if hasattr(found, "embedding_"):
        one, two = (projector(model.embedding_) for model in (found, expected(name)))
        np.testing.assert_allclose(one, two, atol=THREADS)


def test_threads_at_a_size_where_blas_takes_several():
    views = make_views(500, 4, 2, noise=0.6, random_state=0)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(MKCDNM(4, random_state=0).fit(views))
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    one, two = (projector(model.embedding_) for model in found)
    np.testing.assert_allclose(one, two, atol=THREADS)


FORMS = {
    "fortran": np.asfortranarray,
    "strided": lambda view: np.repeat(np.repeat(view, 2, axis=0), 2, axis=1)[::2, ::2],
    "swapped bytes": lambda view: view.astype(view.dtype.newbyteorder()),
    "long double": lambda view: view.astype(np.longdouble),
    "read-only": lambda view: np.frombuffer(view.tobytes()).reshape(view.shape),
    "frame": pd.DataFrame,
    "list": lambda view: view.tolist(),
}


@pytest.mark.versions
@pytest.mark.parametrize("form", FORMS)
def test_views_of_any_form_are_the_same_matrices(form, views):
    made = MultiView([FORMS[form](view) for view in views.views])
    for found, view in zip(made.views, views.views, strict=True):
        np.testing.assert_array_equal(np.asarray(found, dtype=float), view)
        assert found.flags.c_contiguous  # sums depend on the layout


@every_method
def test_the_form_and_type_of_the_views_change_no_bit(name, views):
    whole = [np.round(view * 100) for view in views.views]
    kinds = (np.int16, np.float32, np.int64)
    forms = [np.asfortranarray(view.astype(kind)) for view, kind in zip(whole, kinds, strict=True)]
    found = fit_quietly(name, dict(zip("abc", forms, strict=True)))
    assert_same_bits(found, fit_quietly(name, whole))


@pytest.mark.parametrize("solver", ["authors", "paper", "exact"])
def test_the_order_of_the_samples_only_orders_the_labels(solver, views):
    order = np.random.default_rng(0).permutation(45)
    straight = fit_quietly("mkc-dnm", views, solver=solver)
    shuffled = fit_quietly("mkc-dnm", views[order], solver=solver)
    assert metrics.ari(straight.labels_[order], shuffled.labels_) == 1.0
    np.testing.assert_array_equal(straight.dimensions_, shuffled.dimensions_)
    gap = projector(straight.embedding_[order]) - projector(shuffled.embedding_)
    np.testing.assert_allclose(gap, 0, atol=1e-8)


def test_the_order_of_the_views_only_orders_what_is_said_of_them(views):
    straight = fit_quietly("mkc-dnm", views)
    turned = fit_quietly("mkc-dnm", views.select(["view3", "view1", "view2"]))
    order = [2, 0, 1]
    assert metrics.ari(straight.labels_, turned.labels_) == 1.0
    np.testing.assert_array_equal(straight.dimensions_[order], turned.dimensions_)
    np.testing.assert_allclose(
        straight.agreement_[np.ix_(order, order)], turned.agreement_, atol=1e-8
    )


def test_sparse_and_dense_agree(views):
    rounded = [np.where(np.abs(view) > 1, view.round(1), 0.0) for view in views.views]
    dense = fit_quietly("mkc-dnm", rounded)
    sparse = fit_quietly("mkc-dnm", [sp.csr_array(view) for view in rounded])
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    gap = projector(dense.embedding_) - projector(sparse.embedding_)
    np.testing.assert_allclose(gap, 0, atol=1e-8)


@pytest.mark.slow
def test_another_process_with_another_hash_seed_says_the_same(views):
    code = (
        "import hashlib; from mkclust import MKCDNM; from mkclust.data.datasets import make_views; "
        "from threadpoolctl import threadpool_limits; threadpool_limits(1); "
        "v = make_views(45, 3, 3, noise=0.4, separation=5.0, random_state=0); "
        "m = MKCDNM(3, random_state=0).fit(v); "
        "print(hashlib.sha256(m.labels_.tobytes() + m.embedding_.tobytes()).hexdigest())"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONHASHSEED": "1"},
    ).stdout  # fmt: skip
    here = fit_quietly("mkc-dnm", views)
    both = here.labels_.tobytes() + here.embedding_.tobytes()
    assert said.strip() == hashlib.sha256(both).hexdigest()
