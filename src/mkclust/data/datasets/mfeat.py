"""UCI Multiple Features: handwritten digits in six views."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from ..views import MultiView

VIEWS = ("fou", "fac", "kar", "pix", "zer", "mor")
POWERS = np.array([10**e for e in range(10)], dtype=np.float64)


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
        views = {name: _decoded(stored[name], stored[f"{name}_exponent"]) for name in VIEWS}
        labels = stored["labels"].astype(np.int64)
    return MultiView(views, labels=labels)


def _decoded(planes: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Decode decimals from their digits (int32, a plane per byte) and number of decimal places.

    Both operands of the division are exact, so its result is the float nearest to the decimal.

    >>> planes = np.array([[[210, 4, 0, 0], [7, 0, 0, 0]]], dtype=np.uint8)
    >>> _decoded(planes, np.array([[3, 0]])).tolist()
    [[1.234, 7.0]]
    """
    digits = np.ascontiguousarray(planes).view("<i4")[..., 0]
    return np.divide(digits, POWERS[exponents], order="C")
