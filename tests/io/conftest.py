"""Files that several tests of the readers change before they read them."""

import h5py
import numpy as np
import pytest


@pytest.fixture
def h5ad(tmp_path):
    """A file of three cells, changed by a function before it is read."""

    def written(change=None):
        path = tmp_path / "cells.h5ad"
        with h5py.File(path, "w") as file:
            file["X"] = np.ones((3, 2))
            file["obs/_index"] = np.array(["a", "b", "c"], dtype=object)
            file["obs"].attrs["_index"] = "_index"
            if change is not None:
                change(file)
        return path

    return written
