"""Tables: what is bold, what is second, who ranks where, and what is said of missing results."""

import csv
import io
import re

import numpy as np
import pytest

from mkclust.bench import published, tables
from mkclust.bench.ranks import (
    against,
    alike,
    average_ranks,
    critical_difference,
    friedman,
    rank_rows,
)
from mkclust.bench.scores import METRICS, Results, title
from mkclust.bench.sheet import BEST, FORMATS, SECOND, Cell, Line, Sheet, mark_extremes, written
from mkclust.bench.store import DONE, OUT_OF_MEMORY, OUT_OF_TIME, Record
from mkclust.bench.tables import leaderboard_scores, scoreboard, standing
from mkclust.exceptions import InputError
from mkclust.inspection.annotations import corrected
from mkclust.methods import METHODS

PAPER = ("bbcsport", "plant", "sensitvehicle", "ccv", "flower102", "reuters")


def record(dataset, method, acc, *, tuned=False, status=DONE, cpu=1.0, seed=0, **scores):
    values = {"nmi": acc, "purity": acc, "ari": acc, "acc": acc} | scores
    setting = values.pop("setting", {})
    metrics = {name: (value, 0.01) for name, value in values.items()} if status == DONE else {}
    return Record(
        "suite", dataset, method, setting, tuned, seed, status, metrics, cpu, 2 * cpu, 1e6, 0.5
    )


@pytest.fixture
def records():
    """MKC-DNM and AKKM as they come, HMKC by default and over three settings, SPMKC stopped."""
    made = []
    for dataset, lift in (("BBCSport", 0.0), ("a_b & c", 0.1)):
        made += [
            record(dataset, "akkm", 0.40 + lift),
            record(dataset, "spmkc", 0.0, status=OUT_OF_MEMORY),
            record(dataset, "spmkc", 0.0, tuned=True, status=OUT_OF_TIME, setting={"lambda1": 4}),
            record(dataset, "hmkc", 0.60 + lift),
            record(dataset, "hmkc", 0.65, tuned=True, nmi=0.3, setting={"c1": 15}, cpu=2),
            record(dataset, "hmkc", 0.55, tuned=True, nmi=0.5, setting={"c1": 20}, cpu=3),
            record(dataset, "hmkc", 0.0, tuned=True, status=OUT_OF_TIME, setting={"c1": 25}, cpu=9),
            record(dataset, "mkc-dnm", 0.60 + lift),
        ]
    return made


def found(sheet, name, kind="", section=""):
    """The cells of one line by column."""
    lines = [
        line for line in sheet.lines
        if (line.name, line.kind) == (name, kind) and section in line.section
    ]  # fmt: skip
    assert len(lines) == 1
    return dict(zip(sheet.columns, lines[0].cells, strict=True))


# ranks ------------------------------------------------------------------------------------------


def test_published_average_ranks_follow_from_the_published_values():
    methods = published.methods()
    assert {published.plain(title(name)) for name in METHODS} >= set(methods)
    scores = [[published.scores().get((d, m, "acc"), np.nan) for m in methods] for d in PAPER]
    ranks = average_ranks(scores, missing="skip")
    printed = [6.33, 7.83, 5.50, 10.00, 6.33, 3.83, 8.50, 7.80, 5.33, 2.17, 1.17]  # Table 2
    assert ranks == pytest.approx(printed, abs=0.006)
    assert average_ranks(scores)[methods.index("spmkc")] > 8.50  # missing is last, not spared


def test_ties_share_a_rank_and_missing_results_share_the_last():
    ranks = rank_rows([[0.5, 0.5, 0.9, np.nan, np.nan]])
    assert ranks.tolist() == [[2.5, 2.5, 1.0, 4.5, 4.5]]
    with pytest.raises(InputError, match="missing"):
        rank_rows([[1.0]], missing="first")
    with pytest.raises(InputError, match="dimensions"):
        rank_rows([1.0, 2.0])


def test_friedman_against_the_formula():
    scores = np.array([[3, 2, 1], [3, 1, 2], [2, 3, 1], [3, 2, 1]])
    # average ranks 1.25, 2, 2.75; 12 N / (k (k + 1)) (sum R^2 - k (k + 1)^2 / 4) = 4.5
    assert friedman(scores) == pytest.approx(np.exp(-4.5 / 2))  # chi-square, 2 degrees
    assert friedman(np.ones((4, 3))) == 1.0
    with pytest.raises(InputError):
        friedman(scores[:1])


