"""The tables of README.md and docs/leaderboard.md are those of docs/leaderboard.csv."""

import leaderboard
import pytest

from mkclust import METHODS
from mkclust.bench.store import DONE, Record


@pytest.fixture(scope="module")
def records():
    return leaderboard.load()


def record(suite, data, method, acc):
    return Record(suite, data, method, {}, False, 0, DONE, {"acc": (acc, 0.0)})


@pytest.mark.parametrize("path", [leaderboard.README, leaderboard.PAGE], ids=lambda path: path.name)
def test_the_tables_of_a_page_are_made_from_the_results(path, records):
    assert path.read_text(encoding="utf-8") == leaderboard.pages(records)[path]


def test_every_family_has_its_diagram(records):
    for suite in leaderboard.FAMILIES:
        assert leaderboard.of(records, suite), suite
        assert (leaderboard.DOCS / "images" / f"ranks-{suite}.png").stat().st_size < 200_000


def test_saved_results_are_read_back(records, tmp_path, monkeypatch):
    monkeypatch.setattr(leaderboard, "TABLE", tmp_path / "table.csv")
    leaderboard.save(records)
    assert leaderboard.load() == records


def test_sets_where_methods_were_left_out_are_kept_apart():
    given = [record("x", "whole", method, 0.5) for method in METHODS]
    given += [record("x", data, "akkm", 0.5) for data in ("part", "less")]
    given.append(record("x", "part", "mkkm", 0.5))
    whole, rest = leaderboard.split(given)
    assert {one.dataset for one in whole} == {"whole"} and len(whole) == len(METHODS)
    assert [(one.dataset, one.method) for one in rest] == [("part", "akkm"), ("less", "akkm")]


def test_the_order_table_compares_the_same_sets():
    scores = {"A": (0.5, 0.52), "B": (0.8, 0.7)}
    given = [record("multiview", name, "akkm", a) for name, (a, _) in scores.items()]
    given += [record("multiview-sorted", name, "akkm", b) for name, (_, b) in scores.items()]
    given.append(record("multiview", "C", "akkm", 0.1))
    line = leaderboard.order_table(given)[-1]
    assert line == "| AKKM | 2 | 65.00 | 61.00 | -4.00 | -10.00 (B) |"


def test_a_part_of_a_page_is_replaced_between_its_comments():
    text = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n"
    assert leaderboard.filled(text, "x", ["new"]) == "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n"
