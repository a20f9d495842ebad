"""Leading eigenpairs of a symmetric matrix from a block Krylov space that can be enlarged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import lapack

from .eigen import eigenpairs

WIDTH = 8  # columns per block: enough for the cache, and few for a high polynomial degree
WIDE, MANY = 16, 100  # block width for at least this many pairs: their degree is high anyway
FIRST_CHECK, NEXT_CHECK = 2.2, 1.12  # sizes of the space at which to test, as multiples
# Share of the predicted columns to add before the next test: after one test, after two far from
# convergence, after two near it. Below 1, because convergence is superlinear. Tests at every 12 %
# more columns instead take 1.14 times the CPU time: 17 cases, 1000 and 2000 rows, 20 to 100 pairs.
FIRST, FAR, NEAR = 0.6, 0.66, 0.9
AT_MOST = 0.4  # share of the space that is added at most before the next test
MANY_ROWS = 4000  # beyond this n columns cost more than tests, and fewer are added
IN_SIGHT = 1e3  # in tolerances: a residual below this may have converged at the next test

QR = {
    np.dtype(np.float64): (lapack.dgeqp3, lapack.dorgqr),
    np.dtype(np.float32): (lapack.sgeqp3, lapack.sorgqr),
}
TINY = float(np.finfo(float).tiny)
Ritz = tuple[np.ndarray, np.ndarray, np.ndarray]  # values, coefficients, residuals


@dataclass(frozen=True)
class Precision:
    """Tolerances of a floating point type, relative to the largest eigenvalue.

    Attributes
    ----------
    residual : float
        A pair with a smaller residual has converged.
    same : float
        Eigenvalues closer than this count as one repeated eigenvalue.
    dependent : float
        A new column smaller than this is orthogonalized once more.
    nothing : float
        A new column smaller than this is dropped.
    """

    residual: float
    same: float
    dependent: float
    nothing: float


PRECISION = {
    np.dtype(np.float64): Precision(residual=1e-13, same=1e-10, dependent=1e-6, nothing=2e-15),
    np.dtype(np.float32): Precision(residual=3e-7, same=1e-6, dependent=1e-3, nothing=1e-6),
}


class KrylovSpace:
    r"""Orthonormal basis Q of $\mathrm{span}(X, KX, K^2X, \ldots)$ and the projection $T = Q^TKQ$.

    X is a fixed random block of n x 8, so that equal input gives equal output; n x 16 where `size`
    pairs are many. Every block is orthogonalized twice against all earlier ones. All of T is
    kept, hence $\|Ky - \theta y\|$ of a Ritz pair is known in time without n. A later request for
    more pairs enlarges the same space. The cost is n^2 per column in products and n x (size of the
    space) memory, with a space of about three times the number of pairs.

    In single precision products and basis take half the memory and a third of the time. T is kept
    in double. Eigenvalues are then accurate to about 1e-7 of the largest, subspaces to 1e-5.

    Parameters
    ----------
    n : int
        Order of the matrix.
    dtype : dtype
        float64 or float32, of the matrix and the basis.
    size : int
        Number of pairs that will be requested first.
    """

    def __init__(self, n: int, dtype: Any = np.float64, size: int = 1) -> None:
        self._random = np.random.default_rng(0)
        self._precision = PRECISION[np.dtype(dtype)]
        self._basis = np.empty((n, 0), dtype=dtype, order="F")
        self._projection = np.empty((0, 0))
        self._expanded = 0  # columns of the basis that K has been applied to
        self._known = 0  # all columns of the basis: the others are pending
        self._fresh = 0  # number of pending columns, the last ones, that are random
        self._restarted = 0  # leading columns kept by `shrink`: coupled with the next block
        self._exhausted = False  # whether K maps random columns to 0: Q spans its range
        self._largest: float | None = None  # largest eigenvalue
        # The last pairs: (size of the space, number requested), whether in double, and the pairs.
        self._latest: tuple[tuple[int, int], bool, Ritz] | None = None
        self._room = 5 * size + 48 * WIDTH  # initial columns: unused pages cost no memory
        self._add_random(WIDE if size >= MANY else WIDTH)

    def pairs(
        self, K: np.ndarray, size: int, fewer: bool = False
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Compute the `size` leading eigenvalues (descending) and eigenvectors.

        Parameters
        ----------
        K : (n, n) symmetric array
        size : int
        fewer : bool
            Whether fewer pairs may be returned where the rank of K is lower. Some of them may
            then be rounding.

        Returns
        -------
        values (size,) and vectors (n, size), or None
            None where the space would need more than n / 2 columns: a direct solver is cheaper.
        """
        # A space of no more than `size` columns leaves residuals as large as the eigenvalues.
        check, tests = self._promising(size), [(size, 1 / self._precision.residual)]
        while self._expanded <= len(K) // 2:
            if self._exhausted:
                values, Y, _ = self._ritz(self._expanded, self._expanded)
                there = int(np.sum(values >= -self._precision.same * values[0]))
                if fewer or there >= size:
                    there = min(there, size)
                    return values[:there], self._combined(Y[:, :there])
                self._add_random(size - there)
            elif self._expanded >= check:
                # The smallest pair converges last and is cheap to test alone: far from
                # convergence only this pair is tested.
                near = len(tests) > 2 or tests[-1][1] < IN_SIGHT
                missed = self._in_tolerances(self._ritz(size, size if near else 1)[2].max())
                if missed <= 1:
                    values, Y, residuals = self._ritz(size, size)
                    missed = self._in_tolerances(residuals.max())
                if missed <= 1:
                    if not self._suspicious(values):
                        return values, self._combined(Y)
                    self._add_random(WIDTH)
                tests.append((self._expanded, missed))
                check = self._next_check(tests)
            self._expand(K)
        return None

    def prepare(self, K: np.ndarray, size: int) -> None:
        """Enlarge the space until `rough` vectors can be taken; `pairs` needs it as well."""
        while not self.ready(size):
            self._expand(K)

    def ready(self, size: int) -> bool:
        """Return whether the space is large enough for `size` rough vectors."""
        enough = min(self._promising(size), self._basis.shape[0] // 2)
        return self._exhausted or self._expanded >= enough

    def rough(self, size: int) -> np.ndarray:
        """Return the `size` leading Ritz vectors in float32, converged or not.

        There are fewer where the matrix has fewer eigenvalues above rounding.
        """
        size = min(size, self._expanded)
        values, Y, _ = self._ritz(size, size, rough=True)
        Y = Y[:, values > self._precision.same * values[0]].astype(np.float32)
        return np.asarray(self._basis[:, : self._expanded].astype(np.float32, copy=False) @ Y)

    def shrink(self, size: int) -> None:
        """Keep the `size` leading Ritz vectors and the pending columns (a thick restart).

        Converged pairs are kept, the space can be enlarged later, and it takes less memory.
        """
        s, known = self._expanded, self._known
        if self._exhausted or size >= s:
            return
        values, Y, _ = self._ritz(size, size)
        basis = np.empty((len(self._basis), size + known - s), self._basis.dtype, order="F")
        basis[:, :size], basis[:, size:] = self._combined(Y), self._basis[:, s:known]
        projection = np.zeros((basis.shape[1],) * 2)
        np.fill_diagonal(projection[:size, :size], values)
        projection[size:, :size] = self._projection[s:known, :s] @ Y
        self._basis, self._projection, self._latest = basis, projection, None
        self._expanded = self._restarted = size
        self._known = basis.shape[1]

    def _combined(self, Y: np.ndarray) -> np.ndarray:
        """Return linear combinations of the basis with coefficients Y, which are in double."""
        basis = self._basis[:, : self._expanded]
        return np.asarray((Y.T.astype(basis.dtype, copy=False) @ basis.T).T)  # column by column

    def _promising(self, size: int) -> int:
        """Return the smallest space for which a test of `size` pairs may succeed."""
        return int(FIRST_CHECK * size) + 4 * WIDTH

    def _in_tolerances(self, residual: float) -> float:
        if self._largest is None:
            self._largest = float(abs(self._ritz(1, 1)[0][0]))
        return float(residual / max(self._precision.residual * self._largest, TINY))

    def _next_check(self, tests: list[tuple[int, float]]) -> int:
        """Return the size of the space at which to test again.

        Every column reduces the residual by about the same factor, so two tests predict the
        third. A test costs about as much as an expansion, so both should be few.
        """
        (size, before), (_, missed) = tests[-2:]
        if not 1 < missed < before or size >= self._expanded:
            return int(NEXT_CHECK * self._expanded) + WIDTH
        gained, left = np.log(before / missed), np.log(missed)
        share = FIRST if len(tests) == 2 else FAR if left > gained else NEAR
        columns = share * left / gained * (self._expanded - size)
        at_most = AT_MOST if self._basis.shape[0] <= MANY_ROWS else NEXT_CHECK - 1
        return self._expanded + int(min(columns, at_most * self._expanded))

    def _ritz(self, size: int, last: int, rough: bool = False) -> Ritz:
        """Return values, coefficients and residuals of the `last` of the `size` leading Ritz pairs.

        Rough ones are computed in the precision of the basis. They also serve to test the last
        few pairs; `pairs` returns only pairs that were computed in double.
        """
        s, all_ = self._expanded, self._known
        if self._latest is not None and self._latest[0] == (s, size):
            _, in_double, (values, Y, residuals) = self._latest
            if in_double or rough or last < size:
                return values[-last:], Y[:, -last:], residuals[-last:]
        T = self._projection[:s, :s]
        if rough:
            T = T.astype(self._basis.dtype, copy=False)
        values, Y = eigenpairs(T, s - size, s - size + last - 1)
        values, Y = values[::-1], Y[:, ::-1]
        residuals = np.linalg.norm(self._projection[s:all_, :s] @ Y, axis=0)
        if last == size:
            self._latest = (s, size), Y.dtype == np.float64, (values, Y, residuals)
            self._largest = self._largest or float(abs(values[0]))
        return values, Y, residuals

    def _suspicious(self, values: np.ndarray) -> bool:
        """Return whether an eigenvalue repeats as often as the space can represent it.

        A Krylov space contains at most as many copies as it had random columns. An eigenvalue
        that repeats that often may have more copies, which need further random columns.
        """
        apart = self._precision.same * values[0]
        positive = values[values > apart]
        starts = np.flatnonzero(np.diff(positive, prepend=np.inf) < -apart)
        repeats = np.diff(np.append(starts, len(positive)))
        return bool(repeats.max(initial=0) >= self._starts)

    def _expand(self, K: np.ndarray) -> None:
        """Apply K to the pending columns; the orthogonal remainder becomes pending."""
        pending = slice(self._expanded, self._known)
        Q = self._basis[:, : self._known]
        W = (Q[:, pending].T @ K).T  # K is symmetric; in this order BLAS is a third faster
        self._exhausted = self._none_left(W)
        C = np.zeros((self._known, W.shape[1]))
        # All but rounding lies in the last two blocks; the second pass removes the rest.
        recent = self._expanded - 2 * W.shape[1]
        for start in (recent if recent > self._restarted else 0, 0):
            part = W.T @ Q[:, start:]  # again the faster order
            W -= (part @ Q[:, start:].T).T
            C[start:] += part.T
        T = self._projection
        T[: self._known, pending] = C
        T[pending, : self._known] = C.T
        self._expanded = self._known
        if self._exhausted:
            return
        Y, R, order = _pivoted_qr(W)
        sizes = np.abs(R.diagonal()) / np.abs(T.diagonal()[: self._known]).max()
        rank = int(np.count_nonzero(sizes > self._precision.nothing))
        coupling = np.zeros((rank, W.shape[1]))
        coupling[:, order] = R[:rank]
        Y = Y[:, :rank]
        if rank and sizes[rank - 1] < self._precision.dependent:
            # A small remainder consists mostly of rounding errors of the subtraction.
            Y, R = np.linalg.qr(Y - Q @ (Q.T @ Y))
            coupling = R @ coupling
        self._extend(Y, coupling, W.shape[1] - rank)

    def _none_left(self, W: np.ndarray) -> bool:
        """Return whether the images W of the pending columns show that Q spans the range of K.

        The random columns are orthogonal to Q. If K maps them to rounding, its range has no
        component outside Q.
        """
        if not 0 < self._fresh <= self._expanded:
            return False
        largest = np.abs(np.diagonal(self._projection)[: self._expanded]).max()
        images = np.linalg.norm(W[:, -self._fresh :], axis=0)
        return bool(images.max() <= self._precision.residual * largest)

    def _add_random(self, count: int) -> None:
        """Append random columns orthogonal to all others, at most up to n columns."""
        self._extend(np.empty((self._basis.shape[0], 0)), np.empty((0, 0)), count)

    def _extend(self, Y: np.ndarray, coupling: np.ndarray, fresh: int) -> None:
        """Append the columns Y, coupled to the last expanded block, and `fresh` random ones."""
        n, known = self._basis.shape[0], self._known
        fresh = self._fresh = min(fresh, n - known - Y.shape[1])
        self._reserve(known + Y.shape[1] + fresh)
        self._basis[:, known : known + Y.shape[1]] = Y
        last = self._expanded - coupling.shape[1]
        self._projection[known : known + Y.shape[1], last : self._expanded] = coupling
        self._known += Y.shape[1]
        if fresh > 0:
            Q = self._basis[:, : self._known]
            X = self._random.standard_normal((n, fresh)).astype(Q.dtype)
            for _ in range(2):
                X -= Q @ (Q.T @ X)
                X = np.linalg.qr(X)[0]
            self._basis[:, self._known : self._known + fresh] = X
            self._known += fresh
            self._starts = getattr(self, "_starts", 0) + fresh

    def _reserve(self, columns: int) -> None:
        have = self._basis.shape[1]
        if columns <= have:
            return
        room = max(columns, 2 * have, self._room)
        basis = np.empty((self._basis.shape[0], room), dtype=self._basis.dtype, order="F")
        basis[:, :have] = self._basis
        projection = np.zeros((room, room))
        projection[:have, :have] = self._projection
        self._basis, self._projection = basis, projection


def _pivoted_qr(W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Factor W[:, order] = YR in place.

    For so few columns `scipy.linalg.qr` takes twice as long, because it queries LAPACK for the
    size of the work space.
    """
    geqp3, orgqr = QR[W.dtype]
    factors, order, reflectors, _, _ = geqp3(W, overwrite_a=True)
    R = factors[: W.shape[1]] * _upper(W.shape[1])
    Y, _, _ = orgqr(factors, reflectors, overwrite_a=True)
    return Y, R, order - 1


@cache
def _upper(size: int) -> np.ndarray:
    """Return a mask of the upper triangle; cached, as building it takes longer than its use."""
    return np.tri(size).T