@pytest.mark.parametrize(
    ("methods", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (8, 3.031), (10, 3.164)]
)  # the table of q at 5 % in Demšar 2006
def test_critical_values_are_those_in_the_books(methods, q):
    unit = np.sqrt(methods * (methods + 1) / 60)  # ten data sets
    assert critical_difference(methods, 10) == pytest.approx(q * unit, abs=1e-3 * unit)


def test_methods_are_joined_within_the_difference_and_not_beyond():
    assert alike([4.0, 1.0, 2.5, 1.9], 1.0) == [(0, 1), (1, 2)]
    assert alike([1.0, 1.5, 1.9], 1.0) == [(0, 2)]
    assert alike([1.0, 3.0], 1.0) == []


def test_holm_by_hand():
    found = corrected(np.array([0.02, 0.01, 0.9, 0.03]), "holm")
    assert found == pytest.approx([0.06, 0.04, 0.9, 0.06])
    assert corrected(np.array([0.6, 0.7]), "holm").tolist() == [1.0, 1.0]


def test_signed_ranks_by_hand():
    base = np.arange(1.0, 7.0)
    scores = np.stack([base, base - [1, 2, 3, 4, 5, 6], base, base], axis=1)
    scores[:, 3] = np.nan
    p = against(scores, 0)
    assert np.isnan(p[[0, 3]]).all()  # itself, and a method without results, which is not compared
    # six differences of one sign: two tails of 1 in 2^6, times the two comparisons
    assert p[1:3] == pytest.approx([2 * 2 / 64, 1.0])


# marks and cells --------------------------------------------------------------------------------


def test_equal_as_printed_is_equally_good():
    cells = [Cell("80.00", 0.80001), Cell("80.00", 0.79999), Cell("70.00", 0.7), Cell("-")]
    assert [cell.mark for cell in mark_extremes(cells)] == [BEST, BEST, SECOND, ""]
    lowest = mark_extremes([Cell("1", 1.0), Cell("2", 2.0)], largest=False)
    assert [cell.mark for cell in lowest] == [BEST, SECOND]
    alone = mark_extremes([Cell("1", 1.0), Cell("1", 1.0)])
    assert [cell.mark for cell in alone] == ["", ""]  # nobody is better than anybody


def test_table2_marks_and_picks_the_best_setting_for_each_metric(records):
    sheet = tables.table2(Results(records))
    assert sheet.columns == ("AKKM", "SPMKC", "HMKC", "MKC-DNM")
    acc = found(sheet, "BBCSport", "tuned†", "ACC")
    assert (acc["HMKC"].text, acc["HMKC"].mark) == ("65.00", BEST)
    assert (acc["MKC-DNM"].text, acc["MKC-DNM"].mark) == ("60.00", SECOND)
    assert acc["SPMKC"].text == "N/A (time)" and acc["SPMKC"].note == "out of time"
    assert "1 of 3 settings: out of time" in acc["HMKC"].note
    assert found(sheet, "BBCSport", "tuned†", "NMI")["HMKC"].text == "50.00"  # of another setting
    plain = found(sheet, "BBCSport", "default", "ACC")
    assert plain["HMKC"].mark == plain["MKC-DNM"].mark == BEST  # a tie
    assert plain["AKKM"].mark == SECOND
    assert plain["SPMKC"].text == "N/A (memory)"


def test_table2_shows_the_published_value_and_the_difference_where_there_is_one(records):
    sheet = tables.table2(Results(records))
    assert found(sheet, "BBCSport", "published", "ACC")["MKC-DNM"].text == "87.61"
    assert found(sheet, "BBCSport", "difference", "ACC")["MKC-DNM"].text == "-27.61"
    assert found(sheet, "BBCSport", "difference", "ACC")["SPMKC"].text == "-"
    assert not [line for line in sheet.lines if line.name == "a_b & c" and line.kind == "published"]


