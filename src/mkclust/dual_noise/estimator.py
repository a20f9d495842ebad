"""MKC-DNM: multiple kernel clustering with dual noise minimization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.random import sample_without_replacement

from ..agreement.chance import unrelated_in
from ..agreement.subspaces import KernelSubspaces, view_spectra
from ..base import KernelClusterer
from ..data.memory import physical_memory
from ..data.views import MultiView
from ..exceptions import DegenerateWarning, InputError, check_whole, warn
from ..kernels.bank import KernelBank
from ..large.views import LargeViews
from ..linalg.checks import Verification
from ..linalg.kmeans import nearest_centers, unit_rows
from ..predict.kernels import kernel_extension
from ..predict.new_samples import OutOfSample, embedding_blocks
from .consensus import consensus, dual_noise
from .selection import Goal, Selection, select
from .verify import verify_fit

ALL_UP_TO = 20_000  # samples: beyond this, n x n kernels take too long
KERNEL_COPIES = 3  # n x n matrices that a fit may hold at a time
DRAWN = 5_000  # samples that are fitted of more
DRAWN_PER_CLUSTER = 25  # at least
KEPT_EMBEDDING = 512 << 20  # bytes: a larger embedding of all rows is not kept


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
    takes_missing_rows = True
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
        drawn = np.sort(
            sample_without_replacement(len(views), size, random_state=self.random_state)
        )
        sample = views.take(drawn) if isinstance(views, LargeViews) else views[drawn]
        self._solve(KernelBank(sample, self._recipe(sample)), k)
        self._place_all(views)
        self.notes_ = (
            f"{len(views)} samples: {size} of them, drawn at random, were fitted, and all were "
            "placed by predict; n_samples_fit sets the number",
            *self.notes_,
        )

    def _solve(self, kernels: KernelBank, k: int) -> None:
        self.n_samples_fit_ = kernels.n_samples
        spaces = KernelSubspaces.of(kernels)  # V_p, computed as needed
        selection = select(spaces, self._goal(k, kernels.n_samples))  # d: Eq. 16
        found = consensus(spaces, selection.d, k, selection.overlap)  # H*: Eq. 17
        self.noise_ = dual_noise(spaces.coordinates(found.H, selection.d))
        self._label(found.H, k)

        self.singular_values_ = found.singular_values
        if found.rank < k - 1:
            warn(
                f"the views span only {found.rank} common dimensions for {k} clusters",
                DegenerateWarning,
            )
        self._store(selection)
        self.agreement_ = selection.overlap.agreement(k)
        unrelated = {
            *selection.constraints.unrelated(),
            *unrelated_in(selection.overlap, k, spaces.vectors(2 * k)),
        }
        self.unrelated_views_ = [spaces.names[p] for p in sorted(unrelated)]
        self._extension = kernel_extension(kernels, spaces, selection.d, found.H)
        self._spectra = view_spectra(spaces, k)

    def _store(self, selection: Selection) -> None:
        proof = selection.dimensions.certificate
        self.dimensions_ = selection.d
        self.certificate_ = proof
        self.objective_, self.lower_bound_ = proof.objective, proof.lower_bound
        self.history_ = selection.dimensions.history
        self.n_iter_ = max(1, len(self.history_))
        self.threshold_ = selection.constraints.threshold
        self.notes_ = (*self.notes_, *selection.notes)

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

    def verify(self, views: Any) -> Verification:
        """Check every claim of the fit with other eigenvectors, and name near ties; n^3 per view.

        `views` are those of the fit.
        """
        return verify_fit(self, views)

    def describe_method(self) -> tuple[str, ...]:
        """Return what was found, one sentence each."""
        names = [str(name) for name in self.view_names_in_]
        kept = ", ".join(f"{d} of {name}" for name, d in zip(names, self.dimensions_, strict=True))
        return (
            f"eigenvectors kept: {kept}; any two views overlap by at least {self.threshold_:.3g}",
            str(self.certificate_),
            *self.notes_,
        )

    def _goal(self, k: int, n: int) -> Goal:
        return Goal.from_parameters(
            k, n, solver=self.solver, threshold=self.threshold, on_infeasible=self.on_infeasible,
            max_dimension=self.max_dimension,
        )  # fmt: skip
