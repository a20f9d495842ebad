"""Read the results of a finished run."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import FileFormatError, InputError
from ..io._guards.limits import naming
from ..io.manifest import MAX_BYTES


def read_result(folder: Path) -> dict[str, Any]:
    """Return what result.json holds."""
    path = folder / "result.json"
    if not path.is_file():
        raise InputError(f"{folder}: no result.json here; give the folder that cluster wrote to")
    with naming(path):
        if path.stat().st_size > MAX_BYTES:
            raise FileFormatError("too large for a result of mkclust")
        try:
            found = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise FileFormatError(f"not valid JSON: {error}") from None
        if not isinstance(found, dict) or not {"input", "method", "clusters"} <= set(found):
            raise FileFormatError("not a result of mkclust cluster")
    return found


def read_labels(folder: Path) -> tuple[list[str] | None, np.ndarray]:
    """Return names and labels of labels.csv, or the labels of all parts, which have no names."""
    path = folder / "labels.csv"
    with naming(path):
        try:
            if not path.is_file():
                parts = sorted((folder / "labels").glob("part-*.npy"))
                return None, np.concatenate([np.load(p, allow_pickle=False) for p in parts])
            with path.open(newline="", encoding="utf-8") as file:
                rows = list(csv.reader(file))[1:]
            return [row[0] for row in rows], np.array([int(row[1]) for row in rows])
        except (OSError, ValueError, IndexError) as error:
            raise FileFormatError(f"no labels: {error}") from None
