"""Tables of `choose_k.py`: answers and errors of all rules, noise and planted clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

RULES = ("choose_k", "earlier rule", "without null", "modularity alone", "eigengap", "silhouette",
         "gap statistic")  # fmt: skip
CLUSTERED = 0.3  # ARI at the true number from which classes count as clusters
KINDS = {  # of data without clusters, and their draws
    "pure noise": 100, "one cluster": 100, "one long cluster": 40, "yes/no": 20,
    "uniform": 20, "log-normal": 20,
}  # fmt: skip
Row = dict[str, Any]


def error(answer: int, true: int) -> float:
    return float(abs(np.log(answer / true)))


def present_rules(rows: list[Row]) -> list[str]:
    return [rule for rule in RULES if all(rule in row for row in rows)]


def set_table(rows: list[Row], extra: dict[str, Callable[[Row], str]]) -> str:
    """Return the answers of all rules, one line for every set."""
    rules = present_rules(rows)
    titles = ["set", *extra, "n", "classes", "choose_k", "range", "p", *rules[1:]]
    lines = [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]
    for row in rows:
        marks = [f"**{row[r]}**" if row[r] == row["true"] else str(row[r]) for r in rules]
        cells = [row["set"], *(cell(row) for cell in extra.values()), str(row["n"]),
                 str(row["true"]), marks[0], f"{row['low']} to {row['high']}", f"{row['p']:.1g}",
                 *marks[1:]]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def scores(groups: dict[str, list[Row]]) -> str:
    """Return the mean error of every rule, for several groups of sets."""
    lines = ["| sets | rule | mean abs. log ratio | exact | within one |", "|---|---|---|---|---|"]
    for title, some in groups.items():
        for rule in present_rules(some) if some else ():
            errors = np.mean([error(row[rule], row["true"]) for row in some])
            exact = sum(row[rule] == row["true"] for row in some)
            near = sum(abs(row[rule] - row["true"]) <= 1 for row in some)
            lines.append(f"| {title}, {len(some)} | {rule} | {errors:.2f} | {exact} | {near} |")
        if some:
            inside = sum(row["low"] <= row["true"] <= row["high"] for row in some)
            width = np.mean([row["high"] - row["low"] + 1 for row in some])
            lines.append(
                f"| {title}, {len(some)} | range | width {width:.1f} | {inside} inside | |"
            )
    return "\n".join(lines)


def set_tables(rows: list[Row], half: dict[str, str]) -> str:
    groups = {title: [row for row in rows if half[row["set"]] == title]
              for title in ("decide", "confirm")}  # fmt: skip
    table = set_table(rows, {"half": lambda row: half[row["set"]]})
    return table + "\n\n" + scores(groups | {"all": rows})


def labelled_tables(groups: dict[str, list[Row]]) -> str:
    """Return the answers for all sets of `unseen` and `fresh`, and the errors of the groups."""
    group = {row["set"]: title for title, some in groups.items() for row in some}
    rows = [row for some in groups.values() for row in some]
    confirm = [row for row in rows if row["half"] == "confirm"]
    clustered = [row for row in confirm if row["ari"] >= CLUSTERED]
    groups = groups | {"all confirming": confirm,
                       f"confirming, ARI {CLUSTERED} or more": clustered}  # fmt: skip
    extra = {"group": lambda row: group[row["set"]], "views": lambda row: str(row["views"]),
             "ARI": lambda row: f"{row['ari']:.2f}"}  # fmt: skip
    return set_table(rows, extra) + "\n\n" + scores(groups)


def summaries(rows: dict[str, Row]) -> str:
    lines = ["| data without clusters | draws | no structure |", "|---|---|---|"]
    for kind in KINDS:
        some = [row for row in rows.values() if row.get("kind") == kind]
        right = sum(row["answer"] == 1 for row in some)
        lines += [f"| {kind} | {len(some)} | {right} |"] if some else []
    lines += ["", "| planted clusters | draws with ARI above 0.9 | structure found | exact |",
              "|---|---|---|---|"]  # fmt: skip
    for true in (3, 5, 8):
        planted = [r for name, r in rows.items() if name.startswith(f"planted {true} ")]
        some = [r for r in planted if r["ari"] > 0.9]
        found, exact = sum(r["answer"] > 1 for r in some), sum(r["answer"] == true for r in some)
        lines += [f"| {true} | {len(some)} | {found} | {exact} |"] if some else []
    lines += ["", "| set | method | classes | choose_k | range | seconds |", "|" + "---|" * 6]
    for row in (row for row in rows.values() if "method" in row):
        lines.append(f"| {row['set']} | {row['method']} | {row['true']} | {row['answer']} "
                     f"| {row['low']} to {row['high']} | {row['seconds']:.0f} |")  # fmt: skip
    for name, row in rows.items():
        if name.startswith("time "):
            words = "CPU, {}: fit {fit:.2f} s, choose_k {choose_k:.2f} s: {ratio:.2f} fits"
            lines += ["", words.format(name.removeprefix("time "), **row)]
    return "\n".join(lines)
