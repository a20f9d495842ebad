"""The null model keeps what is no cluster structure: means, covariances, values, gaps."""

import numpy as np
import pytest
import scipy.sparse as sp

from mkclust import GraphFusion, MultiView, choose_k
from mkclust.data.datasets import make_views
from mkclust.inspection.null_model import NullModel


def draws(views, count=200):
    rng, model = np.random.default_rng(0), NullModel(views)
    return [model.draw(rng) for _ in range(count)]


def test_means_and_covariances_of_all_views_together_are_kept():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 6)) @ rng.standard_normal((6, 6)) + 3.0
    found = draws(MultiView([X[:, :3], X[:, 3:]]))
    together = np.vstack([np.hstack(each.views) for each in found])
    assert together.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.1)
    spread = X.std(axis=0)
    errors = (np.cov(together.T) - np.cov(X.T, bias=True)) / np.outer(spread, spread)
    assert np.abs(errors).max() < 0.1


def test_a_uniform_line_is_drawn_flat_and_two_clusters_are_not_drawn_as_such():
    rng = np.random.default_rng(0)
    line = rng.uniform(-1, 1, 300)
    for given, kurtosis in ((line, 1.8), (np.sign(line), 1.8), (rng.standard_normal(300), 3.0)):
        X = np.outer(given, [1, 2, -1]) + 0.05 * rng.standard_normal((300, 3))
        axes = [each.views[0] @ [1, 2, -1] for each in draws(MultiView([X]), 30)]
        ratios = [np.mean((a - a.mean()) ** 4) / a.var() ** 2 for a in axes]
        assert np.mean(ratios) == pytest.approx(kurtosis, abs=0.25)


def test_a_square_across_its_principal_axes_is_drawn_as_a_square():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(-1, 1, (300, 2)), 5, axis=1) + 0.05 * rng.standard_normal((300, 10))
    squares = [each.views[0][:, ::5] for each in draws(MultiView([X]), 30)]
    assert np.mean([np.mean(a**4, axis=0) / a.var(axis=0) ** 2 for a in squares]) < 2.0


NOISE = {
    "log-normal": lambda rng, shape: rng.lognormal(0, 1, shape),
    "exponential": lambda rng, shape: rng.exponential(1, shape),
    "negative binomial": lambda rng, shape: rng.negative_binomial(1, 0.2, shape).astype(float),
    "heavy tails": lambda rng, shape: rng.standard_t(2, shape),
}


@pytest.mark.parametrize("kind", NOISE)
def test_skewed_and_heavy_tailed_noise_has_no_structure(kind):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        views = MultiView([NOISE[kind](rng, (200, 10)) for _ in range(2)])
        assert not choose_k(GraphFusion(2), views, (2, 6), random_state=seed).structure


def test_skewed_factors_that_views_share_are_no_structure():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        factors, draw = rng.exponential(1, (124, 8)), rng.standard_normal
        views = [factors @ draw((8, 300)) + draw((124, 300)) for _ in range(3)]
        assert not choose_k(views).structure


@pytest.mark.filterwarnings("error")
def test_draws_do_not_depend_on_units_and_constant_columns_stay():
    X = np.c_[np.random.default_rng(0).lognormal(0, 1, (60, 4)), np.ones(60)]
    one, other = (draws(MultiView([X * unit]), 1)[0].views[0] for unit in (1.0, 1e-6))
    assert other == pytest.approx(one * 1e-6)
    assert (one >= X.min(axis=0)).all() and (one <= X.max(axis=0)).all()


def test_drawn_kernels_are_rotated():
    X = make_views(30, 3, 1, n_features=4, random_state=0).views[0]
    K, expected = X @ X.T, np.linalg.eigvalsh(X @ X.T)
    for each in draws(MultiView([K], kernels=True), 3):
        assert np.linalg.eigvalsh(each.views[0]) == pytest.approx(expected, abs=1e-9)
        assert each.views[0].sum() == pytest.approx(K.sum())


def test_missing_samples_stay_missing():
    tables = [view.copy() for view in make_views(40, 2, 2, random_state=0).views]
    tables[1][:15] = np.nan
    drawn = draws(MultiView(tables), 1)[0]
    assert (drawn.present == MultiView(tables).present).all()
    K = np.full((40, 40), np.nan)
    K[15:, 15:] = tables[1][15:] @ tables[1][15:].T
    views = MultiView([tables[0] @ tables[0].T, K], kernels=True)
    assert (draws(views, 1)[0].present == views.present).all()


def test_discrete_columns_keep_their_values():
    rng = np.random.default_rng(0)
    X = np.c_[rng.random(50) < 0.3, rng.integers(0, 4, 50), rng.random(50)]
    drawn = draws(MultiView([X]), 1)[0].views[0]
    assert (np.sort(drawn[:, :2], axis=0) == np.sort(X[:, :2], axis=0)).all()
    assert (drawn[:, :2] != X[:, :2]).any() and np.isin(drawn[:, 2], X[:, 2]).mean() < 0.2


@pytest.mark.parametrize("missing", [False, True])
def test_counts_keep_entries_per_sample_and_values_per_column(missing):
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 200), density=0.03, rng=rng, format="csr")
    present = np.ones((60, 2), dtype=bool)
    present[:20, 0] = not missing
    views = MultiView([X, rng.random((60, 3))], present=present)
    drawn, held = draws(views, 1)[0].views[0], views.own_rows(0)
    assert sp.issparse(drawn) and drawn.shape == X.shape
    assert np.isin(drawn.data, held.data).all()
    assert 0.95 * held.nnz <= drawn.nnz <= held.nnz  # entries that meet are merged
    before = np.diff(views.views[0].indptr)
    assert (np.diff(drawn.indptr) <= before).all()
    after, before = (np.bincount(each.indices, minlength=200) for each in (drawn, X))
    assert (after <= before).all()
