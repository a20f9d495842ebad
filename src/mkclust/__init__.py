"""Multiple kernel and multi-view clustering: labels, how far to trust each view, and proof."""

from . import datasets, metrics
from ._version import __version__
from .dual_noise import MKCDNM, cluster
from .io import inspect, read
from .views import MultiView

__all__ = [
    "MKCDNM",
    "MultiView",
    "__version__",
    "cluster",
    "datasets",
    "inspect",
    "metrics",
    "read",
]