def test_table2_averages_ranks(records):
    ranks = found(tables.table2(Results(records)), "average rank", "tuned†", "ACC")
    # BBCSport: HMKC, MKC-DNM, AKKM; the other: MKC-DNM at 70, HMKC at 65, AKKM at 50
    assert [ranks[name].text for name in ("HMKC", "MKC-DNM", "AKKM")] == ["1.50", "1.50", "3.00"]
    assert ranks["SPMKC"].text == "-"  # no result at all


def test_a_method_with_a_grid_that_was_not_run_is_not_passed_off_as_tuned():
    results = Results([record("Mfeat", "hmkc", 0.6), record("Mfeat", "akkm", 0.5)])
    cells = found(tables.table2(results), "Mfeat", "tuned†", "ACC")
    assert (cells["HMKC"].text, cells["HMKC"].note) == ("-", "not run")
    assert cells["AKKM"].text == "50.00"  # nothing to tune


def test_seeds_are_joined():
    twice = [record("Mfeat", "akkm", acc, seed=seed) for seed, acc in enumerate((0.4, 0.6))]
    score = Results(twice).score("Mfeat", "akkm", "acc")
    assert score.mean == pytest.approx(0.5)
    assert score.std == pytest.approx(np.sqrt(0.1**2 + 0.01**2))


def test_table3_adds_up_the_grid_and_says_where_it_was_cut(records):
    sheet = tables.table3(Results(records))
    assert found(sheet, "BBCSport", "tune CPU")["HMKC"].text == ">14.00"
    assert found(sheet, "BBCSport", "tune wall")["HMKC"].value == pytest.approx(28)
    assert found(sheet, "BBCSport", "tune CPU")["MKC-DNM"].text == "-"
    assert found(sheet, "BBCSport", "tune CPU")["SPMKC"].text == "N/A (time)"
    assert found(sheet, "BBCSport", "run CPU")["HMKC"].text == "1.00"  # the default setting
    assert found(sheet, "BBCSport", "run CPU")["SPMKC"].text == "N/A (memory)"
    assert found(sheet, "BBCSport", "published tune")["HMKC"].text == "27.04"
    assert found(sheet, "BBCSport", "published run")["MKC-DNM"].text == "0.02"
    assert found(sheet, "BBCSport", "kernels CPU")["HMKC"].text == "0.50"
    assert not [line for line in sheet.lines if line.name == "a_b & c" and "publ" in line.kind]


def test_how_much_of_a_grid_was_run_is_said(records):
    notes = tables.table2(Results(records)).notes
    assert any("HMKC 3 of 72" in note and "SPMKC 1 of 36" in note for note in notes)
    assert tables.table3(Results(records)).notes[2] == notes[2]


# leaderboard ------------------------------------------------------------------------------------


def test_what_needs_labels_is_shown_but_neither_ranked_nor_marked(records):
    results = Results([*records, record("BBCSport", "best view", 0.99, tuned=True)])
    board = scoreboard(results, "acc")
    cells = found(board, "BBCSport")
    assert board.columns[-3:] == ("SPMKC†", "HMKC†", "best view†")
    assert cells["best view†"].text == "99.00" and cells["best view†"].mark == ""
    assert cells["MKC-DNM"].mark == cells["HMKC"].mark == BEST
    place = found(standing(results), "best view†")
    assert place["rank ACC"].text == "" and place["results"].text == "1"


def test_a_method_without_parameters_has_nothing_chosen_with_labels(records):
    again = record("BBCSport", "mkc-dnm", 0.60, tuned=True)
    results = Results([*records, again])
    assert "MKC-DNM†" not in scoreboard(results, "acc").columns
    assert found(tables.table3(results), "BBCSport", "tune CPU")["MKC-DNM"].text == "-"
    failed = record("BBCSport", "mkc-dnm", 0, tuned=True, status="failed: a\nb" + "c" * 300)
    note = scoreboard(Results([*records, failed]), "acc").notes[-1]
    assert note == "failed: a: MKC-DNM on BBCSport."


