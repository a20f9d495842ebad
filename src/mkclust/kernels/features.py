r"""One view to explicit features: $K \approx ZZ^T$ with Z of n x r, never n x n.

Linear and cosine kernels are their own columns. For the others, Nyström on r landmark rows L:
$Z = \kappa(X, L)\,\kappa(L, L)^{-1/2}$, exact when every row is a landmark; or random Fourier
features for the Gaussian ones. Centring is then a mean taken off, normalising a scale per row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg

from ..exceptions import InputError
from ..linalg.centering import JITTER

COMPONENTS = 300  # landmarks per view, unless said otherwise
DOUBLE_UP_TO = 20_000  # rows; beyond it features are single precision, sums double
KEPT_DIRECTIONS = {8: 1e-12, 4: 1e-6}  # by bytes per number; smaller eigenvalues are rounding
EXPLICIT = ("gaussian", "rbf", "linear", "cosine", "polynomial", "knn")


@dataclass(frozen=True)
class Moments:
    """Columns of one view over all rows: mean, variance, range, and the longest row squared."""

    mean: np.ndarray
    variance: np.ndarray
    varies: np.ndarray
    longest: float


class FeatureMap(Protocol):
    """Rows x to features z = raw(x) R; `largest` bounds the kernel's diagonal."""

    @property
    def whitening(self) -> np.ndarray | None: ...

    @property
    def largest(self) -> float: ...

    @property
    def width(self) -> int: ...

    def raw(self, X: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Columns:
    """Linear kernel: the columns; cosine: the same with rows of unit length."""

    width: int
    largest: float
    unit: bool
    whitening: np.ndarray | None = None

    def raw(self, X: np.ndarray) -> np.ndarray:
        return _unit(X) if self.unit else X


@dataclass(frozen=True)
class Nystroem:
    r"""$Z = \kappa(X, L)\,\kappa(L, L)^{-1/2}$; the similarity in front, `whitening` behind."""

    similarity: Any
    whitening: np.ndarray
    largest: float

    @property
    def width(self) -> int:
        return int(self.whitening.shape[0])

    def raw(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.similarity(X))


@dataclass(frozen=True)
class Fourier:
    r"""$z = r^{-1/2}[\cos x\Omega, \sin x\Omega]$, $\Omega_{ij} \sim N(0, 2\gamma)$; 2r features.

    References: A. Rahimi, B. Recht, Random Features for Large-Scale Kernel Machines, NIPS 2007.
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


@dataclass(frozen=True)
class Gaussian:
    r"""$\exp(-\gamma|x-l|^2)$ to all landmarks by one product of rows lengthened by two columns."""

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


@dataclass(frozen=True)
class Product:
    r"""$(\gamma\,x^Tl + c_0)^{degree}$, rows scaled to unit length first where `unit`."""

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
    """float64 up to `DOUBLE_UP_TO` rows, float32 beyond; sums over rows are always double."""
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
    """The map of one view. `landmarks` (r, f) are rows of it; for Fourier, r counts only.

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> moments = Moments(X.mean(0), X.var(0), np.ones(3, bool), 9.0)
    >>> found = feature_map("gaussian", {}, moments, X, "nystroem", np.float64, None)
    >>> Z = found.raw(X) @ found.whitening
    >>> from mkclust.kernels.bank import gaussian
    >>> bool(np.allclose(Z @ Z.T, gaussian(X)))
    True
    """
    if not moments.varies.any():
        raise InputError("it is constant: all its samples are the same")
    if kernel == "knn":  # eigenvectors of its graph, which are features already
        return Columns(landmarks.shape[1], moments.longest, unit=False)
    if kernel in ("linear", "cosine"):
        unit = kernel == "cosine"
        largest = 1.0 if unit else moments.longest
        if landmarks.shape[1] <= max(len(landmarks), COMPONENTS):
            return Columns(landmarks.shape[1], largest, unit)
        rows = _unit(landmarks) if unit else landmarks
        return _nystroem(Product(rows.astype(dtype), unit=unit), landmarks, largest, dtype)
    if kernel == "polynomial":
        gamma = params.get("gamma") or 1 / landmarks.shape[1]
        coef0, degree = params.get("coef0", 1.0), params.get("degree", 3)
        with np.errstate(over="ignore"):
            largest = float(np.float64(gamma * moments.longest + coef0) ** degree)
        if not largest < np.finfo(dtype).max:
            raise InputError(f"at degree {degree} its values become too large: scale its columns")
        similarity = Product(landmarks.astype(dtype), gamma, coef0, degree)
        return _nystroem(similarity, landmarks, largest, dtype)
    scale, gamma = _gaussian_scale(kernel, params, moments)
    if method == "fourier":
        half = -(-len(landmarks) // 2)
        draws = random.standard_normal((len(scale), half)) * np.sqrt(2 * gamma)
        return Fourier(moments.mean, (scale[:, None] * draws).astype(dtype))
    return _gaussian_nystroem(landmarks, moments.mean, scale, gamma, dtype)


@dataclass(frozen=True)
class Features:
    r"""Centred, normalised features of all views side by side: rows of $[Z_1 \ldots Z_m]$.

    `means` are those of the features before centring (zero where not asked for); `normalize`
    says for each view whether its rows are scaled to unit length.
    """

    maps: tuple[FeatureMap, ...]
    means: tuple[np.ndarray, ...]
    normalize: tuple[bool, ...]
    dtype: Any

    @property
    def starts(self) -> np.ndarray:
        """Where each view's features begin, and where the last ones end: (m + 1,)."""
        return np.concatenate([[0], np.cumsum([len(mean) for mean in self.means])])

    def __call__(self, views: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Features (b, sum r) of a block of rows, and each view's largest squared length (m,)."""
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
    """Means of the features, from those of what comes before whitening."""
    return tuple(
        mean if found.whitening is None else (mean @ found.whitening).astype(dtype)
        for found, mean in zip(maps, raw_means, strict=True)
    )


def _gaussian_scale(
    kernel: str, params: Mapping[str, Any], moments: Moments
) -> tuple[np.ndarray, float]:
    """Scale of columns, rate of the exponent; the mean of D^2 is twice the sum of variances."""
    if kernel == "gaussian":
        deviation = np.sqrt(np.where(moments.varies, moments.variance, 1.0))
        return moments.varies / deviation, 1.0 / moments.varies.sum()
    given = params.get("gamma")
    if given is not None and not given > 0:
        raise InputError(f"gamma must be positive, got {given}")
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
    r"""$U\Lambda^{-1/2}$ of the landmarks' kernel, without the directions that are rounding."""
    values, U = scipy.linalg.eigh((K + K.T).astype(np.float64) / 2)
    kept = values > KEPT_DIRECTIONS[np.dtype(dtype).itemsize] * values[-1]
    return np.ascontiguousarray((U[:, kept] / np.sqrt(values[kept])).astype(dtype))


def _unit(X: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(length > 0, length, 1.0))
