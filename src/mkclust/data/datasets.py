"""Example data: bundled digits, generators of planted clusters, and a cohort to be fetched."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from importlib.resources import files
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist

from ..exceptions import InputError, check_whole
from .values import random_generator
from .views import MultiView

__all__ = ["fetch_breast", "load_mfeat", "make_cohort", "make_views"]

MFEAT_VIEWS = ("fou", "fac", "kar", "pix", "zer", "mor")
POWERS = np.array([10**e for e in range(10)], dtype=np.float64)
COMMIT = "d732983ad52fdd7fb2496a7ca8ac1bec501a63ab"
URL = f"https://raw.githubusercontent.com/mixOmicsTeam/mixOmics/{COMMIT}/data/breast.TCGA.rda"
SHA256 = "0812db063ceee018470b59249a27289e8231909b9ec858c9b3e8fc9ead67af48"
FILE = "breast.TCGA.rda"
MIRROR = "MKCLUST_BREAST_URL"  # environment variable with another address of the same file


def load_mfeat() -> MultiView:
    """Load 2000 handwritten digits in six views, 200 of each digit, in the order 0 to 9.

    =====  =======  ==========================================
    view   columns  what was measured
    =====  =======  ==========================================
    fou    76       Fourier coefficients of the character shapes
    fac    216      profile correlations
    kar    64       Karhunen-Loève coefficients
    pix    240      pixel averages in 2 x 3 windows
    zer    47       Zernike moments
    mor    6        morphological features
    =====  =======  ==========================================

    Returns
    -------
    MultiView
        The views as float64 tables, with the digits as ``labels``.

    Notes
    -----
    R.P.W. Duin, Multiple Features, UCI Machine Learning Repository, doi:10.24432/C5HC70,
    CC BY 4.0. The file ``MFEAT.md`` of this package documents the source.

    Examples
    --------
    >>> from mkclust.data.datasets import load_mfeat
    >>> digits = load_mfeat()
    >>> digits
    MultiView(2000 samples: fou 76, fac 216, kar 64, pix 240, zer 47, mor 6)
    >>> digits.labels[::400].tolist()
    [0, 2, 4, 6, 8]
    """
    source = files(__package__).joinpath("mfeat.npz")
    with source.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        views = {name: _decode(stored[name], stored[f"{name}_exponent"]) for name in MFEAT_VIEWS}
        labels = stored["labels"].astype(np.int64)
    return MultiView(views, labels=labels)


def _decode(planes: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Decode decimals from their digits (int32, a plane per byte) and number of decimal places.

    Both operands of the division are exact, so its result is the float nearest to the decimal.

    >>> planes = np.array([[[210, 4, 0, 0], [7, 0, 0, 0]]], dtype=np.uint8)
    >>> _decode(planes, np.array([[3, 0]])).tolist()
    [[1.234, 7.0]]
    """
    digits = np.ascontiguousarray(planes).view("<i4")[..., 0]
    return np.divide(digits, POWERS[exponents], order="C")


def fetch_breast() -> MultiView:
    """Return 220 breast cancer patients in three tables, with their subtypes.

    mrna (200 genes), mirna (184) and protein (142); 70 patients have no protein table. The
    subtypes Basal, Her2 and LumA are the ``labels``. They are PAM50 calls, which are defined by
    expression.

    The file is part of the R package mixOmics (GPL), so it is not bundled. It is downloaded once
    into the user's cache and checked by its SHA-256; the environment variable
    ``MKCLUST_BREAST_URL`` names another address. ``pip install 'mkclust[fetch]'``.

    Returns
    -------
    MultiView
        Patients by name, columns by name.

    References
    ----------
    F. Rohart et al. mixOmics: An R package for 'omics feature selection and multiple data
    integration. PLoS Computational Biology 13, 2017.
    """
    try:
        import pooch
        import rdata
    except ImportError:
        message = "fetch_breast needs pooch and rdata: pip install 'mkclust[fetch]'"
        raise InputError(message) from None
    cache = Path(pooch.os_cache("mkclust"))
    address = os.environ.get(MIRROR, URL)
    try:
        path = pooch.retrieve(address, f"sha256:{SHA256}", FILE, cache)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{FILE} could not be fetched from {address} ({type(error).__name__}: {error}). Copy "
            f"the file from another computer to {cache / FILE}. Or write the tables in R and read "
            'them: install.packages("mixOmics", repos = BiocManager::repositories()); '
            'data(breast.TCGA, package = "mixOmics"); '
            'write.csv(breast.TCGA$data.train$mrna, "mrna.csv")'
        ) from None
    with warnings.catch_warnings(action="ignore"):  # rdata does not know the class of the subtypes
        parts = rdata.read_rda(path)["breast.TCGA"].values()
    tables = {
        name: pd.concat([p[name].to_pandas() for p in parts if name in p]).rename_axis("patient")
        for name in ("mrna", "mirna", "protein")
    }
    subtypes = pd.concat(
        pd.Series(part["subtype"].astype(str), part["mrna"].to_pandas().index) for part in parts
    )
    return MultiView(tables, labels=subtypes)


