"""Every method by the name the command line, the tables and the tests know it by."""

from __future__ import annotations

from .dual_noise import MKCDNM
from .estimator import MultiViewClusterer

METHODS: dict[str, type[MultiViewClusterer]] = {"mkc-dnm": MKCDNM}
