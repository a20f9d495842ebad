"""One join of rows, by sample name: for fits, predictions and questions, whatever the form."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

import mkclust
from mkclust import GraphFusion, MultiView, datasets, explain, load, metrics, read
from mkclust.exceptions import (
    DegenerateWarning,
    InputError,
    KeyColumnWarning,
    MissingRowsWarning,
    PositionWarning,
    UnrelatedWarning,
)
from mkclust.inspection import compare_annotations
from mkclust.io.tables import read_table

pl = pytest.importorskip("polars")
cluster = partial(mkclust.cluster, verdict=False)
N = 90


@pytest.fixture(scope="module")
def planted():
    """Two views, in 12 decimal places, which Excel keeps, too."""
    views = datasets.make_views(N, n_clusters=3, n_views=2, noise=0.8, random_state=0)
    return MultiView([view.round(12) for view in views.views], labels=views.labels)


def frames(views, ids, place, name="participant_id", seed=None):
    """The views as frames with the ids as index, first, middle or last column; rows permuted."""
    rng = None if seed is None else np.random.default_rng(seed)
    named = [pd.DataFrame(view).add_prefix(f"v{p}_") for p, view in enumerate(views.views)]
    return [place_ids(frame, ids, place, name, rng) for frame in named]


def place_ids(frame, ids, place, name, rng):
    order = np.arange(N) if rng is None else rng.permutation(N)
    if place == "index":
        return frame.set_axis(pd.Index(ids)).iloc[order]
    frame = frame.copy()
    frame.insert({"first": 0, "middle": 2, "last": frame.shape[1]}[place], name, ids)
    return frame.iloc[order].reset_index(drop=True)


IDS = {
    "text": [f"p{i}" for i in range(N)],
    "zero-padded": [f"{i:03}" for i in range(N)],
    "whole": np.random.default_rng(1).permutation(N) + 1000,
}
PLACES = {"index": None, "first": "participant_id", "middle": "USUBJID", "last": "record number"}


def convert(frame, form, path):
    """A frame as polars, or written to a file; the index is written as names of rows."""
    index = not isinstance(frame.index, pd.RangeIndex)
    if form == "polars":
        return pl.from_pandas(frame)
    if form == "csv":
        frame.to_csv(path.with_suffix(".csv"), index=index)
    if form == "tsv":  # as write.table of R does, with one name less in the header
        header = "\t".join(frame.columns) + "\n"
        body = frame.to_csv(sep="\t", index=index, header=False)
        path.with_suffix(".tsv").write_text(header + body, encoding="utf-8")
    if form == "xlsx":
        frame.to_excel(path.with_suffix(".xlsx"), index=index)
    return frame if form == "pandas" else read_table(path.with_suffix(f".{form}"))


@pytest.fixture(scope="module")
def reference(planted):
    """A fit, its explanation, and its annotations, by the ids of every kind."""
    clinical = pd.DataFrame({"stage": planted.labels, "age": np.arange(N) % 31})
    made = {}
    for kind, ids in IDS.items():
        views = frames(planted, ids, "index")
        model = cluster(views, 3, random_state=0)
        compared = compare_annotations(model.labels_, clinical)
        made[kind] = model, explain(model, views), clinical, compared
    return made


@pytest.mark.parametrize("form", ["csv", "tsv", "xlsx", "pandas", "polars"])
@pytest.mark.parametrize("ids", IDS)
def test_the_same_answers_by_name_in_every_form(planted, reference, ids, form, tmp_path):
    model, explained, clinical, compared = reference[ids]
    expected = pd.Series(model.labels_, [str(name) for name in IDS[ids]])
    for place, name in PLACES.items():
        if (form, place) == ("polars", "index"):
            continue
        seed = len(form) + len(place)
        made = frames(planted, IDS[ids], place, name, seed)
        rng = np.random.default_rng(seed)
        table = place_ids(clinical, IDS[ids], place, name, rng)
        if form in ("pandas", "polars"):
            views, table = [convert(each, form, None) for each in made], convert(table, form, None)
        else:
            folder = tmp_path / place
            folder.mkdir()
            for p, each in enumerate(made):
                convert(each, form, folder / f"view{p + 1}")
            views, table = read(folder), convert(table, form, tmp_path / "clinical")
        names = [str(each) for each in MultiView(views).index]
        again = cluster(views, 3, random_state=0)
        assert [str(each) for each in again.sample_names_in_] == names
        assert metrics.ari(again.labels_, expected[names]) == 1.0
        assert model.predict(views).tolist() == expected[names].tolist()
        found = explain(model, views)
        np.testing.assert_array_equal(found.profile.pairs, explained.profile.pairs)
        assert str(found) == str(explained)
        found = compare_annotations(again.labels_series(), table)
        assert found.to_frame().column.tolist() == compared.to_frame().column.tolist()
        np.testing.assert_allclose(found.to_frame().p, compared.to_frame().p)


def test_a_key_can_be_named(planted, tmp_path):
    made = frames(planted, IDS["text"], "middle", "visit", seed=3)
    made[1]["other"] = made[0]["other"] = [f"x{i}" for i in range(N)]
    with pytest.raises(InputError, match="could each name the samples") as error:
        cluster(made, 3)
    assert error.value.parameter == "id"
    clean = [frame.drop(columns="other") for frame in made]
    model = cluster(clean, 3, random_state=0, id="visit")
    assert metrics.ari(model.labels_, planted.labels[clean[0].visit.str[1:].astype(int)]) > 0.9
    model = load(model.save(tmp_path / "m.npz"))
    np.testing.assert_array_equal(model.predict(clean), model.labels_)
    with pytest.raises(InputError, match="has no column 'nobody'"):
        MultiView(clean, id="nobody")
    clean[1].loc[3, "visit"] = clean[1].loc[4, "visit"]
    with pytest.raises(InputError, match="occurs repeatedly"):
        MultiView(clean, id="visit")


def test_ranks_are_features_and_notes_say_what_was_joined(planted):
    ranks = [pd.DataFrame(view).rank().astype(int).add_prefix("g") for view in planted.views]
    assert MultiView(ranks).widths == (10, 10)
    with pytest.warns(KeyColumnWarning, match="'view1', 'view2': column 'g3' .* as a feature"):
        assert MultiView([ranks[0], ranks[1][["g3"]]]).key_columns == (None, None)
    made = frames(planted, IDS["whole"], "last", "SUBJID", seed=3)
    found = MultiView(made, names=["rna", "protein"])
    assert found.notes == (
        "Column 'SUBJID' of view 'rna' names the samples.",
        "Column 'SUBJID' of view 'protein' names the samples.",
        "Rows of 'protein' were joined to those of 'rna' by sample name.",
    )
    mixed = frames(planted, IDS["whole"], "index")
    mixed[1].index = mixed[1].index.astype(str)
    assert MultiView(mixed).present is None


def test_frames_that_are_no_views_are_refused(planted):
    a, b = (pd.DataFrame(view) for view in planted.views)
    with pytest.raises(InputError, match="none has sample names"):
        MultiView([a, b.iloc[:70]])
    clinical = pd.DataFrame({c: ["a", "b", "c"] * 30 for c in ("sex", "stage", "arm")})
    clinical["age"] = np.arange(N) % 7
    with pytest.raises(InputError, match=r"'clinical'.*looks like annotations.*Leave it out"):
        MultiView({"rna": a, "clinical": clinical})
    counts = pd.DataFrame(np.arange(4 * N).reshape(N, 4), index=IDS["text"])
    counts.iloc[3, 1] = -(2**31)
    with pytest.raises(InputError, match=r"NA of R .* row 3"):
        MultiView([counts])


QUESTIONS = {
    name: getattr(mkclust, name) for name in ("explain", "stability", "view_influence", "verify")
}
QUESTIONS["write_report"] = lambda model, views: mkclust.write_report(model, "unused.html", views)


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_refuse_other_data(planted, question, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ask = QUESTIONS[question]
    made = frames(planted, IDS["text"], "index")
    model = load(GraphFusion(3, random_state=0).fit(made).save("m.npz"))
    ask(model, [frame.iloc[::-1] for frame in made])
    changed = made[1].assign(v1_0=made[1]["v1_0"].where(made[1].index != "p7", 0.5))
    cases = {
        r"'view2' has other values than in the fit, in 1 of 90 .*'p7'": [made[0], changed],
        r"lacks 1 of the 10 columns .*'v0_3'": [made[0].rename(columns={"v0_3": "x"}), made[1]],
        r"lacks 1 of the 10 columns .*'v1_9'": [made[0], made[1].iloc[:, :9]],
        r"has 1 column that the model was not fitted to: 'more'": [made[0].assign(more=1), made[1]],
        r"1 of the 90 fitted samples are not in views: 'p0'": [
            frame.rename(index={"p0": "q0"}) for frame in made
        ],
    }
    for message, other in cases.items():
        with pytest.raises(InputError, match=message):
            ask(model, other)
    bare = GraphFusion(3, random_state=0).fit(list(planted.views))
    rows = np.random.default_rng(0).permutation(N)
    with pytest.raises(InputError, match="'view1' has its rows in another order"):
        ask(bare, [view[rows] for view in planted.views])
    with pytest.raises(InputError, match="'view2' has its rows in another order"):
        ask(bare, [planted.views[0], planted.views[1][rows]])


def test_python_warns_as_the_command_line_does(planted):
    rng = np.random.default_rng(0)
    one, two = planted.views
    with pytest.warns(UnrelatedWarning, match="are the rows of every view the same samples"):
        cluster([one, two[rng.permutation(N)]], 3, random_state=0)
    with pytest.warns(PositionWarning, match="view2: no sample names.*joined by position"):
        cluster([pd.DataFrame(one, index=IDS["text"]), two], 3, random_state=0)
    units = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in planted.views]
    with pytest.warns(DegenerateWarning, match="as kernel matrices are.*kernels=True"):
        cluster([u @ u.T for u in units], 3, random_state=0)


@pytest.mark.filterwarnings("error")
def test_good_input_warns_of_nothing(planted):
    cluster(planted, 3.0, random_state=0)
    cluster(frames(planted, IDS["text"], "index"), 3, random_state=0)


def test_new_samples_without_one_of_the_tables(planted):
    made = dict(zip(("rna", "protein"), frames(planted, IDS["text"], "index"), strict=True))
    model = cluster(made, 3, random_state=0)
    with pytest.warns(MissingRowsWarning, match="have no protein: they are placed by rna alone"):
        found = model.predict({"rna": made["rna"]})
    assert metrics.ari(found, model.labels_) > 0.8
    with pytest.raises(InputError, match="fitted on the views rna, protein"):
        model.predict({"other": made["rna"]})


def test_steps_are_shown(planted, capsys):
    cluster(planted, 3, verbose=True)
    assert "k-means" in capsys.readouterr().err


def test_a_frame_of_features_by_samples_is_turned_in_every_call(planted):
    a, b = frames(planted, IDS["text"], "index")
    for views in ({"a": a.T, "b": b}, {"b": b, "a": a.T}):
        np.testing.assert_array_equal(MultiView(views)["a"], a)
        assert any("'a' has the samples as columns" in note for note in MultiView(views).notes)
    model = mkclust.cluster({"a": a.T, "b": b}, 3, random_state=0)
    assert any("transposed" in note for note in model.notes_)
    for views in ({"a": a.T, "b": b}, {"a": a, "b": b}):
        np.testing.assert_array_equal(model.predict(views), model.labels_)
        explain(model, views)
    with pytest.warns(MissingRowsWarning):
        assert metrics.ari(model.labels_, model.predict({"a": a.T})) > 0.5
