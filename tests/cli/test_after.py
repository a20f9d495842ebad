"""Markers and annotations on the command line: files, options, refusals before the fit."""

import json

import numpy as np
import pytest

from mkclust import datasets

pd = pytest.importorskip("pandas")


@pytest.fixture
def cohort(tmp_path):
    """A folder of two named tables, and a table of clinical columns of most patients."""
    views = datasets.make_views(60, 3, 2, noise=0.5, random_state=0)
    patients = [f"p{i:02d}" for i in range(60)]
    (tmp_path / "tables").mkdir()
    for name, view in zip(("rna", "protein"), views.views, strict=True):
        frame = pd.DataFrame(view, index=pd.Index(patients, name="patient"))
        frame.columns = [f"{name}{j}" for j in range(view.shape[1])]
        frame.to_csv(tmp_path / "tables" / f"{name}.csv")
    rng = np.random.default_rng(0)
    times = rng.exponential(100 + 400 * (views.labels == 0))
    clinical = pd.DataFrame(
        {"patient": patients, "class": views.labels, "age": rng.normal(60, 9, 60),
         "OS.time": times.round(1), "OS": (times < 200).astype(int)}
    )  # fmt: skip
    clinical.sample(50, random_state=0).to_csv(tmp_path / "clinical.csv", index=False)
    return views


QUICK = ("--no-stability", "--no-report")


def test_markers_and_annotations_are_written_and_summarized(run, cohort, tmp_path):
    pytest.importorskip("lifelines")
    code, out, err = run("cluster", "tables", "-k", 3, "--annotations", "clinical.csv", "-o", "o")
    assert code == 0, err
    marked = pd.read_csv(tmp_path / "o" / "markers.csv")
    assert len(marked) == 3 * sum(cohort.widths) and marked["p"].is_monotonic_increasing
    compared = pd.read_csv(tmp_path / "o" / "annotations.csv").set_index("column")
    assert compared.loc["class", "p_adjusted"] < 1e-6 and (compared["samples"] == 50).all()
    assert compared.loc["OS.time, OS", "test"] == "log-rank"
    result = json.loads((tmp_path / "o" / "result.json").read_text())
    assert result["markers"]["valid"] and len(result["markers"]["clusters"]) == 3
    assert [each["cluster"] for each in result["annotations"]["survival"]] == [0, 1, 2]
    for part in ("markers", "annotations"):
        assert result[part]["words"] in " ".join(out.split())
    page = (tmp_path / "o" / "report.html").read_text()
    assert 'id="separation"' in page and 'id="annotations"' in page and "Kaplan-Meier" in page


def test_annotations_are_not_clustered(run, cohort, tmp_path):
    run("cluster", "tables", "-k", 3, *QUICK, "-o", "without")
    run("cluster", "tables", "-k", 3, *QUICK, "-o", "with", "--annotations", "clinical.csv")
    tables = [(tmp_path / each / "labels.csv").read_bytes() for each in ("without", "with")]
    assert tables[0] == tables[1]


def test_without_refits_the_p_values_are_said_to_be_too_small(run, cohort, tmp_path):
    run("cluster", "tables", "-k", 3, *QUICK, "-o", "o")
    found = json.loads((tmp_path / "o" / "result.json").read_text())["markers"]
    assert not found["valid"] and "too small" in found["warning"]


def test_markers_that_are_not_computed_are_named(run, cohort, tmp_path):
    code, out, _ = run("cluster", "tables", "-k", 3, *QUICK, "--no-markers", "-o", "o")
    assert code == 0 and "Markers were not computed: --no-markers" in " ".join(out.split())
    assert not (tmp_path / "o" / "markers.csv").exists()
    _, out, _ = run("cluster", "tables", "-k", 1, *QUICK, "-o", "one")
    assert "markers were not computed: there is one cluster only" in " ".join(out.split())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--annotations", "absent.csv"], "absent.csv"),
        (["--annotations", "other.csv"], "no column holds names of the samples, such as 'p00'"),
        (["--annotations", "twice.csv"], "several rows are of one sample, by column 'name': 'p01'"),
        (["--annotations", "clinical.csv", "--time", "OS.time"], "--time and --event"),
        (["--annotations", "clinical.csv", "--time", "x", "--event", "OS"], "--time x is no"),
        (["--annotations", "clinical.csv", "--time", "age", "--event", "age"], "must be 0 or 1"),
        (["--time", "OS.time", "--event", "OS"], "--annotations, which was not given"),
        (["--annotations", "clinical.csv", "--correction", "none"], "--correction must be holm or"),
    ],
)  # fmt: skip
def test_wrong_annotations_are_refused_before_the_fit(run, cohort, tmp_path, given, message):
    (tmp_path / "other.csv").write_text("name,age\nx,1\ny,2\n")
    (tmp_path / "twice.csv").write_text("name,age\np01,1\np01,2\n")
    code, _, err = run("cluster", "tables", "-k", 3, "-o", "o", *given)
    assert code in (1, 2) and message in " ".join(err.split())
    assert not (tmp_path / "o").exists()


def test_files_of_the_user_stay_where_no_result_has_their_name(run, cohort, tmp_path):
    (tmp_path / "o").mkdir()
    for name in ("markers.csv", "annotations.csv"):
        (tmp_path / "o" / name).write_text("of my own")
    code, _, err = run("cluster", "tables", "-k", 3, *QUICK, "-o", "o")
    assert code == 2 and "markers.csv" in err and "annotations.csv" not in err
    assert run("cluster", "tables", "-k", 3, *QUICK, "--no-markers", "-o", "o")[0] == 0
    assert (tmp_path / "o" / "markers.csv").read_text() == "of my own"
    clinical = ("--no-markers", "--annotations", "clinical.csv")
    code, _, err = run("cluster", "tables", "-k", 3, *QUICK, *clinical, "-o", "o")
    assert code == 2 and "annotations.csv" in err


def test_samples_without_names_cannot_be_annotated(run, cohort, tmp_path):
    np.savez(tmp_path / "views.npz", **dict(zip("ab", cohort.views, strict=True)))
    code, _, err = run("cluster", "views.npz", "-k", 3, "--annotations", "clinical.csv", "-o", "o")
    assert code == 2 and "needs samples with names" in " ".join(err.split())
