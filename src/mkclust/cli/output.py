"""Results: the folder they are written to, and the files in it.

A result is written beside its folder and renamed into place when it is complete.
``result.json`` lists its files with their checksums. Only a folder whose every file is listed
there, unchanged, is replaced by a new result.
"""

from __future__ import annotations

import csv
import ctypes
import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .._version import __version__
from ..base import MultiViewClusterer
from ..data.values import list_names
from ..exceptions import FileFormatError, InputError
from ..inspection import (
    Annotations,
    ChoiceOfK,
    Conflict,
    Explanation,
    Markers,
    Stability,
    Verdict,
    ViewInfluence,
)
from ..inspection.annotations import Comparison
from ..io.files import FORMAT, RESULT
from ..io.models import joint_checksum, view_checksums
from ..metrics import evaluate
from ..report.words import description

MAX_BYTES = 256 << 20  # of result.json
LITTER = (".DS_Store", "Thumbs.db", "desktop.ini")  # of file browsers
DIGITS, FIGURES = 4, 6  # decimals of a share, and significant figures of other numbers, in tables
LISTED, TOP = 100, 10  # samples that move, and features of a cluster, in result.json
TOO_LARGE = (  # n rows, f names or k x k numbers: in files of their own, or in none
    "labels_", "embedding_", "graph_", "kernel_", "presence_", "support_", "cluster_centers_",
    "sample_names_in_", "view_feature_names_in_", "feature_names_in_", "verdict_",
)  # fmt: skip
Table = tuple[str, Sequence[str], Iterable[Sequence[Any]]]  # file name, header, rows


@dataclass(frozen=True)
class OutputFolder:
    """A folder for the results of one command.

    Parameters
    ----------
    path : Path
        The folder; it need not exist.
    command : str
        The command that writes it. Results of another command are not replaced.
    inputs : collection of Path
        Files and folders that the run reads, which must not lie in the output folder.
    """

    path: Path
    command: str
    inputs: Collection[Path] = field(default=(), repr=False)

    def check(self) -> None:
        """Refuse, before the work, a folder that cannot be replaced or written to."""
        target = self.target
        if Path.cwd().is_relative_to(target):
            self._refuse("is the current folder or one above it, and is replaced as a whole")
        inside = [str(path) for path in self.inputs if path.resolve().is_relative_to(target)]
        if inside:
            self._refuse(f"holds input of this run ({list_names(inside)}), and is replaced")
        if target.exists():
            self._refuse_others(target)
        place = next(p for p in target.parents if p.exists())
        try:
            with tempfile.TemporaryFile(dir=place):
                pass
        except OSError as error:
            self._refuse(f"cannot be written to: {error.strerror or error}")

    @property
    def target(self) -> Path:
        return self.path.resolve()

    @property
    def replaces(self) -> bool:
        """Whether an earlier result is there."""
        return (self.target / RESULT).exists()

    def write(self, write: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
        """Write a result: the files that ``write(folder)`` writes, and what it returns as JSON.

        Either the whole result replaces the earlier one, or nothing changes.
        """
        target = self.target
        staging = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        try:
            staging.mkdir(parents=True)
            content = write(staging)
            files = {path.name: file_checksum(path) for path in sorted(staging.iterdir())}
            result = {"format": FORMAT, "command": self.command, "files": files} | content
            write_json(staging / RESULT, result)
            move_folder(staging, target)
        except OSError as error:
            kept = "; the earlier result is unchanged" if self.replaces else ""
            reason = error.strerror or error
            raise OSError(f"results cannot be written to {self.path}: {reason}{kept}") from None
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        return result

    def _refuse_others(self, target: Path) -> None:
        if not target.is_dir():
            self._refuse("is a file")
        there = [path.name for path in target.iterdir() if path.name not in LITTER]
        if not there:
            return
        try:
            earlier = read_result(target)
        except InputError:
            earlier = {}
        others = [name for name in there if name not in (RESULT, *earlier.get("files", ()))]
        if not earlier or others:
            what = list_names(sorted(others or there))
            self._refuse(f"holds files that mkclust did not write: {what}")
        if changed := changed_files(target, earlier):
            self._refuse(f"holds results that were changed since: {list_names(changed)}")
        if earlier["command"] != self.command:
            self._refuse(f"holds results of mkclust {earlier['command']}")

    def _refuse(self, why: str) -> NoReturn:
        message = f"{self.path} {why}; name another folder with out=..."
        raise InputError(message, parameter="out") from None


def read_result(folder: Path) -> dict[str, Any]:
    """Return what the result.json of a folder holds; FileFormatError where it is none of ours."""
    path = folder / RESULT
    if not path.is_file():
        raise FileFormatError(f"{folder}: no {RESULT} here; give a folder that mkclust wrote")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError("the file is too large")
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: not valid JSON: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise FileFormatError(f"{path}: not a result of mkclust")
    if not isinstance(found.get("files"), dict) or not isinstance(found.get("command"), str):
        raise FileFormatError(f"{path}: it does not list the files of the result")
    return found


def changed_files(folder: Path, result: dict[str, Any]) -> list[str]:
    """Return the files of a result that are missing or have other bytes than written."""
    return [
        name
        for name, digest in result["files"].items()
        if not (folder / name).is_file() or file_checksum(folder / name) != digest
    ]


def file_checksum(path: Path) -> str:
    """Return the SHA-256 of a file, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def move_folder(staging: Path, target: Path) -> None:
    """Rename a folder to its target; an earlier folder there then has the name `staging`."""
    if not target.exists():
        os.rename(staging, target)
    elif not _exchange(staging, target):
        earlier = staging.with_suffix(".old")
        os.rename(target, earlier)
        os.rename(staging, target)
        shutil.rmtree(earlier)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, as Linux can; return whether it was done."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if rename is None:
        return False
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write JSON as UTF-8, without NaN."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(as_text(text) + "\n", encoding="utf-8")


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV table in UTF-8; a cell with a carriage return is quoted, too."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(_UnixLines(file))  # quotes both characters of its line end
        writer.writerow(header)
        writer.writerows([as_text(c) if isinstance(c, str) else c for c in row] for row in rows)


class _UnixLines:
    """A file that gets rows ending in a carriage return and a line feed, and keeps the latter."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, row: str) -> None:
        self._file.write(row.removesuffix("\r\n") + "\n")


def read_labels(folder: Path) -> tuple[list[str], np.ndarray]:
    """Return names and clusters (n,) of labels.csv."""
    path = folder / "labels.csv"
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))[1:]
        return [row[0] for row in rows], np.array([int(row[1]) for row in rows])
    except (OSError, ValueError, IndexError) as error:
        raise FileFormatError(f"{path}: no labels: {error}") from None


