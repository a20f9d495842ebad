r"""Views without clusters that keep means, covariances and missing samples of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import FastICA

from ..data.views import MultiView
from .fitting import quiet

FEW = 10  # distinct values up to which a column is taken as discrete
EXPONENTS = -4.0, 6.0  # of the Yeo-Johnson transform that are tried: from, up to and without
BENDS = 1e-3, 0.25, 0.5, 1.0, 2.0, 4.0  # b of arcsinh(b y), in median deviations, tried for tails
EVIDENT = 10.8  # twice the gain in log-likelihood from which a transform is made (p = 0.001)
FLAT = 1e-9  # an exponent or a variance nearer to 0 is taken as this
AXES = 10  # axes of the samples, at most, that are drawn with their own shape
FLATTEST = -1.2  # excess kurtosis of a uniform distribution, the flattest that has one mode
THIN = 0.1, 1 / 3  # share of nonzero entries up to which they are dealt out: sparse, discrete views


class NullModel:
    r"""Draw views without cluster structure that resemble given ones.

    $$\tilde X_p = f_p^{-1}(A f_p(X_p)), \quad A = QU^\top$$

    $f_p$ transforms every column: Yeo and Johnson's power removes its skewness, an inverse
    hyperbolic sine its heavy tails. U (n, n) is an orthonormal basis of the samples: the constant,
    then the principal axes of the transformed columns of all views together. Q is a random one
    that starts with the constant as well. A thus rotates the samples, which keeps means and
    covariances of the data, also between views, exactly: draws that only have them on average
    vary more than the data do, and hide clusters (rotation test).

    The columns of Q are orthonormalized Gaussian ones, except for the leading axes: up to ten that
    vary more than the average one. They are rotated to independent components, because principal
    axes can be the diagonals of a square. A coordinate of less kurtosis than a Gaussian is drawn
    from the symmetric beta distribution of its kurtosis, and at the least from a uniform one, the
    flattest with a single mode. The others are drawn with their own skewness and tails, as columns
    are. Flat noise, such as a uniform plane, thus stays flat, skewed factors stay skewed, and two
    clusters become one.

    Mapped back and clipped to the range of the data the draws have the skewness and tails of the
    columns. Empirical margins would keep what clusters do to single columns. A kernel becomes
    $AK_pA^\top$. Three kinds of data need more:

    - Columns with at most ten distinct values keep their values, by rank: noise that is yes or
      no falls into cells, which Gaussian noise does not. Other columns of whole numbers are
      rounded.
    - In views of nonnegative or sparse columns with less than a tenth of nonzero entries, and in
      views of discrete columns with less than a third (links between samples), the nonzero
      entries of all columns are dealt out to the samples at random. Every sample keeps
      its number of entries and every column its values; entries that meet are merged.
    - Samples that a view lacks stay missing. A is then that part of the rotation which belongs to
      the samples that the view holds, centered.

    Parameters
    ----------
    views : MultiView

    References
    ----------
    I. Yeo, R. Johnson. A new family of power transformations to improve normality or symmetry.
    Biometrika 87, 2000.
    A. Hyvarinen. Fast and robust fixed-point algorithms for independent component analysis. IEEE
    Transactions on Neural Networks 10, 1999.
    O. Langsrud. Rotation tests. Statistics and Computing 15, 2005.
    """

    def __init__(self, views: MultiView) -> None:
        self.views = views
        self._held = [np.flatnonzero(held) for held in views.held.T]
        self._sources = [self._source(p) for p in range(views.n_views)]
        self._axes, size = self._principal_axes()
        leading = independent(np.sqrt(len(views)) * self._axes[:, 1 : size + 1])
        self._axes[:, 1 : size + 1] = leading / np.sqrt(len(views))
        self._leading, self._kurtosis = _Columns(leading), np.mean(leading**4, axis=0) - 3

    def _source(self, p: int) -> Any:
        """Return what view p is drawn from: entries to deal out, a kernel, or columns."""
        view = self.views.own_rows(p)
        if not self.views.kernels and _dealt_out(view):
            return sp.coo_array(view)
        table = (view.toarray() if sp.issparse(view) else np.asarray(view)).astype(np.float64)
        return table if self.views.kernels else _Columns(table)

    def _principal_axes(self) -> tuple[np.ndarray, int]:
        """Return an orthonormal basis (n, n), and how many axes of it are leading.

        The first vector is the constant, the others are the principal axes of all views together.
        """
        n, m = len(self.views), self.views.n_views
        total = np.full((n, n), float(m))
        for at, source in zip(self._held, self._sources, strict=True):
            if sp.issparse(source):
                continue
            table = source if self.views.kernels else source.symmetric
            K = table - table.mean(axis=0)
            K = K - K.mean(axis=1, keepdims=True) if self.views.kernels else K @ K.T
            if np.trace(K) > 0:
                total[np.ix_(at, at)] += K / np.trace(K)
        values, vectors = np.linalg.eigh(total)
        values = values[-2::-1]
        varying = values[values > FLAT * values[0]]
        return vectors[:, ::-1].copy(), int(np.sum(varying[:AXES] > varying.mean()))

    def _rotation(self, rng: np.random.Generator) -> np.ndarray:
        """Return G (n, n): new coordinates of the samples on the axes, shaped as the old ones."""
        n, size = len(self.views), len(self._kurtosis)
        G = rng.standard_normal((n, n))
        G[:, 0] = 1.0
        a = -3 / np.clip(self._kurtosis, FLATTEST, -FLAT) - 1.5
        flat, shaped = rng.beta(a, a, (n, size)) - 0.5, self._leading.back(G[:, 1 : size + 1])
        G[:, 1 : size + 1] = np.where(self._kurtosis < 0, flat, shaped)
        Q, R = np.linalg.qr(G)
        Q *= np.sign(np.diagonal(R))
        return np.asarray(np.sqrt(n) * Q[:, 1:] @ self._axes[:, 1:].T)

    def draw(self, rng: np.random.Generator) -> MultiView:
        """Return one draw: views of the same names, shapes and missing samples."""
        G, drawn = self._rotation(rng), []
        for p, source in enumerate(self._sources):
            found = _dealt(source, rng) if sp.issparse(source) else self._gaussian(p, source, G)
            drawn.append(self._placed(p, found))
        return self.views._changed(drawn)

    def _gaussian(self, p: int, source: Any, G: np.ndarray) -> np.ndarray:
        own = G[np.ix_(self._held[p], self._held[p])]
        A = (own - own.mean(axis=1, keepdims=True)) / np.sqrt(len(own)) + 1 / len(own)
        return A @ source @ A.T if self.views.kernels else source.like(A @ source.symmetric)

    def _placed(self, p: int, rows: Any) -> Any:
        """Extend the rows that view p holds to all samples; the others are zero."""
        at, n = self._held[p], len(self.views)
        if len(at) == n:
            return rows
        place = sp.csr_array((np.ones(len(at)), (at, np.arange(len(at)))), shape=(n, len(at)))
        return place @ rows @ place.T if self.views.kernels else place @ rows


class _Columns:
    """Columns of one view (n, f), and the transform under which each is most Gaussian.

    Columns are first standardized, so that the draws do not depend on units. Exponents and bends
    of all columns are found at once, which is a hundred times quicker than a search for each.
    Columns mapped back are stretched to the mean and variance of the data.
    """

    def __init__(self, table: np.ndarray) -> None:
        self.table = table
        self.low, self.high = table.min(axis=0), table.max(axis=0)
        self.center, self.scale = table.mean(axis=0), table.std(axis=0)
        self.scale[self.scale == 0] = 1.0
        Z = (table - self.center) / self.scale
        self.exponents = _best_exponents(Z)
        Y = yeo_johnson(Z, self.exponents)
        self.middle = np.median(Y, axis=0)
        self.bends = _best_bends(Y - self.middle)
        self.symmetric = np.arcsinh(self.bends * (Y - self.middle)) / self.bends
        steps = _steps(table)
        self.discrete = np.flatnonzero((steps < FEW) & (steps > 0))
        self.whole = np.flatnonzero((steps >= FEW) & (table == np.round(table)).all(axis=0))

    def back(self, gaussian: np.ndarray) -> np.ndarray:
        """Map standard Gaussian rows to values with the skewness and tails of the table."""
        return self._back(self.symmetric.mean(axis=0) + gaussian * self.symmetric.std(axis=0))

    def _back(self, drawn: np.ndarray) -> np.ndarray:
        """Undo the transform, within the range of the data."""
        Y = np.sinh(self.bends * drawn) / self.bends + self.middle
        found = yeo_johnson(Y, self.exponents, inverse=True) * self.scale + self.center
        return np.clip(found, self.low, self.high)

    def like(self, drawn: np.ndarray) -> np.ndarray:
        """Map rows (n, f) of the symmetric space back to values like those of the table."""
        found = self._back(drawn)
        found -= found.mean(axis=0)
        found *= self.scale / np.maximum(found.std(axis=0), np.finfo(float).tiny)
        found = np.clip(found + self.center, self.low, self.high)
        found[:, self.whole] = np.round(found[:, self.whole])
        at = self.discrete
        if len(at):
            rank = np.argsort(drawn[:, at], axis=0).argsort(axis=0)
            found[:, at] = np.take_along_axis(np.sort(self.table[:, at], axis=0), rank, axis=0)
        return found


def independent(X: np.ndarray) -> np.ndarray:
    """Rotate uncorrelated columns of variance 1 (n, d) to those that are least Gaussian.

    >>> square = np.random.default_rng(0).uniform(-np.sqrt(3), np.sqrt(3), (1000, 2))
    >>> diagonals = square @ np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    >>> np.mean(diagonals**4, axis=0).round(), np.mean(independent(diagonals) ** 4, axis=0).round()
    (array([2., 3.]), array([2., 2.]))
    """
    if X.shape[1] < 2:
        return X
    search = FastICA(whiten=False, fun="cube", max_iter=100, tol=1e-3, random_state=0)
    with quiet():  # without convergence it is a basis, too
        return np.asarray(search.fit_transform(X))


def yeo_johnson(X: np.ndarray, exponents: np.ndarray, inverse: bool = False) -> np.ndarray:
    """Transform the columns of X (n, f), each by its own exponent (f,), or map them back.

    A value that no number is mapped to becomes infinite.

    >>> X = np.array([[-1.0, 2.0], [0.5, 0.0]])
    >>> Y = yeo_johnson(X, np.array([0.5, 0.0]))
    >>> bool(np.allclose(yeo_johnson(Y, np.array([0.5, 0.0]), inverse=True), X))
    True
    """
    sign = np.where(X < 0, -1.0, 1.0)
    power = np.where(X < 0, 2 - exponents, exponents)
    power = np.where(np.abs(power) < FLAT, FLAT, power)  # the logarithm, up to rounding
    with np.errstate(divide="ignore", over="ignore"):
        if not inverse:
            return np.asarray(sign * np.expm1(power * np.log1p(np.abs(X))) / power)
        inside = np.maximum(power * np.abs(X), -1.0)
        return np.asarray(sign * np.expm1(np.log1p(inside) / power))


def _best_exponents(Z: np.ndarray) -> np.ndarray:
    """Return the exponent of every standardized column (n, f) at which it is most Gaussian.

    It is 1 where skewness is not evident, and else the vertex of a parabola through the
    likelihoods at whole numbers around the best one.
    """
    tried = np.arange(*EXPONENTS)
    bend = np.sum(np.sign(Z) * np.log1p(np.abs(Z)), axis=0)
    spreads = [yeo_johnson(Z, np.full(Z.shape[1], e)).var(axis=0) for e in tried]
    spread = np.maximum(spreads, np.finfo(float).tiny)  # a constant column has none
    likelihood = (tried - 1)[:, None] * bend - len(Z) / 2 * np.log(spread)
    best = np.clip(likelihood.argmax(axis=0), 1, len(tried) - 2)
    below, at, above = (np.take_along_axis(likelihood, best[None] + d, 0)[0] for d in (-1, 0, 1))
    bent = below - 2 * at + above
    shift = np.divide(below - above, 2 * bent, out=np.zeros_like(bent), where=bent < 0)
    found = tried[best] + np.clip(shift, -1, 1)
    gain = 2 * (likelihood.max(axis=0) - likelihood[tried == 1][0])
    return np.where(gain > EVIDENT, found, 1.0)


def _best_bends(Y: np.ndarray) -> np.ndarray:
    """Return the b of every column (n, f) at which arcsinh(b y) / b is most Gaussian."""
    width = np.maximum(np.median(np.abs(Y), axis=0), FLAT)
    tried = np.array(BENDS)[:, None] / width
    likelihood = [
        -np.log(np.maximum(np.arcsinh(b * Y).var(axis=0) / b**2, FLAT)) / 2
        - np.log1p((b * Y) ** 2).mean(axis=0) / 2
        for b in tried
    ]
    best = np.argmax(likelihood, axis=0)
    gain = 2 * len(Y) * (np.max(likelihood, axis=0) - likelihood[0])
    return np.asarray(np.take_along_axis(tried, np.where(gain > EVIDENT, best, 0)[None], 0)[0])


def _dealt_out(view: Any) -> bool:
    """Return whether the null model deals out the nonzero entries of a view."""
    stored = view.count_nonzero() if sp.issparse(view) else np.count_nonzero(view)
    share = stored / np.prod(view.shape, dtype=float)
    if share < THIN[0] and (sp.issparse(view) or view.min() >= 0):
        return True
    return bool(share < THIN[1] and not sp.issparse(view) and (_steps(view) < FEW).all())


def _steps(table: np.ndarray) -> np.ndarray:
    """Return the number of distinct values of every column, less one."""
    return np.count_nonzero(np.diff(np.sort(table, axis=0), axis=0), axis=0)


def _dealt(entries: sp.coo_array, rng: np.random.Generator) -> sp.csr_array:
    """Deal the entries of all columns out to the rows, each row as many as it had.

    >>> table = sp.coo_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    >>> _dealt(table, np.random.default_rng(0)).shape
    (2, 3)
    """
    rows, columns = entries.coords
    dealt = rng.permutation(rows)
    cells = dealt.astype(np.int64) * entries.shape[1] + columns
    first = np.unique(cells, return_index=True)[1]
    place = (dealt[first], columns[first])
    return sp.csr_array((entries.data[first].astype(np.float64), place), shape=entries.shape)
