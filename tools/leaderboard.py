"""Fill the tables and diagrams of docs/leaderboard.md and README.md from the results of stores.

    python tools/leaderboard.py [STORE ...]

The families of which a store of ``mkclust bench run`` has results are replaced in
docs/leaderboard.csv first. The pages are made from that file alone, so that a test can compare them
with it.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from mkclust import METHODS
from mkclust.bench.ranks import average_ranks
from mkclust.bench.registry import dataset
from mkclust.bench.scores import Results, title
from mkclust.bench.sheet import written
from mkclust.bench.store import Record, Store
from mkclust.bench.tables import leaderboard_scores, scoreboard, standing
from mkclust.bench.truth import LOG_RANK

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
TABLE, PAGE, README = DOCS / "leaderboard.csv", DOCS / "leaderboard.md", ROOT / "README.md"
FAMILIES = ("multiview", "omics", "large", "kernels", "missing")
SORTED = "multiview-sorted"
METRICS = ("acc", "nmi", "ari", LOG_RANK)
FACTS = ("suite", "dataset", "method", "parameters", "tuned", "seed", "status", "cpu")
COLUMNS = (*FACTS, *(f"{metric}_{part}" for metric in METRICS for part in ("mean", "std")))
SHOWN = {  # methods of the table of README.md, with what they are
    "graph-fusion": "the default of mkclust",
    "mkc-dnm": "dual noise minimization (Zhang et al., 2022)",
    "snf": "similarity network fusion (Wang et al., 2014)",
    "oplf": "late fusion (Liu et al., 2021)",
    "akkm": "k-means on the average kernel",
    "cagl": "consensus affinity graph learning",
    "spmkc": "structure-preserving multiple kernel clustering",
    "imml-nemo": "NEMO, from the package imml",
    "mvlearn-coreg": "co-regularized spectral clustering, from the package mvlearn",
    "mofa": "MOFA factors, k-means",
    "leiden": "Leiden on the neighbor graph of all tables joined side by side",
    "concat-spectral": "spectral clustering of all tables joined side by side",
}


def save(records: Iterable[Record]) -> None:
    """Write the results of all families to docs/leaderboard.csv, small data sets first."""
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for record in sorted(records, key=_place):
            found = [record.metrics.get(metric, ("", "")) for metric in METRICS]
            writer.writerow([
                record.suite, record.dataset, record.method,
                json.dumps(dict(record.parameters), sort_keys=True), int(record.tuned),
                record.seed, record.status, f"{record.cpu:.3f}",
                *(_short(x) for pair in found for x in pair),
            ])  # fmt: skip


def _place(record: Record) -> tuple[int, int, str, str]:
    suite = (*FAMILIES, SORTED).index(record.suite)
    return suite, dataset(record.dataset).n, record.dataset, record.method


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.5f}"


def load() -> list[Record]:
    """Read docs/leaderboard.csv."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return [_record(row) for row in csv.DictReader(file)]


def _record(row: dict[str, str]) -> Record:
    metrics = {
        metric: (float(row[f"{metric}_mean"]), float(row[f"{metric}_std"]))
        for metric in METRICS
        if row[f"{metric}_mean"]
    }
    return Record(
        row["suite"], row["dataset"], row["method"], json.loads(row["parameters"]),
        row["tuned"] == "1", int(row["seed"]), row["status"], metrics, float(row["cpu"]),
    )  # fmt: skip


