"""Multiple kernel and multi-view clustering: labels, how far to trust each view, and proof."""

from . import _starting as _starting
from . import datasets, metrics, omics, plot
from ._version import __version__
from .choose import choose_k
from .compared import AKKM, CAGL, HMKC, LFMKC, MKKM, MKKMMR, ONKC, OPLF, SPMKC, SWMC
from .dual_noise import MKCDNM, cluster
from .influence import view_influence
from .io import inspect, read
from .io.model import load
from .methods import METHODS
from .stability import stability
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
    "choose_k",
    "cluster",
    "datasets",
    "inspect",
    "load",
    "metrics",
    "omics",
    "plot",
    "read",
    "stability",
    "view_influence",
]
