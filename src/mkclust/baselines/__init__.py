"""The compared methods, one file each: the ten of the paper on MKC-DNM, and SNF.

`COMPARED` is their registry: a class added to it is a method everywhere.
"""

from .akkm import AKKM
from .cagl import CAGL
from .hmkc import HMKC
from .lfmkc import LFMKC
from .mkkm import MKKM
from .mkkm_mr import MKKMMR
from .onkc import ONKC
from .oplf import OPLF
from .snf import SNF
from .spmkc import SPMKC
from .swmc import SWMC

COMPARED = (AKKM, MKKM, MKKMMR, SWMC, ONKC, LFMKC, SPMKC, CAGL, OPLF, HMKC, SNF)

__all__ = [
    "AKKM", "CAGL", "COMPARED", "HMKC", "LFMKC", "MKKM", "MKKMMR", "ONKC", "OPLF", "SNF", "SPMKC",
    "SWMC",
]  # fmt: skip
