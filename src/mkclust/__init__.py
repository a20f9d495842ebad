"""Multiple kernel and multi-view clustering: labels, how far to trust each view, and proof."""

from . import datasets, metrics, plot
from ._version import __version__
from .compared import AKKM, CAGL, HMKC, LFMKC, MKKM, MKKMMR, ONKC, OPLF, SPMKC, SWMC
from .dual_noise import MKCDNM, cluster
from .io import inspect, read
from .methods import METHODS
from .views import MultiView

__all__ = [
    "AKKM",
    "CAGL",
    "HMKC",
    "LFMKC",
    "METHODS",
    "MKCDNM",
    "MKKM",
    "MKKMMR",
    "ONKC",
    "OPLF",
    "SPMKC",
    "SWMC",
    "MultiView",
    "__version__",
    "cluster",
    "datasets",
    "inspect",
    "metrics",
    "plot",
    "read",
]
