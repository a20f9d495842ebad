"""Run suites and make tables and figures of them: ``python -m benchmarks --help``."""

from __future__ import annotations

import argparse
from pathlib import Path

from mkclust import METHODS

from . import figures, pages, tables
from .data import registry
from .peers import BASELINES, PACKAGES
from .runner import TABLE, read_table, run
from .suites import SUITES


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="run what the table of results lacks of a suite")
    running.add_argument("suite", choices=SUITES)
    running.add_argument("--datasets", nargs="+", metavar="NAME")
    running.add_argument("--methods", nargs="+", metavar="NAME", help="or own, peers")
    running.add_argument("--order", choices=("shuffled", "sorted"), default="shuffled")
    running.add_argument("--jobs", type=int, default=2)
    running.add_argument("--again", metavar="STATUS", help="rerun these, such as 'out of time'")
    showing = commands.add_parser("table", help="print the table of a suite")
    showing.add_argument("suite", choices=SUITES)
    for command in (running, showing):
        command.add_argument("--table", type=Path, default=TABLE, help="the table of results")
    drawing = commands.add_parser("figure", help="draw figure2, figure4, figure5 or ranks-FAMILY")
    drawing.add_argument("name")
    drawing.add_argument("--dataset", default="BBCSport")
    drawing.add_argument("-o", "--out", type=Path, default=Path("figures"))
    commands.add_parser("pages", help="fill docs/leaderboard.md and README.md")
    commands.add_parser("list", help="list the data sets and which are present")
    asked = parser.parse_args()
    if asked.command == "run":
        groups = {"own": [*METHODS, *BASELINES, "best-view"], "peers": list(PACKAGES)}
        chosen = [
            name for asked_for in asked.methods or () for name in groups.get(asked_for, [asked_for])
        ]
        run(asked.suite, asked.table, asked.datasets, chosen, asked.order, asked.jobs, asked.again)
    if asked.command in ("run", "table"):
        print_suite(asked.suite, asked.table)
    elif asked.command == "figure":
        print(figures.draw(asked.name, asked.out, asked.dataset))
    elif asked.command == "pages":
        pages.write()
    else:
        for entry in registry().values():
            there = "present" if entry.present else f"absent: {' or '.join(entry.files)}"
            print(f"{entry.name:16} {entry.group:8} n = {entry.n:6} k = {entry.k:3}  {there}")


def print_suite(suite: str, path: Path) -> None:
    """Print the table of a suite."""
    results = read_table(path)
    results = results[results.suite == suite]
    if suite.startswith("paper"):
        made = tables.table2(results) if suite == "paper-table2" else tables.table3(results)
        print(made.to_string(index=False))
        return
    standing, notes = tables.standing(results)
    print("\n".join([*tables.markdown(standing), "", *notes, *tables.missing_reasons(results)]))


if __name__ == "__main__":
    main()
