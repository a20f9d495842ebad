"""Example data: a bundled real data set, a generator of planted clusters, and public sets."""

from .mfeat import load_mfeat
from .public import fetch
from .synthetic import make_views

__all__ = ["fetch", "load_mfeat", "make_views"]
