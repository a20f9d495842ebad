"""MKC-DNM (Zhang et al., 2022): choice of dimensions, consensus and noise, and its estimator."""

from .estimator import MKCDNM

__all__ = ["MKCDNM"]
