"""The command line with tables as people have them: options, JSON, completion, long names."""

import json
import sys

import pandas as pd
import pytest

from mkclust import datasets
from mkclust.cli.summary import short_names

FAST = ("-k", "3", "--no-report", "--no-stability")


@pytest.fixture
def cohort(tmp_path):
    """Two tables with a stray text column, and the classes beside them."""
    views = datasets.make_views(60, 3, 2, noise=0.5, random_state=0)
    names = [f"p{i}" for i in range(60)]
    folder = tmp_path / "cohort"
    folder.mkdir()
    for name, X in zip(("rna", "protein"), views.views, strict=True):
        frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(10)])
        frame.insert(0, "participant_id", names)
        frame["home town"] = "rome"
        frame.to_csv(folder / f"{name}.csv", index=False)
    truth = pd.DataFrame({"participant_id": names, "subtype": views.labels})
    truth[::-1].to_csv(tmp_path / "truth.csv", index=False)
    return folder


def test_a_stray_column_is_named_with_the_option_that_drops_it(run, cohort):
    code, out, err = run("cluster", cohort, *FAST)
    assert code == 2 and out == ""
    assert "column 'home town' is not numeric: 'rome' in the row of" in err
    assert "--drop-column 'home town'" in err and "--labels NAME" in err and "=" not in err
    code, out, _ = run("cluster", cohort, *FAST, "--drop-column", "home town")
    assert code == 0 and "60 samples, 2 views" in out
    code, _, err = run(
        "cluster", cohort, *FAST, *("--drop-column", "home town"), "--drop-column", "town"
    )
    assert code == 2 and "no column 'town' for --drop-column" in err


def test_json_is_all_that_is_printed(run, cohort, tmp_path):
    options = (*FAST, "--drop-column", "home town", "--labels", tmp_path / "truth.csv", "--json")
    code, out, err = run("cluster", cohort, *options, "--save", "model.npz", "-o", "results")
    assert code == 0 and "Graph fusion" in err
    found = json.loads(out)
    assert found["metrics"]["ari"] > 0.9
    assert found["labels"]["sample"] == [f"p{i}" for i in range(60)]
    assert found["folder"] == "results" and "labels.csv" in found["files"]
    written = json.loads((tmp_path / "results" / "result.json").read_text())
    assert written.items() <= found.items()
    options = ("--drop-column", "home town", "--labels", "none", "--json", "--quiet")
    code, out, err = run("predict", "model.npz", cohort, *options)
    assert code == 0 and err == ""
    assert json.loads(out)["labels"]["cluster"] == found["labels"]["cluster"]


@pytest.mark.parametrize("options", [["--sep", "tab"], ["--sep", "\\t"], []])
def test_separator_and_decimal_sign(run, cohort, tmp_path, options):
    for file in list(cohort.iterdir()):
        frame = pd.read_csv(file).drop(columns="home town")
        frame.to_csv(file, index=False, sep="\t", decimal=",")
    decimal = ["--decimal", ","] if options else []
    code, out, _ = run("cluster", cohort, *FAST, *options, *decimal)
    assert code == 0 and "60 samples, 2 views" in out
    code, _, err = run("cluster", cohort, *FAST, "--decimal", ".")
    assert code == 2 and "pass --decimal ','" in err


def test_inspect_takes_the_options_of_reading(run, cohort):
    code, out, _ = run("inspect", cohort, "--drop-column", "home town")
    assert code == 0 and "Column 'home town' of rna.csv was dropped" in out


@pytest.mark.parametrize("option", ["--sep", "--decimal", "--drop-column"])
def test_options_of_tables_are_refused_for_parts(run, tmp_path, option):
    import numpy as np

    np.save(tmp_path / "a.npy", np.ones((4, 2)))
    code, _, err = run("cluster", "a.npy", *FAST, option, ",")
    assert code == 2 and f"{option} cannot be used with views in parts" in err


def test_completion_lists_commands_and_options(run, monkeypatch):
    # The command has the name of its script only outside a package such as that of pytest.
    monkeypatch.setattr(sys.modules["__main__"], "__package__", "")

    def completed(words):
        monkeypatch.setenv("_MKCLUST_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        return run()[1].split()

    assert completed("mkclust cl") == ["cluster"]
    assert "--drop-column" in completed("mkclust cluster --dr")


def test_long_names_differ_on_a_narrow_terminal(run, cohort):
    long = "TCGA-BRCA.HiSeqV2.normalized.expression.batch"
    for number, file in enumerate(sorted(cohort.iterdir())):
        file.rename(cohort / f"{long}{number}.csv")
    code, out, _ = run(
        "cluster", cohort, *FAST, "--method", "mkc-dnm", "--drop-column", "home town"
    )
    assert code == 0
    table = out[out.index("60 samples") :].splitlines()
    assert all(len(line) <= 80 for line in table)
    assert any("…batch0" in line for line in table) and any("…batch1" in line for line in table)


@pytest.mark.parametrize(
    "names", [["x" * 40, "x" * 40 + "y"], ["x" * 39 + "1" + "x" * 40, "x" * 80], ["a" * 11] * 2]
)
def test_short_names_fit_and_differ(names):
    found = short_names(names, 10)
    assert all(len(name) <= 10 for name in found)
    assert len({*found}) >= len({*names})
