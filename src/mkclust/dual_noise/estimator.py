"""MKC-DNM: multiple kernel clustering with dual noise minimization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..agreement.chance import unrelated_in
from ..agreement.spectra import view_spectra
from ..agreement.subspaces import KernelSubspaces, Subspaces
from ..base import KernelClusterer
from ..chunked.distributed import engine_for
from ..chunked.row_run import ChunkedEmbedding, run_seed
from ..chunked.rows import Rows
from ..chunked.run import LargeRun
from ..data.missing import require_complete
from ..data.views import MultiView
from ..exceptions import DegenerateWarning, InputError, warn
from ..kernels.approximation import Approximation, fits_in_memory
from ..kernels.bank import KernelBank, KernelRecipe
from ..kernels.features import EXPLICIT
from ..large.views import LargeViews
from ..linalg.checks import Verification
from ..linalg.kmeans import Clusters
from ..out_of_sample.nystroem import FeatureExtension, kernel_extension
from ..out_of_sample.predictor import OutOfSample
from .consensus import Consensus, consensus
from .noise import dual_noise
from .selection import Goal, Selection, select
from .verify import verify_fit

PRECISIONS = ("double", "single")
APPROXIMATIONS = ("auto", "nystroem", "fourier")


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
    precision : {"double", "single"}
        Precision of kernels and eigenvectors. Single halves memory and about halves time; H* is
        accurate to about 1e-5. Overlaps, dimensions and consensus are computed in double.
    approximation : {"auto", "nystroem", "fourier"} or None
        Explicit features in place of n x n kernels, for data of any length (docs/scale.md):
        Nystroem features on landmark rows, or random Fourier features for Gaussian kernels.
        ``"auto"`` uses landmarks above 20 000 samples, or where three kernels would fill half
        the memory; None never approximates.
    n_components : int, optional
        Features per view: landmarks, or cosines and sines; 300, or 4k where that is more.
    kernel, kernel_params, center, normalize, indefinite, columns, missing, n_init, random_state
        See KernelClusterer.

    Attributes
    ----------
    labels_ : (n,) int array
    embedding_ : (n, k) array, H*
    cluster_centers_ : (k, k) array, centers of the unit rows of H*
    inertia_ : float, sum of squared distances of the unit rows to their centers
    membership_ : (n, k) array, probability of every cluster for every sample (docs/confidence.md)
    confidence_ : (n,) array, probability of each sample's own cluster
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
    approximation_ : str or None, how kernels were approximated
    notes_ : tuple of str, what else was decided: approximation, relaxed constraints
    gap_shares_ : (m,) array, share of NaN cells in every view; absent for ``missing=None``
    n_iter_, sample_names_in_, view_names_in_, view_feature_names_in_, n_features_in_

    Time is that of m products of n x f_p, m partial eigenproblems of n x n and one product of
    n (sum D)^2; memory is one n x n kernel and the eigenvectors, n x (sum D).

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

    def __init__(
        self,
        n_clusters: int,
        *,
        solver: str = "authors",
        threshold: Any = "k",
        on_infeasible: str = "relax",
        max_dimension: int | None = None,
        precision: str = "double",
        approximation: str | None = "auto",
        n_components: int | None = None,
        kernel: Any = "gaussian",
        kernel_params: Mapping[str, Any] | None = None,
        center: bool = True,
        normalize: bool = True,
        indefinite: str = "raise",
        columns: Any = None,
        missing: Any = None,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters, kernel=kernel, kernel_params=kernel_params, center=center,
            normalize=normalize, indefinite=indefinite, columns=columns, missing=missing,
            n_init=n_init, random_state=random_state,
        )  # fmt: skip
        self.solver = solver
        self.threshold = threshold
        self.on_infeasible = on_infeasible
        self.max_dimension = max_dimension
        self.precision = precision
        self.approximation = approximation
        self.n_components = n_components

    def _fit(self, views: MultiView | LargeViews, k: int) -> None:
        method = self._checked_approximation(views)
        self.approximation_ = method
        if method is not None:
            self._fit_chunks(views, method, k)
        else:
            data = views.in_memory() if isinstance(views, LargeViews) else views
            self._solve(KernelBank(data, self._recipe(data)), k)

    def _solve(self, kernels: KernelBank, k: int) -> None:
        """Cluster from kernels in memory."""
        self.approximation_ = None
        spaces = KernelSubspaces.of(kernels)
        selection, found = self._consensus_of(spaces, k, kernels.n_samples)
        self._extension = kernel_extension(kernels, spaces, selection.d, found.H)
        self._spectra = view_spectra(spaces, k)
        self._label(found.H, k)

    def _fit_chunks(self, views: MultiView | LargeViews, method: str, k: int) -> None:
        """Cluster from explicit features of rows that are read in chunks."""
        if isinstance(views, MultiView):
            require_complete(views, f"MKC-DNM with kernels approximated by {method!r}")
        rows = Rows(dict(zip(views.names, views.views, strict=True)))
        with engine_for(None) as engine:
            run = LargeRun(rows, self._features_wanted(rows, method, k), engine, None)
            _, found = self._consensus_of(run.subspaces(), k, len(rows))
            embedding: ChunkedEmbedding = found.H
            clusters: Any = embedding.cluster(k, self.n_init)
            kept: Any = embedding.array()
        self._extension = FeatureExtension(
            rows.names, rows.widths, run.features, embedding.weights, run.graph_views
        )
        self._keep(clusters, kept)
        self.n_components_ = np.diff(run.features.starts)
        self.stage_seconds_ = run.seconds
        described = f"{len(rows)} samples: kernels approximated by {run.described}"
        if clusters.sampled < len(rows):
            described += f"; k-means was started on {clusters.sampled} of them"
        self.notes_ = (described, *self.notes_)

    def _consensus_of(self, subspaces: Subspaces, k: int, n: int) -> tuple[Selection, Consensus]:
        """Follow section 3 of the paper: dimensions, consensus, noise."""
        selection = select(subspaces, self._goal(k, n))  # d: Eq. 16, by Algorithm 1 or exactly
        found = consensus(subspaces, selection.d, k, selection.overlap)  # H*: Eq. 17
        if found.rank < k - 1:
            warn(
                f"the views span only {found.rank} common dimensions for {k} clusters",
                DegenerateWarning,
            )
        self._store(selection, subspaces, k)
        self.noise_ = dual_noise(subspaces.coordinates(found.H, found.W, selection.d))
        self.singular_values_ = found.singular_values
        return selection, found

    def _store(self, selection: Selection, subspaces: Subspaces, k: int) -> None:
        proof = selection.dimensions.certificate
        self.dimensions_ = selection.d
        self.certificate_ = proof
        self.objective_, self.lower_bound_ = proof.objective, proof.lower_bound
        self.history_ = selection.dimensions.history
        self.n_iter_ = max(1, len(self.history_))
        self.agreement_ = selection.overlap.agreement(k)
        self.threshold_ = selection.constraints.threshold
        self.notes_ = (*getattr(self, "notes_", ()), *selection.notes)
        heads = subspaces.vectors(2 * k)
        unrelated = {
            *selection.constraints.unrelated(),
            *unrelated_in(selection.overlap, k, heads),
        }
        self.unrelated_views_ = [subspaces.names[p] for p in sorted(unrelated)]

    def _keep(self, clusters: Clusters, embedding: Any) -> None:
        self.labels_, self.inertia_ = clusters.labels, clusters.inertia
        self.cluster_centers_ = clusters.centers
        if embedding is not None:
            self.embedding_ = embedding

    def verify(self, views: Any) -> Verification:
        """Check every claim of the fit with other eigenvectors, and name near ties; n^3 per view.

        `views` are those of the fit.
        """
        return verify_fit(self, views)

    def describe(self) -> tuple[str, ...]:
        """Return what was found, one sentence each."""
        names = [str(name) for name in self.view_names_in_]
        kept = ", ".join(f"{d} of {name}" for name, d in zip(names, self.dimensions_, strict=True))
        return (
            f"eigenvectors kept: {kept}; any two views overlap by at least {self.threshold_:.3g}",
            str(self.certificate_),
            *self.notes_,
        )

    def _features_wanted(self, rows: Rows, method: str, k: int) -> Approximation:
        recipe = super()._recipe(rows)  # type: ignore[arg-type]
        return Approximation.checked(
            recipe.for_views(rows.names), method, self.n_components, k, params=recipe.params,
            center=self.center, normalize=self.normalize,
            seed=run_seed(self.random_state, None),
        )  # fmt: skip

    def _checked_approximation(self, views: MultiView | LargeViews) -> str | None:
        asked = None if self.approximation in (None, "none") else self.approximation
        if asked is not None and asked not in APPROXIMATIONS:
            raise InputError(
                f"approximation must be one of {', '.join(APPROXIMATIONS)} or None, got {asked!r}"
            )
        if asked != "auto":
            return asked
        kernels = [] if views.kernels else self._recipe(views).for_views(views.names)
        explicit = bool(kernels) and all(kernel in EXPLICIT for kernel in map(str, kernels))
        return "nystroem" if explicit and not fits_in_memory(len(views)) else None

    def _recipe(self, views: MultiView | LargeViews) -> KernelRecipe:
        if self.precision not in PRECISIONS:
            raise InputError(f'precision must be "double" or "single", got {self.precision!r}')
        return replace(super()._recipe(views), single=self.precision == "single")

    def _goal(self, k: int, n: int) -> Goal:
        return Goal.checked(
            k, n, solver=self.solver, threshold=self.threshold, on_infeasible=self.on_infeasible,
            max_dimension=self.max_dimension,
        )  # fmt: skip