def split(records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Return the results on data sets where all methods of mkclust were run, and on the others.

    Of the others, only the methods are kept that were run on all of them. Large sets are not
    divided: what exceeds a limit on one was not run on larger ones.
    """
    if {record.suite for record in records} == {"large"}:
        return list(records), []
    run: dict[str, set[str]] = {}
    for record in records:
        run.setdefault(record.dataset, set()).add(record.method)
    others = [found for found in run.values() if not METHODS.keys() <= found]
    kept = set.intersection(*others) if others else set()
    whole, rest = [], []
    for record in records:
        if METHODS.keys() <= run[record.dataset]:
            whole.append(record)
        elif record.method in kept:
            rest.append(record)
    return whole, rest


def of(records: Iterable[Record], suite: str) -> list[Record]:
    return [record for record in records if record.suite == suite]


def order_table(records: Sequence[Record]) -> list[str]:
    """Return mean ACC with rows shuffled and sorted by class, by method."""
    shuffled = [record for record in records if record.suite in ("multiview", "kernels")]
    pair = [Results(shuffled), Results(of(records, SORTED))]
    lines = ["| method | sets | shuffled | sorted | mean difference | largest difference |",
             "|:---|---:|---:|---:|---:|---:|"]  # fmt: skip
    for method in pair[1].methods:
        found = [
            [results.score(name, method, "acc").mean for results in pair]
            for name in pair[1].datasets
        ]
        both = [(name, row) for name, row in zip(pair[1].datasets, found, strict=True)
                if None not in row]  # fmt: skip
        known = 100 * np.array([row for _, row in both], dtype=float)
        change = known[:, 1] - known[:, 0]
        place = int(np.abs(change).argmax())
        means = " | ".join(f"{mean:.2f}" for mean in known.mean(axis=0))
        most = f"{change[place]:+.2f} ({both[place][0]})"
        lines.append(
            f"| {title(method)} | {len(known)} | {means} | {change.mean():+.2f} | {most} |"
        )
    return lines


def readme_table(records: Sequence[Record]) -> list[str]:
    """Return average ranks of some methods in every family but the large sets, where few finish."""
    columns: dict[str, dict[str, str]] = {}
    for suite in (suite for suite in FAMILIES if suite != "large"):
        whole = split(of(records, suite))[0]
        results = Results(whole)
        names, scores = leaderboard_scores(results)
        head = f"{suite} ({len(results.datasets)} sets, {len(names)} methods)"
        ranks = average_ranks(scores)
        best = min(ranks)
        columns[head] = {
            name: f"**{rank:.2f}**" if rank == best else f"{rank:.2f}"
            for name, rank in zip(names, ranks, strict=True)
        }
    lines = ["| method | what it is | " + " | ".join(columns) + " |",
             "|:---|:---|" + "---:|" * len(columns)]  # fmt: skip
    for method, what in SHOWN.items():
        cells = [column.get(title(method), "–") for column in columns.values()]
        name = f"**{title(method)}**" if method == "graph-fusion" else title(method)
        lines.append(f"| {name} | {what} | " + " | ".join(cells) + " |")
    return lines


def family_tables(records: Sequence[Record]) -> list[str]:
    """Return the standing of a family, and its scores with their spread."""
    results = Results(records)
    metrics = [metric for metric in ("acc", LOG_RANK) if results.measured(metric)]
    sheets = [standing(results), *(scoreboard(results, metric, spread=True) for metric in metrics)]
    return written(sheets, "markdown").rstrip().splitlines()


def parts(records: Sequence[Record]) -> dict[str, list[str]]:
    """Return the generated parts of docs/leaderboard.md by name."""
    found = {"order": order_table(records)}
    for suite in FAMILIES:
        whole, rest = split(of(records, suite))
        found[suite] = family_tables(whole)
        if rest:
            found[f"{suite}-rest"] = family_tables(rest)
    return found


def filled(text: str, name: str, lines: Sequence[str]) -> str:
    """Replace the text between ``<!-- name -->`` and ``<!-- /name -->``."""
    head, rest = text.split(f"<!-- {name} -->\n")
    tail = rest[rest.index(f"<!-- /{name} -->") :]
    return f"{head}<!-- {name} -->\n" + "\n".join(lines) + f"\n{tail}"


def pages(records: Sequence[Record]) -> dict[Path, str]:
    """Return both pages with their tables made from the records."""
    page = PAGE.read_text(encoding="utf-8")
    for name, lines in parts(records).items():
        page = filled(page, name, lines)
    readme = README.read_text(encoding="utf-8")
    return {PAGE: page, README: filled(readme, "results", readme_table(records))}


def diagrams(records: Sequence[Record]) -> None:
    """Draw the critical-difference diagram of every family into docs/images."""
    from mkclust.bench.figures import rank_figure

    for suite in FAMILIES:
        names, scores = leaderboard_scores(Results(split(of(records, suite))[0]))
        figure = rank_figure(names, scores)
        figure.savefig(DOCS / "images" / f"ranks-{suite}.png", dpi=110)


def main(stores: Sequence[str]) -> None:
    records = load()
    for path in stores:
        new = [record for suite in (*FAMILIES, SORTED) for record in Store(path).records(suite)]
        replaced = {record.suite for record in new}
        records = [record for record in records if record.suite not in replaced] + new
    save(records)
    records = load()
    for path, text in pages(records).items():
        path.write_text(text, encoding="utf-8")
    diagrams(records)


if __name__ == "__main__":
    main(sys.argv[1:])
