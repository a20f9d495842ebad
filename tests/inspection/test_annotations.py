"""Clinical columns compared with clusters: scipy's and lifelines' numbers, aligned by name."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, kruskal

from mkclust.exceptions import InputError
from mkclust.inspection import annotations, compare_annotations
from mkclust.inspection.annotations import corrected


@pytest.fixture
def labels():
    return np.repeat([0, 1, 2], 20)


@pytest.fixture
def table(labels):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "stage": np.where(rng.random(60) < 0.8, labels, 0).astype(str),
            "age": 50 + 5 * labels + rng.standard_normal(60),
            "smoker": rng.random(60) < 0.5,
            "id": [f"p{i}" for i in range(60)],
            "center": "one",
        },
        index=[f"patient {i}" for i in range(60)],
    )


def test_categories_and_numbers_have_the_tests_of_scipy(labels, table):
    found = {each.column: each for each in compare_annotations(labels, table).comparisons}
    assert set(found) == {"stage", "age", "smoker"}
    wanted = chi2_contingency(pd.crosstab(labels, table["stage"].to_numpy()), correction=False)
    assert found["stage"].test == "chi-squared"
    assert found["stage"].p == pytest.approx(wanted.pvalue)
    wanted = kruskal(*(table["age"][labels == c] for c in range(3)))
    assert found["age"].test == "Kruskal-Wallis" and found["age"].p == pytest.approx(wanted.pvalue)
    assert found["smoker"].test == "chi-squared" and found["smoker"].p_adjusted > 0.05


def test_columns_that_cannot_be_compared_are_named(labels, table):
    found = compare_annotations(labels, table)
    assert found.skipped == (
        "id: 60 different values of 60 are no categories",
        "center: it has the same value for all samples",
    )
    assert "2 of 3 columns differ between the clusters: stage" in str(found)
    frame = found.to_frame()
    assert frame["p"].is_monotonic_increasing and frame["column"].iloc[0] == "stage"


def test_rows_are_matched_by_name_in_any_order_and_number(labels, table):
    shuffled = table.sample(frac=0.7, random_state=1)
    series = pd.Series(labels, index=table.index)
    by_name = compare_annotations(series, shuffled)
    rows = [table.index.get_loc(name) for name in shuffled.index]
    in_order = compare_annotations(labels[rows], shuffled)
    assert by_name == compare_annotations(labels, shuffled, index=table.index)
    assert by_name.comparisons == in_order.comparisons
    assert by_name.comparisons[0].samples == len(shuffled)
    assert str(by_name).endswith("joined by names of rows: 42 of 60 samples")


def test_a_column_that_is_a_permutation_of_the_samples_does_not_join_in_silence(labels):
    names = [f"P{i:02d}" for i in range(60)]
    other = np.random.default_rng(0).permutation(names)
    table = pd.DataFrame({"mother": other, "patient": names, "stage": labels.astype(str)})
    series = pd.Series(labels, index=names)
    found = compare_annotations(series, table)
    assert "joined by patient: 60 of 60" in found.joined and found.comparisons[0].p < 1e-9
    for ambiguous, index in (
        (table.rename(columns={"patient": "child"}), names),
        (table.drop(columns="patient").assign(mother=[int(name[1:]) for name in other]), range(60)),
    ):
        with pytest.raises(InputError, match=r"'mother', .* could name the samples: choose"):
            compare_annotations(pd.Series(labels, index=list(index)), ambiguous)


def test_samples_without_a_value_are_left_out_of_that_column(labels, table):
    table.loc[table.index[:10], "age"] = np.nan
    found = {each.column: each.samples for each in compare_annotations(labels, table).comparisons}
    assert found["age"] == 50 and found["stage"] == 60


def test_wrong_tables_are_refused(labels, table):
    twice = pd.concat([table, table])
    for given, options, message in (
        (table.iloc[1:], {}, "59 rows of annotations for 60 labels"),
        (table, {"index": range(60)}, "no sample of the annotations has a cluster"),
        (twice, {"index": table.index}, "several rows are of one sample.*'patient 0'"),
        ({"a": [1]}, {}, "must be a frame"),
        (table, {"time": "age"}, "together"),
        (table, {"time": "days", "event": "smoker"}, "no column 'days'"),
    ):
        with pytest.raises(InputError, match=message):
            compare_annotations(labels, given, **options)


def test_corrections_bound_the_raw_values():
    p = np.random.default_rng(0).random(30) ** 3
    holm = corrected(p)
    assert (holm >= p).all() and holm.max() <= 1
    assert holm[p.argmin()] == pytest.approx(min(30 * p.min(), 1))
    assert len(corrected(np.array([]))) == 0


@pytest.fixture
def cohort(labels):
    rng = np.random.default_rng(1)
    times = rng.exponential(100 * (1 + 3 * (labels == 2)))
    return pd.DataFrame({"OS.time": times, "Vital_Status": np.where(times < 150, "Dead", "Alive")})


def test_survival_is_recognized_and_tested_by_the_log_rank_test(labels, cohort):
    pytest.importorskip("lifelines")
    found = compare_annotations(labels, cohort)
    (only,) = found.comparisons
    assert only.test == "log-rank" and only.column == "OS.time, Vital_Status" and only.p < 0.05
    assert [curve.samples for curve in found.survival.curves] == [20, 20, 20]
    long = found.survival.curves[2]
    assert long.survival[0] == 1 and (np.diff(long.survival) <= 0).all()
    assert long.median > max(curve.median for curve in found.survival.curves[:2])
    renamed = cohort.set_axis(["a", "b"], axis=1)
    assert compare_annotations(labels, renamed).survival is None
    named = compare_annotations(labels, renamed, time="a", event="b")
    assert named.comparisons[0].p == only.p


def test_a_log_rank_test_by_hand():
    """Two groups, one event each: expected 1/2 + 1 of the second, variance 1/4."""
    pytest.importorskip("lifelines")
    frame = pd.DataFrame({"time": [1.0, 2.0], "event": [1, 1]})
    found = compare_annotations([0, 1], frame).survival
    assert found.statistic == pytest.approx((1 - 0.5) ** 2 / 0.25)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("OS.time", -1.0, "at least 0"),
        ("OS.time", "soon", "must be numbers"),
        ("Vital_Status", "unclear", "'unclear'"),
    ],
)
def test_wrong_times_and_events_are_refused(labels, cohort, column, values, message):
    pytest.importorskip("lifelines")
    wrong = cohort.assign(**{column: values})
    with pytest.raises(InputError, match=message):
        compare_annotations(labels, wrong, time="OS.time", event="Vital_Status")
    found = compare_annotations(labels, wrong)  # recognized, not asked for: a remark
    assert found.survival is None and message in found.skipped[0]


def test_without_lifelines_the_other_columns_are_compared(labels, cohort, table, monkeypatch):
    monkeypatch.setattr(annotations, "find_spec", lambda name: None)
    both = cohort.set_index(table.index).assign(stage=table["stage"])
    found = compare_annotations(labels, both)
    assert found.survival is None and "mkclust[survival]" in found.skipped[0]
    columns = [each.column for each in found.comparisons]
    assert "stage" in columns and "OS.time" not in columns  # censored times are no numbers
    with pytest.raises(InputError, match="lifelines"):
        compare_annotations(labels, both, time="OS.time", event="Vital_Status")


def test_small_expected_counts_are_tested_by_permutation():
    rng = np.random.default_rng(0)
    clusters, values = rng.integers(0, 6, 40), rng.integers(0, 6, 40).astype(str)
    (found,) = compare_annotations(clusters, pd.DataFrame({"site": values})).comparisons
    assert found.test == "permutation" and "p by permutation" in found.note
    (same,) = compare_annotations(clusters, pd.DataFrame({"c": clusters.astype(str)})).comparisons
    assert same.p == 1e-4 and found.p > 0.01
    many = np.arange(600) % 6  # where counts are large the two tests agree
    large = compare_annotations(many, pd.DataFrame({"site": rng.integers(0, 2, 600)})).comparisons
    assert large[0].test == "chi-squared"


def test_several_candidates_are_not_guessed(labels, cohort):
    found = compare_annotations(labels, cohort.assign(days=cohort["OS.time"]))
    assert found.survival is None and "several columns may be times" in found.skipped[0]
