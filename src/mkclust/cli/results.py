"""A fitted model as plain data, and the files that hold it."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..base import MultiViewClusterer
from ..chunked.rows import Rows
from ..chunked.sources import PartsSource
from ..chunked.work import save_part
from ..data.checksums import joint_checksum, view_checksums
from ..data.views import MultiView
from ..inspection import confidence
from ..io.atomic import write_csv_atomic, write_npz_atomic, write_text_atomic
from ..linalg.kmeans import nearest_centers
from ..metrics import evaluate

SCHEMA = 2
DIGITS = 4  # of a confidence in a table
PART = 1_000_000  # rows of labels and embedding in one file, for data that come in parts
TOO_LARGE = (  # n rows, f names or k x k numbers: in files of their own, or in none
    "labels_", "embedding_", "graph_", "kernel_", "presence_", "support_", "cluster_centers_",
    "sample_names_in_", "view_feature_names_in_", "feature_names_in_",
)  # fmt: skip


def as_dict(model: MultiViewClusterer, views: MultiView | Rows) -> dict[str, Any]:
    """Return everything about a fitted model except arrays with a row per sample, for JSON.

    Keys: ``schema``, ``version``, ``method`` (name, title, reference), ``parameters``, ``input``,
    ``clusters`` (sizes), ``fitted`` (public fitted attributes), ``description`` (sentences) and,
    with known classes, ``metrics``; where the method has an embedding, ``confidence``.
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
        "description": describe(model),
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
    if model._has_membership:
        certain = confidence(model, views.index)
        result["confidence"] = {
            "words": str(certain),
            "mean": certain.mean,
            "clusters": plain(certain.clusters),
            "least": [plain(sample._asdict()) for sample in certain.least()],
        }
    return result


def describe(model: Any) -> list[str]:
    """Return what a method did, one sentence each; nothing for methods without `describe`."""
    names = tuple(f"{name}:" for name in model.view_names_in_)
    sentences = model.describe() if hasattr(model, "describe") else ()
    return [
        (text if text.startswith(names) else text[:1].upper() + text[1:]).removesuffix(".") + "."
        for text in sentences
    ]


def valid(text: str) -> str:
    """Replace bytes of file names that are not UTF-8, because text files cannot hold them."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def write_arrays(folder: Path, model: MultiViewClusterer, views: MultiView | Rows) -> list[Path]:
    """Write labels.csv and embedding.npz or graph.npz; of rows in parts, folders of .npy parts."""
    folder.mkdir(parents=True, exist_ok=True)
    return _row_parts(folder, model) if isinstance(views, Rows) else _tables(folder, model, views)


def write_result(
    folder: Path, model: MultiViewClusterer, views: MultiView | Rows, extra: dict[str, Any]
) -> Path:
    """Write result.json: the model, and what else is known about the run."""
    found = as_dict(model, views) | extra
    text = json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)
    write_text_atomic(folder / "result.json", valid(text) + "\n")
    return folder / "result.json"


def write_results(
    folder: Path, model: MultiViewClusterer, views: MultiView | Rows, extra: dict[str, Any]
) -> list[Path]:
    """Write the arrays and result.json."""
    return [*write_arrays(folder, model, views), write_result(folder, model, views, extra)]


def write_predictions(folder: Path, model: Any, views: MultiView | Rows) -> list[Path]:
    """Write labels.csv and embedding.npz of new samples."""
    H = model.transform(views)
    labels = nearest_centers(H, model.cluster_centers_)
    certain = np.round(model._membership_of(H).max(axis=1), DIGITS)
    names = np.arange(len(views)) if views.index is None else views.index
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "labels.csv", folder / "embedding.npz"]
    rows = zip(names.tolist(), labels.tolist(), certain.tolist(), strict=True)
    write_csv_atomic(written[0], ["sample", "cluster", "confidence"], rows)
    write_npz_atomic(written[1], embedding=H, labels=labels)
    return written


def _tables(folder: Path, model: MultiViewClusterer, views: MultiView | Rows) -> list[Path]:
    names = np.arange(len(views)) if views.index is None else views.index
    columns: dict[str, Any] = {"sample": names} | model.per_sample()
    if "confidence" in columns:
        columns["confidence"] = np.round(columns["confidence"], DIGITS)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    written = [folder / "labels.csv"]
    write_csv_atomic(written[0], list(columns), rows)
    for name in ("embedding", "graph"):
        if hasattr(model, name + "_"):
            written.append(folder / f"{name}.npz")
            arrays = {name: getattr(model, name + "_"), "labels": model.labels_}
            write_npz_atomic(written[-1], **arrays)
    return written


def _row_parts(folder: Path, model: MultiViewClusterer) -> list[Path]:
    """Write labels, embedding and confidence, a million rows to a part."""
    H = getattr(model, "embedding_", None)
    written = [folder / name for name in ("labels", "embedding", "confidence")]
    for number, start in enumerate(range(0, len(model.labels_), PART)):
        stop = min(start + PART, len(model.labels_))
        name = f"part-{number:05}.npy"
        save_part(folder / "labels" / name, model.labels_[start:stop])
        if H is not None:
            rows = H.read(start, stop) if isinstance(H, PartsSource) else H[start:stop]
            save_part(folder / "embedding" / name, rows)
            certain = model._membership_of(rows).max(axis=1)
            save_part(folder / "confidence" / name, certain)
    return written if H is not None else written[:1]


def plain(value: Any) -> Any:
    """Return a value for JSON: lists for arrays, dicts for dataclasses, names for functions."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
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
