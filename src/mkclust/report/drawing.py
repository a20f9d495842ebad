"""What the page and the plots draw alike: colors, layouts of samples, similarity by cluster.

No layout uses the labels: it depends on the embedding alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.optimize import linear_sum_assignment
from sklearn.manifold import TSNE
from sklearn.metrics import silhouette_samples

from ..linalg.eigenpairs import with_fixed_signs
from ..linalg.kmeans import unit_rows
from ..linalg.threads import one_thread

FEWEST = 20  # samples of a small cluster that are always drawn, if it has that many
TSNE_FROM, TSNE_UP_TO = 10, 2000  # samples; 2000 take about 2.5 s of CPU
TSNE_ROUNDS, TSNE_ANGLE = 350, 0.8  # 1000 rounds at angle 0.5 take 10 s and look the same
PERPLEXITY = 30.0
COMPARED = 2000  # samples between which all distances are computed
EMPTY = 1e-6  # 1 - leverage below which a sample alone determines its own prediction
# Colors that can be told apart with any color vision: Paul Tol's "muted" scheme and a gray; on
# dark ground its darkest tones are lighter.
LIGHT = (
    "#332288", "#CC6677", "#117733", "#88CCEE", "#882255",
    "#DDAA33", "#44AA99", "#AA4499", "#999933", "#66717D",
)  # fmt: skip
DARK = (
    "#8F7FE8", "#E08A97", "#3FAE62", "#88CCEE", "#D05A90",
    "#E3C05A", "#44BBAA", "#CF7CC4", "#B8B84A", "#A9B4BF",
)  # fmt: skip
SHAPES = ("circle", "triangle", "rect", "diamond", "arrow")  # names of the chart library
MARKERS = ("o", "^", "s", "D", "v")  # names of matplotlib

HEAT_LIGHT = ("#f7fafd", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
HEAT_DARK = ("#141c26", "#173f66", "#2a78b5", "#7dbbe3", "#eef6fc")


def cluster_style(cluster: int) -> tuple[str, str]:
    """Return a color and a matplotlib marker: ten colors, then the same with another marker.

    >>> cluster_style(0), cluster_style(10)
    (('#332288', 'o'), ('#332288', '^'))
    """
    lap, place = divmod(cluster, len(LIGHT))
    return LIGHT[place], MARKERS[lap % len(MARKERS)]


def sample_rows(labels: np.ndarray, limit: int, seed: int = 0) -> np.ndarray:
    """Draw at most `limit` rows, ascending: clusters in proportion, small ones kept.

    >>> labels = np.repeat([0, 1], [990, 10])
    >>> np.bincount(labels[sample_rows(labels, 100)])
    array([90, 10])
    """
    if len(labels) <= limit:
        return np.arange(len(labels))
    sizes = np.bincount(labels)
    least = np.minimum(sizes, min(FEWEST, limit // len(sizes)))
    rest = (limit - least.sum()) * (sizes - least) // (sizes - least).sum()
    rng = np.random.default_rng(seed)
    rows = [
        rng.choice(np.flatnonzero(labels == label), size, replace=False)
        for label, size in enumerate(least + rest)
    ]
    return np.sort(np.concatenate(rows))


def principal_plane(H: np.ndarray, present: np.ndarray | None = None) -> np.ndarray:
    """Return the first two principal components (n, 2) of the unit rows of H (n, r).

    Samples that are not `present` (n,) are NaN.
    """
    held = np.ones(len(H), dtype=bool) if present is None else present
    Z = unit_rows(np.asarray(H[held], dtype=float))
    Z = Z - Z.mean(axis=0)
    vectors = scipy.linalg.eigh(Z.T @ Z)[1]
    plane = Z @ with_fixed_signs(vectors[:, ::-1])[:, :2]
    points = np.full((len(H), 2), np.nan)
    points[held] = np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))
    return points


def rotate_onto(points: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Rotate or reflect points (n, 2) to lie closest to a reference (n, 2); NaN rows stay."""
    known = ~np.isnan(points[:, 0])
    U, _, Vt = scipy.linalg.svd(points[known].T @ reference[known])
    return np.asarray(points @ U @ Vt)


