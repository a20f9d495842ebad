"""The ten methods that the paper compares with, one file each."""

from .akkm import AKKM
from .cagl import CAGL
from .hmkc import HMKC
from .lfmkc import LFMKC
from .mkkm import MKKM
from .mkkm_mr import MKKMMR
from .onkc import ONKC
from .oplf import OPLF
from .spmkc import SPMKC
from .swmc import SWMC

__all__ = ["AKKM", "CAGL", "HMKC", "LFMKC", "MKKM", "MKKMMR", "ONKC", "OPLF", "SPMKC", "SWMC"]
