"""MKC-DNM (Zhang et al., 2022): one file per section of the paper, and its estimator."""

from .estimator import MKCDNM

__all__ = ["MKCDNM"]
