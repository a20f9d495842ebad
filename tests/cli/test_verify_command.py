"""`mkclust verify` confirms that results belong to data, and names what does not."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from mkclust import GraphFusion, MultiView, datasets
from mkclust.data.checksums import joint_checksum, view_checksums
from mkclust.io.manifest import NAME

QUICK = ("--no-report", "--no-stability")


@pytest.fixture
def clustered(run, tmp_path, monkeypatch):
    """A folder `d` of two named tables, and their results in `out`."""
    monkeypatch.chdir(tmp_path)
    views = datasets.make_views(60, 3, 2, noise=0.5, random_state=0)
    (tmp_path / "d").mkdir()
    for name, view in zip(views.names, views.views, strict=True):
        write_table(tmp_path / "d" / f"{name}.csv", view)
    code, _, err = run("cluster", "d", "-k", 3, "-o", "out", "--save", "out/model.npz", *QUICK)
    assert code == 0, err
    return tmp_path


def write_table(path, view, names=None):
    names = names or [f"s{i}" for i in range(len(view))]
    head = ",".join(["sample", *(f"c{j}" for j in range(view.shape[1]))])
    rows = [",".join([n, *map(repr, map(float, row))]) for n, row in zip(names, view, strict=True)]
    path.write_text("\n".join([head, *rows]) + "\n")


def table(path):
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=None, converters={0: lambda _: 0})[
        :, 1:
    ]


def said(run, *arguments):
    code, out, err = run("verify", *arguments)
    return code, " ".join((out + err).split())


def test_results_belong_to_their_data(run, clustered):
    code, out = said(run, "out", "d")
    assert code == 0 and "FAILS" not in out
    for claim in (
        "the files are those that the run wrote",
        "view view1 holds the data that were clustered",
        "every sample has a label",
        "the labels have the names of the samples",
        "the labels are those of the saved model",
        "the embedding consists of the leading eigenvectors of the fused graph",
        "no step of k-means lowers the inertia",
    ):
        assert f"holds: {claim}" in out, claim


def test_one_changed_number_is_found(run, clustered):
    X = table(clustered / "d" / "view2.csv")
    X[7, 1] += 1e-9
    write_table(clustered / "d" / "view2.csv", X)
    code, out = said(run, "out", "d")
    assert code == 1 and "FAILS: view view2 holds the data" in out
    assert "holds: view view1 holds the data" in out


def test_other_names_and_another_order_are_found(run, clustered):
    X = table(clustered / "d" / "view1.csv")
    Y = table(clustered / "d" / "view2.csv")
    names = [f"t{i}" for i in range(60)]
    for path, view in (("view1.csv", X), ("view2.csv", Y)):
        write_table(clustered / "d" / path, view, names)
    code, out = said(run, "out", "d")
    assert code == 1 and "FAILS: the labels have the names of the samples" in out
    order = np.random.default_rng(0).permutation(60)
    for path, view in (("view1.csv", X), ("view2.csv", Y)):
        write_table(clustered / "d" / path, view[order], [f"s{i}" for i in order])
    code, out = said(run, "out", "d")
    assert code == 1 and "FAILS: view view1 holds the data" in out


def test_changed_results_are_found(run, clustered):
    path = clustered / "out" / "labels.csv"
    path.write_text(path.read_text().replace(",0,", ",1,", 1))
    code, out = said(run, "out", "d")
    assert code == 1 and "FAILS: the files" in out and "labels.csv is not the file" in out


def test_an_interrupted_set_and_another_folder_are_refused(run, clustered):
    path = clustered / "out" / NAME
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"complete": False}))
    for arguments in (("verify", "out", "d"), ("predict", "out/model.npz", "d", "-o", "p")):
        code, _, err = run(*arguments)
        assert code == 2 and "incomplete" in err
    code, _, err = run("verify", "d", "d")
    assert code == 2 and "no mkclust.json here" in err


def test_the_checksum_is_in_result_and_report(run, clustered):
    assert run("cluster", "d", "-k", 3, "-o", "two", "--no-stability")[0] == 0
    found = json.loads((clustered / "two" / "result.json").read_text())["input"]
    assert found["checksum"] == joint_checksum(found["checksums"])
    assert found["checksum"] in (clustered / "two" / "report.html").read_text()


def test_checksums_depend_on_values_and_names_only():
    X = np.random.default_rng(0).integers(-2, 3, (30, 4)).astype(float)
    Y = np.random.default_rng(1).standard_normal((30, 2))
    first = view_checksums(MultiView({"a": X, "b": Y}))
    swapped = view_checksums(MultiView({"b": np.asfortranarray(Y), "a": X.astype(np.int8)}))
    assert swapped == first and joint_checksum(swapped) == joint_checksum(first)
    assert view_checksums(MultiView({"a": sp.coo_array(X), "b": Y}))["a"] == first["a"]
    for other in (X[::-1], X[:, ::-1], X + 1, X.T.reshape(30, 4)):
        assert view_checksums(MultiView({"a": other}))["a"] != first["a"]
    named = MultiView({"a": X}, index=[f"s{i}" for i in range(30)])
    assert view_checksums(named)["a"] != first["a"]


TAMPERED = {
    "the weights follow from overlap and redundancy": lambda m: {"weights_": m.weights_[::-1]},
    "no step of k-means lowers the inertia": lambda m: {"labels_": np.arange(len(m.labels_)) % 3},
    "every label is that of the nearest center": lambda m: {"labels_": np.roll(m.labels_, 1)},
    "the eigenvalues are those of the fused graph": lambda m: {
        "eigenvalues_": m.eigenvalues_ * 0.99},
}  # fmt: skip


@pytest.mark.parametrize("claim", TAMPERED)
def test_a_changed_fit_of_graph_fusion_is_found(claim):
    views = datasets.make_views(90, 3, 3, noise=0.6, random_state=0)
    model = GraphFusion(3, random_state=0).fit(views)
    assert model.verify(views).holds
    vars(model).update(TAMPERED[claim](model))
    assert claim in [check.claim for check in model.verify(views).checks if not check.holds]


def test_other_names_of_samples_are_found():
    views = datasets.make_views(60, 3, 2, noise=0.5, random_state=0)
    named = MultiView(views, index=[f"s{i}" for i in range(60)])
    model = GraphFusion(3, random_state=0).fit(named)
    model.sample_names_in_ = np.array([f"s{i}" for i in range(60)], dtype=object)
    assert model.verify(named).holds
    model.sample_names_in_ = model.sample_names_in_[::-1]
    assert not model.verify(named).holds


def test_a_run_is_verified_with_its_reading_options(run, clustered):
    path = clustered / "d" / "view1.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([f"{lines[0]},town", *(f"{line},x" for line in lines[1:])]) + "\n")
    assert run("cluster", "d", "-k", 3, "--drop-column", "town", "--no-report", "-o", "new")[0] == 0
    code, out = said(run, "new", "d", "--drop-column", "town")
    assert code == 0 and "FAILS" not in out
