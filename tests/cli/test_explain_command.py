"""The command `explain`, on planted disagreements."""

import json

import numpy as np
import pytest

from _support.disagreeing import named, planted
from mkclust import GraphFusion


@pytest.fixture
def data(tmp_path):
    views, other = planted("contradicting", k=8)
    path = tmp_path / "views.npz"
    np.savez(path, **dict(zip(views.names, views.views, strict=True)))
    a, b = sorted(named(GraphFusion(8, random_state=0).fit(views), views)[:2])
    return path, f"clusters {a} and {b}", other


def words(text):
    return " ".join(text.split())


def test_a_run_is_explained_from_its_results(run, data, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    path, pair, other = data
    run("cluster", path, "-k", 8, "--no-report", "-o", tmp_path / "out")
    code, out, _ = run("explain", "out")
    assert code == 0 and max(map(len, out.splitlines())) <= 80
    said = words(out)
    heading = "Which views separate which clusters"
    assert f"320 samples in 8 clusters by Graph fusion {heading} one two" in said
    assert f"- {pair}: separated by one, two; one cluster for contradicting" in said
    assert f"Conflicts - {pair}: one, two keep them apart as in the answer" in said
    assert f"Other answers 1. divides {pair} differently" in said
    assert "Their labels are in" in said and "alternatives" in said
    table = np.genfromtxt(tmp_path / "out" / "alternatives.csv", delimiter=",", names=True)
    assert len(set(table["alternative1"][:80][other[:80] == 0])) == 1
    part = json.loads((tmp_path / "out" / "result.json").read_text())["explanation"]
    assert part["conflicts"][0]["opposing"] == ["contradicting"]
    assert part["alternatives"][0]["column"] == "alternative1"


def test_a_run_without_explanation_needs_the_data(run, data, tmp_path):
    path, pair, _ = data
    run("cluster", path, "-k", 8, "--no-report", "--no-stability", "-o", tmp_path / "out")
    code, _, said = run("explain", tmp_path / "out")
    assert code == 2 and "hold no explanation; give the data that were clustered" in words(said)
    code, out, _ = run("explain", tmp_path / "out", path)
    assert code == 0 and f"Conflicts - {pair}:" in words(out)


def test_other_data_are_refused(run, data, tmp_path):
    path, _, _ = data
    run("cluster", path, "-k", 8, "--no-report", "--no-stability", "-o", tmp_path / "out")
    stored = dict(np.load(path))
    np.savez(tmp_path / "less.npz", **{name: X[::2] for name, X in stored.items()})
    code, _, said = run("explain", tmp_path / "out", tmp_path / "less.npz")
    assert code == 2 and "a fit to these data gives other labels" in words(said)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "no result.json here"), ("{", "not valid JSON"), ("[1]", "not a result of mkclust")],
)
def test_what_is_no_result_is_refused(run, tmp_path, content, reason):
    if content is not None:
        (tmp_path / "result.json").write_text(content)
    code, _, said = run("explain", tmp_path)
    assert code == 2 and reason in words(said)
