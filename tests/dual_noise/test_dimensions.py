"""The three solvers, step by step, and what a certificate claims."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from _support.planted import (
    N,
    brute_force,
    either,
    head,
    is_feasible,
    overlap_of_blocks,
    planted_spectra,
    random_spectra,
    trace_of,
)
from mkclust import read
from mkclust.agreement.subspace_overlap import overlap
from mkclust.agreement.subspaces import Subspaces
from mkclust.dual_noise.dimensions import (
    Certificate,
    authors,
    choose_dimensions,
    paper,
)
from mkclust.dual_noise.overlap_constraints import (
    overlap_constraints,
    relaxed_constraints,
    shortfall,
)
from mkclust.kernels.bank import KernelBank, KernelRecipe

pytestmark = pytest.mark.versions

some = settings(deadline=None, derandomize=True, max_examples=40)


@pytest.mark.parametrize("solver", ["authors", "paper"])
@some
@given(instance=either)
def test_a_search_is_feasible_and_its_bound_is_one(solver, instance):
    found, k = instance
    chosen = choose_dimensions(overlap_constraints(found, k, k), k, solver)
    (least, _), _ = brute_force(found, k, k)
    assert is_feasible(found, chosen.d, k, k)
    assert chosen.certificate.objective == chosen.d.sum() >= least
    assert k * found.n_views <= chosen.certificate.lower_bound <= least


# ---------------------------------------------------------------- the searches, step by step


def literal_authors(found, k):
    """METHODS 2.3 line by line: bisection, one view at a time, as the authors' program has it."""
    tables = {(p, q): found.table(p, q) for p in range(found.n_views) for q in range(found.n_views)}

    def feasible(p, a, other):
        return all(tables[p, q][a, other[q]] >= k * (1 - 1e-9) for q in range(found.n_views))

    def update(d, other, M):
        new = []
        for p in range(found.n_views):
            t = M / (M + 0.5) * other[p]
            left, right = int(np.floor(t)), d[p]
            if feasible(p, left, other):
                new.append(left + (t - left > 0.5))
                continue
            while right - left > 1:
                middle = (left + right) // 2
                left, right = (left, middle) if feasible(p, middle, other) else (middle, right)
            new.append(right)
        return new

    c = 1
    while any(tables[p, q][c * k, c * k] < k * (1 - 1e-9) for p, q in found.pairs()):
        c += 1
    start = d = d_hat = [c * k] * found.n_views
    M, trace = 1, []
    while True:
        d = update(d, d_hat, M)
        trace.append((M, 1, *d))
        if d == d_hat:
            return start, d, trace
        d_hat = update(d_hat, d, M)
        trace.append((M, 2, *d_hat))
        if d == d_hat:
            return start, d, trace
        M *= 2


@some
@given(st.integers(0, 10**9), st.integers(2, 5), st.integers(2, 4))
def test_authors_takes_every_step_of_the_published_program(seed, m, k):
    rng = np.random.default_rng(seed)
    found = overlap(planted_spectra(rng, 60, [8 * k] * m, shared=k - 1, noise=1.0))
    assume(not shortfall(found, k))
    start, d, trace = literal_authors(found, k)
    chosen, history = authors(overlap_constraints(found, k, k), k)
    np.testing.assert_array_equal(chosen, d)
    assert trace_of(history, start) == trace


def test_paper_is_a_fixed_point_with_the_penalty_doubled_each_round():
    found = overlap(planted_spectra(np.random.default_rng(0), 60, [20] * 4, shared=2, noise=1.0))
    constraints = overlap_constraints(found, 3, 3)
    d, history = paper(constraints, 3, penalty=0.25)
    assert [turn.penalty for turn in history] == [0.25 * 2**i for i in range(len(history))]
    assert history[-1].d == history[-1].d_hat == tuple(d)
    first = history[0]
    expected = np.maximum(
        constraints.least(constraints.upper), constraints.upper - 2
    )  # d-hat - 1/(2M), M = 1/4
    np.testing.assert_array_equal(first.d, expected)