def test_standing_counts_wins_results_and_ranks(records):
    extra = record("third", "akkm", 0.9), record("third", "mkc-dnm", 0.8)
    sheet = standing(Results([*records, *extra]))
    assert [line.name for line in sheet.lines[:4]] == ["MKC-DNM", "HMKC", "AKKM", "SPMKC"]
    first = found(sheet, "MKC-DNM")
    # shares the first place twice, second on the third; HMKC, missing there, is last: 3.5 of 4
    assert first["rank ACC"].text == f"{(1.5 + 1.5 + 2) / 3:.2f}"
    assert found(sheet, "HMKC")["rank ACC"].text == f"{(1.5 + 1.5 + 3.5) / 3:.2f}"
    assert [found(sheet, name)["wins"].text for name in ("MKC-DNM", "HMKC", "AKKM")] == list("221")
    assert found(sheet, "HMKC")["results"].text == "2"
    # the mean is over the two data sets that all three finished
    assert found(sheet, "AKKM")["mean ACC"].text == "45.00"
    assert found(sheet, "SPMKC")["mean ACC"].text == "-"
    assert any("2 of 3" in note and "a missing one is last" in note for note in sheet.notes)


def test_scores_for_the_diagram_leave_out_what_needs_labels(records):
    names, scores = leaderboard_scores(Results(records))
    assert names == ["HMKC", "MKC-DNM", "AKKM"]  # SPMKC has no result
    assert scores[0] == pytest.approx([60, 60, 40])


# formats ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suite", ["paper-table2", "paper-table3", "leaderboard"])
@pytest.mark.parametrize("fmt", FORMATS)
def test_every_format_names_the_reason_of_what_is_missing(records, suite, fmt):
    text = tables.render(records, suite, fmt)
    assert "MKC-DNM" in text and "out of memory" in text and "out of time" in text
    assert text.endswith("\n")


def test_terminal_marks_survive_without_colour(records):
    text = tables.render(records, "paper-table2", "terminal")
    assert "65.00*" in text and "60.00°" in text and "\x1b" not in text
    assert "65.00±1.00*" in tables.render(records, "paper-table2", "terminal", spread=True)


def test_markdown_is_a_rectangle_with_marks(records):
    text = tables.render(records, "paper-table2", "markdown")
    assert "**65.00**" in text and "_60.00_" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in rows} == {rows[0].count("|")} == {7}


def test_latex_escapes_and_is_balanced(records):
    text = tables.render(records, "paper-table2", "latex")
    assert r"a\_b \& c" in text and r"ACC (\%)" in text and r"tuned$\dagger$" in text
    assert r"\textbf{65.00}" in text and r"\underline{\textit{60.00}}" in text
    assert "$-$27.61" in text and "$>$14.00" in tables.render(records, "paper-table3", "latex")
    assert not re.search(r"(?<!\\)[_#]", text)
    assert text.count("{") == text.count("}") and text.count(r"\begin") == text.count(r"\end")
    rows = [line for line in text.splitlines() if line.endswith(r"\\") and "multi" not in line]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {5}
    assert all(ord(letter) < 128 for letter in text)


def test_csv_parses_back_in_full(records):
    results = Results(records)
    text = tables.render(records, "paper-table2", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    values = {
        (row["section"], row["row"], row["column"]): row for row in rows if row["kind"] == "tuned†"
    }
    assert float(values["NMI (%)", "a_b & c", "HMKC"]["value"]) == 0.5
    assert float(values["NMI (%)", "a_b & c", "HMKC"]["std"]) == 0.01
    missing = values["NMI (%)", "a_b & c", "SPMKC"]
    assert missing["value"] == "" and missing["note"] == "out of time"
    assert len(rows) == len(tables.table2(results).lines) * len(results.methods)


def test_a_pipe_in_a_name_does_not_break_markdown():
    sheet = Sheet("t", "row", ("x|y",), (Line("", "a|b", "", (Cell("1", 1.0),)),))
    assert r"| a\|b | 1 |" in written([sheet], "markdown")


def test_bad_input_is_named(records):
    with pytest.raises(InputError, match="html"):
        tables.render(records, "leaderboard", "html")
    with pytest.raises(InputError, match="mkclust bench run quick"):
        tables.render([], "quick", "csv")


def test_published_values_are_complete():
    assert len(published.scores()) == 6 * 11 * 4 - 3 * 4  # three are N/A
    assert {metric for _, _, metric in published.scores()} == set(METRICS)
    assert published.seconds()["reuters", "mkcdnm", "run"] == 44.57
    assert ("reuters", "mkcdnm", "tune") not in published.seconds()
