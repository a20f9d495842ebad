"""The proven optimum and the bound, against enumeration."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _support.planted import N, brute_force, either, is_feasible, overlap_of_blocks, planted_spectra
from mkclust.agreement.subspace_overlap import overlap
from mkclust.dual_noise.dimensions import authors, choose_dimensions
from mkclust.dual_noise.exact_search import lower_bound, optimum
from mkclust.dual_noise.overlap_constraints import overlap_constraints

many = settings(deadline=None, derandomize=True, max_examples=250)


@many
@given(either, st.randoms(use_true_random=False))
def test_exact_equals_enumeration(instance, random):
    found, k = instance
    (least, least_squares), minimisers = brute_force(found, k, k)
    rank = list(range(1, found.n_views + 1))  # 1 for the view preferred most
    random.shuffle(rank)
    constraints = overlap_constraints(found, k, k)
    chosen = optimum(constraints, authors(constraints, k)[0], -np.array(rank, dtype=float))
    assert is_feasible(found, chosen.d, k, k)
    assert chosen.d.sum() == least == chosen.lower_bound
    assert (chosen.d**2).sum() == least_squares
    assert tuple(chosen.d) in minimisers  # the only one, where there is only one
    assert chosen.d @ rank == min(np.array(d) @ rank for d in minimisers)


def test_the_bound_is_half_integral_where_three_views_pull_in_a_circle():
    """Each pair of three views needs one more direction on either side: LP 1.5, optimum 2."""
    blocks = np.zeros((3, 3, 2, 2))
    blocks[:, :, 0, 1] = blocks[:, :, 1, 0] = 1.0  # S[1,1] = 0, S[1,2] = S[2,1] = 1
    found = overlap_of_blocks(blocks, N)
    chosen = choose_dimensions(overlap_constraints(found, 1, 1.0), 1, "exact")
    assert chosen.d.sum() == 5
    assert chosen.certificate.optimal
    assert (
        lower_bound(overlap_constraints(found, 1, 1.0), np.array([2, 2, 2])) == 5
    )  # 3 + ceil(1.5)


def test_a_solver_out_of_time_leaves_the_best_known_and_an_honest_gap(monkeypatch):
    """Three views in a circle: the relaxation does not decide, and HiGHS is stopped early."""
    blocks = np.zeros((3, 3, 4, 4))
    blocks[:, :, 0, 3] = blocks[:, :, 3, 0] = 1.0
    constraints = overlap_constraints(overlap_of_blocks(blocks, N), 1, 1.0)
    known = np.array([1, 4, 4])
    for x, bound in ((None, None), (1.0, 0.0)):  # nothing found; a bad solution found

        def stopped(weights, x=x, bound=bound, **_):
            found = None if x is None else np.full(len(weights), x)
            return SimpleNamespace(x=found, mip_dual_bound=bound, status=1)

        monkeypatch.setattr("mkclust.dual_noise.exact_search.milp", stopped)
        found = optimum(constraints, known)
        assert constraints.feasible(found.d)
        assert found.d.sum() == known.sum() == 9
        assert found.lower_bound < 9  # not proven


@pytest.mark.slow
def test_sixty_nine_kernels_are_solved_with_proof():
    """940 samples, k = 4, no signal in a third of the views: the paper's Plant by shape."""
    rng = np.random.default_rng(0)
    n, m, k, D = 940, 69, 4, 80
    unrelated = range(0, m, 3)
    found = overlap(planted_spectra(rng, n, [D] * m, k - 1, noise=0.6, unrelated=unrelated))
    constraints = overlap_constraints(found, k, k)
    by_search = choose_dimensions(constraints, k, "authors", horizon=D)
    proven = choose_dimensions(constraints, k, "exact", horizon=D)
    assert proven.certificate.optimal
    assert constraints.feasible(proven.d)
    assert by_search.certificate.lower_bound <= proven.certificate.objective
    assert proven.certificate.objective < by_search.certificate.objective
