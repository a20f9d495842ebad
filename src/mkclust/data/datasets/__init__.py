"""Example data: a bundled real data set, and a generator of planted clusters."""

from .mfeat import load_mfeat
from .synthetic import make_views

__all__ = ["load_mfeat", "make_views"]
