"""How many clusters: planted numbers are found, and data without clusters give 1."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from mkclust import AKKM, MKCDNM, GraphFusion, MultiView, choose_k
from mkclust.base import Partitions
from mkclust.data.datasets import make_cohort, make_views
from mkclust.exceptions import InputError
from mkclust.inspection.choose_k import (
    SHAPE,
    Candidate,
    ChoiceOfK,
    StructureTest,
    held_out_modularity,
    modularities,
    modularity,
    spread_out,
)
from mkclust.inspection.null_model import NullModel
from mkclust.metrics import ari


def test_planted_clusters_are_counted_and_the_table_says_what_splits():
    found = choose_k(GraphFusion(2), make_views(150, 5, 3, noise=0.8, random_state=5), (2, 8))
    assert found.k == 5 and found.structure and found.p_value < 0.001
    assert found.low <= 5 <= found.high
    assert [row.k for row in found.table] == list(range(2, 9))
    best = found.table[3]
    assert best.held_out == max(row.held_out for row in found.table)
    assert best.null < best.null_high < min(best.tested, best.modularity)
    assert all(sum(row.sizes) == 150 and len(row.sizes) == row.k for row in found.table)
    assert best.sizes == (30,) * 5
    assert found.table[0].splits == () and best.splits == ((60, (30, 30)),)
    assert "5 clusters: 30 30 30 30 30 (split: 60 into 30 + 30)" in found.tree()
    assert found.to_frame()["held_out"].idxmax() == 5


@pytest.mark.parametrize("seed", range(4))
def test_noise_has_no_structure(seed):
    n, m = (100, 120, 150, 400)[seed], 2 + seed
    for views in (
        make_views(n, 2, 0, n_noise_views=m, random_state=seed),
        make_views(n, 1, m, random_state=seed),
    ):
        answer = choose_k(GraphFusion(2), views, (2, 10), random_state=seed)
        assert (answer.k, answer.low, answer.high, answer.structure) == (1, 1, 1, False)
        assert answer.p_value > 0.05 and len(answer.table) == 9
        assert "no cluster structure" in str(answer)


@pytest.mark.parametrize(
    ("k", "n", "noise"), [(2, 60, 0.3), (2, 100, 1.0), (3, 120, 1.5), (8, 400, 1.0)]
)
def test_planted_clusters_are_structure(k, n, noise):
    views = make_views(n, k, 3, noise=noise, random_state=k)
    assert ari(views.labels, GraphFusion(k, random_state=0).fit(views).labels_) > 0.9
    answer = choose_k(GraphFusion(2), views, (2, 10))
    assert answer.structure and answer.low <= k <= answer.high


@pytest.mark.parametrize("method", [GraphFusion, MKCDNM, AKKM])
def test_yes_no_data_and_narrow_views(method):
    rng = np.random.default_rng(0)
    noise = [(rng.random((80, 6)) < 0.5).astype(float) for _ in range(2)]
    kernels = [{}] if method is GraphFusion else [{"kernel": "linear"}, {"kernel": "cosine"}]
    for given in kernels:
        assert not choose_k(method(2, **given), noise, (2, 6)).structure
        narrow = [np.eye(3)[np.arange(60) % 3, :2] + rng.random((60, 2)) / 9 for _ in range(2)]
        assert len(choose_k(method(2, **given), narrow, (2, 5)).table) == 4


def test_samples_that_a_view_lacks():
    views = make_views(120, 3, 3, noise=0.6, random_state=0)
    tables = [view.copy() for view in views.views]
    tables[1][:30], tables[2][100:] = np.nan, np.nan
    assert choose_k(GraphFusion(2), tables, (2, 4)).k == 3


def test_the_answer_tells_that_samples_were_drawn(monkeypatch):
    views = make_views(160, 3, 2, noise=0.5, random_state=0)
    assert choose_k(GraphFusion(2), views, (2, 4)).drawn is None
    monkeypatch.setitem(choose_k.__globals__, "ROWS", 100)
    answer = choose_k(GraphFusion(2), views, (2, 4))
    assert answer.drawn == 100 == sum(answer.table[0].sizes)
    assert str(answer) == "3 clusters (2 to 4 tried on 100 samples drawn at random)"


def test_counts():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(300, 0.05), 3)
    length = rng.integers(20, 60, 150)
    one = [rng.multinomial(n, topics.mean(axis=0)) for n in length]
    three = [rng.multinomial(n, topics[i % 3]) for i, n in enumerate(length)]
    assert choose_k(GraphFusion(2), [sp.csr_array(np.array(three, dtype=float))], (2, 6)).k == 3
    assert choose_k(GraphFusion(2), [sp.csr_array(np.array(one, dtype=float))], (2, 6)).k == 1


def test_a_view_that_is_constant_in_the_subsample():
    views = make_views(600, 3, 2, noise=0.5, random_state=0)
    rare = np.zeros((600, 1))
    rare[0] = 1.0
    assert choose_k(GraphFusion(2), [*views.views, rare], (2, 5)).structure


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ((5, 2), "empty"),
        ((1, 4), "from 2 on"),
        ([], "from 2 on"),
        ([2, 2.5], "from 2 on"),
        ((2, 12), "20 samples .* try up to 10"),
        ("many", "auto"),
    ],
)
def test_impossible_numbers_are_refused(asked, complaint):
    with pytest.raises(InputError, match=complaint):
        choose_k(GraphFusion(2), make_views(20, 2, 2, random_state=0), asked)


def test_a_plateau_is_a_range():
    row = Candidate(4, 0.5, 0.5, 0.5, 0.3, 0.4, (10, 10))
    choice = ChoiceOfK(5, True, 4, 6, 0.001, (replace(row, k=2), replace(row, k=9)))
    assert str(choice) == "4 to 6, best 5 clusters (2, 9 tried)"
    assert str(replace(choice, low=5, high=5)) == "5 clusters (2, 9 tried)"
    assert str(replace(choice, low=5, high=5, table=(row,))) == "5 clusters (the only number tried)"


def test_modularity_is_that_of_newman():
    rng = np.random.default_rng(0)
    A = rng.random((12, 12)) * (rng.random((12, 12)) < 0.4)
    A, labels = A + A.T, rng.integers(0, 3, 12)
    degree, same = A.sum(axis=1), labels[:, None] == labels
    expected = ((A - np.outer(degree, degree) / A.sum()) * same).sum() / A.sum()
    found = Partitions(sp.csr_array(A), {3: labels})
    limit = 1 - np.outer(degree, degree)[same].sum() / A.sum() ** 2
    assert modularities(found, [3])[:, 0] == pytest.approx([expected, limit])


def test_p_values_at_the_limit_of_the_null_hypothesis_are_uniform():
    rng = np.random.default_rng(0)
    ks, odds = np.arange(2, 7), rng.normal(0.8, 0.1, (300, 16, 5))

    def modularity_of(odds):
        return np.stack([(1 - 1 / ks) / (1 + np.exp(-odds)), 0 * odds + 1 - 1 / ks], axis=-2)

    limits = [modularity_of(each[0] + SHAPE) for each in odds]
    null = [modularity_of(each[1:]) for each in odds]
    tests = [StructureTest(ks, a, b) for a, b in zip(limits, null, strict=True)]
    p = [test.p_value for test in tests]
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.08 and 0.4 < np.mean(p) < 0.6


def test_p_values_do_not_depend_on_the_number_of_threads():
    views, found = make_cohort(random_state=0), []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(choose_k(views).p_value)
    assert found[0] == found[1]


def test_few_numbers_are_compared_with_the_null_model():
    assert spread_out([4]) == [4] and spread_out([2, 3]) == [2, 3]
    assert len(spread_out(range(2, 150))) == 7
    null = np.array([[[0.2, 0.2], [1, 1]], [[0.2, 0.4], [1, 1]]])
    test = StructureTest(np.array([2, 8]), np.array([[0.3, 0.5], [1, 1]]), null)
    observed, mean, deviation = test.curves([2, 4, 8])
    assert observed == pytest.approx([0.3, 0.4, 0.5]) and mean == pytest.approx([0.2, 0.25, 0.3])
    assert deviation[[0, 2]] == pytest.approx([0, 0.2 / np.sqrt(2)])


def test_clusters_of_unequal_sizes_are_structure():
    group = np.repeat([0, 1, 2], [110, 20, 20])
    for seed in range(3):
        rng = np.random.default_rng(seed)
        views = 1.5 * rng.standard_normal((2, 3, 5))[:, group] + rng.standard_normal((2, 150, 5))
        assert choose_k(list(views), k_range=(2, 8), random_state=seed).structure


def test_held_out_modularity_is_that_of_the_other_half():
    views, ks = make_views(81, 3, 2, noise=1.0, random_state=0), [2, 3, 21]
    graph = GraphFusion(2).affinity(views, 3)
    found = held_out_modularity(GraphFusion(2), views, graph, ks, 4)
    order = np.random.default_rng(4).permutation(81)
    own, other = np.sort(order[:40]), np.sort(order[40:])
    labels = GraphFusion(2).partitions(views[own], [2, 3], 4, 1).labels[3]
    weights = np.stack([graph.toarray()[np.ix_(other, own[labels == c])].sum(1) for c in range(3)])
    assert weights.max(axis=0).min() > 0
    expected = modularity(graph[other][:, other], weights.argmax(axis=0))
    assert found[0, 1] == pytest.approx(expected) and not found[:, 2].any()
    assert (found[:, 1] > found[:, 0]).all()


def test_numbers_too_large_for_half_the_samples():
    views = make_views(16, 4, 2, noise=0.1, random_state=0)
    found = choose_k(GraphFusion(2), views, [3, 5, 7])
    assert [row.held_out > 0 for row in found.table] == [True, False, False]
    only = choose_k(GraphFusion(2), views, [5, 6])
    assert [row.held_out for row in only.table] == [0.0, 0.0] and only.k in (1, 5, 6)


def test_links_between_samples_are_dealt_out():
    """A Gaussian with the covariance of cliques, cut to yes and no, has cliques again."""
    owner = np.repeat(np.arange(4), 30)
    links = (owner[:, None] == owner).astype(float)
    null = NullModel(MultiView([links])).draw(np.random.default_rng(0)).views[0]
    assert sp.issparse(null) and null.sum() > 0.8 * links.sum()
    assert choose_k(GraphFusion(2), [links, links + 0.1 * np.eye(120)], (2, 6)).k == 4


def test_views_alone_are_enough():
    views = make_views(90, 3, 2, noise=0.5, random_state=0)
    assert choose_k(views, k_range=(2, 5)) == choose_k(GraphFusion(2), views, (2, 5))
    kernels = MultiView([X @ X.T for X in views.views], kernels=True)
    assert choose_k(kernels, k_range=(2, 4)).k == 3
    with pytest.raises(InputError, match="k_range is given by name"):
        choose_k(views, (2, 5))