def tsne(H: np.ndarray) -> np.ndarray | None:
    """Return a t-SNE layout (n, 2) of the unit rows of H; None for too few or too many samples.

    The seed is fixed, and one thread is used, so that the same embedding gives the same layout.

    L. van der Maaten, G. Hinton. Visualizing data using t-SNE. Journal of Machine Learning
    Research 9, 2008.
    """
    if not TSNE_FROM <= len(H) <= TSNE_UP_TO:
        return None
    start = principal_plane(H)
    spread = start[:, 0].std()
    if not spread > 0:
        return None
    found = TSNE(
        init=(1e-4 * start / spread).astype(np.float32),
        perplexity=min(PERPLEXITY, (len(H) - 1) / 3),
        max_iter=TSNE_ROUNDS,
        angle=TSNE_ANGLE,
        random_state=0,
    )
    with one_thread():
        points = found.fit_transform(unit_rows(np.asarray(H, dtype=float)))
    return np.asarray(points - points.mean(axis=0), dtype=float)


def predict_layout(
    points: np.ndarray, head: np.ndarray, present: np.ndarray | None = None
) -> np.ndarray:
    r"""Predict a layout (n, 2) from the unit rows of a view's eigenvectors (n, r).

    The prediction is a linear regression, and every sample is left out of its own:
    $y_i - (y_i - \hat y_i)/(1 - h_{ii})$ with $\hat y$ the fitted values and h the leverages. A
    view without information about the layout puts all samples near the center. Samples that are
    not `present` are NaN.

    >>> rng = np.random.default_rng(0)
    >>> points = unit_rows(rng.standard_normal((200, 2)))
    >>> same = predict_layout(points, points)
    >>> other = predict_layout(points, rng.standard_normal((200, 2)))
    >>> bool(np.allclose(same, points)), bool(np.abs(other).mean() < 0.2)
    (True, True)
    """
    held = np.ones(len(points), dtype=bool) if present is None else present
    columns = np.column_stack([np.ones(held.sum()), unit_rows(np.asarray(head[held], dtype=float))])
    basis = scipy.linalg.orth(columns)
    fitted = basis @ (basis.T @ points[held])
    free = 1 - np.sum(basis**2, axis=1, keepdims=True)
    residual = np.divide(points[held] - fitted, free, out=np.zeros_like(fitted), where=free > EMPTY)
    found = np.full(points.shape, np.nan)
    found[held] = points[held] - residual
    return found


def block_means(
    H: np.ndarray, labels: np.ndarray, cells: int, present: np.ndarray | None = None
) -> np.ndarray:
    r"""Return cosines of all pairs of rows of H, sorted by cluster, as means over a grid.

    A mean of cosines is the product of mean unit rows, so all n^2 pairs count at O(n r) cost.
    (cells, cells), or (n, n) for n below that. Samples that are not `present` are left out of
    the means; a cell without samples is 0.
    """
    order = _sorted(labels)
    Z = unit_rows(np.asarray(H, dtype=float))[order]
    means = _cell_means(Z, cells)
    if present is not None:
        share = _cell_means(present[order].astype(float)[:, None], cells)
        means = np.divide(means, share, out=np.zeros_like(means), where=share > 0)
    return np.asarray(means @ means.T)


def graph_means(graph: np.ndarray, labels: np.ndarray, cells: int) -> np.ndarray:
    """Return the same for a graph (n, n): mean weights, divided by their 0.99 quantile."""
    order = _sorted(labels)
    symmetric = (graph + graph.T)[np.ix_(order, order)] / 2
    means = _cell_means(_cell_means(symmetric, cells).T, cells)
    top = np.quantile(means, 0.99) or means.max()
    return np.asarray(np.clip(means / top, 0, 1) if top > 0 else means)


def block_edges(labels: np.ndarray) -> np.ndarray:
    """Return where each cluster begins in the sorted order, and where the last ends: 0 to 1."""
    return np.concatenate([[0], np.cumsum(np.bincount(labels))]) / len(labels)


