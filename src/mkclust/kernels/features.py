r"""Map a view to explicit features Z (n, r) with $ZZ^T \approx K$, without an n x n matrix.

The features of a linear kernel are the columns of the view, and those of a cosine kernel are the
columns of its rows scaled to unit length. The other kernels use the Nyström method with r landmark
rows L, $Z = \kappa(X, L)\,\kappa(L, L)^{-1/2}$, which is exact when every row is a landmark. The
Gaussian kernels can use random Fourier features instead. To center the kernel, the mean of the
features is subtracted. To normalize it, each row is scaled to unit length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg

from ..exceptions import InputError
from ..io.archive import storable
from ..linalg.centering import JITTER
from .functions import PolynomialKernel, RBFKernel

COMPONENTS = 300  # default number of landmarks per view
DOUBLE_UP_TO = 20_000  # rows; beyond it features are in single and sums in double precision
SMALLEST = {8: 1e-12, 4: 1e-6}  # relative eigenvalues kept, by bytes per number
EXPLICIT = ("gaussian", "rbf", "linear", "cosine", "polynomial", "knn")


@dataclass(frozen=True)
class Moments:
    """Statistics of one view over all its rows.

    Attributes
    ----------
    mean, variance : array of shape (f,)
        Mean and variance of each column.
    varies : bool array of shape (f,)
        Which columns take more than one value.
    longest : float
        Largest squared length of a row.
    """

    mean: np.ndarray
    variance: np.ndarray
    varies: np.ndarray
    longest: float


class FeatureMap(Protocol):
    """A map from rows x to features z = raw(x) R."""

    @property
    def whitening(self) -> np.ndarray | None:
        """The matrix R (width, r); None for the identity."""
        ...

    @property
    def largest(self) -> float:
        """An upper bound of the kernel's diagonal."""
        ...

    @property
    def width(self) -> int:
        """Number of columns of ``raw(X)``."""
        ...

    def raw(self, X: np.ndarray) -> np.ndarray:
        """Return the features of rows (b, f) before whitening, (b, width)."""
        ...


@storable
@dataclass(frozen=True)
class Columns:
    """Features of the linear kernel, or of the cosine kernel where `unit` is true: the columns."""

    width: int
    largest: float
    unit: bool
    whitening: np.ndarray | None = None

    def raw(self, X: np.ndarray) -> np.ndarray:
        return _unit(X) if self.unit else X


@storable
@dataclass(frozen=True)
class Nystroem:
    r"""Nyström features: $Z = \kappa(X, L)\,\kappa(L, L)^{-1/2}$.

    `similarity` computes $\kappa(X, L)$, and `whitening` is $\kappa(L, L)^{-1/2}$.
    """

    similarity: Any
    whitening: np.ndarray
    largest: float

    @property
    def width(self) -> int:
        return int(self.whitening.shape[0])

    def raw(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.similarity(X))


@storable
@dataclass(frozen=True)
class Fourier:
    r"""Random Fourier features: $z = r^{-1/2}[\cos x\Omega, \sin x\Omega]$, 2r of them.

    The entries of $\Omega$ (f, r) are drawn from $N(0, 2\gamma)$.

    References
    ----------
    A. Rahimi, B. Recht, Random Features for Large-Scale Kernel Machines, NIPS 2007.
    """

    shift: np.ndarray
    frequencies: np.ndarray
    largest: float = 1.0
    whitening: np.ndarray | None = None

    @property
    def width(self) -> int:
        return 2 * int(self.frequencies.shape[1])

    def raw(self, X: np.ndarray) -> np.ndarray:
        phase = (X - self.shift).astype(self.frequencies.dtype) @ self.frequencies
        return np.hstack([np.cos(phase), np.sin(phase)]) / np.sqrt(np.float32(phase.shape[1]))


@storable
@dataclass(frozen=True)
class Gaussian:
    r"""Similarities $\exp(-\gamma|x-l|^2)$ of rows x to all landmarks l.

    Two more columns turn the exponent into one matrix product. `lengthened` (f + 2, r) holds the
    landmarks with those columns.
    """

    shift: np.ndarray
    scale: np.ndarray
    lengthened: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        Y = np.empty((len(X), X.shape[1] + 2), dtype=self.lengthened.dtype)
        Y[:, :-2] = (X - self.shift) * self.scale
        Y[:, -2] = np.einsum("ij,ij->i", Y[:, :-2], Y[:, :-2])
        Y[:, -1] = 1.0
        exponent = Y @ self.lengthened
        np.minimum(exponent, 0.0, out=exponent)
        return np.exp(exponent, out=exponent)


