"""A fitted model as plain data, and the files that hold it, written and read."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..base import MultiViewClusterer
from ..data.checksums import joint_checksum, view_checksums
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError
from ..inspection import Verdict
from ..io.atomic import write_csv_atomic, write_npz_atomic, write_text_atomic
from ..io.files import naming
from ..io.manifest import MAX_BYTES
from ..large.views import LargeViews
from ..linalg.kmeans import nearest_centers
from ..metrics import evaluate
from ..report.words import description

SCHEMA = 2
DIGITS = 4  # of a confidence in a table
PART = 1_000_000  # rows of labels and embedding in one file, for data that come in parts
TOO_LARGE = (  # n rows, f names or k x k numbers: in files of their own, or in none
    "labels_", "embedding_", "graph_", "kernel_", "presence_", "support_", "cluster_centers_",
    "sample_names_in_", "view_feature_names_in_", "feature_names_in_", "verdict_",
)  # fmt: skip


def as_dict(model: MultiViewClusterer, views: MultiView | LargeViews) -> dict[str, Any]:
    """Return everything about a fitted model except arrays with a row per sample, for JSON.

    Keys: ``schema``, ``version``, ``method`` (name, title, reference), ``parameters``, ``input``,
    ``clusters`` (sizes), ``fitted`` (public fitted attributes), ``description`` (sentences) and,
    with known classes, ``metrics``; of a judged model, ``verdict`` and ``confidence``.
    """
    fitted = {
        name[:-1]: plain(value)
        for name, value in sorted(vars(model).items())
        if name.endswith("_") and not name.startswith("_") and name not in TOO_LARGE
    }
    if hasattr(model, "certificate_"):
        fitted["certificate"] |= {"gap": model.certificate_.gap, "words": str(model.certificate_)}
    result: dict[str, Any] = {
        "schema": SCHEMA,
        "version": __version__,
        "method": {"name": model.name, "title": model.title, "reference": model.reference},
        "parameters": {name: plain(value) for name, value in model.get_params().items()},
        "input": {
            "samples": len(views),
            "kind": "kernels" if views.kernels else "features",
            "views": dict(zip(views.names, views.widths, strict=True)),
            "notes": list(views.notes),
            "checksums": (sums := view_checksums(views)),
            "checksum": joint_checksum(sums),
        },
        "clusters": np.bincount(model.labels_).tolist(),
        "fitted": fitted,
        "description": description(model),
    }
    support = getattr(model, "support_", None)
    presence = getattr(model, "presence_", None)
    if support is not None and presence is not None:
        counts = np.bincount(support, minlength=views.n_views + 1)[1:]
        result["input"]["missing"] = {
            "incomplete_samples": int(counts[:-1].sum()),
            "samples_by_number_of_views": counts.tolist(),
            "samples_by_view": dict(zip(views.names, presence.sum(axis=0).tolist(), strict=True)),
        }
    if views.labels is not None:
        result["metrics"] = evaluate(views.labels, model.labels_) | {"nmi_normalizer": "max"}
    return result | _judged(vars(model).get("verdict_"))


def _judged(found: Verdict | None) -> dict[str, Any]:
    """Return the verdict, and the confidence of the clusters and the least certain samples."""
    if found is None:
        return {}
    names = ("structured", "p_value", "reproducibility", "distrusted_views", "missingness")
    words = {"words": list(found.sentences)}
    judged = {"verdict": words | {name: plain(getattr(found, name)) for name in names}}
    certain = found.confidence
    if certain is not None:
        judged["confidence"] = {
            "words": str(certain),
            "mean": certain.mean,
            "clusters": plain(certain.clusters),
            "least": [plain(sample._asdict()) for sample in certain.least()],
        }
    return judged


def valid(text: str) -> str:
    """Replace bytes of file names that are not UTF-8, because text files cannot hold them."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def write_arrays(folder: Path, model: MultiViewClusterer, views: MultiView | LargeViews) -> None:
    """Write labels.csv and embedding.npz or graph.npz; of rows in parts, folders of .npy parts."""
    if isinstance(views, LargeViews):
        _write_parts(folder, model)
        return
    columns = model.per_sample()
    if "confidence" in columns:
        columns["confidence"] = np.round(columns["confidence"], DIGITS)
    _write_labels(folder, views, columns)
    for name in ("embedding", "graph"):
        if hasattr(model, name + "_"):
            arrays = {name: getattr(model, name + "_"), "labels": model.labels_}
            write_npz_atomic(folder / f"{name}.npz", **arrays)


def write_result(
    folder: Path, model: MultiViewClusterer, views: MultiView | LargeViews, extra: dict[str, Any]
) -> None:
    """Write result.json: the model, and what else is known about the run."""
    found = as_dict(model, views) | extra
    text = json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)
    write_text_atomic(folder / "result.json", valid(text) + "\n")


def write_predictions(folder: Path, model: Any, views: MultiView | LargeViews) -> None:
    """Write labels.csv and embedding.npz of new samples."""
    H = model.transform(views)
    labels = nearest_centers(H, model.cluster_centers_)
    clear = np.round(model._membership_of(H).max(axis=1), DIGITS)
    _write_labels(folder, views, {"cluster": labels, "membership": clear})
    write_npz_atomic(folder / "embedding.npz", embedding=H, labels=labels)


def _write_labels(folder: Path, views: MultiView | LargeViews, columns: Mapping[str, Any]) -> None:
    names = np.arange(len(views)) if views.index is None else views.index
    rows = zip(names.tolist(), *(column.tolist() for column in columns.values()), strict=True)
    write_csv_atomic(folder / "labels.csv", ["sample", *columns], rows)


def _write_parts(folder: Path, model: MultiViewClusterer) -> None:
    """Write labels, embedding and confidence, a million rows to a part."""
    H, columns = getattr(model, "embedding_", None), model.per_sample()
    for number, start in enumerate(range(0, len(model.labels_), PART)):
        stop = min(start + PART, len(model.labels_))
        name = f"part-{number:05}.npy"
        _save_part(folder / "labels" / name, model.labels_[start:stop])
        if H is not None:
            rows = H[start:stop]
            _save_part(folder / "embedding" / name, rows)
        if "confidence" in columns:
            _save_part(folder / "confidence" / name, columns["confidence"][start:stop])


def _save_part(path: Path, rows: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, rows, allow_pickle=False)


def plain(value: Any) -> Any:
    """Return a value for JSON: lists for arrays, dicts for dataclasses, names for functions."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return getattr(value, "__name__", repr(value))


def result_as_dict(folder: Path, names: Sequence[str]) -> dict[str, Any]:
    """Return the results of a run for JSON: result.json where there is one, and the labels.

    Keys beside those of result.json: ``folder``, ``files`` and, unless labels are in parts,
    ``labels`` with the columns of labels.csv.
    """
    found: dict[str, Any] = {}
    if "result.json" in names:
        found |= json.loads((folder / "result.json").read_bytes())
    found |= {"folder": valid(str(folder)), "files": list(names)}
    if "labels.csv" in names:
        with (folder / "labels.csv").open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        columns = dict(zip(header, zip(*rows, strict=True), strict=True))
        found["labels"] = {
            name: list(cells) if name == "sample" else [_cell(cell) for cell in cells]
            for name, cells in columns.items()
        }
    return found


def _cell(cell: str) -> Any:
    """Return a cell of labels.csv: a number, a text, or None where it is empty."""
    try:
        return json.loads(cell) if cell else None
    except ValueError:
        return cell


def print_json(found: dict[str, Any]) -> None:
    """Print results to standard output."""
    print(json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False), flush=True)


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