@pytest.mark.parametrize("penalty", [0.03, 0.25, 1.0])
def test_a_step_of_paper_minimises_the_printed_objective(penalty):
    """d + M (d - d-hat)^2 over whole numbers, the smaller of two that are equally good."""
    found = overlap(random_spectra(np.random.default_rng(5), 40, [12, 20, 17]))
    constraints = overlap_constraints(found, 1, 0.0)  # one direction of each view, and no more
    first = paper(constraints, 1, penalty)[1][0]
    for known, d in zip(constraints.upper, first.d, strict=True):
        choices = np.arange(1, known + 1)
        assert d == choices[(choices + penalty * (choices - known) ** 2).round(12).argmin()]


@pytest.mark.parametrize("known", [3, 12])
def test_a_step_of_authors_minimises_its_own_objective(known):
    """d^2/4 + M/2 (d - d-hat)^2 from M = 1 and d-hat the start, which is k = 1 here."""
    blocks = np.zeros((2, 2, 12, 12))
    blocks[0, 1, 0, known - 1] = 1.0  # feasible from a common start of `known` on
    constraints = overlap_constraints(overlap_of_blocks(blocks, N), 1, 1.0)
    first = authors(constraints, 1)[1][0]
    choices = np.arange(1, 13)
    best = choices[(choices**2 / 4 + (choices - known) ** 2 / 2).round(12).argmin()]
    assert first.d == (best, known)  # view 0 needs one direction only, view 1 all of them


@pytest.mark.parametrize(("preference", "d"), [([1.0, 0.5], (3, 2)), ([0.5, 1.0], (2, 3))])
def test_what_ties_remain_go_to_the_preferred_view(preference, d):
    """(2, 3) and (3, 2) have the same sum and the same sum of squares."""
    blocks = np.zeros((2, 2, 3, 3))
    blocks[0, 1, 1, 2] = blocks[0, 1, 2, 1] = 1.0
    constraints = overlap_constraints(overlap_of_blocks(blocks, N), 1, 1.0)
    chosen = choose_dimensions(constraints, 1, "exact", preference=np.array(preference))
    assert tuple(chosen.d) == d


# ---------------------------------------------------------------- the certificate


@settings(deadline=None, derandomize=True, max_examples=80)
@given(
    st.integers(0, 10**9),
    st.integers(1, 3),
    st.integers(2, 4),
    st.sampled_from([0.5, 1.0, 1.5]),
    st.integers(0, 2),
)
def test_a_proof_over_the_whole_spectrum_holds_in_a_larger_one(seed, k, m, share, poor):
    """With D = 5 known of 9: where the certificate says "whole", the answer at 9 is the same.

    The first `poor` views have only one or two directions at all.
    """
    rng = np.random.default_rng(seed)
    sizes = [rng.integers(1, 3) if p < poor else 9 for p in range(m)]
    whole = overlap(planted_spectra(rng, 12, sizes, shared=1, noise=0.3))
    known = head(whole, 5)
    threshold = share * k
    assume(poor < m and not shortfall(known, threshold))
    chosen = choose_dimensions(overlap_constraints(known, k, threshold), k, "exact", horizon=5)
    (least, _), _ = brute_force(whole, k, threshold)
    assert chosen.certificate.objective >= least
    if chosen.certificate.whole_spectrum:
        assert chosen.certificate.objective == least