@storable
@dataclass(frozen=True)
class Product:
    r"""Similarities $(\gamma\,x^Tl + c_0)^{degree}$ of rows x to all landmarks l (r, f).

    The rows are scaled to unit length first where `unit` is true.
    """

    landmarks: np.ndarray
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1
    unit: bool = False

    def __call__(self, X: np.ndarray) -> np.ndarray:
        X = _unit(X) if self.unit else X
        products = X.astype(self.landmarks.dtype, copy=False) @ self.landmarks.T
        return (self.gamma * products + self.coef0) ** self.degree


def precision(n_samples: int) -> Any:
    """Return float64 for up to `DOUBLE_UP_TO` rows and float32 beyond."""
    return np.float64 if n_samples <= DOUBLE_UP_TO else np.float32


def feature_map(
    kernel: str,
    params: Mapping[str, Any],
    moments: Moments,
    landmarks: np.ndarray,
    method: str,
    dtype: Any,
    random: np.random.Generator,
) -> FeatureMap:
    """Return the feature map of one view.

    Parameters
    ----------
    kernel : str
        A name in `EXPLICIT`, with its parameters `params`.
    moments : Moments
        Statistics of the view.
    landmarks : array of shape (r, f)
        Rows of the view. Fourier features use only their number.
    method : {"nystroem", "fourier"}
        How the features of a Gaussian kernel are made, in the precision of `dtype`.
    random : numpy.random.Generator
        Source of the Fourier frequencies.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> moments = Moments(X.mean(0), X.var(0), np.ones(3, bool), 9.0)
    >>> found = feature_map("gaussian", {}, moments, X, "nystroem", np.float64, None)
    >>> Z = found.raw(X) @ found.whitening
    >>> from mkclust.kernels.functions import GaussianKernel
    >>> bool(np.allclose(Z @ Z.T, GaussianKernel().matrix(X)))
    True
    """
    if not moments.varies.any():
        raise InputError("it is constant: all its samples are the same")
    if kernel == "knn":  # its landmarks are eigenvectors of the graph, already features
        return Columns(landmarks.shape[1], moments.longest, unit=False)
    if kernel in ("linear", "cosine"):
        return _product_map(kernel == "cosine", moments, landmarks, dtype)
    if kernel == "polynomial":
        return _polynomial_map(PolynomialKernel(**params), moments, landmarks, dtype)
    scale, gamma = _gaussian_scale(kernel, params, moments)
    if method == "fourier":
        half = -(-len(landmarks) // 2)
        draws = random.standard_normal((len(scale), half)) * np.sqrt(2 * gamma)
        return Fourier(moments.mean, (scale[:, None] * draws).astype(dtype))
    return _gaussian_nystroem(landmarks, moments.mean, scale, gamma, dtype)


@storable
@dataclass(frozen=True)
class Features:
    r"""Centered and normalized features of all views side by side: $[Z_1 \ldots Z_m]$.

    Attributes
    ----------
    maps : tuple of FeatureMap
        The map of each view.
    means : tuple of arrays of shape (r_p,)
        Means of the features before centering; zero without centering.
    normalize : tuple of bool
        Whether the rows of each view are scaled to unit length.
    dtype : numpy dtype
        Type of the features.
    """

    maps: tuple[FeatureMap, ...]
    means: tuple[np.ndarray, ...]
    normalize: tuple[bool, ...]
    dtype: Any

    @property
    def starts(self) -> np.ndarray:
        """First column of each view, and the number of all columns: (m + 1,)."""
        return np.concatenate([[0], np.cumsum([len(mean) for mean in self.means])])

    def __call__(self, views: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the features of a block of rows.

        Parameters
        ----------
        views : sequence of arrays of shape (b, f_p)

        Returns
        -------
        Z : array of shape (b, sum of r_p)
        peaks : array of shape (m,)
            Largest squared length of a row in each view, before normalizing.
        """
        starts = self.starts
        Z = np.empty((len(views[0]), starts[-1]), dtype=self.dtype)
        peaks = np.empty(len(views))
        for p, (found, mean, X) in enumerate(zip(self.maps, self.means, views, strict=True)):
            z = Z[:, starts[p] : starts[p + 1]]
            raw = found.raw(X)
            if found.whitening is None:
                np.subtract(raw, mean, out=z, casting="same_kind")
            else:
                np.subtract(raw @ found.whitening, mean, out=z)
            squared = np.einsum("ij,ij->i", z, z)
            peaks[p] = squared.max(initial=0.0)
            if self.normalize[p]:
                squared = squared + JITTER * found.largest
                alive = squared > 0
                z *= (alive / np.sqrt(np.where(alive, squared, 1.0)))[:, None]
        return Z, peaks


def feature_means(maps: Sequence[FeatureMap], raw_means: Sequence[np.ndarray], dtype: Any) -> Any:
    """Return the means of the features, from the means before whitening."""
    return tuple(
        mean if found.whitening is None else (mean @ found.whitening).astype(dtype)
        for found, mean in zip(maps, raw_means, strict=True)
    )


def _product_map(unit: bool, moments: Moments, landmarks: np.ndarray, dtype: Any) -> FeatureMap:
    """Return the map of a linear or cosine kernel: the columns, or landmarks of a wide view."""
    largest = 1.0 if unit else moments.longest
    if landmarks.shape[1] <= max(len(landmarks), COMPONENTS):
        return Columns(landmarks.shape[1], largest, unit)
    rows = _unit(landmarks) if unit else landmarks
    return _nystroem(Product(rows.astype(dtype), unit=unit), landmarks, largest, dtype)


def _polynomial_map(
    kernel: PolynomialKernel, moments: Moments, landmarks: np.ndarray, dtype: Any
) -> FeatureMap:
    gamma = kernel.gamma or 1 / landmarks.shape[1]
    with np.errstate(over="ignore"):
        largest = float(np.float64(gamma * moments.longest + kernel.coef0) ** kernel.degree)
    if not largest < np.finfo(dtype).max:
        raise InputError(
            f"at degree {kernel.degree} its values become too large: scale its columns"
        )
    similarity = Product(landmarks.astype(dtype), gamma, kernel.coef0, kernel.degree)
    return _nystroem(similarity, landmarks, largest, dtype)


def _gaussian_scale(
    kernel: str, params: Mapping[str, Any], moments: Moments
) -> tuple[np.ndarray, float]:
    """Return the scale of each column (f,) and the rate of the exponent.

    The mean of all squared distances is twice the sum of the variances.
    """
    if kernel == "gaussian":
        deviation = np.sqrt(np.where(moments.varies, moments.variance, 1.0))
        return moments.varies / deviation, 1.0 / moments.varies.sum()
    given = RBFKernel(**params).gamma
    return np.ones(len(moments.mean)), given or 1.0 / float(moments.variance.sum())


def _gaussian_nystroem(
    landmarks: np.ndarray, shift: np.ndarray, scale: np.ndarray, gamma: float, dtype: Any
) -> Nystroem:
    L = (landmarks - shift) * scale
    squared = np.einsum("ij,ij->i", L, L)
    lengthened = np.vstack([2 * gamma * L.T, np.full(len(L), -gamma), -gamma * squared])
    exact = Gaussian(shift, scale, lengthened)
    whitening = _whitening(exact(landmarks), dtype)
    return Nystroem(Gaussian(shift, scale, lengthened.astype(dtype)), whitening, 1.0)


def _nystroem(similarity: Product, landmarks: np.ndarray, largest: float, dtype: Any) -> Nystroem:
    return Nystroem(similarity, _whitening(similarity(landmarks), dtype), largest)


def _whitening(K: np.ndarray, dtype: Any) -> np.ndarray:
    r"""Return $U\Lambda^{-1/2}$ of the landmarks' kernel, without negligible eigenvalues."""
    values, U = scipy.linalg.eigh((K + K.T).astype(np.float64) / 2)
    kept = values > SMALLEST[np.dtype(dtype).itemsize] * values[-1]
    return np.ascontiguousarray((U[:, kept] / np.sqrt(values[kept])).astype(dtype))


def _unit(X: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(length > 0, length, 1.0))
