"""Staircases, the three solvers, the proven optimum and what its certificate claims."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mkclust import read
from mkclust.cover import lower_bound, optimum
from mkclust.dimensions import Certificate, authors, choose_dimensions, exact, paper
from mkclust.kernels import KernelBank, KernelRecipe
from mkclust.overlap import overlap
from mkclust.spectrum import Spectra, Spectrum
from mkclust.staircase import relaxed_staircases, shortfall, staircases
from planted import (
    brute_force,
    head,
    is_feasible,
    overlap_of_blocks,
    planted_spectra,
    random_spectra,
    trace_of,
)

N = 1000  # samples that hand-made overlaps pretend to have
many = settings(deadline=None, derandomize=True, max_examples=250)
some = settings(deadline=None, derandomize=True, max_examples=40)


@st.composite
def tied_overlaps(draw):
    """Few different values, so that many d reach the same sum and the same sum of squares."""
    m, D = draw(st.integers(2, 4)), draw(st.integers(2, 5))
    values = st.sampled_from([0.0, 0.0, 0.5, 1.0])
    blocks = draw(arrays(float, (m, m, D, D), elements=values, fill=st.nothing()))
    k = draw(st.integers(1, min(3, D)))
    found = overlap_of_blocks(blocks, N)
    assume(not shortfall(found, k))
    return found, k


@st.composite
def generic_overlaps(draw):
    """Random bases in a small space: every table entry different."""
    rng = np.random.default_rng(draw(st.integers(0, 10**9)))
    n = draw(st.integers(8, 14))
    sizes = draw(st.lists(st.integers(5, 7), min_size=1, max_size=4))
    k = draw(st.integers(1, 3))
    shared = draw(st.integers(0, k))
    found = overlap(planted_spectra(rng, n, sizes, shared, noise=0.5))
    assume(not shortfall(found, k))
    return found, k


either = st.one_of(tied_overlaps(), generic_overlaps())


@some
@given(either)
def test_a_staircase_holds_the_smallest_feasible_dimension(instance):
    found, k = instance
    stairs = staircases(found, k, k)
    for p, q in found.pairs():
        table = found.table(p, q)
        for b in range(found.sizes[q] + 1):
            enough = np.flatnonzero(table[:, b] >= k * (1 - 1e-9))
            least = max(k, enough[0]) if len(enough) else found.sizes[p] + 1
            assert stairs.needs[p, q, b] == least


@some
@given(either, st.data())
def test_feasible_is_the_definition(instance, data):
    found, k = instance
    d = np.array([data.draw(st.integers(k, int(D))) for D in found.sizes])
    assert staircases(found, k, k).feasible(d) == is_feasible(found, d, k, k)


@many
@given(either, st.randoms(use_true_random=False))
def test_exact_equals_enumeration(instance, random):
    found, k = instance
    (least, least_squares), minimisers = brute_force(found, k, k)
    rank = list(range(1, found.n_views + 1))  # 1 for the view preferred most
    random.shuffle(rank)
    chosen = exact(staircases(found, k, k), k, preference=-np.array(rank, dtype=float))
    assert is_feasible(found, chosen.d, k, k)
    assert chosen.d.sum() == least == chosen.lower_bound
    assert (chosen.d**2).sum() == least_squares
    assert tuple(chosen.d) in minimisers  # the only one, where there is only one
    assert chosen.d @ rank == min(np.array(d) @ rank for d in minimisers)


@pytest.mark.parametrize("solver", ["authors", "paper"])
@some
@given(instance=either)
def test_a_search_is_feasible_and_its_bound_is_one(solver, instance):
    found, k = instance
    chosen = choose_dimensions(staircases(found, k, k), k, solver)
    (least, _), _ = brute_force(found, k, k)
    assert is_feasible(found, chosen.d, k, k)
    assert chosen.certificate.objective == chosen.d.sum() >= least
    assert chosen.certificate.lower_bound <= least


@some
@given(either)
def test_the_bound_is_at_least_the_trivial_one_and_never_above_the_optimum(instance):
    found, k = instance
    stairs = staircases(found, k, k)
    (least, _), _ = brute_force(found, k, k)
    assert k * found.n_views <= lower_bound(stairs, stairs.upper.copy()) <= least


def test_the_bound_is_half_integral_where_three_views_pull_in_a_circle():
    """Each pair of three views needs one more direction on either side: LP 1.5, optimum 2."""
    blocks = np.zeros((3, 3, 2, 2))
    blocks[:, :, 0, 1] = blocks[:, :, 1, 0] = 1.0  # S[1,1] = 0, S[1,2] = S[2,1] = 1
    found = overlap_of_blocks(blocks, N)
    chosen = choose_dimensions(staircases(found, 1, 1.0), 1, "exact")
    assert chosen.d.sum() == 5
    assert chosen.certificate.optimal
    assert lower_bound(staircases(found, 1, 1.0), np.array([2, 2, 2])) == 5  # 3 + ceil(1.5)


@some
@given(generic_overlaps(), st.randoms(use_true_random=False))
def test_values_do_not_depend_on_the_order_of_views(instance, random):
    found, k = instance
    order = list(range(found.n_views))
    random.shuffle(order)
    spans = [np.arange(found.starts[p], found.starts[p + 1]) for p in order]
    kept = np.concatenate(spans)
    starts = np.concatenate([[0], np.cumsum(found.sizes[order])])
    turned = type(found)(found.cross[np.ix_(kept, kept)], starts, found.n_samples)
    for solver in ("authors", "paper"):
        before = choose_dimensions(staircases(found, k, k), k, solver)
        after = choose_dimensions(staircases(turned, k, k), k, solver)
        np.testing.assert_array_equal(before.d[order], after.d)
    before, after = (exact(staircases(o, k, k), k) for o in (found, turned))
    assert before.d.sum() == after.d.sum()
    assert (before.d**2).sum() == (after.d**2).sum()


def test_what_ties_remain_go_to_the_preferred_view():
    """(2, 3) and (3, 2) have the same sum and the same sum of squares."""
    blocks = np.zeros((2, 2, 3, 3))
    blocks[0, 1, 1, 2] = blocks[0, 1, 2, 1] = 1.0
    stairs = staircases(overlap_of_blocks(blocks, N), 1, 1.0)
    for preference, d in (([1.0, 0.5], (3, 2)), ([0.5, 1.0], (2, 3))):
        assert tuple(exact(stairs, 1, np.array(preference)).d) == d


def test_a_solver_out_of_time_leaves_the_best_known_and_an_honest_gap(monkeypatch):
    """Three views in a circle: the relaxation does not decide, and HiGHS is stopped early."""
    blocks = np.zeros((3, 3, 4, 4))
    blocks[:, :, 0, 3] = blocks[:, :, 3, 0] = 1.0
    stairs = staircases(overlap_of_blocks(blocks, N), 1, 1.0)
    known = np.array([1, 4, 4])
    for x, bound in ((None, None), (1.0, 0.0)):  # nothing found; a bad solution found

        def stopped(weights, x=x, bound=bound, **_):
            found = None if x is None else np.full(len(weights), x)
            return SimpleNamespace(x=found, mip_dual_bound=bound, status=1)

        monkeypatch.setattr("mkclust.cover.milp", stopped)
        found = optimum(stairs, known)
        assert stairs.feasible(found.d)
        assert found.d.sum() == known.sum() == 9
        assert found.lower_bound < 9  # not proven


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
    chosen, history = authors(staircases(found, k, k), k)
    np.testing.assert_array_equal(chosen, d)
    assert trace_of(history, start) == trace


def test_paper_is_a_fixed_point_with_the_penalty_doubled_each_round():
    found = overlap(planted_spectra(np.random.default_rng(0), 60, [20] * 4, shared=2, noise=1.0))
    stairs = staircases(found, 3, 3)
    d, history = paper(stairs, 3, penalty=0.25)
    assert [turn.penalty for turn in history] == [0.25 * 2**i for i in range(len(history))]
    assert history[-1].d == history[-1].d_hat == tuple(d)
    first = history[0]
    expected = np.maximum(stairs.least(stairs.upper), stairs.upper - 2)  # d-hat - 1/(2M), M = 1/4
    np.testing.assert_array_equal(first.d, expected)


def test_paper_depends_on_its_first_penalty_and_exact_is_below_all_of_them():
    found = overlap(planted_spectra(np.random.default_rng(1), 100, [40] * 4, shared=3, noise=1.0))
    stairs = staircases(found, 4, 4)
    objectives = {M: int(paper(stairs, 4, penalty=M)[0].sum()) for M in (2.0**-6, 0.25, 8.0)}
    assert len(set(objectives.values())) > 1
    assert exact(stairs, 4).d.sum() <= min(objectives.values())


def test_two_identical_views_keep_k_directions():
    V = random_spectra(np.random.default_rng(0), 50, [12])[0]
    for k in (2, 5, 7):
        for solver in ("authors", "exact"):
            stairs = staircases(overlap([V, V]), k, k)
            np.testing.assert_array_equal(choose_dimensions(stairs, k, solver).d, [k, k])


@pytest.mark.parametrize("solver", ["authors", "paper", "exact"])
def test_one_view_keeps_k_directions(solver):
    found = overlap(random_spectra(np.random.default_rng(0), 20, [8]))
    chosen = choose_dimensions(staircases(found, 3, 3), 3, solver)
    np.testing.assert_array_equal(chosen.d, [3])
    assert chosen.certificate.optimal


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
    chosen = choose_dimensions(staircases(known, k, threshold), k, "exact", horizon=5)
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
    chosen = choose_dimensions(staircases(known, 3, 1.0), 3, "exact", horizon=5)
    np.testing.assert_array_equal(chosen.d, [1, 5, 5])
    assert not chosen.certificate.whole_spectrum


def test_the_scope_is_whole_exactly_up_to_the_reach():
    """D + 1 + (m-1)k >= objective: two views, k = 1, D = 3, so up to a sum of 5."""
    for directions, claimed in ((2, True), (3, False)):
        blocks = np.zeros((2, 2, 3, 3))
        blocks[0, 1, directions - 1, directions - 1] = 1.0  # feasible only at (directions, same)
        found = overlap_of_blocks(blocks, N)
        chosen = choose_dimensions(staircases(found, 1, 1.0), 1, "exact", horizon=3)
        np.testing.assert_array_equal(chosen.d, [directions, directions])
        assert chosen.certificate.optimal
        assert chosen.certificate.whole_spectrum is claimed
    everything = choose_dimensions(staircases(found, 1, 1.0), 1, "exact", horizon=None)
    assert everything.certificate.whole_spectrum


def test_certificate_says_in_words_what_is_proven():
    proven = Certificate(22, 22, directions=30, whole_spectrum=True, seconds=0.1)
    assert proven.optimal
    assert proven.gap == 0
    assert "optimal" in str(proven)
    assert "22" in str(proven)
    assert "whole spectrum" in str(proven)
    short = Certificate(25, 20, directions=30, whole_spectrum=False, seconds=0.1)
    assert not short.optimal
    assert short.gap == 5
    assert "optimal" not in str(short)
    for number in ("25", "20", "5", "25.0 %", "first 30"):
        assert number in str(short)
    assert "whole" not in str(short)


def test_sixty_nine_kernels_are_solved_with_proof():
    """940 samples, k = 4, no signal in a third of the views: the paper's Plant by shape."""
    rng = np.random.default_rng(0)
    n, m, k, D = 940, 69, 4, 80
    unrelated = range(0, m, 3)
    found = overlap(planted_spectra(rng, n, [D] * m, k - 1, noise=0.6, unrelated=unrelated))
    stairs = staircases(found, k, k)
    by_search = choose_dimensions(stairs, k, "authors", horizon=D)
    proven = choose_dimensions(stairs, k, "exact", horizon=D)
    assert proven.certificate.optimal
    assert stairs.feasible(proven.d)
    assert by_search.certificate.lower_bound <= proven.certificate.objective
    assert proven.certificate.objective < by_search.certificate.objective


