"""MKC-DNM: multiple kernel clustering with dual noise minimization."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .approximation import Approximation, fits_in_memory
from .blocks.distributed import engine_for
from .blocks.rows import Rows, stored_rows
from .consensus import coefficients, consensus
from .dimensions import Dimensions, choose_dimensions, reach
from .errors import DegenerateWarning, InfeasibleError, InfeasibleWarning, InputError
from .estimator import MultiViewClusterer
from .evidence import evidence
from .features import EXPLICIT
from .kernels import KernelBank
from .large import FeatureSpectra, LargeRun
from .noise import dual_noise, dual_noise_of
from .overlap import Overlap, overlap
from .spectrum import Spectra
from .staircase import Staircases, relaxed_staircases, shortfall, staircases
from .trust import lone_views
from .views import MultiView

SOLVERS = ("authors", "paper", "exact")
APPROXIMATIONS = ("auto", "nystroem", "fourier")


class MKCDNM(MultiViewClusterer):
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
    singular_values_ : (k,) array, of all kept directions side by side
    dimensions_ : (m,) int array, d
    objective_, lower_bound_ : int, the sum of d and what it cannot be below
    certificate_ : Certificate, both with their scope; str() says it in words
    noise_ : Noise, with arrays `null`, `column` and `cross` (m,)
    agreement_ : (m, m) array, chance-corrected; unrelated views show about 0
    history_ : tuple of Round (penalty M, d, d_hat, objective)
    threshold_ : float, the overlap asked in the end
    unrelated_views_ : list of names of views that agree with no other beyond chance
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

    def __init__(
        self,
        n_clusters: int,
        *,
        solver: str = "authors",
        threshold: Any = "k",
        on_infeasible: str = "relax",
        max_dimension: int | None = None,
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
        self.approximation = approximation
        self.n_components = n_components
        self.work = work
        self.dask = dask

    def _checked_views(self, X: Any) -> Any:
        rows = stored_rows(X)
        if rows is None:
            return super()._checked_views(X)
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = rows.shape[1]
        return rows

    def _fit_views(self, views: MultiView | Rows) -> None:
        method = self._checked_approximation(views)
        self.approximation_ = method
        self.notes_: tuple[str, ...] = ()
        for name in ("_evidence", "embedding_", "n_components_", "stage_seconds_"):
            self.__dict__.pop(name, None)  # of an earlier fit on the other route
        if method is None:
            super()._fit_views(views.in_memory() if isinstance(views, Rows) else views)
            return
        k = self._checked_k(views)
        self._check_kmeans()
        self.view_names_in_ = np.array(views.names, dtype=object)
        self._solve_rows(views if isinstance(views, Rows) else Rows(views), method, k)

    def _solve(self, kernels: KernelBank, k: int) -> None:
        threshold, limit = self._checked_settings(k, kernels.n_samples)
        spectra = Spectra(kernels, kernels.names, at_once=kernels.at_once)
        found, stairs, chosen = self._select(spectra, k, threshold, limit)
        result = consensus(spectra, chosen.d, k, found)
        _warn_if_degenerate(result.rank, k)
        self._store(chosen, stairs, found, kernels.names)
        self.noise_ = dual_noise(result.H, spectra, chosen.d)
        self.singular_values_ = result.singular_values
        self._evidence = evidence(spectra, k)
        self._label(result.H, k)

    def _solve_rows(self, rows: Rows, method: str, k: int) -> None:
        """The same stages over explicit features: nothing of n rows but H* and the labels."""
        threshold, limit = self._checked_settings(k, len(rows))
        with engine_for(self.dask) as engine:
            run = LargeRun(rows, self._features_wanted(rows, method, k), engine, self.work)
            spectra = run.spectra()
            found, stairs, chosen = self._select(spectra, k, threshold, limit)
            result = coefficients(chosen.d, k, found)
            _warn_if_degenerate(result.rank, k)
            self._store(chosen, stairs, found, rows.names)
            self.noise_ = dual_noise_of(result.W, chosen.d, found)
            self.singular_values_ = np.pad(result.singular_values, (0, k - result.rank))
            run.embed(spectra.weights(chosen.d, result.W))
            clusters = run.cluster(k, self.n_init)
            embedding: Any = run.embedding()
        self.labels_ = clusters.labels
        if embedding is not None:
            self.embedding_ = embedding
        self.n_components_ = np.diff(run.features.starts)
        self.stage_seconds_ = run.seconds
        self.notes_ = (
            f"{len(rows)} samples: kernels approximated by {run.described}", *self.notes_,
        )  # fmt: skip

    def _features_wanted(self, rows: Rows, method: str, k: int) -> Approximation:
        recipe = self._recipe(rows)
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

    def _select(
        self, spectra: Spectra | FeatureSpectra, k: int, threshold: float, limit: int
    ) -> tuple[Overlap, Staircases, Dimensions]:
        """Enough directions, the constraints they must meet, and the dimensions that meet them."""
        found = _enough_overlap(spectra, k, threshold, limit)
        stairs = self._staircases(found, k, threshold, spectra)
        chosen = self._dimensions(stairs, k, found, spectra)
        if self.solver == "exact" and (more := _worth_growing(chosen, stairs, limit)):
            spectra.grow(more)
            found = _overlap(spectra)
            stairs = self._staircases(found, k, threshold, spectra)
            chosen = self._dimensions(stairs, k, found, spectra)
        return found, stairs, chosen

    def _dimensions(
        self, stairs: Staircases, k: int, found: Overlap, spectra: Spectra | FeatureSpectra
    ) -> Dimensions:
        preference = found.reproduced(k) if self.solver == "exact" else None
        return choose_dimensions(stairs, k, self.solver, spectra.horizon, preference)

    def _staircases(
        self, found: Overlap, k: int, threshold: float, spectra: Spectra | FeatureSpectra
    ) -> Staircases:
        missing = shortfall(found, threshold)
        if not missing:
            return staircases(found, k, threshold)
        problem = _shortfall_in_words(missing, found, threshold, spectra.names)
        if self.on_infeasible == "raise":
            raise InfeasibleError(
                f'{problem} Drop a view, lower the threshold (such as "k-1"), or pass '
                'on_infeasible="relax"'
            )
        stairs = relaxed_staircases(found, k, threshold)
        answer = _relaxation_in_words(stairs, len(found.pairs()), spectra.names)
        self.notes_ = (f"{problem} {answer}",)
        # At large n relaxed constraints are the rule: a warning is for what the user should mend.
        if isinstance(spectra, Spectra) or stairs.unrelated():
            warnings.warn(f"{problem} {answer}", InfeasibleWarning, stacklevel=4)
        return stairs

    def _store(
        self, chosen: Dimensions, stairs: Staircases, found: Overlap, names: tuple[str, ...]
    ) -> None:
        self.dimensions_ = chosen.d
        self.certificate_ = chosen.certificate
        self.objective_ = chosen.certificate.objective
        self.lower_bound_ = chosen.certificate.lower_bound
        self.history_ = chosen.history
        self.n_iter_ = max(1, len(chosen.history))
        self.agreement_ = found.agreement(int(self.n_clusters))
        self.threshold_ = stairs.threshold
        lone = {*stairs.unrelated(), *lone_views(self.agreement_, found.n_samples)}
        self.unrelated_views_ = [names[p] for p in sorted(lone)]

    def _checked_approximation(self, views: MultiView | Rows) -> str | None:
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

    def _checked_settings(self, k: int, n: int) -> tuple[float, int]:
        if self.solver not in SOLVERS:
            raise InputError(f"solver must be one of {', '.join(SOLVERS)}, got {self.solver!r}")
        if self.on_infeasible not in ("relax", "raise"):
            raise InputError(
                f'on_infeasible must be "relax" or "raise", got {self.on_infeasible!r}'
            )
        threshold = {"k": k, "k-1": k - 1}.get(str(self.threshold), self.threshold)
        if not _is_number(threshold) or not 0 <= threshold < np.inf:
            raise InputError(f'threshold must be "k", "k-1" or a number, got {self.threshold!r}')
        most = self.max_dimension
        if most is not None and (not isinstance(most, Integral) or most < k):
            raise InputError(f"max_dimension must be a whole number from {k} (k) on, got {most!r}")
        # Two unrelated views of D directions share D^2/n: twice sqrt(kn) is k with room to spare.
        enough = most or max(25 * k, int(np.ceil(2 * np.sqrt(k * n))))
        return float(threshold), min(n, enough)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _overlap(spectra: Spectra | FeatureSpectra) -> Overlap:
    return spectra.overlap() if isinstance(spectra, FeatureSpectra) else overlap(spectra)


def _warn_if_degenerate(rank: int, k: int) -> None:
    if rank < k - 1:
        warnings.warn(
            f"the views span only {rank} common directions for {k} clusters",
            DegenerateWarning,
            stacklevel=5,
        )


def _enough_overlap(
    spectra: Spectra | FeatureSpectra, k: int, threshold: float, limit: int
) -> Overlap:
    """Overlaps of as many directions as the constraints need: 2k, doubled while they fail."""
    size = min(2 * k, limit)
    while True:
        spectra.grow(size)
        found = _overlap(spectra)
        if size >= limit or spectra.horizon is None or not shortfall(found, threshold):
            return found
        size = min(2 * size, limit)


def _worth_growing(chosen: Dimensions, stairs: Staircases, limit: int) -> int | None:
    """How many directions would extend the proof to the whole spectrum, or as far as the limit."""
    proof = chosen.certificate
    wanted = min(limit, proof.directions + proof.objective - reach(stairs, proof.directions))
    return None if proof.whole_spectrum or wanted <= proof.directions else wanted


def _shortfall_in_words(
    missing: dict[tuple[int, int], float], found: Overlap, threshold: float, names: tuple[str, ...]
) -> str:
    worst = sorted(missing, key=lambda pair: missing[pair])[:5]
    listed = ", ".join(f"{names[p]}-{names[q]} {missing[p, q]:.3g}" for p, q in worst)
    more = f" and {len(missing) - len(worst)} more" if len(missing) > len(worst) else ""
    few, many = int(found.sizes.min()), int(found.sizes.max())
    directions = str(few) if few == many else f"{few} to {many}"
    return (
        f"{len(missing)} of {len(found.pairs())} pairs of views cannot reach an overlap of "
        f"{threshold:g} with {directions} directions ({listed}{more})."
    )


def _relaxation_in_words(stairs: Staircases, n_pairs: int, names: tuple[str, ...]) -> str:
    parts = []
    if stairs.exempt:
        parts.append(f"{len(stairs.exempt)} pairs agree no better than chance and are exempted")
    if len(stairs.exempt) < n_pairs:
        parts.append(f"the others are held to {stairs.threshold:.3g} beyond chance")
    text = "; ".join(parts) + "."
    unrelated = [names[p] for p in stairs.unrelated()]
    flagged = f" Unrelated to every other view: {', '.join(unrelated)}." if unrelated else ""
    return text[0].upper() + text[1:] + flagged


def cluster(views: Any, n_clusters: int, **settings: Any) -> MKCDNM:
    """Cluster views in one call; `settings` are those of MKCDNM.

    Returns the fitted model: ``labels_``, ``agreement_``, ``noise_``, ``certificate_`` ...

    >>> from mkclust import cluster, datasets
    >>> views = datasets.make_views(60, n_clusters=2, n_views=2, noise=0.3, random_state=0)
    >>> sorted(np.bincount(cluster(views, 2, random_state=0).labels_).tolist())
    [30, 30]
    """
    return MKCDNM(n_clusters, **settings).fit(views)
