"""MKC-DNM: multiple kernel clustering with dual noise minimization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..agreement.cache import spectra_of
from ..agreement.chance import lone_in
from ..agreement.spectra import evidence
from ..base import MultiViewClusterer
from ..chunked.distributed import engine_for
from ..chunked.rows import Rows, stored_rows
from ..chunked.run import LargeRun
from ..data.missing import check_presence, require_complete
from ..data.views import MultiView
from ..exceptions import DegenerateWarning, InputError, MissingRowsWarning, warn
from ..graph_fusion.fusion import partition
from ..graphs.affinity import ALL_DISTANCES_UP_TO
from ..inspection.influence import ViewInfluence, influence_of
from ..inspection.stability import SPLITS, Stability, stability_of
from ..kernels.approximation import Approximation, fits_in_memory, graphs_fit
from ..kernels.bank import AUTO, KernelBank, KernelRecipe
from ..kernels.features import EXPLICIT
from ..out_of_sample.neighbors import fused_projection
from ..out_of_sample.nystroem import projection
from ..out_of_sample.predictor import NewSamples
from .consensus import coefficients
from .noise import dual_noise, dual_noise_of
from .selection import Goal, Selection, select
from .verify import Verification, verify_fit

PRECISIONS = ("double", "single")
OF_A_ROUTE = (
    "_evidence", "embedding_", "n_components_", "stage_seconds_", "fusion_", "weights_",
)  # fmt: skip
GRAPH_DIRECTIONS = 4  # times k: directions of a neighbour graph that dimensions are chosen among
APPROXIMATIONS = ("auto", "nystroem", "fourier")


class MKCDNM(NewSamples, MultiViewClusterer):
    r"""Multiple kernel clustering with dual noise minimization: no parameter beyond k.

    $$\min_d \sum_p d_p \quad \text{s.t.} \quad \|U_p^TU_q\|_F^2 \ge k \;\; \forall p, q$$

    with $U_p$ the $d_p$ leading eigenvectors of view p's kernel; then $H^*$, the k leading left
    singular vectors of $[U_1 \ldots U_m]$; then k-means on its normalised rows. Fewer kept
    directions mean less N-noise, enough overlap means no C-noise.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, k.
    solver : {"authors", "paper", "exact"}
        The published program's search; Algorithm 1 as printed; the proven optimum.
    threshold : {"k", "k-1"} or float
        The overlap asked of every pair. Centred kernels share only k-1 directions for certain,
        so ``"k-1"`` asks for no more than that.
    on_infeasible : {"relax", "raise"}
        When the overlap cannot be reached: exempt pairs at chance level, lower the threshold for
        the others and warn, or raise InfeasibleError.
    max_dimension : int, optional
        Most directions to compute per view; by default enough for unrelated views to meet.
    precision : {"double", "single"}
        Single precision for kernels and their eigenvectors: half the memory, about half the
        time, H* to about 1e-5. Overlaps, dimensions and consensus are computed in double.
    approximation : {"auto", "nystroem", "fourier"} or None
        Explicit features in place of n x n kernels, for data of any length (docs/scale.md):
        on landmark rows, or random Fourier features for Gaussian kernels. ``"auto"`` takes
        landmarks above 20 000 samples, or where three kernels would fill half the memory;
        None never approximates.
    n_components : int, optional
        Features per view: landmarks, or cosines and sines; 300, or 4k where that is more.
    work : path, optional
        Folder in which a long run keeps its finished passes, to go on from after an interruption.
    dask : str or dask.distributed.Client, optional
        Address of a scheduler, or its client: the passes are made by its workers.
    kernel, kernel_params, center, normalize, indefinite, columns, n_init, random_state
        See MultiViewClusterer.

    Attributes
    ----------
    labels_ : (n,) int array
    embedding_ : (n, k) array, H*
    cluster_centers_ : (k, k) array, of the embedding's rows scaled to length one
    singular_values_ : (k,) array, of all kept directions side by side
    dimensions_ : (m,) int array, d
    objective_, lower_bound_ : int, the sum of d and what it cannot be below
    certificate_ : Certificate, both with their scope; str() says it in words
    fusion_, weights_ : Fusion and (m,) array, with ``kernel="auto"``: how the graphs of the
        views were put together; the embedding is then (n, 2k + 1), and does not rest on d
    noise_ : Noise, with arrays `null`, `column` and `cross` (m,)
    agreement_ : (m, m) array, chance-corrected; unrelated views show about 0
    history_ : tuple of Round (penalty M, d, d_hat, objective)
    threshold_ : float, the overlap asked in the end
    unrelated_views_ : list of names of views that agree with no other beyond chance
    presence_ : (n, m) booleans, which samples each view holds; None where nothing is missing
    support_ : (n,) int array, in how many views each sample is; None where nothing is missing
    approximation_ : str or None, how kernels were approximated
    notes_ : tuple of str, what was decided on the way: the route, relaxed constraints
    n_iter_, view_names_in_, n_features_in_

    Time is m products of n x f_p, m partial eigenproblems of n x n and one n (sum D)^2 product;
    memory is one n x n kernel and the bases, n x (sum D).

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

    title = "MKC-DNM"
    reference = (
        "J. Zhang et al., Multiple Kernel Clustering with Dual Noise Minimization, "
        "ACM Multimedia 2022"
    )
    takes_missing_rows = True

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
        work: str | Path | None = None,
        dask: str | Any | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.solver = solver
        self.threshold = threshold
        self.on_infeasible = on_infeasible
        self.max_dimension = max_dimension
        self.precision = precision
        self.approximation = approximation
        self.n_components = n_components
        self.work = work
        self.dask = dask

    def stability(self, views: Any, *, n_splits: int = SPLITS, random_state: int = 0) -> Stability:
        """Which clusters and samples halves of the data would keep; `views` as fitted."""
        check_is_fitted(self, "labels_")
        return stability_of(self, views, n_splits=n_splits, random_state=random_state)

    def view_influence(self, views: Any) -> ViewInfluence:
        """The answer with each view left out, and the views that are noise; `views` as fitted."""
        check_is_fitted(self, "labels_")
        return influence_of(self, views)

    def verify(self, views: Any) -> Verification:
        """Check every claim of the fit by other eigenvectors, and name near ties; n^3 per view."""
        check_is_fitted(self, "labels_")
        return verify_fit(self, views)

    def _checked_views(self, X: Any) -> Any:
        rows = stored_rows(X)
        if rows is None:
            return super()._checked_views(X)
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = rows.shape[1]
        return rows

    def _fit_views(self, views: MultiView | Rows) -> None:
        method = self._checked_approximation(views)
        self._begin(method)
        if method is None:
            self._fit_in_memory(views.in_memory() if isinstance(views, Rows) else views)
            return
        if isinstance(views, MultiView):
            require_complete(views, f"MKC-DNM with kernels approximated by {method!r}")
        k = self._checked_k(views)
        self._check_kmeans()
        self.view_names_in_ = np.array(views.names, dtype=object)
        self._solve_rows(views if isinstance(views, Rows) else Rows(views), method, k)

    def fit_kernels(self, kernels: KernelBank) -> Self:
        self._begin(None, kernels.present)
        return super().fit_kernels(kernels)

    def _begin(self, method: str | None, present: np.ndarray | None = None) -> None:
        """Forget an earlier fit, which may have taken another route."""
        self.approximation_ = method
        self.notes_: tuple[str, ...] = ()
        self.presence_ = present
        self.support_ = None if present is None else present.sum(axis=1)
        for name in OF_A_ROUTE:
            self.__dict__.pop(name, None)

    def _fit_in_memory(self, views: MultiView) -> None:
        notes = check_presence(views, self._checked_k(views))
        self._begin(None, views.present)
        super()._fit_views(views)
        self.notes_ = (*notes, *self._unused(len(views)), *self.notes_)
        if notes:
            warn(" ".join(notes), MissingRowsWarning)

    def _unused(self, n: int) -> tuple[str, ...]:
        """What was asked for and serves only where kernels are approximated, piece by piece."""
        idle = [name for name in ("work", "dask") if getattr(self, name) is not None]
        if not idle:
            return ()
        many = "were" if len(idle) > 1 else "was"
        return (
            f"{' and '.join(idle)} {many} not used: the kernels of {n} samples fit in memory "
            '(approximation="nystroem" takes the other route)',
        )

    def _solve(self, kernels: KernelBank, k: int) -> None:
        goal = self._goal(k, kernels.n_samples)
        spectra = spectra_of(kernels)
        found = select(spectra, goal)
        result = partition(spectra, found, k)
        _warn_if_degenerate(int(np.count_nonzero(result.singular_values)), k)
        heads = [spectra[p].vectors[:, : 2 * k] for p in range(len(kernels))]
        self._store(found, kernels.names, heads)
        if result.fusion is not None and not self.unrelated_views_:
            self.notes_ = ()  # the answer does not rest on the dimensions
        self.noise_ = dual_noise(result.H, spectra, found.d)
        self.singular_values_ = result.singular_values
        self._evidence = evidence(spectra, k)
        if result.fusion is None:
            self._projection = projection(kernels, spectra, found.d, result.H)
        else:
            self.fusion_, self.weights_ = result.fusion, result.fusion.chosen.weights
            self._projection = fused_projection(kernels, result)
        self._label(result.embedding, k)

    def _solve_rows(self, rows: Rows, method: str, k: int) -> None:
        """The same stages over explicit features: nothing of n rows but H* and the labels."""
        goal = self._goal(k, len(rows))
        with engine_for(self.dask) as engine:
            run = LargeRun(rows, self._features_wanted(rows, method, k), engine, self.work)
            spectra = run.spectra()
            found = select(spectra, goal)
            result = coefficients(found.d, k, found.overlap)
            _warn_if_degenerate(result.rank, k)
            self._store(found, rows.names)
            self.noise_ = dual_noise_of(result.W, found.d, found.overlap)
            self.singular_values_ = np.pad(result.singular_values, (0, k - result.rank))
            weights = spectra.weights(found.d, result.W)
            run.embed(weights)
            clusters = run.cluster(k, self.n_init)
            embedding: Any = run.embedding()
        self.labels_, self.cluster_centers_ = clusters.labels, clusters.centers
        self._projection = run.projection(weights)
        if embedding is not None:
            self.embedding_ = embedding
        self.n_components_ = np.diff(run.features.starts)
        self.stage_seconds_ = run.seconds
        self.notes_ = (
            f"{len(rows)} samples: {'Gaussian ' * self._is_auto}kernels approximated by "
            f"{run.described}", *self.notes_,
        )  # fmt: skip

    def _features_wanted(self, rows: Rows, method: str, k: int) -> Approximation:
        recipe = self._recipe(rows)
        if self._is_auto:
            recipe = KernelRecipe("gaussian")
        return Approximation.checked(
            recipe.for_views(rows.names), method, self.n_components, k, params=recipe.params,
            center=self.center, normalize=self.normalize, seed=self._seed(),
        )  # fmt: skip

    def _seed(self) -> int:
        if self.random_state is None and self.work is not None:
            raise InputError("a run that can be resumed needs a seed: give random_state")
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _store(
        self,
        found: Selection,
        names: tuple[str, ...],
        heads: Sequence[np.ndarray] | None = None,
    ) -> None:
        proof = found.dimensions.certificate
        self.dimensions_ = found.d
        self.certificate_ = proof
        self.objective_, self.lower_bound_ = proof.objective, proof.lower_bound
        self.history_ = found.dimensions.history
        self.n_iter_ = max(1, len(self.history_))
        self.agreement_ = found.overlap.agreement(int(self.n_clusters))
        self.threshold_ = found.stairs.threshold
        self.notes_ = found.notes
        lone = {*found.stairs.unrelated(), *lone_in(found.overlap, int(self.n_clusters), heads)}
        self.unrelated_views_ = [names[p] for p in sorted(lone)]

    def _checked_approximation(self, views: MultiView | Rows) -> str | None:
        asked = None if self.approximation in (None, "none") else self.approximation
        if asked is not None and asked not in APPROXIMATIONS:
            raise InputError(
                f"approximation must be one of {', '.join(APPROXIMATIONS)} or None, got {asked!r}"
            )
        if asked != "auto":
            return asked
        if self._is_auto:
            return None if graphs_fit(len(views), views.widths) else "nystroem"
        kernels = [] if views.kernels else self._recipe(views).for_views(views.names)
        explicit = bool(kernels) and all(kernel in EXPLICIT for kernel in map(str, kernels))
        return "nystroem" if explicit and not fits_in_memory(len(views)) else None

    def _recipe(self, views: MultiView | Rows) -> KernelRecipe:
        if self.precision not in PRECISIONS:
            raise InputError(f'precision must be "double" or "single", got {self.precision!r}')
        return replace(super()._recipe(views), single=self.precision == "single")

    def _goal(self, k: int, n: int) -> Goal:
        most = self.max_dimension
        if most is None and self._is_auto:
            # Beyond these a graph tells where single samples are, not clusters; and of many
            # samples those that the weights of the views need are enough to compute.
            most = min((GRAPH_DIRECTIONS if n <= ALL_DISTANCES_UP_TO else 2) * k, n)
        return Goal.checked(
            k, n, solver=self.solver, threshold=self.threshold, on_infeasible=self.on_infeasible,
            max_dimension=most,
        )  # fmt: skip

    @property
    def _is_auto(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == AUTO


def _warn_if_degenerate(rank: int, k: int) -> None:
    if rank < k - 1:
        warn(f"the views span only {rank} common directions for {k} clusters", DegenerateWarning)


RECIPES = {"auto": AUTO, "published": "gaussian"}


def with_recipe(recipe: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of MKCDNM with the recipe's kernel, unless they name one."""
    if recipe not in RECIPES:
        raise InputError(f"recipe must be one of {', '.join(RECIPES)}, got {recipe!r}")
    return {"kernel": RECIPES[recipe], **settings}


def cluster(views: Any, n_clusters: int, *, recipe: str = "auto", **settings: Any) -> MKCDNM:
    """Cluster views in one call, without anything to tune.

    Parameters
    ----------
    views : MultiView, list or dict of (n, f_p) views, MuData, AnnData, or one (n, f) table
    n_clusters : int
        Number of clusters, k.
    recipe : {"auto", "published"}
        ``"auto"`` pools neighbour graphs in several senses, weighs the views by overlap and takes
        the clusters from the fused graph (``kernel="auto"``); ``"published"`` is MKC-DNM as in
        the paper, on Gaussian kernels. A `kernel` given replaces either's.
    **settings : those of MKCDNM

    Returns the fitted model: ``labels_``, ``agreement_``, ``noise_``, ``fusion_`` ...

    >>> from mkclust import cluster, datasets
    >>> views = datasets.make_views(60, n_clusters=2, n_views=2, noise=0.3, random_state=0)
    >>> sorted(np.bincount(cluster(views, 2, random_state=0).labels_).tolist())
    [30, 30]
    """
    return MKCDNM(n_clusters, **with_recipe(recipe, settings)).fit(views)
