"""The commands: what they print, write and refuse."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from mkclust import METHODS, datasets, load
from mkclust.cli.app import COMMANDS, import_command
from mkclust.cli.output import read_result
from mkclust.exceptions import InputError

QUICK = ("--no-report", "--no-checks")
HEAVY = {"numpy", "scipy", "sklearn", "h5py", "pandas", "matplotlib", "mkclust.report"}


@pytest.fixture(scope="module")
def cohort():
    return datasets.make_cohort(90, random_state=0)


@pytest.fixture
def folder(cohort, tmp_path):
    """A folder `d` of the cohort's tables as CSV, patients by name."""
    (tmp_path / "d").mkdir()
    for name, frame in frames(cohort).items():
        frame.to_csv(tmp_path / "d" / f"{name}.csv")
    return tmp_path / "d"


def frames(cohort):
    held = cohort.present.T
    return {
        name: pd.DataFrame(view[rows], cohort.index[rows], names).rename_axis("patient")
        for name, view, rows, names in zip(
            cohort.names, cohort.views, held, cohort.feature_names, strict=True
        )
    }  # fmt: skip


def clusters(path):
    return pd.read_csv(path / "labels.csv", dtype={"sample": str}).set_index("sample")


def test_cluster_prints_the_verdict_first_and_writes_what_it_lists(run, folder, tmp_path, cohort):
    code, out, err = run("cluster", "d", "-k", 3, "-o", "out", "--save")
    assert code == 0, err
    assert out.startswith("There are clusters beyond chance")
    assert "not mean that the" in " ".join(out.split()) and "confidence" in out
    result = read_result(tmp_path / "out")
    assert result["verdict"]["structured"]
    assert result["verdict"]["sentences"][0] in " ".join(out.split())
    labels = clusters(tmp_path / "out")
    assert list(labels.index) == list(cohort.index) and labels.confidence.between(0, 1).all()
    assert {"labels.csv", "report.html", "model.npz", "stability.csv"} <= set(result["files"])
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "There are clusters beyond chance" in page


