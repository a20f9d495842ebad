"""Cluster samples that are described by several views or kernel matrices.

Public names are imported on first use, so that ``import mkclust`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import inspection, metrics
    from .baselines import AKKM, CAGL, HMKC, LFMKC, MKKM, MKKMMR, ONKC, OPLF, SNF, SPMKC, SWMC
    from .data import adapters as omics
    from .data import datasets
    from .data.views import MultiView
    from .dual_noise import MKCDNM
    from .graph_fusion import GraphFusion
    from .inspection.choose_k import choose_k
    from .inspection.explain import explain
    from .inspection.stability import stability
    from .inspection.verdict import verdict
    from .inspection.verify import verify
    from .inspection.view_influence import view_influence
    from .io.reading import inspect, read
    from .methods import METHODS, cluster, load
    from .report import plot, write_report
    from .report.plot import write_figures

_MODULES = {
    "datasets": "data.datasets",
    "inspection": "inspection",
    "metrics": "metrics",
    "omics": "data.adapters",
    "plot": "report.plot",
}
# fmt: off
_NAMES = {
    "baselines": (
        "AKKM", "CAGL", "HMKC", "LFMKC", "MKKM", "MKKMMR", "ONKC", "OPLF", "SNF", "SPMKC", "SWMC",
    ),
    "data.views": ("MultiView",),
    "dual_noise": ("MKCDNM",),
    "graph_fusion": ("GraphFusion",),
    "inspection": ("choose_k", "explain", "stability", "verdict", "verify", "view_influence"),
    "io.reading": ("inspect", "read"),
    "methods": ("METHODS", "cluster", "load"),
    "report": ("write_report",),
    "report.plot": ("write_figures",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "AKKM", "CAGL", "HMKC", "LFMKC", "METHODS", "MKCDNM", "MKKM", "MKKMMR", "ONKC", "OPLF", "SNF",
    "SPMKC", "SWMC", "GraphFusion", "MultiView", "__version__", "choose_k", "cluster", "datasets",
    "explain", "inspect", "inspection", "load", "metrics", "omics", "plot", "read", "stability",
    "verdict", "verify", "view_influence", "write_figures", "write_report",
]
# fmt: on


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{_MODULES[name]}", __name__)
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
