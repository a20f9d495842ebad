"""Every method by its short name: what tests, tables and the command line go through."""

from __future__ import annotations

from .base import MultiViewClusterer
from .baselines import AKKM, CAGL, HMKC, LFMKC, MKKM, MKKMMR, ONKC, OPLF, SPMKC, SWMC
from .dual_noise.estimator import MKCDNM

METHODS: dict[str, type[MultiViewClusterer]] = {
    "akkm": AKKM,
    "mkkm": MKKM,
    "mkkm-mr": MKKMMR,
    "swmc": SWMC,
    "onkc": ONKC,
    "lfmkc": LFMKC,
    "spmkc": SPMKC,
    "cagl": CAGL,
    "oplf": OPLF,
    "hmkc": HMKC,
    "mkc-dnm": MKCDNM,
}
