"""MKC-DNM: multiple kernel clustering with dual noise minimization."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.utils.random import sample_without_replacement

from ..agreement.chance import p_values_on_common_rows, unrelated_positions
from ..agreement.subspaces import Subspaces, view_spectra
from ..base import KernelClusterer
from ..data.memory import physical_memory
from ..data.missing import check_presence
from ..data.views import MultiView
from ..exceptions import DegenerateWarning, InputError, check_whole, warn
from ..kernels.bank import KernelBank
from ..large.views import LargeViews
from ..linalg.kmeans import nearest_centers, unit_rows
from ..linalg.verification import TIE, Check, orthonormality_error, recomputed_spectrum
from ..predict.kernels import kernel_extension
from ..predict.new_samples import OutOfSample, embedding_blocks
from .consensus import completed_partition, consensus, dual_noise
from .selection import Goal, Selection, choose, select

ALL_UP_TO = 20_000  # samples: beyond this, n x n kernels take too long
KERNEL_COPIES = 3  # n x n matrices that a fit may hold at a time
DRAWN = 5_000  # samples that are fitted of more
DRAWN_PER_CLUSTER = 25  # at least
KEPT_EMBEDDING = 512 << 20  # bytes: a larger embedding of all rows is not kept
LEAST_SQUARES = 1e-4  # share of H* that may differ: its rounds end at a change of 1e-6


@dataclass(eq=False, repr=False, kw_only=True)
class MKCDNM(OutOfSample, KernelClusterer):
    r"""Multiple kernel clustering with dual noise minimization: no parameter beyond k.

    $$\min_d \sum_p d_p \quad \text{s.t.} \quad \|U_p^TU_q\|_F^2 \ge k \;\; \forall p, q$$

    with $U_p$ the $d_p$ leading eigenvectors of view p's kernel. $H^*$ are the k leading left
    singular vectors of $[U_1 \ldots U_m]$; k-means on its unit rows gives the labels. Few kept
    eigenvectors mean little N-noise, enough overlap means no C-noise.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    solver : {"authors", "paper", "exact"}
        The search of the published program, Algorithm 1 as printed, or the proven optimum.
    threshold : {"k", "k-1"} or float
        The overlap required of every pair. Centered kernels share k-1 dimensions for certain;
        ``"k-1"`` requires no more than that.
    on_infeasible : {"relax", "raise"}
        Where the overlap cannot be reached: exempt pairs at chance level, lower the threshold
        for the others and warn; or raise InfeasibleError.
    max_dimension : int, optional
        Largest number of eigenvectors per view; by default enough for unrelated views to reach
        the threshold by chance.
    n_samples_fit : int, optional
        Samples that are fitted, drawn with `random_state`; `predict` places the others. By
        default all samples up to 20 000 (fewer where three n x n matrices would fill half of
        the memory), and 5 000 of more.
    kernel, kernel_params, center, normalize, indefinite, columns, missing, n_init, random_state
        See KernelClusterer.

    Attributes
    ----------
    labels_ : (n,) int array
    embedding_ : (n, k) array, H*
    cluster_centers_ : (k, k) array, centers of the unit rows of H*
    inertia_ : float, sum of squared distances of the unit rows to their centers
    membership_ : (n, k) array, probability of every cluster for every sample (docs/confidence.md)
    singular_values_ : (k,) array, of all kept eigenvectors side by side
    dimensions_ : (m,) int array, d
    objective_, lower_bound_ : int, the sum of d and a proven lower bound
    certificate_ : Certificate, both with their scope; str() describes it
    noise_ : Noise, with arrays `null`, `column` and `cross` (m,)
    agreement_ : (m, m) array, chance-corrected; unrelated views show about 0
    history_ : tuple of Round (penalty M, d, d_hat, objective)
    threshold_ : float, the overlap required in the end
    unrelated_views_ : list of names of views that agree with no other beyond chance
    presence_ : (n, m) booleans, which samples each view holds; None where nothing is missing
    support_ : (n,) int array, in how many views each sample is; None where nothing is missing
    n_samples_fit_ : int, number of samples that were fitted
    notes_ : tuple of str, what else was decided: a drawn sample, relaxed constraints
    gap_shares_ : (m,) array, share of NaN cells in every view; absent for ``missing=None``
    n_iter_, sample_names_in_, view_names_in_, view_feature_names_in_, n_features_in_

    Time is that of m products of n x f_p, m partial eigenproblems of n x n and one product of
    n (sum D)^2; memory is one n x n kernel and the eigenvectors, n x (sum D). With a drawn
    sample, n is its size; each other row takes as many kernel values.

    References
    ----------
    J. Zhang, L. Li, S. Wang, J. Liu, Y. Liu, X. Liu, E. Zhu. Multiple Kernel Clustering with Dual
    Noise Minimization. ACM Multimedia 2022. doi:10.1145/3503161.3548334

    Examples
    --------
    >>> from mkclust import MKCDNM, datasets, metrics
    >>> views = datasets.make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)
    >>> model = MKCDNM(3, random_state=0).fit(views)
    >>> metrics.accuracy(views.labels, model.labels_)
    1.0
    """

    name = "mkc-dnm"
    title = "MKC-DNM"
    reference = (
        "J. Zhang et al., Multiple Kernel Clustering with Dual Noise Minimization, "
        "ACM Multimedia 2022"
    )
    reads_chunks = True

    solver: str = "authors"
    threshold: Any = "k"
    on_infeasible: str = "relax"
    max_dimension: int | None = None
    n_samples_fit: int | None = None

    def _fit(self, views: MultiView | LargeViews, k: int) -> None:
        size = self._sample_size(views, k)
        if size == len(views):
            data = views.in_memory() if isinstance(views, LargeViews) else views
            self._solve(KernelBank(data, self._recipe(data)), k)
            return
        rows = sample_without_replacement(len(views), size, random_state=self.random_state)
        drawn = np.sort(rows)
        sample = views.take(drawn) if isinstance(views, LargeViews) else views[drawn]
        check_presence(sample, k)
        self._solve(KernelBank(sample, self._recipe(sample)), k)
        self._place_all(views)
        self.notes_ = (
            f"{len(views)} samples: {size} of them, drawn at random, were fitted, and all were "
            "placed by predict; n_samples_fit sets the number",
            *self.notes_,
        )

    def _solve(self, kernels: KernelBank, k: int) -> None:
        self.n_samples_fit_ = kernels.n_samples
        spaces = Subspaces.of(kernels)  # V_p, computed as needed
        selection = select(spaces, Goal.of(self, k, kernels.n_samples))  # d: Eq. 16
        found = consensus(spaces, selection.d, k, selection.overlap)  # H*: Eq. 17
        self.noise_ = dual_noise(spaces.coordinates(found.H, selection.d))
        self._label(found.H, k)

        self.singular_values_ = found.singular_values
        if found.rank < k - 1:
            warn(
                f"the views span only {found.rank} common dimensions for {k} clusters",
                DegenerateWarning,
            )
        proof = selection.dimensions.certificate
        self.dimensions_ = selection.d
        self.certificate_ = proof
        self.objective_, self.lower_bound_ = proof.objective, proof.lower_bound
        self.history_ = selection.dimensions.history
        self.n_iter_ = max(1, len(self.history_))
        self.threshold_ = selection.constraints.threshold
        self.notes_ = (*self.notes_, *selection.notes)
        self.agreement_ = selection.overlap.agreement(k)
        p_values = p_values_on_common_rows(spaces.heads(2 * k), k, kernels.present)
        unrelated = {*selection.constraints.unrelated(), *unrelated_positions(p_values)}
        self.unrelated_views_ = [spaces.names[p] for p in sorted(unrelated)]
        self._extension = kernel_extension(kernels, spaces, selection.d, found.H)
        self._spectra = view_spectra(spaces, k)

    def _place_all(self, views: MultiView | LargeViews) -> None:
        """Replace labels and embedding of the drawn sample by those of all rows."""
        kept = 8 * len(views) * self._n_features_out <= KEPT_EMBEDDING
        labels, parts, inertia = [], [], 0.0
        for H in embedding_blocks(self._extension, views, [None] * views.n_views):
            labels.append(nearest_centers(H, self.cluster_centers_))
            inertia += float(np.sum((unit_rows(H) - self.cluster_centers_[labels[-1]]) ** 2))
            if kept:
                parts.append(H)
        self.labels_, self.inertia_ = np.concatenate(labels), inertia
        del self.embedding_, self._spectra  # they have a row per fitted sample
        if kept:
            self.embedding_ = np.concatenate(parts)

    def _sample_size(self, views: MultiView | LargeViews, k: int) -> int:
        """Return how many samples to fit."""
        n, asked = len(views), self.n_samples_fit
        if asked is None:
            in_memory = int(np.sqrt(physical_memory() / 2 / (8 * KERNEL_COPIES)))
            many = n > min(ALL_UP_TO, in_memory) and self._tables_only(views)
            return min(n, max(DRAWN, DRAWN_PER_CLUSTER * k)) if many else n
        check_whole("n_samples_fit", asked, max(k, 2))
        if asked < n and not self._tables_only(views):
            raise InputError("n_samples_fit is for views: given kernels are fitted as a whole")
        return int(min(asked, n))

    def _checks(self, views: MultiView) -> Iterator[Check | str]:
        """Check H*, dimensions, bound, noise and labels; n^3 per view up to 3000 samples.

        Where views lack samples, H* is compared with the answer of the same least squares problem.
        """
        k, d, H, proof = int(self.n_clusters), self.dimensions_, self.embedding_, self.certificate_
        if self.n_samples_fit_ < len(views):
            raise InputError("a drawn sample was fitted: verify a fit to all samples of fewer")
        kernels = KernelBank(views, self._recipe(views))
        spaces = Subspaces(kernels, kernels.names, kernels.present, solve=recomputed_spectrum)
        spaces.grow(max(int(d.max()), proof.eigenvectors))
        again = choose(spaces.overlap(k), Goal.of(self, k, len(views)), spaces.names)
        spaces.grow(int(d.max()) + 1)  # for ties at the last eigenvalue that is kept
        yield Check("H* has orthonormal columns", orthonormality_error(H), 1e-8)
        if views.present is None:
            sigma = scipy.linalg.svdvals(np.hstack(spaces.heads(d)))
            reached = sum(np.sum((H.T @ U) ** 2) for U in spaces.heads(d))
            missed = 1 - reached / np.sum(sigma[:k] ** 2)
            yield Check("no partition is closer to the kept subspaces", max(0.0, missed), 1e-8)
        else:
            other, sigma = completed_partition(spaces, d, k)
            missed = 1 - np.sum((other.T @ H) ** 2) / other.shape[1]
            claim = "H* solves the least squares problem of incomplete views"
            yield Check(claim, max(0.0, missed), LEAST_SQUARES)
        lacking = np.maximum(again.constraints.least(d) - d, 0).max()
        yield Check("every constraint is met", float(lacking), 0.0)
        off = float(np.abs(again.d - d).max())
        yield Check("the dimensions are those the solver finds", off, 0.0)
        stored = self.objective_ == proof.objective == d.sum()
        off = max(-proof.gap, 0) if stored and self.lower_bound_ == proof.lower_bound else 1
        yield Check("the bound is below the sum of dimensions", float(off), 0.0)
        noise = vars(dual_noise(spaces.coordinates(H, d)))
        off = max(np.abs(noise[part] - vars(self.noise_)[part]).max() for part in noise)
        yield Check("the noise is as reported", float(off / d.max()), 1e-6)
        yield self._check_labels(nearest_centers(H, self.cluster_centers_))
        yield from _near_ties(d, k, spaces, again, sigma)

    def describe_method(self) -> tuple[str, ...]:
        """Return what was found, one sentence each."""
        names = [str(name) for name in self.view_names_in_]
        kept = ", ".join(f"{d} of {name}" for name, d in zip(names, self.dimensions_, strict=True))
        return (
            f"eigenvectors kept: {kept}; any two views overlap by at least {self.threshold_:.3g}",
            str(self.certificate_),
            *self.notes_,
        )


def _near_ties(
    d: np.ndarray, k: int, spaces: Subspaces, found: Selection, sigma: np.ndarray
) -> Iterator[str]:
    """Yield a sentence for every decision by less than `TIE`."""
    names, overlap, threshold = spaces.names, found.overlap, found.constraints.threshold
    for name, spectrum, size in zip(names, spaces, d, strict=True):
        values = spectrum.values
        if size < len(values) and (gap := (values[size - 1] - values[size]) / values[0]) < TIE:
            yield (
                f"eigenvalues {size} and {size + 1} of {name} differ by {gap:.0e} of the largest: "
                "which eigenvector is kept is arbitrary"
            )
    for p, q in () if found.constraints.relaxed else overlap.pairs():
        table = overlap.table(p, q)
        for a, b in ((d[p], d[q]), (d[p] - 1, d[q]), (d[p], d[q] - 1)):
            if (slack := abs(table[a, b] - threshold) / max(threshold, 1.0)) < TIE:
                yield (
                    f"{names[p]} and {names[q]} meet the threshold at {a} and {b} eigenvectors "
                    f"within {slack:.0e}"
                )
    if k < len(sigma) and (sigma[k - 1] - sigma[k]) / sigma[0] < TIE:
        yield (
            f"singular values {k} and {k + 1} of the kept eigenvectors are equal: H* is not unique"
        )