# ---------------------------------------------------------------- constraints out of reach


def test_clean_views_at_large_n_end_near_k_not_at_the_last_direction():
    """k - 1 shared directions, and noise that cannot supply the k-th: METHODS 2.4."""
    rng = np.random.default_rng(0)
    n, k, D = 20_000, 10, 60
    found = overlap(planted_spectra(rng, n, [D] * 4, shared=k - 1, noise=0.4))
    assert len(shortfall(found, k)) == 6
    stairs = relaxed_staircases(found, k, k)
    assert stairs.relaxed
    assert stairs.exempt == ()
    assert stairs.unrelated() == []
    assert stairs.threshold < k - 1
    for solver in ("authors", "exact"):
        d = choose_dimensions(stairs, k, solver).d
        assert (d >= k).all()
        assert (d <= k + 2).all()


def test_the_last_bit_of_overlap_is_not_bought_with_every_direction():
    """Signal that leaks into all later directions: all of it would take all of them."""
    rng = np.random.default_rng(3)
    n, k, D = 10_000, 10, 60
    spectra = []
    for spectrum in planted_spectra(rng, n, [D] * 3, shared=k - 1, noise=0.2):
        leak = np.triu(0.03 * rng.standard_normal((D, D)), 1)
        turn = scipy.linalg.expm(leak - leak.T)
        spectra.append(Spectrum(spectrum.vectors @ turn, spectrum.values, complete=False))
    found = overlap(spectra)
    at_k, at_most = (found.at(np.full(3, size))[0, 1] for size in (k, D))
    assert at_k < 0.97 * at_most < k - 1
    d = choose_dimensions(relaxed_staircases(found, k, k), k, "exact").d
    assert (d < 2 * k).all()