def as_text(text: str) -> str:
    """Replace bytes of file names that are not UTF-8, because text files cannot hold them."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def result_of(model: MultiViewClusterer, views: Any, answers: Sequence[Any]) -> dict[str, Any]:
    """Return everything about a fitted model for JSON, except arrays with a row per sample."""
    fitted = {
        name[:-1]: plain(value)
        for name, value in sorted(vars(model).items())
        if name.endswith("_") and not name.startswith("_") and name not in TOO_LARGE
    }
    result: dict[str, Any] = {
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
        "verdict": verdict_of(model.verdict_),
    }
    if views.present is not None:
        held = views.present.sum(axis=0).tolist()
        result["input"]["samples_by_view"] = dict(zip(views.names, held, strict=True))
    if views.labels is not None:
        result["metrics"] = evaluate(views.labels, model.labels_) | {"nmi_normalizer": "max"}
    written = {form.key: {"words": str(a)} | form.content(a) for a, form in _forms(answers)}
    return result | written


def verdict_of(found: Verdict) -> dict[str, Any]:
    """Return a verdict for JSON: sentences and numbers, without a row per sample."""
    names = ("sentences", "structured", "p_value", "reproducibility", "distrusted_views")
    result = _chosen(found, *names)
    if (certain := found.confidence) is not None:
        result["confidence"] = {
            "words": str(certain),
            "mean": certain.mean,
            "clusters": plain(certain.clusters),
            "least": [plain(sample._asdict()) for sample in certain.least()],
        }
    return result


def write_labels(folder: Path, model: MultiViewClusterer, views: Any) -> None:
    """Write labels.csv, and embedding.npz or graph.npz, of a fitted model."""
    columns: dict[str, np.ndarray] = {"cluster": np.asarray(model.labels_)}
    if views.present is not None:
        columns["views"] = views.present.sum(axis=1)
    if (certain := model.verdict_.confidence) is not None:
        columns["confidence"] = np.round(certain.samples, DIGITS)
    write_samples(folder / "labels.csv", views, columns)
    for name in ("embedding", "graph"):
        if (array := vars(model).get(f"{name}_")) is not None:
            np.savez_compressed(folder / f"{name}.npz", **{name: array, "labels": model.labels_})


def write_samples(path: Path, views: Any, columns: dict[str, np.ndarray]) -> None:
    """Write a table with a row per sample: its name or position, and the columns."""
    names = np.arange(len(views)) if views.index is None else np.asarray(views.index)
    rows = zip(names.tolist(), *(column.tolist() for column in columns.values()), strict=True)
    write_table(path, ["sample", *columns], rows)


def write_answers(folder: Path, answers: Sequence[Any]) -> None:
    """Write the answers that have a row per sample, feature or column as CSV tables."""
    for answer, form in _forms(answers):
        if (table := form.table(answer)) is not None:
            write_table(folder / table[0], *table[1:])


def print_result(folder: Path, result: dict[str, Any]) -> None:
    """Print result.json to standard output, with the labels of every sample."""
    samples, labels = read_labels(folder)
    shown = result | {
        "folder": as_text(str(folder)),
        "labels": dict(zip(samples, labels.tolist(), strict=True)),
    }
    print(json.dumps(shown, indent=2, ensure_ascii=False, allow_nan=False), flush=True)


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


class Form(NamedTuple):
    """How an answer is written: its key and content in result.json, and its table, if any."""

    key: str
    content: Callable[[Any], dict[str, Any]]
    table: Callable[[Any], Table | None] = lambda _: None


def _forms(answers: Sequence[Any]) -> list[tuple[Any, Form]]:
    return [(a, form) for a in answers for kind, form in FORMS.items() if isinstance(a, kind)]


def _chosen(value: Any, *names: str) -> dict[str, Any]:
    """Return some attributes, for JSON."""
    return {name: plain(getattr(value, name)) for name in names}


def _stability(found: Stability) -> dict[str, Any]:
    return _chosen(found, "agreement", "clusters") | {
        "samples_that_move": len(found.moved),
        "moved": plain(found.moved[:LISTED]),
    }


def _stability_table(found: Stability) -> Table:
    columns = (found.index, found.labels, np.round(found.samples, DIGITS), found.rivals)
    tested = zip(*(column.tolist() for column in columns), strict=True)
    rows = ((*row, "" if rival == row[1] else rival) for *row, rival in tested)
    return "stability.csv", ("sample", "cluster", "kept", "rival"), rows


def _influence(found: ViewInfluence) -> dict[str, Any]:
    return {
        "unrelated": list(found.unrelated),
        "agreement": dict(zip(found.names, plain(found.agreement), strict=True)),
        "without": {
            left.view: {"ari": plain(left.ari), "samples": len(left.rows)} for left in found.without
        },
    }


def explanation_of(found: Explanation) -> dict[str, Any]:
    """Return an explanation for JSON: sentences and numbers, without a row per sample."""
    names, profile = found.profile.names, found.profile
    others = [
        _chosen(other, "origin", "difference", "score", "ari")
        | {"words": str(other), "column": column, "clusters": np.bincount(other.labels).tolist()}
        for column, other in _alternatives(found).items()
    ]
    return {
        "words": found.describe(),
        "separation": _by_view(names, profile.clusters.T),
        "pairs": [
            {"clusters": [a, b], "separation": _by_view(names, profile.pairs[a, b])}
            for a, b in profile.contested()
        ],
        "conflicts": [_conflict(conflict) for conflict in found.conflicts],
        "alternatives": others,
        "tried": found.tried,
    }


def _conflict(found: Conflict) -> dict[str, Any]:
    names = ("clusters", "supporting", "opposing", "sizes", "parts", "ari", "score")
    moved = {"samples_that_move": len(found.moved), "moved": plain(found.moved[:LISTED])}
    return {"words": str(found)} | _chosen(found, *names) | moved


def _by_view(names: Sequence[str], values: np.ndarray) -> dict[str, Any]:
    return dict(zip(names, plain(np.round(values, DIGITS)), strict=True))


def _alternatives(found: Explanation) -> dict[str, Any]:
    """Return the other answers by their columns in alternatives.csv."""
    return {f"alternative{at}": other for at, other in enumerate(found.alternatives, start=1)}


def _alternatives_table(found: Explanation) -> Table | None:
    if not (others := _alternatives(found)):
        return None
    labels = [np.asarray(found.index), *(other.labels for other in others.values())]
    rows = zip(*(column.tolist() for column in labels), strict=True)
    return "alternatives.csv", ("sample", *others), rows


def _markers(found: Markers) -> dict[str, Any]:
    names = ["view", "feature", "effect", "auc", *(["p", "p_adjusted"] if found.valid else [])]
    return _chosen(found, "valid", "warning") | {
        "tests": len(found),
        "clusters": [
            [{name: plain(getattr(found, name)[i]) for name in names} for i in found.top(c, TOP)]
            for c in range(int(found.cluster.max()) + 1)
        ],
    }


def _markers_table(found: Markers) -> Table:
    columns = (_figures(getattr(found, name)) for name in found.COLUMNS)
    return "markers.csv", found.COLUMNS, zip(*columns, strict=True)


def _figures(column: np.ndarray) -> list[Any]:
    """Return numbers with six significant figures, None for NaN, anything else unchanged."""
    if column.dtype.kind != "f":
        return column.tolist()
    return [None if x != x else float(f"{x:.{FIGURES}g}") for x in column.tolist()]


def _annotations(found: Annotations) -> dict[str, Any]:
    curves = [] if found.survival is None else found.survival.curves
    return {
        "correction": "holm",
        "columns": [plain(each._asdict()) for each in found.comparisons],
        "not_compared": list(found.skipped),
        "survival": [_chosen(each, "cluster", "samples", "events", "median") for each in curves],
    }


def _annotations_table(found: Annotations) -> Table:
    return "annotations.csv", Comparison._fields, map(plain, found.comparisons)


FORMS: dict[type, Form] = {
    ChoiceOfK: Form("choice_of_k", lambda found: dict(plain(found))),
    Stability: Form("stability", _stability, _stability_table),
    ViewInfluence: Form("view_influence", _influence),
    Explanation: Form("explanation", explanation_of, _alternatives_table),
    Markers: Form("markers", _markers, _markers_table),
    Annotations: Form("annotations", _annotations, _annotations_table),
}