def test_no_structure_is_the_headline(run, tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        np.savetxt(tmp_path / f"{name}.csv", rng.standard_normal((80, 6)), delimiter=",")
    code, out, _ = run("cluster", "a.csv", "b.csv", "-k", "auto", "-o", "out", "--no-report")
    assert code == 0 and out.startswith("No cluster structure found (p =")
    assert "confidence" not in clusters(tmp_path / "out").columns
    code, out, _ = run("cluster", "a.csv", "b.csv", "-k", 2, "-o", "two", *QUICK)
    assert code == 0 and out.startswith("No cluster structure found (p =")


def test_predict_explain_and_verify_use_what_the_run_stored(run, folder, tmp_path):
    assert run("cluster", "d", "-k", 3, "-o", "out", "--save", "--id", "patient", *QUICK)[0] == 0
    assert read_result(tmp_path / "out")["reading"] == {"id": "patient"}
    code, out, err = run("predict", "out", "d", "-o", "new")
    assert code == 0 and "were joined to those of 'expression'" in " ".join(out.split()), err
    assert (clusters(tmp_path / "new").cluster == clusters(tmp_path / "out").cluster).mean() > 0.97
    code, out, _ = run("explain", "out")
    assert code == 0 and "Which views separate which clusters" in out
    code, out, _ = run("verify", "out")
    assert code == 0 and "FAILS" not in out and "the weights follow" in out
    changed = folder / "expression.csv"
    changed.write_text(changed.read_text().replace("0.", "1.", 1))
    code, out, _ = run("verify", "out")
    assert code == 1 and "FAILS: view expression holds the data" in out
    code, out, _ = run("verify", "out", "elsewhere")
    assert code == 2


def test_predict_joins_new_rows_by_the_id_of_the_fit(run, tmp_path):
    views = datasets.make_views(90, 3, 2, noise=0.3, random_state=0)
    for folder, count in (("tab", 90), ("new", 8)):
        (tmp_path / folder).mkdir()
        for name, view, step in zip("ab", views.views, (1, -1), strict=True):
            frame = pd.DataFrame(view).add_prefix("f").assign(ticket=np.arange(90) * 7 + 1)
            frame[:count][::step].to_csv(tmp_path / folder / f"{name}.csv", index=False)
    assert run("cluster", "tab", "-k", 3, "--id", "ticket", "--save", *QUICK)[0] == 0
    code, out, _ = run("predict", "mkclust-out", "new")
    assert code == 0 and "Column 'ticket' of view 'b' names the samples" in " ".join(out.split())
    one, two = (clusters(tmp_path / f"mkclust-{name}").cluster for name in ("out", "predicted"))
    assert two.equals(one.loc[two.index])


def test_annotations_are_matched_by_name(run, folder, tmp_path, cohort):
    table = pd.DataFrame({"rank": np.random.default_rng(0).permutation(90), "patient": cohort.index,
                          "stage": cohort.labels})  # fmt: skip
    table.sample(frac=1, random_state=0).to_csv(tmp_path / "clinical.csv", index=False)
    code, _, err = run("cluster", "d", "-k", 3, *QUICK, "--annotations", "clinical.csv")
    assert code == 0, err
    found = pd.read_csv(tmp_path / "mkclust-out" / "annotations.csv").set_index("column")
    assert found.p["stage"] < 1e-10 and found.samples["stage"] == 90 and found.p["rank"] > 0.01
    given = ("--annotations", "clinical.csv", "--time", "no", "--event", "stage")
    code, _, err = run("cluster", "d", "-k", 3, *QUICK, *given)
    assert code == 2 and "--time no is no column" in err
    code, _, err = run("cluster", "d", "-k", 3, "--time", "x")
    assert code == 2 and "--annotations" in err


def test_inspect_shows_tables_the_next_command_and_all_problems_at_once(run, folder):
    code, out, err = run("inspect", "d")
    assert code == 0, err
    assert "expression" in out and "72" in out and "Next: mkclust cluster d -k auto" in out
    for name, value in (("expression", "high"), ("protein", None)):
        frame = pd.read_csv(folder / f"{name}.csv").astype(object)
        frame.iloc[3, 4] = value
        frame.to_csv(folder / f"{name}.csv", index=False)
    (folder / "empty.csv").write_text("")
    for command in (["inspect", "d"], ["cluster", "d", "-k", "3"]):
        code, out, err = run(*command)
        said = out + err
        assert code == 2 and "empty.csv: the file is empty" in said
        assert "expression.csv: column" in said and "leave out with --drop-column" in said
        assert "view 'protein' has 1 NaN cell" in said and "--missing median" in said
        assert ("methylation" in out) is (command[0] == "inspect") and "not readable" not in err


def test_parameters_of_a_method_are_set_and_checked(run, folder, tmp_path):
    assert run("cluster", "d", "-k", 3, *QUICK, "--set", "n_neighbors=7")[0] == 0
    assert read_result(tmp_path / "mkclust-out")["parameters"]["n_neighbors"] == 7
    code, _, err = run("cluster", "d", "-k", 3, "--set", "solver=exact")
    assert code == 2 and "solver" in err and "n_neighbors" in err
    code, _, err = run("cluster", "d", "-k", 99)
    assert code == 2 and err.startswith("error: -k")
    assert run("cluster", "d", "-k", "many")[0] == 2
    code, _, err = run("cluster", "d", "-k", 3, "--method", "nonsense")
    assert code == 2 and "graph-fusion" in err


def test_json_has_the_result_and_every_label(run, folder, cohort):
    code, out, _ = run("cluster", "d", "-k", 3, *QUICK, "--json")
    found = json.loads(out)
    assert code == 0 and list(found["labels"]) == list(cohort.index)
    assert run("cluster", "d", "-k", 3, *QUICK, "-q")[1] == ""


def test_counts_and_variance_are_prepared_on_request_and_again_for_new_samples(run, tmp_path):
    rng = np.random.default_rng(0)
    rates = rng.gamma(1.0, 20.0, (3, 40))[np.arange(90) % 3]
    counts = pd.DataFrame(rng.poisson(rates), columns=[f"g{j}" for j in range(40)],
                          index=pd.Index([f"s{i}" for i in range(90)], name="sample"))  # fmt: skip
    counts.to_csv(tmp_path / "counts.csv")
    prepared = ("--log", "--top-variance", 20)
    assert run("cluster", "counts.csv", "-k", 3, *prepared, "--save", *QUICK)[0] == 0
    assert read_result(tmp_path / "mkclust-out")["input"]["views"] == {"counts": 20}
    (tmp_path / "mkclust-out" / "model.npz").rename(tmp_path / "model.npz")
    assert run("predict", "model.npz", "counts.csv")[0] == 0
    with pytest.raises(InputError, match="logarithms of counts"):
        load(tmp_path / "model.npz").predict(counts)
    one, two = (clusters(tmp_path / f"mkclust-{name}").cluster for name in ("out", "predicted"))
    assert (one == two).mean() > 0.95


def test_figures_are_written(run, folder, tmp_path):
    pytest.importorskip("matplotlib")
    assert run("cluster", "d", "-k", 3, "--no-report", "--figures", "svg")[0] == 0
    names = {"map.svg", "sizes.svg", "consensus.svg", "features.svg"}
    assert names <= set(read_result(tmp_path / "mkclust-out")["files"])


def test_methods_lists_all_and_the_parameters_of_one(run):
    out = run("methods")[1]
    assert all(name in out for name in METHODS)
    code, out, _ = run("methods", "mkc-dnm")
    assert code == 0 and "--set solver=authors" in out
    assert run("methods", "nonsense")[0] == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_on_a_screen_and_starts_as_listed(run, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(name, "--help")
    lines = out.splitlines()
    assert code == 0 and len(lines) <= 60 and max(map(len, lines)) <= 80
    assert import_command(name).help.splitlines()[0] == COMMANDS[name][1]


def test_help_imports_neither_arrays_nor_readers():
    program = "import sys; sys.argv = ['mkclust', '--help']\nfrom mkclust.cli import command\n"
    program += "try:\n    command()\nexcept SystemExit:\n    print('imported:', *sys.modules)"
    said = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert not set(said.splitlines()[-1].split()) & HEAVY


def test_a_messy_folder_is_clustered_by_the_suggested_command(run, folder, tmp_path, cohort):
    pytest.importorskip("openpyxl")
    tables, messy = frames(cohort), tmp_path / "messy"
    messy.mkdir()
    tables["methylation"].iloc[3, 4] = np.nan
    tables["methylation"].to_csv(folder / "methylation.csv")
    tables["expression"].T.rename_axis("gene").to_csv(messy / "expression.csv.gz")
    tables["methylation"].to_csv(messy / "methylation.txt", sep="\t")
    tables["protein"].to_excel(messy / "protein.xlsx")
    clinical = {"patient": cohort.index, "sex": ["m", "f"] * 45, "stage": cohort.labels}
    pd.DataFrame(clinical).to_excel(messy / "clinical.xlsx", index=False)
    (messy / "~$protein.xlsx").write_bytes(b"lock")
    code, out, err = run("inspect", "messy")
    assert code == 0 and "~$protein.xlsx" in out, out + err
    suggested = out.rpartition("Next: mkclust ")[2].split()
    assert {"--annotations", "--missing", "--views"} <= set(suggested)
    code, out, err = run(*suggested, *QUICK, "-o", "one")
    assert code == 0 and "stage" in out, err
    assert run("cluster", "d", "-k", "auto", "--missing", "median", *QUICK, "-o", "two")[0] == 0
    one, two = clusters(tmp_path / "one").cluster, clusters(tmp_path / "two").cluster
    assert (one == two.loc[one.index]).all()