def test_no_proof_is_claimed_past_views_that_cost_less_than_k():
    """View 0 has one direction, so going beyond D = 5 costs 6 + 1 + 3 = 10, not 6 + 3 + 3 = 12."""
    blocks = np.zeros((3, 3, 9, 9))
    blocks[0, 1, 0, 0] = blocks[0, 2, 0, 0] = 1.0
    blocks[1, 2, 4, 4] = 1.0  # within the first five: d = (1, 5, 5)
    blocks[1, 2, 5, 2] = 1.0  # with a sixth: d = (1, 6, 3)
    whole = head(overlap_of_blocks(blocks, N), np.array([1, 9, 9]))
    known = head(whole, 5)
    assert brute_force(whole, 3, 1.0)[1] == [(1, 6, 3)]
    chosen = choose_dimensions(overlap_constraints(known, 3, 1.0), 3, "exact", horizon=5)
    np.testing.assert_array_equal(chosen.d, [1, 5, 5])
    assert not chosen.certificate.whole_spectrum


def test_the_scope_is_whole_exactly_up_to_the_reach():
    """D + 1 + (m-1)k >= objective: two views, k = 1, D = 3, so up to a sum of 5."""
    for corner, claimed in (((2, 2), True), ((2, 3), True), ((3, 3), False)):
        blocks = np.zeros((2, 2, 3, 3))
        blocks[0, 1, corner[0] - 1, corner[1] - 1] = 1.0  # feasible only from the corner on
        found = overlap_of_blocks(blocks, N)
        chosen = choose_dimensions(overlap_constraints(found, 1, 1.0), 1, "exact", horizon=3)
        np.testing.assert_array_equal(chosen.d, corner)
        assert chosen.certificate.optimal
        assert chosen.certificate.whole_spectrum is claimed
    everything = choose_dimensions(overlap_constraints(found, 1, 1.0), 1, "exact", horizon=None)
    assert everything.certificate.whole_spectrum


def test_certificate_says_in_words_what_is_proven():
    proven = Certificate(22, 22, eigenvectors=30, whole_spectrum=True, seconds=0.1)
    assert proven.optimal
    assert proven.gap == 0
    assert str(proven) == (
        "proven optimal: no smaller sum of dimensions than 22 over the whole spectrum"
    )
    within = Certificate(22, 22, eigenvectors=30, whole_spectrum=False, seconds=0.1)
    assert str(within) == (
        "proven optimal: no smaller sum of dimensions than 22 within the first 30 eigenvectors"
    )
    short = Certificate(25, 20, eigenvectors=30, whole_spectrum=False, seconds=0.1)
    assert not short.optimal
    assert short.gap == 5
    assert str(short) == (
        "sum of dimensions 25, at most 5 (25.0 %) above the optimum, which is at least 20 "
        "within the first 30 eigenvectors"
    )


# ---------------------------------------------------------------- real data


@pytest.mark.slow
def test_exact_is_never_above_the_searches_on_any_benchmark_set(data_dir):
    """Every set of INDEX.md, at most 400 of its samples and 20 clusters, by a fixed draw."""
    files = sorted(data_dir.glob("*.mat"))
    assert len(files) >= 25
    below = 0
    for file in files:
        views = read(file)
        views = views[np.random.default_rng(0).permutation(len(views))[:400]]
        k = min(len(np.unique(views.labels)), 20)
        kernel = "precomputed" if views.kernels else "gaussian"
        spectra = Subspaces.of(KernelBank(views, KernelRecipe(kernel)))
        size = 2 * k
        spectra.grow(size)
        while shortfall(overlap(spectra), k) and spectra.horizon is not None:
            size *= 2
            spectra.grow(size)
        found = overlap(spectra)
        make = relaxed_constraints if shortfall(found, k) else overlap_constraints
        constraints = make(found, k, k)
        proven = choose_dimensions(constraints, k, "exact", spectra.horizon)
        assert proven.certificate.optimal, file.name
        assert constraints.feasible(proven.d), file.name
        for solver in ("authors", "paper"):
            searched = choose_dimensions(constraints, k, solver, spectra.horizon)
            assert constraints.feasible(searched.d), file.name
            assert searched.d.sum() >= proven.d.sum(), file.name
            assert searched.certificate.lower_bound <= proven.d.sum(), file.name
            below += searched.d.sum() > proven.d.sum()
    assert below > len(files) / 2  # the searches do miss the optimum
