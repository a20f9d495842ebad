"""The simplex: optimality conditions of the quadratic program and of the row projection."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkclust.baselines.linalg import project_rows, simplex_qp


def violation(Q: np.ndarray, c: np.ndarray, x: np.ndarray) -> float:
    """By how much x misses the optimality conditions, relative to the data.

    On the simplex x is optimal when no coordinate's slope is below the mean slope under x. A
    constant in c changes no slope relative to another, but would drown them in its rounding.
    """
    slope = Q @ x + (c - c.min())
    scale = max(np.abs(Q).max(), np.ptp(c), np.finfo(float).tiny)
    return float(slope @ x - slope.min()) / scale


def assert_solved(Q: np.ndarray, c: np.ndarray) -> None:
    x = simplex_qp(Q, c)
    assert (x >= 0).all()
    assert abs(x.sum() - 1) <= 1e-14
    assert violation(Q, c, x) <= 1e-13


def program(seed: int, m: int, rank: int, duplicates: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rank, m)) * 10 ** rng.uniform(-3, 0, size=(rank, 1))
    c = rng.standard_normal(m) * 10 ** rng.uniform(-4, 4)
    if duplicates:
        twins = rng.integers(0, m, size=m)
        A, c = A[:, twins], c[twins]
    return A.T @ A * 10 ** rng.uniform(-6, 6), c


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(0, 12), st.booleans())
def test_the_program_is_solved_to_rounding(seed: int, m: int, rank: int, duplicates: bool) -> None:
    assert_solved(*program(seed, m, rank, duplicates))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8))
def test_whole_numbers_with_their_many_ties_end(seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.integers(-2, 3, size=(rng.integers(1, m + 1), m)).astype(float)
    assert_solved(A.T @ A, rng.integers(-2, 3, size=m).astype(float))


@pytest.mark.parametrize("rank", [5, 40, 70])
def test_seventy_views(rank: int) -> None:
    assert_solved(*program(rank, 70, rank, duplicates=rank == 40))


def test_duplicated_views_share_evenly() -> None:
    once = np.array([[2.0, 0.5], [0.5, 1.0]])
    twice = once[np.ix_([0, 1, 1], [0, 1, 1])]
    x, y = simplex_qp(once, np.zeros(2)), simplex_qp(twice, np.zeros(3))
    np.testing.assert_allclose(y, [x[0], x[1] / 2, x[1] / 2], atol=1e-15)


@pytest.mark.parametrize("constant", [0.0, 1e6, -1e6])
def test_nothing_to_choose(constant: float) -> None:
    found = simplex_qp(np.zeros((4, 4)), np.full(4, constant))
    np.testing.assert_array_equal(found, np.full(4, 0.25))
    assert simplex_qp(np.array([[3.0]]), np.array([constant])) == 1.0


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_rows_are_projected(seed: int, r: int, n: int, limited: bool) -> None:
    """s is the projection of v when v - s is the same on the support of s and larger nowhere."""
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((r, n)) * 10 ** rng.uniform(-3, 3, size=(r, 1))
    support = rng.random((r, n)) < 0.6 if limited else np.ones((r, n), dtype=bool)
    S = project_rows(V, support if limited else None)
    assert (S >= 0).all()
    assert not S[~support].any()
    for v, s, allowed in zip(V, S, support, strict=True):
        if not allowed.any():
            continue
        assert s.sum() == pytest.approx(1, abs=1e-13)
        threshold = (v - s)[s > 0]
        accuracy = 1e-14 * max(1, np.abs(v).max())
        assert np.ptp(threshold) <= accuracy
        assert v[allowed & (s == 0)].max(initial=-np.inf) <= threshold.max() + accuracy
