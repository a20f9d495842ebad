"""The benchmark data sets of the scripts in this folder."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from mkclust import MultiView, read

# In the order of the index of the folder. Rules were developed on even places only.
SETS = (
    "bbcsport_2view", "CCV", "ProteinFold", "YALE_Kmatrix",
    "jaffe_expression_213n_676d_10c_7g_uni_12k_", "BBC4views", "20NewsGroups", "Reuters-1200",
    "WebKB", "Cornell", "Texas", "Cora", "CiteSeer", "ACM", "Mfeat", "HW2sources", "Hdigit",
    "MNIST-4", "100Leaves", "MSRC-v1", "ORL_4views", "yaleA_3view", "Scene-15",
    "cub_googlenet_doc2vec_c10", "BDGP", "Wikipedia", "ORL_400n_1024d_40c",
    "YALE_165n_1024d_15c", "jaffe_213n_676d_10c", "tr11_414n_6429d_9c_tfidf_uni",
    "tr45_690n_8261d_10c_tfidf_uni",
)  # fmt: skip


def load(name: str, rows: int) -> MultiView:
    """Read a data set, or a seeded random sample of `rows` samples of it."""
    folder = os.environ.get("MKCLUST_DATA")
    if not folder:
        raise SystemExit("set MKCLUST_DATA to the folder of benchmark data sets")
    views = read(Path(folder) / f"{name}.mat")
    if len(views) <= rows:
        return views
    chosen = np.random.default_rng(0).choice(len(views), rows, replace=False)
    return views[np.sort(chosen)]


def short(name: str) -> str:
    """Return the name in tables."""
    return name.replace("jaffe_expression_213n_676d_10c_7g_uni_12k_", "JAFFE 12 kernels").split(
        "_googlenet"
    )[0].removesuffix("_tfidf_uni")  # fmt: skip
