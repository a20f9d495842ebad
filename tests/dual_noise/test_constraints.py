"""Constraints: what a pair of views demands, and what is asked where it cannot be met."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _support.planted import either, is_feasible, planted_spectra, random_spectra
from mkclust.agreement.subspace_overlap import overlap
from mkclust.dual_noise.dimensions import choose_dimensions
from mkclust.dual_noise.overlap_constraints import (
    overlap_constraints,
    relaxed_constraints,
    shortfall,
)

some = settings(deadline=None, derandomize=True, max_examples=40)


@some
@given(either)
def test_a_staircase_holds_the_smallest_feasible_dimension(instance):
    found, k = instance
    constraints = overlap_constraints(found, k, k)
    for p, q in found.pairs():
        table = found.table(p, q)
        for b in range(found.sizes[q] + 1):
            enough = np.flatnonzero(table[:, b] >= k * (1 - 1e-9))
            least = max(k, enough[0]) if len(enough) else found.sizes[p] + 1
            assert constraints.needs[p, q, b] == least


@some
@given(either, st.data())
def test_feasible_is_the_definition(instance, data):
    found, k = instance
    d = np.array([data.draw(st.integers(k, int(D))) for D in found.sizes])
    assert overlap_constraints(found, k, k).feasible(d) == is_feasible(found, d, k, k)


# ---------------------------------------------------------------- constraints out of reach


def test_clean_views_at_large_n_end_near_k_not_at_the_last_direction():
    """k - 1 shared directions, and noise that cannot supply the k-th: METHODS 2.4."""
    rng = np.random.default_rng(0)
    n, k, D = 20_000, 10, 60
    found = overlap(planted_spectra(rng, n, [D] * 4, shared=k - 1, noise=0.4))
    assert len(shortfall(found, k)) == 6
    constraints = relaxed_constraints(found, k, k)
    assert constraints.relaxed
    assert constraints.exempt == ()
    assert constraints.unrelated() == []
    assert constraints.threshold < k - 1
    for solver in ("authors", "exact"):
        d = choose_dimensions(constraints, k, solver).d
        assert (d >= k).all()
        assert (d <= k + 2).all()


def test_an_unrelated_view_is_exempt_and_the_others_are_not():
    rng = np.random.default_rng(1)
    n, k, D = 5_000, 5, 40
    spectra = planted_spectra(rng, n, [D] * 4, shared=k, noise=0.3, unrelated=[2])
    found = overlap(spectra)
    assert set(shortfall(found, k)) == {(0, 2), (1, 2), (2, 3)} | set(shortfall(found, k))
    constraints = relaxed_constraints(found, k, k)
    assert set(constraints.exempt) == {(0, 2), (1, 2), (2, 3)}
    assert constraints.unrelated() == [2]
    d = choose_dimensions(constraints, k, "authors").d
    assert (d[[0, 1, 3]] <= k + 2).all()
    assert d[2] == k
    # What is still asked of the clean pairs is real agreement, not nothing.
    assert constraints.threshold > k / 2


def test_relaxed_constraints_hold_beyond_chance():
    rng = np.random.default_rng(2)
    n, k = 2_000, 6
    found = overlap(planted_spectra(rng, n, [30] * 3, shared=k - 1, noise=0.8))
    constraints = relaxed_constraints(found, k, k)
    for solver in ("authors", "paper", "exact"):
        d = choose_dimensions(constraints, k, solver).d
        for p, q in found.pairs():
            a, b = np.ogrid[: d[p] + 1, : d[q] + 1]
            beyond = (found.table(p, q)[: d[p] + 1, : d[q] + 1] - a * b / n).max()
            assert beyond >= constraints.threshold * (1 - 1e-9)
    assert constraints.threshold <= k


@pytest.mark.parametrize("n", [10, 40])
def test_identical_views_are_never_called_unrelated(n):
    """Centred kernels of n = k samples have n - 1 directions, so k is out of reach by one."""
    V = random_spectra(np.random.default_rng(n), n, [n - 1], complete=True)[0]
    found = overlap([V, V])
    assert shortfall(found, n)
    assert relaxed_constraints(found, n, n).unrelated() == []


@pytest.mark.parametrize("n", [50, 1000])
def test_random_views_are_called_unrelated(n):
    """The test for chance must not be so lenient that noise passes it."""
    flagged = 0
    for seed in range(20):
        found = overlap(random_spectra(np.random.default_rng(seed), n, [12, 15]))
        flagged += relaxed_constraints(found, 10, 10).unrelated() == [0, 1]
    assert flagged == 20
