"""Cohorts of patients, survival, and views with gaps."""

from dataclasses import replace

import numpy as np
import pytest

from mkclust import MultiView, datasets, metrics
from mkclust.bench.protocol import Place, compute
from mkclust.bench.registry import cohort_names, dataset, parsed, registered, with_gaps
from mkclust.bench.runner import Options, prepare
from mkclust.bench.scores import Results
from mkclust.bench.store import DONE, Record
from mkclust.bench.suite import Protocol, Unit, expand, load_suite, parse_suite
from mkclust.bench.tables import leaderboard, leaderboard_scores, standing
from mkclust.bench.truth import Classes, Survival, truth_in
from mkclust.exceptions import InputError

pd = pytest.importorskip("pandas")


@pytest.fixture
def folder(tmp_path):
    """Two cohorts of 60 patients; the second view of both lacks ten, and one has survival only."""
    views = datasets.make_views(60, 2, 2, noise=0.5, random_state=0)
    names = [f"P{i:02d}" for i in range(60)]
    for cohort in ("mine", "other"):
        (tmp_path / cohort).mkdir()
        for p, view in enumerate(views.views):
            frame = pd.DataFrame(view, index=pd.Index(names, name="patient"))
            frame[: 60 - 10 * p].to_csv(tmp_path / cohort / f"table{p}.csv")
    (tmp_path / "mine-subtypes").mkdir()
    subtypes = pd.DataFrame({"subtype": np.array(["A", "B"])[views.labels]}, index=names)
    subtypes[::-1].to_csv(tmp_path / "mine-subtypes" / "subtype.csv")
    (tmp_path / "other-survival").mkdir()
    days = 10 + np.arange(60) % 7 + 100 * views.labels
    table = pd.DataFrame({"Survival": days, "Death": 1}, index=names)
    table.to_csv(tmp_path / "other-survival" / "survival.csv")
    return tmp_path


def unit(folder, name, method, **changes):
    entry = dataset(name, folder)
    one = Unit(name, entry.key(folder), method, {}, from_views=True, protocol=Protocol(runs=1))
    return replace(one, **changes)


def test_cohorts_are_found_with_their_truth_beside_them(folder):
    assert cohort_names(folder) == ["mine", "other"]
    mine, other = (dataset(name, folder) for name in ("mine", "other"))
    assert (mine.n, mine.k, mine.truth) == (60, 2, "mine-subtypes")
    assert (other.n, other.k, other.truth) == (60, 3, "other-survival")
    assert isinstance(other.known(other.load(folder), folder), Survival)
    members = [entry.name for entry in load_suite("omics").members(folder)]
    assert members[-2:] == ["mine", "other"] and "TCGA-BRCA" in members
    assert mine.key(folder) == other.key(folder)  # of the tables, not of the truth


@pytest.mark.parametrize("method", ["graph-fusion", "mkc-dnm", "akkm", "concat-kmeans"])
def test_a_cohort_is_clustered_and_scored_by_its_subtypes(method, folder):
    outcome = compute(unit(folder, "mine", method), Place(folder, folder))
    assert outcome.metrics[0][:2] == ("acc", "")
    assert outcome.metrics[0][2] > 0.8 and outcome.shared_cpu == 0


def test_a_cohort_is_scored_by_survival(folder):
    outcome = compute(unit(folder, "other", "graph-fusion"), Place(folder, folder))
    ((metric, _, mean, _),) = outcome.metrics
    assert metric == "logrank" and mean > 3


def test_log_rank_of_equal_and_of_separated_groups(folder):
    known = dataset("other", folder).known(dataset("other", folder).load(folder), folder)
    classes = (known.values > 60).astype(int)
    assert known.scores(classes)["logrank", ""] > 10
    assert known.scores(np.arange(60) % 2)["logrank", ""] < 1
    assert known.scores(np.zeros(60, dtype=int)) == {("logrank", ""): 0.0}


def test_a_truth_without_some_samples_is_refused(folder):
    with pytest.raises(InputError, match="no row for 1 samples, such as Q"):
        truth_in(folder / "mine-subtypes", ["P00", "Q"])
    (folder / "mine-subtypes" / "more.csv").write_text("a,b\n")
    with pytest.raises(InputError, match="one CSV table, found 2"):
        truth_in(folder / "mine-subtypes", ["P00"])


