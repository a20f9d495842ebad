"""How many clusters: planted numbers are found, the words say how narrow it was."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from mkclust import AKKM, MKCDNM, choose_k, plot
from mkclust.cli import app as cli
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError
from mkclust.inspection.choose_k import (
    Candidate,
    ChoiceOfK,
    asked_k,
    choose_for,
    shared_information,
)
from mkclust.linalg.spectrum import Spectra


@pytest.mark.parametrize("k", [3, 6])
def test_planted_clusters_are_counted(k):
    views = make_views(30 * k, k, 3, noise=0.8, random_state=k)
    found = choose_k(views, (2, 8), n_splits=2)
    assert found.k == k and found.margin > 0.05
    best = next(row for row in found.table if row.k == k)
    assert best.stability > 0.9
    assert best.gap == max(row.gap for row in found.table)
    assert [row.k for row in found.table] == list(range(2, 9))


def test_one_view_and_given_kernels_are_counted_too():
    views = make_views(120, 4, 1, noise=0.5, kernels=True, random_state=0)
    found = choose_k(views, (2, 7), n_splits=2)
    assert found.k == 4 and all(row.noise == pytest.approx(0) for row in found.table)
    assert choose_k(views, (2, 7), n_splits=2, recipe="auto").k == 4


def test_noise_gives_no_confident_answer():
    noise = make_views(120, 2, 0, n_noise_views=3, random_state=0)
    found = choose_k(noise, (2, 6), n_splits=2)
    assert max(row.stability for row in found.table) < 0.3
    assert "agree little" in str(found)


def test_a_noise_view_is_not_asked():
    views = make_views(90, 3, 2, noise=0.5, n_noise_views=1, random_state=0)
    found = choose_k(views, (2, 4), n_splits=2)
    assert found.k == 3 and found.left_out == ("noise1",)
    assert found.table == choose_k(views.select(["view1", "view2"]), (2, 4), n_splits=2).table
    assert str(found).endswith("noise1 left out as unrelated to the other views")


def test_spectra_are_computed_once_for_all_candidates(monkeypatch):
    computed = []
    find = Spectra._find
    monkeypatch.setattr(
        Spectra, "_find", lambda self, name, size: (computed.append(name), find(self, name, size))
    )
    choose_k(make_views(90, 3, 2, noise=0.5, random_state=0), (2, 6), n_splits=1)
    assert sorted(computed) == ["view1", "view2"]


def test_the_same_seed_gives_the_same_choice():
    views = make_views(80, 3, 2, noise=2.0, random_state=0)
    one, two = (choose_k(views, [2, 3, 5], n_splits=2) for _ in range(2))
    assert one == two and [row.k for row in one.table] == [2, 3, 5]


def test_settings_of_the_estimator_are_used():
    views = make_views(80, 3, 2, noise=1.0, random_state=0)
    plain, graph = (choose_k(views, (2, 4), n_splits=1, kernel=k) for k in ("gaussian", "knn"))
    assert plain.table != graph.table
    with pytest.raises(TypeError, match="magic"):
        choose_k(views, (2, 4), magic=1)
    assert choose_for(AKKM(2, kernel="knn"), views, (2, 4), n_splits=1) == graph
    assert MKCDNM(2).get_params()["kernel"] == "gaussian"


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ((5, 2), "empty"),
        ((1, 4), "from 2 on"),
        ([], "from 2 on"),
        ([2, 2.5], "from 2 on"),
        ((2, 12), "halves of 20 samples: try up to 10"),
        ("many", "auto"),
    ],
)
def test_impossible_numbers_are_refused(asked, complaint):
    with pytest.raises(InputError, match=complaint):
        choose_k(make_views(20, 2, 2, random_state=0), asked)


def test_auto_stops_at_half_the_samples():
    found = choose_k(make_views(12, 2, 2, noise=0.1, random_state=0), n_splits=1)
    assert [row.k for row in found.table] == [2, 3, 4, 5, 6]


def choice(certainty, margin, stability=0.9, k=4):
    row = Candidate(k, stability, 1.0, 0.5, 0.1, 0.2, 1.0)
    table = (replace(row, k=3), row) if k == 4 else (row, replace(row, k=12))
    return str(ChoiceOfK(k, 3, margin, certainty, (*table, replace(row, k=13))))


def test_the_words_hedge():
    assert choice(5.0, 0.3) == "4 clusters, clearly before 3"
    assert choice(2.0, 0.3) == choice(9.0, 0.05) == "4 clusters, before 3"
    assert choice(0.5, 0.3) == choice(9.0, 0.01) == "4 clusters, narrowly before 3"
    assert "take this as a hint" in choice(5.0, 0.3, stability=0.2)
    assert "try more" in choice(5.0, 0.3, k=13)


def test_the_plot_marks_the_choice():
    pytest.importorskip("matplotlib").use("Agg")
    found = choose_k(make_views(60, 3, 2, noise=0.3, random_state=0), (2, 4), n_splits=1)
    ax = plot.choice(found)
    assert ax.lines[0].get_label() == "score"
    assert max(ax.lines[0].get_ydata()) == 1
    assert list(ax.lines[0].get_xdata()) == [2, 3, 4]
    assert set(ax.lines[-1].get_xdata()) == {found.k}


def test_shared_information_is_what_labels_have_in_common():
    rng = np.random.default_rng(0)
    one = np.arange(4000) % 8
    assert shared_information(one, 7 - one) == pytest.approx(3.0, abs=0.02)
    assert shared_information(one, one // 2) == pytest.approx(2.0, abs=0.02)
    assert abs(shared_information(one, rng.permutation(one))) < 0.02


def test_what_k_may_be_on_the_command_line():
    assert asked_k("3") == 3 and asked_k("2:5") == (2, 5) and asked_k("auto") == "auto"
    for text in ("0", "-1", "2:", "2:3:4", "two", "2.5"):
        with pytest.raises(InputError, match="-k takes"):
            asked_k(text)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """mkclust cluster on planted clusters with a noise view: exit code, output, result."""
    monkeypatch.chdir(tmp_path)
    views = make_views(90, 3, 2, noise=0.5, n_noise_views=1, random_state=0)
    for name, view in zip(views.names, views.views, strict=True):
        (tmp_path / "data").mkdir(exist_ok=True)
        np.savetxt(tmp_path / "data" / f"{name}.csv", view, delimiter=",")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["mkclust", "cluster", "data", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        path = tmp_path / "mkclust-out" / "result.json"
        result = json.loads(path.read_text()) if path.exists() else None
        out, err = capsys.readouterr()
        return code, out + err, result

    return call


def test_the_command_line_chooses_says_and_writes(run, tmp_path):
    code, out, result = run("-k", "2:4")
    assert code == 0 and "How many clusters: 3 clusters" in out
    assert result["parameters"]["n_clusters"] == result["choice_of_k"]["k"] == 3
    assert [row["k"] for row in result["choice_of_k"]["table"]] == [2, 3, 4]
    page = (tmp_path / "mkclust-out" / "report.html").read_text()
    assert 'id="choice"' in page and 'id="stability"' in page


def test_a_noise_view_is_the_first_thing_said(run):
    code, out, result = run("-k", "3")
    lines = [line for line in out.splitlines() if line.strip()]
    first = next(i for i, line in enumerate(lines) if "90 samples" in line)
    assert lines[first - 1].startswith("noise1 agrees with no other view beyond chance")
    assert code == 0 and result["view_influence"]["unrelated"] == ["noise1"]
    assert "choice_of_k" not in result


def test_stability_can_be_left_out(run, tmp_path):
    code, out, result = run("-k", "3", "--no-stability")
    assert code == 0 and "Stability" not in out and "stability" not in result
    assert not (tmp_path / "mkclust-out" / "stability.csv").exists()
    code, out, result = run("-k", "3")
    rows = (tmp_path / "mkclust-out" / "stability.csv").read_text().splitlines()
    assert rows[0] == "sample,cluster,kept,rival" and len(rows) == 91
    kept = [float(row.split(",")[2]) for row in rows[1:]]
    assert result["stability"]["samples_that_flip"] == sum(share < 0.5 for share in kept)


@pytest.mark.parametrize(("asked", "complaint"), [("2:91", "91"), ("5:3", "empty"), ("x", "-k")])
def test_a_range_that_cannot_be_is_refused(run, asked, complaint):
    code, out, _ = run("-k", asked)
    assert code == 2 and complaint in out and "Traceback" not in out
