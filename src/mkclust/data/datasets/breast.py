"""The breast cancer cohort of the tutorial, fetched once into the user's cache."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ...exceptions import InputError
from ..views import MultiView

COMMIT = "d732983ad52fdd7fb2496a7ca8ac1bec501a63ab"
URL = f"https://raw.githubusercontent.com/mixOmicsTeam/mixOmics/{COMMIT}/data/breast.TCGA.rda"
SHA256 = "0812db063ceee018470b59249a27289e8231909b9ec858c9b3e8fc9ead67af48"
FILE = "breast.TCGA.rda"
MIRROR = "MKCLUST_BREAST_URL"  # environment variable with another address of the same file


def fetch_breast() -> MultiView:
    """Return 220 breast cancer patients in three tables, with their subtypes.

    mrna (200 genes), mirna (184) and protein (142); 70 patients have no protein table. The
    subtypes Basal, Her2 and LumA are the ``labels``. They are PAM50 calls, which are defined by
    expression.

    The file is part of the R package mixOmics (GPL), so it is not bundled. It is downloaded once
    into the user's cache and checked by its SHA-256; the environment variable
    ``MKCLUST_BREAST_URL`` names another address. ``pip install 'mkclust[fetch]'``.

    Returns
    -------
    MultiView
        Patients by name, columns by name.

    References
    ----------
    F. Rohart et al. mixOmics: An R package for 'omics feature selection and multiple data
    integration. PLoS Computational Biology 13, 2017.
    """
    try:
        import pandas as pd
        import pooch
        import rdata
    except ImportError:
        raise InputError(
            "fetch_breast needs pooch and rdata: pip install 'mkclust[fetch]'"
        ) from None
    cache = Path(pooch.os_cache("mkclust"))
    address = os.environ.get(MIRROR, URL)
    try:
        path = pooch.retrieve(address, f"sha256:{SHA256}", FILE, cache)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{FILE} could not be fetched from {address} ({type(error).__name__}: {error}). Copy "
            f"the file from another computer to {cache / FILE}. Or write the tables in R and read "
            'them: install.packages("mixOmics", repos = BiocManager::repositories()); '
            'data(breast.TCGA, package = "mixOmics"); '
            'write.csv(breast.TCGA$data.train$mrna, "mrna.csv")'
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rdata does not know the class of the subtypes
        parts = rdata.read_rda(path)["breast.TCGA"].values()
    tables: dict[str, Any] = {
        name: pd.concat([part[name].to_pandas() for part in parts if name in part])
        for name in ("mrna", "mirna", "protein")
    }
    subtypes = pd.concat(
        pd.Series(part["subtype"].astype(str), part["mrna"].to_pandas().index) for part in parts
    )
    views = MultiView({name: table.rename_axis("patient") for name, table in tables.items()})
    return MultiView(views, labels=subtypes.loc[np.asarray(views.index).astype(str)].to_numpy())