def test_classes_are_scored_by_all_metrics():
    truth, labels = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1])
    found = Classes(truth).scores(labels)
    assert found["acc", ""] == metrics.accuracy(truth, labels) == 0.75
    assert set(found) == {("acc", ""), ("nmi", "max"), ("nmi", "arithmetic"), ("purity", ""),
                          ("ari", "")}  # fmt: skip


def test_gaps_have_the_share_of_their_name_and_depend_on_the_seed():
    views = datasets.make_views(80, 2, 3, random_state=0)
    assert parsed("MSRC-v1") is None
    with pytest.raises(InputError, match="between 1 and 99"):
        parsed("MSRC-v1 rows 0 %")
    rows = [with_gaps(views, "rows", 0.3, seed).present for seed in (0, 0, 1)]
    assert (rows[0] == rows[1]).all() and (rows[0] != rows[2]).any()
    assert (~rows[0]).sum() == round(0.3 * 80 * 3) and rows[0].any(axis=1).all()
    cells = with_gaps(views, "cells", 0.2, 0)
    assert all(cells.gaps) and cells.present is None
    assert np.mean([np.isnan(X).mean() for X in cells.views]) == pytest.approx(0.18, abs=0.02)
    with pytest.raises(InputError, match="dense tables"):
        with_gaps(MultiView([np.eye(3)], kernels=True), "cells", 0.1, 0)


@pytest.mark.parametrize("gaps", ["rows 20 %", "cells 10 %"])
@pytest.mark.parametrize("method", ["graph-fusion", "mkc-dnm", "akkm", "cagl", "concat-kmeans"])
def test_methods_cluster_views_with_gaps(method, gaps, tmp_path):
    outcome = compute(unit(None, f"planted {gaps}", method), Place(None, tmp_path))
    assert outcome.runs == 1 and outcome.metrics[0][2] > 0.5


def test_seeds_of_a_suite_are_complete_repetitions():
    text = 'title = "x"\ndatasets = ["planted rows 10 %"]\nmethods = ["akkm"]\nseeds = 3'
    suite = parse_suite("x", text)
    units = [item.unit for item in expand(suite, suite.members(None), None)]
    assert [one.seed for one in units] == [0, 1, 2]
    assert not any(one.needs_kernels for one in units)


def test_large_sets_are_given_to_mkc_dnm_as_views():
    suite = load_suite("large")
    many = [entry for entry in suite.members(None) if entry.name == "planted-30000"]
    units = {item.unit.method: item.unit for item in expand(suite, many, None)}
    assert units["akkm"].needs_kernels and not units["mkc-dnm"].needs_kernels


def test_bundled_sets_have_the_registered_size():
    for name in ("planted", "planted-30000", "Mfeat-500"):
        entry = registered()[name]
        views = entry.load(None)
        assert (len(views), len(np.unique(views.labels))) == (entry.n, entry.k)


def test_survival_is_ranked_beside_accuracy_and_printed_as_it_is():
    def record(data, method, **scores):
        given = {name: (value, 0.0) for name, value in scores.items()}
        return Record("omics", data, method, {}, False, 0, DONE, given)

    results = Results([
        record("A", "akkm", acc=0.9, nmi=0.8, ari=0.7),
        record("A", "swmc", acc=0.5, nmi=0.4, ari=0.3),
        record("B", "akkm", logrank=2.5), record("B", "swmc", logrank=1.25),
    ])  # fmt: skip
    names, scores = leaderboard_scores(results)
    assert names == ["AKKM", "SWMC"] and scores.tolist() == [[90.0, 50.0], [2.5, 1.25]]
    table = standing(results)
    assert table.columns == ("rank", "wins", "mean ACC", "mean NMI", "mean ARI", "mean log-rank",
                             "results", "CPU s")  # fmt: skip
    assert [cell.text for cell in table.lines[0].cells[:6]] == [
        "1.00", "2", "90.00", "80.00", "70.00", "2.50"
    ]  # fmt: skip
    last = leaderboard(results)[-1]
    assert last.title == "-log10 p of the log-rank test" and [x.name for x in last.lines] == ["B"]


def test_peers_that_cannot_take_gaps_are_run_and_fail(folder):
    experiment = prepare("omics", Options(folder, ("mine",), ("graph-fusion", "concat-kmeans")))
    assert len(experiment.planned) == 2 * load_suite("omics").seeds