def co_clustering(refits: np.ndarray, labels: np.ndarray, limit: int) -> np.ndarray:
    """Return the share of refits that put two samples into one cluster, sorted by cluster.

    `refits` (r, n) are labels, -1 where a refit lacks a sample. At most `limit` samples are drawn.
    A pair that no refit holds has the mean of the pairs of its two clusters.

    >>> co_clustering(np.array([[0, 0, 1, -1], [1, 1, 0, 0]]), np.array([0, 0, 1, 1]), 10)[0]
    array([1., 1., 0., 0.])
    """
    rows = sample_rows(labels, limit)
    rows = rows[_sorted(labels[rows])]
    same, both = np.zeros((len(rows),) * 2), np.zeros((len(rows),) * 2)
    for found in refits[:, rows]:
        held = found >= 0
        same += np.equal.outer(found, found) & np.logical_and.outer(held, held)
        both += np.logical_and.outer(held, held)
    shares = np.divide(same, both, out=np.full(same.shape, np.nan), where=both > 0)
    own = [np.flatnonzero(labels[rows] == c) for c in np.unique(labels[rows])]
    for a in own:
        for b in own:
            mean = same[np.ix_(a, b)].sum() / max(both[np.ix_(a, b)].sum(), 1)
            shares[np.ix_(a, b)] = np.nan_to_num(shares[np.ix_(a, b)], nan=mean)
    return shares


def _sorted(labels: np.ndarray) -> np.ndarray:
    return np.argsort(labels, kind="stable")


def _cell_means(rows: np.ndarray, cells: int) -> np.ndarray:
    if len(rows) <= cells:
        return rows
    starts = np.linspace(0, len(rows), cells, endpoint=False).astype(int)
    sizes = np.diff(np.append(starts, len(rows)))
    return np.asarray(np.add.reduceat(rows, starts, axis=0) / sizes[:, None])


@dataclass(frozen=True)
class Silhouettes:
    """Silhouettes of `n_rows` samples: overall mean, and means (k,), NaN for an empty cluster."""

    mean: float
    by_cluster: np.ndarray
    n_rows: int


def silhouettes(H: np.ndarray, labels: np.ndarray) -> Silhouettes | None:
    """Compute silhouettes on the unit rows of an embedding H (n, r), or of a sample of them.

    None where there are fewer than two clusters, or as many as samples.

    >>> found = silhouettes(np.repeat(np.eye(2), 3, axis=0), np.repeat([0, 1], 3))
    >>> found.mean, found.by_cluster
    (1.0, array([1., 1.]))
    """
    rows = sample_rows(labels, COMPARED)
    drawn, sizes = labels[rows], np.bincount(labels)
    there = np.flatnonzero(sizes)
    if not 1 < len(there) < len(rows):
        return None
    values = silhouette_samples(unit_rows(np.asarray(H[rows], dtype=float)), drawn)
    means = np.full(len(sizes), np.nan)
    means[there] = [values[drawn == c].mean() for c in there]
    return Silhouettes(float(sizes[there] @ means[there] / len(labels)), means, len(rows))


def class_table(classes: np.ndarray, labels: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Count samples by cluster and class: names of the classes, and counts (k, classes).

    Classes are ordered so that matched clusters and classes lie on the diagonal; classes
    without a cluster follow, numbers in their order before words.

    >>> class_table(np.array(["a", "b", "b", "c"]), np.array([1, 0, 0, 2]))[0]
    ['b', 'a', 'c']
    """
    names, codes = np.unique(classes, return_inverse=True)
    table = np.zeros((int(labels.max()) + 1, len(names)), dtype=int)
    np.add.at(table, (labels, codes), 1)
    natural = np.argsort([_natural(name) for name in names], kind="stable")
    matched = linear_sum_assignment(table[:, natural], maximize=True)[1]
    rest = np.setdiff1d(np.arange(len(names)), matched)
    order = natural[np.concatenate([matched, rest])]
    return [str(names[c]) for c in order], table[:, order]


def _natural(name: str) -> float:
    """Return a number for names that are numbers, infinity for words."""
    try:
        return float(name)
    except ValueError:
        return np.inf
