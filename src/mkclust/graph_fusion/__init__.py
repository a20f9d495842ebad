"""Graph fusion, the default method: one file per stage, and its estimator."""

from .estimator import GraphFusion

__all__ = ["GraphFusion"]