def test_an_unrelated_view_is_exempt_and_the_others_are_not():
    rng = np.random.default_rng(1)
    n, k, D = 5_000, 5, 40
    spectra = planted_spectra(rng, n, [D] * 4, shared=k, noise=0.3, unrelated=[2])
    found = overlap(spectra)
    assert set(shortfall(found, k)) == {(0, 2), (1, 2), (2, 3)} | set(shortfall(found, k))
    stairs = relaxed_staircases(found, k, k)
    assert set(stairs.exempt) == {(0, 2), (1, 2), (2, 3)}
    assert stairs.unrelated() == [2]
    d = choose_dimensions(stairs, k, "authors").d
    assert (d[[0, 1, 3]] <= k + 2).all()
    assert d[2] == k
    # What is still asked of the clean pairs is real agreement, not nothing.
    assert stairs.threshold > k / 2


def test_relaxed_constraints_hold_beyond_chance():
    rng = np.random.default_rng(2)
    n, k = 2_000, 6
    found = overlap(planted_spectra(rng, n, [30] * 3, shared=k - 1, noise=0.8))
    stairs = relaxed_staircases(found, k, k)
    for solver in ("authors", "paper", "exact"):
        d = choose_dimensions(stairs, k, solver).d
        for p, q in found.pairs():
            a, b = np.ogrid[: d[p] + 1, : d[q] + 1]
            beyond = (found.table(p, q)[: d[p] + 1, : d[q] + 1] - a * b / n).max()
            assert beyond >= stairs.threshold * (1 - 1e-9)
    assert stairs.threshold <= k


