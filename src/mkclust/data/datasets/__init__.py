"""Example data: bundled digits, generators of planted clusters, and a cohort to be fetched."""

from .breast import fetch_breast
from .mfeat import load_mfeat
from .synthetic import make_cohort, make_views

__all__ = ["fetch_breast", "load_mfeat", "make_cohort", "make_views"]
