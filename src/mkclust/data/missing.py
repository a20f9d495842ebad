"""Samples that some views lack: overlaps over common rows, and a consensus from what is there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg
from scipy.sparse.csgraph import connected_components

from ..agreement.overlap import Overlap
from ..exceptions import InputError
from ..linalg.eigen import eigenpairs
from ..linalg.spectrum import Spectrum
from ..progress import step
from .views import MultiView

DEPENDENT = 1e-8  # relative; a direction that common rows tell no better from earlier ones
ROUNDS = 500  # at most, of alternating least squares
SETTLED = 1e-6  # share of the consensus that still turns in a round


def require_complete(views: MultiView, who: str) -> None:
    """Refuse views that lack samples, naming the first, where they cannot be taken."""
    if views.present is None:
        return
    i, p = np.argwhere(~views.present)[0]
    sample = i if views.index is None else repr(views.index[i : i + 1].tolist()[0])
    raise InputError(
        f"view {views.names[p]!r} lacks sample {sample} (NaN; {int((~views.present).sum())} rows "
        f"are missing in all views), and {who} needs every sample in every view: MKC-DNM with "
        "approximation=None does not; or drop the samples, or fill in the rows"
    )


def check_presence(views: MultiView, k: int) -> tuple[str, ...]:
    """What is missing, in words; an InputError where k clusters cannot be found in what is left."""
    if views.present is None:
        return ()
    common = common_rows(views.present)
    for name, held in zip(views.names, np.diagonal(common), strict=True):
        if held < max(k, 2):
            raise InputError(
                f"view {name!r} holds {held} of the {len(views)} samples, too few for {k} "
                "clusters: leave the view out"
            )
    _check_linked(common, views.names, k)
    apart = [
        f"{views.names[p]} and {views.names[q]}"
        for p, q in np.argwhere(np.triu(common <= k, 1)).tolist()
    ]
    told = f"Too few samples in common to be compared: {', '.join(apart)}."
    return (presence_words(views.present, views.names), *([told] if apart else []))


def presence_words(present: np.ndarray, names: Sequence[str]) -> str:
    """How many samples rest on how little, in a sentence.

    >>> print(presence_words(np.array([[True, True], [True, False]]), ["rna", "protein"]))
    1 of 2 samples lack at least one view (missing: 1 of protein); 1 rest on one view only.
    """
    support = present.sum(axis=1)
    gone = [f"{n} of {name}" for name, n in zip(names, (~present).sum(axis=0), strict=True) if n]
    lacking, alone = np.count_nonzero(support < len(names)), np.count_nonzero(support == 1)
    return (
        f"{lacking} of {len(present)} samples lack at least one view (missing: {', '.join(gone)}); "
        f"{alone} rest on one view only."
    )


def _check_linked(common: np.ndarray, names: Sequence[str], k: int) -> None:
    """Clusters of views that share next to no samples cannot be told to be the same."""
    groups, group = connected_components(common > k, directed=False)
    if groups > 1:
        apart = (", ".join(np.asarray(names)[group == g]) for g in range(groups))
        raise InputError(
            f"no more than {k} samples are common to any two of these groups of views: "
            f"{' / '.join(apart)}. With {k} clusters nothing tells which of them belong together: "
            "cluster the groups on their own, or add samples that both have"
        )


def common_rows(present: np.ndarray) -> np.ndarray:
    """How many samples each pair of views shares, (m, m); on the diagonal each view's own.

    >>> common_rows(np.array([[True, True], [True, False], [False, True]]))
    array([[2, 1],
           [1, 2]])
    """
    counts = present.astype(np.int64)
    return np.asarray(counts.T @ counts)


def orthonormal_prefixes(vectors: np.ndarray) -> np.ndarray:
    """Columns whose first a span what the first a of `vectors` (c, D) do, orthonormal or zero.

    Zero where a column adds nothing to those before it: with more columns than rows most of all.
    """
    size = min(vectors.shape)
    Q, R = scipy.linalg.qr(vectors[:, :size], mode="economic", check_finite=False)
    length = np.linalg.norm(vectors[:, :size], axis=0)
    kept = np.zeros_like(vectors)
    new = np.abs(np.diagonal(R)) > DEPENDENT * length
    kept[:, :size][:, new] = Q[:, new]
    return kept


def overlap_on_common_rows(spectra: Sequence[Spectrum], present: np.ndarray, k: int) -> Overlap:
    r"""Overlaps of bases over the rows both views have: $\|Q_p^TQ_q\|_F^2$, $Q$ of $V[C_{pq}]$.

    The bases are zero at absent samples, so $V_p^TV_q$ would run over the $n_{pq}$ common rows
    $C_{pq}$ but count them as if they were all: a shared direction shows $n_{pq}^2 / (n_pn_q)$
    of its overlap. Here both bases are orthonormalised over the common rows first, prefix by
    prefix, so that the overlap is what it would be were these rows all there is: between 0 and
    min(a, b), equal to it for equal subspaces, and $ab/n_{pq}$ for unrelated ones.

    A pair of no more than k common rows has no overlap: k directions would fill them. Time is
    that of two QR factorisations per pair, $O(n_{pq} D^2)$.
    """
    step("overlaps of all pairs of views, over common rows")
    common = common_rows(present)
    common[common <= k] = 0
    starts = np.concatenate([[0], np.cumsum([spectrum.size for spectrum in spectra])])
    found = Overlap(np.eye(starts[-1]), starts, len(present), common)
    for p, q in found.pairs():
        rows = np.flatnonzero(present[:, p] & present[:, q])
        Q = [orthonormal_prefixes(spectra[view].vectors[rows]) for view in (p, q)]
        found.block(p, q)[:] = Q[0].T @ Q[1]
        found.block(q, p)[:] = found.block(p, q).T
    return found


def completed_partition(
    spectra: Sequence[Spectrum],
    dimensions: Sequence[int] | np.ndarray,
    k: int,
    present: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    r"""The consensus of bases that are known in part, and the singular values it would have.

    $$\min_{H, B} \sum_p \|U_p - H[I_p] B_p\|_F^2 \quad \text{s.t.} \quad H^TH = I_k$$

    with $U_p$ (n_p, d_p) the kept directions of view p over the samples $I_p$ it holds, scaled by
    $\sqrt{n_p/n}$ to what they would be if the others were like them. With all samples in all
    views these are the k leading left singular vectors of $[U_1 \ldots U_m]$, as in `consensus`.
    By alternating least squares: each $B_p$ from H, then each sample's row of H from the views
    it is in, with a ridge: the share of all $U_p$ that H does not explain, which is the noise
    against the unit columns of H. It keeps a row from going far where its views show little, and
    changes nothing where all samples are in all views.

    Returns H (n, r) and singular values (r,), descending; r is k unless the kept directions span
    less. A round takes O(n k sum(d)) and a k x k solution per pattern of presence there is.
    """
    step("consensus from the views each sample is in")
    lengths = np.sqrt(present.mean(axis=0))
    parts = zip(spectra, dimensions, lengths, strict=True)
    U = [spectrum.vectors[:, :d] * length for spectrum, d, length in parts]
    H = _zero_padded_start(U, present, k)
    patterns, which = np.unique(present, axis=0, return_inverse=True)
    groups = [np.flatnonzero(which.ravel() == g) for g in range(len(patterns))]
    for _ in range(ROUNDS):
        B = _coefficients(U, H, present)
        before, H = H, _rows(U, B, H, patterns, groups)
        if H.shape[1] - np.sum((before.T @ H) ** 2) <= SETTLED * H.shape[1]:
            break
    squares, turn = np.linalg.eigh(_strengths(_coefficients(U, H, present)).sum(axis=0))
    return H @ turn[:, ::-1], np.sqrt(np.maximum(squares[::-1], 0.0))


def _zero_padded_start(U: Sequence[np.ndarray], present: np.ndarray, k: int) -> np.ndarray:
    """Leading left singular vectors of all bases, rows longer the fewer views they are in."""
    views = present.sum(axis=1)
    weight = np.sqrt(len(U) / np.maximum(views, 1))
    A = np.hstack(U) * weight[:, None]
    size = A.shape[1]
    squares, W = eigenpairs(A.T @ A, max(size - k, 0), size - 1)
    H = A @ W[:, squares > DEPENDENT * squares[-1]]
    return np.asarray(scipy.linalg.qr(H, mode="economic", check_finite=False)[0])


def _coefficients(U: Sequence[np.ndarray], H: np.ndarray, present: np.ndarray) -> list[np.ndarray]:
    """$B_p$ (r, d_p): least squares of each view's directions on H over its own samples."""
    over = [H[held] for held in present.T]
    return [
        scipy.linalg.lstsq(part.T @ part, H.T @ basis, cond=DEPENDENT, check_finite=False)[0]
        for part, basis in zip(over, U, strict=True)
    ]


def _strengths(B: Sequence[np.ndarray]) -> np.ndarray:
    """$B_pB_p^T$ of every view: (m, r, r)."""
    return np.array([b @ b.T for b in B])


def _rows(
    U: Sequence[np.ndarray],
    B: Sequence[np.ndarray],
    H: np.ndarray,
    patterns: np.ndarray,
    groups: Sequence[np.ndarray],
) -> np.ndarray:
    """H (n, r), orthonormal, from the views of each sample: one system per pattern of presence."""
    G = _strengths(B)
    target = sum(basis @ b.T for basis, b in zip(U, B, strict=True))
    explained = np.sum(H * target) / sum(np.sum(basis**2) for basis in U)
    ridge = max(1.0 - explained, DEPENDENT) * np.eye(H.shape[1])
    found = np.empty_like(H)
    for pattern, rows in zip(patterns, groups, strict=True):
        found[rows] = np.linalg.solve(G[pattern].sum(axis=0) + ridge, target[rows].T).T
    return np.asarray(scipy.linalg.qr(found, mode="economic", check_finite=False)[0])
