"""Test whether data have cluster structure: their modularity against that of a null model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy import stats

from ..base import MultiViewClusterer, Partitions
from ..data.views import MultiView
from ..linalg.scaling import varies
from ..progress import step
from .fitting import unfitted
from .null_model import NullModel

FIRST, DRAWS = 6, 15  # of the null model: the first ones decide where the answer is clear
CLEAR = (0.001, 0.7)  # p-values below and above which it is
LEVEL = 0.05  # error rate: how often data without structure pass for clustered, at most
FEWEST, SAMPLES, MORE_SAMPLES = 100, 300, 1000  # on which data and null model are compared
TRIED = 7  # numbers of clusters among which they are compared; those between are interpolated
SHAPE = 0.08  # of the null model's modularity: what the shape of a single cluster can add to it
SMALLEST = 1e-3  # standard deviation of a modularity; a smaller one is taken as this


@dataclass(frozen=True)
class StructureTest:
    """Modularity of a subsample and of the null model, for some numbers of clusters.

    Attributes
    ----------
    ks : (t,) int array
    observed : (t,) array
        Modularity of the subsample.
    null : (B, t) array
        Modularity of B draws of the null model, of the same size.
    """

    ks: np.ndarray
    observed: np.ndarray
    null: np.ndarray

    @property
    def p_value(self) -> float:
        r"""Return the probability of so large an excess without structure.

        The statistic is $T = \max_k (Q_k - 1.08\mu_k) / s_k$ with the mean and standard deviation
        of the null model's modularity. The factor allows for shapes of a single cluster that
        the null model does not have: a uniform square has up to 8 % more modularity than a
        Gaussian of its covariance. T of every draw, without the factor, against the others gives
        the mean and standard deviation of T, and Student's t distribution the probability.
        """
        B = len(self.null)
        drawn = [_excess(self.null[b], np.delete(self.null, b, axis=0)) for b in range(B)]
        spread = np.std(drawn, ddof=1) * np.sqrt(1 + 1 / B)
        t = (
            _excess(self.observed - SHAPE * self.null.mean(axis=0), self.null) - np.mean(drawn)
        ) / max(spread, SMALLEST)
        return float(stats.t.sf(t, B - 1))

    def curves(self, ks: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return observed modularity, and mean and standard deviation of the null model's.

        Numbers of `ks` between those compared are interpolated on a logarithmic scale.
        """
        found = (self.observed, self.null.mean(axis=0), _deviation(self.null))
        observed, mean, deviation = (np.interp(np.log(ks), np.log(self.ks), y) for y in found)
        return observed, mean, deviation


def structure_test(
    estimator: MultiViewClusterer, views: MultiView, ks: Sequence[int], random_state: int
) -> StructureTest:
    """Compare the estimator's partitions of some samples with those of null views.

    Six draws of 100 samples are enough where the p-value is then below 0.001. Otherwise,
    six draws of 300 samples are enough where the p-value is then below 0.001 or above 0.7. Else 15
    draws of 1000 samples decide.
    """
    if len(views) > FEWEST:
        test = _compared(estimator, views, ks, random_state, FEWEST, FIRST)
        if test.p_value < CLEAR[0]:
            return test
    test = _compared(estimator, views, ks, random_state, SAMPLES, FIRST)
    if CLEAR[0] < test.p_value < CLEAR[1]:
        test = _compared(estimator, views, ks, random_state, MORE_SAMPLES, DRAWS)
    return test


def _compared(
    estimator: MultiViewClusterer,
    views: MultiView,
    ks: Sequence[int],
    random_state: int,
    samples: int,
    draws: int,
) -> StructureTest:
    rng = np.random.default_rng(random_state)
    some = drawn(views, samples, rng)
    tried = spread_out([k for k in ks if k <= len(some) // 2] or [2])
    model, null = NullModel(some), []
    for b in range(draws):
        step(f"null model, draw {b + 1} of {draws}")
        null.append(_modularities(estimator, model.draw(rng), tried, random_state))
    observed = _modularities(estimator, some, tried, random_state)
    return StructureTest(np.array(tried), observed, np.array(null))


def _modularities(
    estimator: MultiViewClusterer, views: MultiView, ks: Sequence[int], random_state: int
) -> np.ndarray:
    found = unfitted(estimator, n_clusters=2).partitions(views, list(ks), random_state, n_init=1)
    return np.array([modularity_of(found, k) for k in ks])


def modularity_of(found: Partitions, k: int) -> float:
    """Return the modularity of the partition into k clusters on the common graph."""
    return modularity(found.graph, found.labels[k])


def modularity(graph: sp.csr_array, labels: np.ndarray) -> float:
    r"""Return $Q = \sum_c \big(\frac{e_c}{2m} - (\frac{d_c}{2m})^2\big)$ of a partition.

    $e_c$ is twice the weight of the edges inside cluster c, $d_c$ the sum of its degrees, and
    2m the sum of all degrees.

    References
    ----------
    M. Newman, M. Girvan. Finding and evaluating community structure in networks. Physical Review
    E 69, 2004.

    Examples
    --------
    >>> pairs = sp.csr_array(np.kron(np.eye(2), 1 - np.eye(2)))
    >>> modularity(pairs, np.array([0, 0, 1, 1]))
    0.5
    """
    degree = np.asarray(graph.sum(axis=1)).ravel()
    total = degree.sum()
    entries = graph.tocoo()
    inside = entries.data[labels[entries.coords[0]] == labels[entries.coords[1]]].sum()
    shares = np.bincount(labels, weights=degree) / total
    return float(inside / total - np.sum(shares**2))


def spread_out(ks: Sequence[int]) -> list[int]:
    """Return at most seven of some ascending numbers, in equal ratios, the ends among them.

    >>> spread_out(range(2, 21))
    [2, 3, 4, 6, 9, 14, 20]
    """
    wanted = np.geomspace(ks[0], ks[-1], TRIED)
    return sorted({min(ks, key=lambda k: abs(np.log(k / w))) for w in wanted})


def drawn(views: MultiView, size: int, rng: np.random.Generator) -> MultiView:
    """Draw at most `size` samples, and leave out views that do not vary among them."""
    n = len(views)
    return views if n <= size else subset(views, np.sort(rng.choice(n, size, replace=False)))


def subset(views: MultiView, rows: np.ndarray) -> MultiView:
    """Return some samples, without the views that do not vary among them."""
    some = views[rows]
    if views.kernels:
        return some
    used = [name for p, name in enumerate(some.names) if varies(some.own_rows(p)).any()]
    return some if len(used) == some.n_views else some.select(used)


def _excess(observed: np.ndarray, null: np.ndarray) -> float:
    return float(np.max((observed - null.mean(axis=0)) / _deviation(null)))


def _deviation(null: np.ndarray) -> np.ndarray:
    return np.maximum(null.std(axis=0, ddof=1), SMALLEST)