@pytest.mark.parametrize("n", [10, 40])
def test_identical_views_are_never_called_unrelated(n):
    """Centred kernels of n = k samples have n - 1 directions, so k is out of reach by one."""
    V = random_spectra(np.random.default_rng(n), n, [n - 1], complete=True)[0]
    found = overlap([V, V])
    assert shortfall(found, n)
    assert relaxed_staircases(found, n, n).unrelated() == []


@pytest.mark.parametrize("n", [50, 1000])
def test_random_views_are_called_unrelated(n):
    """The test for chance must not be so lenient that noise passes it."""
    flagged = 0
    for seed in range(20):
        found = overlap(random_spectra(np.random.default_rng(seed), n, [12, 15]))
        flagged += relaxed_staircases(found, 10, 10).unrelated() == [0, 1]
    assert flagged == 20


# ---------------------------------------------------------------- real data


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
        spectra = Spectra(KernelBank(views, KernelRecipe(kernel)), views.names)
        size = 2 * k
        spectra.grow(size)
        while shortfall(overlap(spectra), k) and spectra.horizon is not None:
            size *= 2
            spectra.grow(size)
        found = overlap(spectra)
        make = relaxed_staircases if shortfall(found, k) else staircases
        stairs = make(found, k, k)
        proven = choose_dimensions(stairs, k, "exact", spectra.horizon)
        assert proven.certificate.optimal, file.name
        assert stairs.feasible(proven.d), file.name
        for solver in ("authors", "paper"):
            searched = choose_dimensions(stairs, k, solver, spectra.horizon)
            assert stairs.feasible(searched.d), file.name
            assert searched.d.sum() >= proven.d.sum(), file.name
            assert searched.certificate.lower_bound <= proven.d.sum(), file.name
            below += searched.d.sum() > proven.d.sum()
    assert below > len(files) / 2  # the searches do miss the optimum
