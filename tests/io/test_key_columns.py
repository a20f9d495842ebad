"""Columns that name the samples: recognized in files and frames, never used as features."""

import numpy as np
import pandas as pd
import pytest

from mkclust import MultiView, cluster, datasets, read
from mkclust.exceptions import FileFormatError, InputError, KeyColumnWarning
from mkclust.metrics import evaluate

pytestmark = pytest.mark.versions
NAMES = ("participant_id", "user_id", "case_id", "doc_id", "PatientID", "sampleid", "Case ID",
         "sample", "barcode", "patient", "donor", "Key", "record number", "PID", "MRN")  # fmt: skip


def frames(key, position=0, as_text=False):
    """Two frames of planted clusters with a key; the rows of the second in another order."""
    views = datasets.make_views(60, 3, 2, noise=0.5, random_state=0)
    rng = np.random.default_rng(0)
    ids = rng.permutation(60) + 1000
    made = []
    for X in views.views:
        frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(X.shape[1])])
        frame.insert(position, key, [f"p{i}" for i in ids] if as_text else ids)
        made.append(frame)
    order = rng.permutation(60)
    return [made[0], made[1].iloc[order].reset_index(drop=True)], views.labels


def written(folder, made, suffix=".csv"):
    for name, frame in zip("ab", made, strict=True):
        if suffix == ".csv":
            frame.to_csv(folder / f"{name}.csv", index=False)
        else:
            frame.to_parquet(folder / f"{name}.parquet", index=False)
    return folder


def score(views, truth):
    return evaluate(truth, cluster(views, 3, random_state=0).labels_)["ari"]


@pytest.mark.parametrize("key", NAMES)
def test_files_and_frames_are_aligned_by_a_key_of_any_usual_name(tmp_path, key):
    made, truth = frames(key)
    for views in (read(written(tmp_path, made)), MultiView(dict(zip("ab", made, strict=True)))):
        assert views.widths == (10, 10) and len(views.index) == 60
        assert any(repr(key) in note and "names the samples" in note for note in views.notes)
        assert score(views, truth) > 0.9


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("position", [0, 3, 10])
@pytest.mark.parametrize("as_text", [False, True])
def test_a_key_may_be_any_column(tmp_path, suffix, position, as_text):
    made, truth = frames("participant_id", position, as_text)
    assert score(read(written(tmp_path, made, suffix)), truth) > 0.9
    assert score(MultiView(made), truth) > 0.9


def test_polars_frames_are_aligned_by_a_key():
    pl = pytest.importorskip("polars")
    made, truth = frames("participant_id")
    views = MultiView([pl.DataFrame(frame.to_dict("list")) for frame in made])
    assert views.widths == (10, 10)
    assert score(views, truth) > 0.9


@pytest.mark.parametrize("name", ["acid", "body_mass_index", "fluid", "grid", "height"])
def test_a_feature_is_not_taken_for_a_key(tmp_path, name):
    made, _ = frames(name)
    made = [frame.assign(**{name: np.arange(60) % 7}) for frame in made]
    assert read(written(tmp_path, made)).widths == (11, 11)
    assert MultiView(made).widths == (11, 11)


@pytest.mark.parametrize("name", ["key", "site_code", "case", "user_id"])
def test_a_repeated_value_makes_a_feature_outside_the_first_column(tmp_path, name):
    made, _ = frames(name, position=2)
    made = [frame.assign(**{name: np.arange(60) % 7}) for frame in made]
    views = read(written(tmp_path, made))
    assert views.index is None and views.widths == (11, 11)
    assert any(f"{name!r} of a.csv has repeated values" in note for note in views.notes)


def test_a_text_column_names_the_samples_before_a_column_named_like_a_key(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("who,site_id,x\nann,1,0.5\nbob,1,1.5\ncid,2,2.5\n")
    views = read(path)
    assert views.index.tolist() == ["ann", "bob", "cid"] and views.widths == (2,)
    path.write_text("group,case_id,x\nann,1,0.5\nann,2,1.5\ncid,3,2.5\n")
    with pytest.raises(FileFormatError, match="column 'group' is not numeric: 'ann'"):
        read(path)


def test_repeated_names_in_a_first_column_named_like_a_key_are_refused(tmp_path):
    made, _ = frames("participant_id")
    made = [frame.assign(participant_id=np.arange(60) % 30) for frame in made]
    with pytest.raises(FileFormatError, match=r"'participant_id'.*'0' occurs repeatedly"):
        read(written(tmp_path, made))
    with pytest.raises(InputError, match="'participant_id' is named like sample names, but some"):
        MultiView(made)
    assert read(tmp_path, index=False).widths == (11, 11)


def test_a_key_that_only_one_frame_has_is_refused():
    made, _ = frames("participant_id")
    with pytest.raises(InputError, match="view 'b' has neither such a column"):
        MultiView({"a": made[0], "b": made[1].drop(columns="participant_id")})


def test_a_key_that_is_repeated_in_another_file_is_refused(tmp_path):
    made, _ = frames("key")
    made[1]["key"] = np.arange(60) % 7
    with pytest.raises(FileFormatError, match=r"b\.csv: column 'key' names the samples of a\.csv"):
        read(written(tmp_path, made))


def test_a_file_without_names_beside_a_named_one_is_noted(tmp_path):
    made, _ = frames("participant_id")
    views = read(written(tmp_path, [made[0], made[1].drop(columns="participant_id")]))
    assert "b.csv has no sample names: its rows follow a.csv." in views.notes


def test_distinct_whole_numbers_of_another_name_are_warned_about(tmp_path):
    made, truth = frames("unit")
    with pytest.warns(KeyColumnWarning, match=r'a\.csv: column .unit.*pass index="unit"'):
        read(written(tmp_path, made))
    with pytest.warns(KeyColumnWarning, match="column 'unit'.*make it the index"):
        MultiView(made[:1])
    assert score(MultiView(made), truth) > 0.9  # the same distinct values in both
    assert score(read(tmp_path, index="unit"), truth) > 0.9


@pytest.mark.filterwarnings("error::mkclust.exceptions.KeyColumnWarning")
def test_columns_that_were_decided_on_are_not_warned_about(tmp_path):
    made, _ = frames("unit")
    assert read(written(tmp_path, made), index=False).widths == (11, 11)
    counts = pd.DataFrame({"gene": np.arange(60) ** 2, "other": np.arange(60) % 9})
    assert MultiView([counts]).widths == (2,)
    assert MultiView([pd.DataFrame(np.eye(60) * 0.5)]).widths == (60,)


def test_columns_given_by_the_caller_stay_features():
    made, _ = frames("participant_id")
    from mkclust.data.views import split_columns

    split = split_columns(made[0], {"one": ["participant_id", "g0"], "two": ["g1"]})
    assert split.widths == (2, 1)