def make_views(
    n_samples: int = 300,
    n_clusters: int = 3,
    n_views: int = 3,
    *,
    n_features: int | Sequence[int] = 10,
    noise: float | Sequence[float] = 1.0,
    n_noise_views: int = 0,
    separation: float = 4.0,
    random_state: Any = None,
) -> MultiView:
    r"""Generate views with planted clusters: $X_p = Z C_p + \sigma_p E_p$.

    $Z$ (n x k) is the cluster indicator matrix, the same in all views; cluster sizes are equal up
    to one sample. $C_p$ (k x f_p) holds the
    random centers of the view, the nearest two at distance `separation`. $E_p$ is standard
    normal. A pure-noise view is $E_p$ alone.

    Parameters
    ----------
    n_samples, n_clusters, n_views : int
        Samples n, planted clusters k, and views that contain them.
    n_features : int or sequence of int
        Columns f_p of every view, or of each view, pure-noise views last.
    noise : float or sequence of float
        Standard deviation $\sigma_p$ of every view that contains the clusters, or of each.
    n_noise_views : int
        Views without any cluster structure.
    separation : float
        Distance of the two nearest centers, in every view that contains the clusters.
    random_state : int, RandomState or None
        Seed. Adding noise views does not change the other views.

    Returns
    -------
    MultiView
        Views ``view1 ...`` and ``noise1 ...``, rows shuffled, with the clusters as ``labels``.

    Examples
    --------
    >>> from mkclust.data.datasets import make_views
    >>> views = make_views(90, n_views=2, noise=[0.5, 2.0], n_noise_views=1, random_state=0)
    >>> views
    MultiView(90 samples: view1 10, view2 10, noise1 10)
    >>> import numpy as np
    >>> np.bincount(views.labels).tolist()
    [30, 30, 30]
    """
    n, k = check_whole("n_samples", n_samples), check_whole("n_clusters", n_clusters)
    if k > n:
        raise InputError(f"n_clusters must be at most n_samples ({n}), got {k}")
    informative = check_whole("n_views", n_views, 0)
    m = informative + check_whole("n_noise_views", n_noise_views, 0)
    widths = [check_whole("n_features", f) for f in _one_per_view(n_features, m, "n_features")]
    levels = _one_per_view(noise, informative, "noise")
    numbers = [float(x) if isinstance(x, Real) else -1.0 for x in (*levels, separation)]
    if not all(0 <= number < np.inf for number in numbers):
        raise InputError(
            "noise and separation must be finite numbers of at least 0, got "
            f"{noise!r} and {separation!r}"
        )
    rng = random_generator(random_state)

    labels = rng.permutation(np.sort(np.arange(n) % k))
    views = {}
    for p in range(m):
        shown = p < informative
        centers = _centers(rng, k, widths[p], separation)[labels] if shown else 0.0
        level = levels[p] if shown else 1.0
        name = f"view{p + 1}" if shown else f"noise{p - informative + 1}"
        views[name] = centers + level * rng.standard_normal((n, widths[p]))
    return MultiView(views, labels=labels)


def make_cohort(
    n_patients: int = 200,
    n_subtypes: int = 3,
    *,
    missing: float = 0.2,
    random_state: Any = None,
) -> MultiView:
    """Generate a cohort: patients and genes by name, planted subtypes, a table that some lack.

    The tables are expression (60 genes), methylation (40 sites) and protein (20); a share
    `missing` of the patients has no protein table. A quarter of the columns of every table
    separates the subtypes, the others are noise.

    Parameters
    ----------
    n_patients, n_subtypes : int
    missing : float
        Share of patients without protein, from 0 to below 1.
    random_state : int, RandomState or None

    Returns
    -------
    MultiView
        With patients as ``index`` and subtypes ``A``, ``B``, ... as ``labels``.

    Examples
    --------
    >>> from mkclust.data.datasets import make_cohort
    >>> cohort = make_cohort(random_state=0)
    >>> cohort
    MultiView(200 samples, 40 of them incomplete: expression 60, methylation 40, protein 20)
    >>> cohort.index[0], str(cohort.feature_names[0][0]), cohort.labels[0]
    ('P001', 'GENE01', 'A')
    """
    if not 0 <= missing < 1:
        raise InputError(f"missing must be from 0 to below 1, got {missing!r}")
    n, k = check_whole("n_patients", n_patients), check_whole("n_subtypes", n_subtypes)
    rng = random_generator(random_state)
    subtypes = rng.permutation(np.arange(n) % k)
    digits = len(str(n))
    patients = [f"P{i + 1:0{digits}}" for i in range(n)]
    tables = {}
    for name, column, width in (
        ("expression", "GENE", 60), ("methylation", "cg", 40), ("protein", "PROT", 20),
    ):  # fmt: skip
        X = rng.standard_normal((n, width))
        X[:, : width // 4] += 1.2 * rng.standard_normal((k, width // 4))[subtypes]
        names = [f"{column}{j + 1:02}" for j in range(width)]
        tables[name] = pd.DataFrame(X, index=pd.Index(patients, name="patient"), columns=names)
    lacking = rng.permutation(n)[: round(missing * n)]
    tables["protein"] = tables["protein"].drop(index=[patients[i] for i in lacking])
    labels = np.array([chr(ord("A") + s) for s in subtypes], dtype=object)
    return MultiView(tables, labels=labels)


def _centers(rng: np.random.RandomState, k: int, width: int, distance: float) -> np.ndarray:
    """Return k random points, the nearest two at the given distance."""
    points = rng.standard_normal((k, width))
    return points if k == 1 else points * (distance / pdist(points).min())


def _one_per_view(value: Any, m: int, what: str) -> list[Any]:
    """Return one value per view: a repeated scalar, or the sequence."""
    values = [value] * m if np.ndim(value) == 0 else list(value)
    if len(values) != m:
        raise InputError(f"{what} must be one number or one per view ({m}), got {value!r}")
    return values
