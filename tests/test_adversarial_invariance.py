"""The same partition for the same data in another form, for every method.

A change of form must not change the partition: the order of rows, views and columns, the unit of
a view, a constant column, sparse storage, frames, concurrent fits. Types and memory layouts are in
test_same_answer.py. A view given twice may change it, because it counts twice; graph fusion
promises that it does not, since redundant views share their weight.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mkclust import METHODS, datasets, metrics

N, K = 36, 3
CASES = 4  # examples of each change and method

pytestmark = pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning")


def fitted(name, views):
    return METHODS[name](K, random_state=0).fit(views).labels_


def rows(views, random):
    order = random.permutation(N)
    return [view[order] for view in views], order


def views_in_another_order(views, random):
    return [views[p] for p in random.permutation(len(views))], None


def columns(views, random):
    return [view[:, random.permutation(view.shape[1])] for view in views], None


def unit_of_a_view(views, random):
    p, factor = random.integers(len(views)), 10.0 ** random.choice([-6, 6])
    return [view * factor if q == p else view for q, view in enumerate(views)], None


def shift_of_a_column(views, random):
    p = random.integers(len(views))
    changed = [view.copy() for view in views]
    changed[p][:, 0] += 10.0 ** random.integers(0, 4)
    return changed, None


def constant_column(views, random):
    p, value = random.integers(len(views)), 10.0 ** random.integers(-3, 4)
    changed = list(views)
    changed[p] = np.insert(views[p], random.integers(views[p].shape[1]), value, axis=1)
    return changed, None


def sparse(views, random):
    kinds = [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix]
    return [kinds[random.integers(len(kinds))](view) for view in views], None


def frames(views, random):
    named = {f"v{p}": pd.DataFrame(view) for p, view in enumerate(views)}
    return named, None


def names_in_another_order(views, random):
    """Frames whose rows are matched by name: all but the first have another order."""
    names = [f"s{i}" for i in range(N)]
    made = {f"v{p}": pd.DataFrame(view, index=names) for p, view in enumerate(views)}
    order = random.permutation(N)
    return {n: f if n == "v0" else f.iloc[order] for n, f in made.items()}, None


CHANGES = [
    rows, views_in_another_order, columns, unit_of_a_view, shift_of_a_column, constant_column,
    sparse, frames, names_in_another_order,
]  # fmt: skip
# Sparse views are scaled but not centered, and cosines are taken without centering, so that
# methods which use cosines depend on the origin of a column.
REASONS = {
    ("graph-fusion", shift_of_a_column): "the cosine metric depends on the origin",
    ("graph-fusion", constant_column): "the cosine metric depends on the origin",
}


def planted(seed):
    return datasets.make_views(N, K, 3, noise=0.8, random_state=seed).views


@cache
def fitted_to_planted(name, seed):
    """The labels that every change is compared with."""
    return fitted(name, planted(seed))


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**6))
def test_another_form_gives_the_same_partition(name, change, seed):
    changed, order = change(planted(seed % 50), np.random.default_rng(seed))
    before, after = fitted_to_planted(name, seed % 50), fitted(name, changed)
    same = metrics.accuracy(before if order is None else before[order], after) == 1.0
    assert same or (name, change) in REASONS


@pytest.mark.parametrize("name", METHODS)
def test_two_threads_that_fit_at_once_give_the_labels_of_one(name):
    every = [planted(seed) for seed in range(CASES)]
    alone = [fitted_to_planted(name, seed) for seed in range(CASES)]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda views: fitted(name, views), every))
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("seed", range(CASES))
def test_a_copy_of_a_view_does_not_change_graph_fusion(seed):
    views, before = planted(seed), fitted_to_planted("graph-fusion", seed)
    for p in range(3):
        assert metrics.accuracy(before, fitted("graph-fusion", [*views, views[p]])) == 1.0
