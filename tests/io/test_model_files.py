"""Saved models: a round trip keeps everything, nothing is unpickled, damage is reported."""

import json
import zipfile
from dataclasses import make_dataclass
from io import StringIO

import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import laplacian_kernel

import mkclust
from _support.fits import fit
from mkclust import METHODS, MKCDNM, MultiView, write_report
from mkclust.cli.results import as_dict
from mkclust.cli.summary import summary
from mkclust.data.datasets import make_views
from mkclust.exceptions import FileFormatError, InputError
from mkclust.io import Limits
from mkclust.io.archive import read_archive, storable, write_archive

pytestmark = [
    pytest.mark.versions,
    pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning"),
]


@pytest.fixture(scope="module")
def views():
    return make_views(60, n_clusters=3, n_views=3, noise=0.8, random_state=0)


@pytest.fixture
def saved(views, tmp_path):
    return fit(views).save(tmp_path / "model.npz")


def members(path):
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


def rewritten(path, change):
    """Change the document of the file in place."""
    arrays = members(path)
    document = json.loads(bytes(arrays.pop("document")))
    change(document)
    text = np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)
    np.savez(path, document=text, **arrays)
    return path


def first_map(document):
    return document["fitted"]["_extension"]["KernelExtension"]["views"]["tuple"][0]["KernelView"]


# ---------------------------------------------------------------- round trips


@pytest.mark.parametrize("name", METHODS)
def test_round_trip_of_every_method(name, views, tmp_path):
    model = METHODS[name](3, random_state=0).fit(views)
    again = mkclust.load(model.save(tmp_path / "model.npz"))
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert as_dict(again, views) == as_dict(model, views)
    for attribute in ("labels_", "embedding_", "graph_", "cluster_centers_"):
        if hasattr(model, attribute):
            np.testing.assert_array_equal(getattr(again, attribute), getattr(model, attribute))
    assert set(vars(again)) == set(vars(model))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kernel": ["rbf", "cosine", "polynomial"]},
        {"kernel": {"view1": "linear", "view2": "cosine", "view3": "gaussian"}},
        {"center": False, "normalize": False, "solver": "exact"},
        {"n_samples_fit": 30},
        {"kernel": "rbf", "kernel_params": {"gamma": 0.1}},
    ],
    ids=str,
)
def test_a_loaded_model_predicts_the_same_bits(settings, views, tmp_path):
    model = fit(views[:40], **settings)
    again = mkclust.load(model.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(again.transform(views), model.transform(views))
    np.testing.assert_array_equal(again.predict(views), model.predict(views))


def test_round_trip_of_sparse_views_kernels_and_tables(views, tmp_path):
    path = tmp_path / "model.npz"
    sparse = MultiView([sp.csr_array(np.where(view > 0, view, 0)) for view in views.views])
    model = fit(sparse[:40])
    again = mkclust.load(model.save(path))
    np.testing.assert_array_equal(again.transform(sparse), model.transform(sparse))
    kernels = np.stack([view @ view.T for view in views.views])
    model = fit(kernels, kernel="precomputed", normalize=False)
    again = mkclust.load(model.save(path))
    np.testing.assert_array_equal(again.predict(kernels[:, :7]), model.predict(kernels[:, :7]))
    table = np.hstack(views.views)
    columns = {"first": slice(0, 10), "second": [10, 11, 12, 13]}
    model = fit(table, columns=columns)
    again = mkclust.load(model.save(path))
    assert again.columns == columns
    np.testing.assert_array_equal(again.predict(table), model.labels_)


def test_round_trip_of_incomplete_samples(views, tmp_path):
    present = np.random.default_rng(0).random((60, 3)) > 0.2
    present[~present.any(axis=1)] = True
    gaps = MultiView(list(views.views), present=present)
    model = fit(gaps)
    again = mkclust.load(model.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(again.predict(gaps), model.labels_)
    np.testing.assert_array_equal(again.presence_, present)


def test_report_and_summary_equal_those_of_the_saved_model(views, tmp_path):
    model = fit(views)
    again = mkclust.load(model.save(tmp_path / "model.npz"))
    pages = [write_report(m, tmp_path / f"{i}.html", views) for i, m in enumerate((model, again))]
    assert pages[0].read_text() == pages[1].read_text()
    shown = []
    for m in (model, again):
        console = Console(width=100, file=StringIO())
        console.print(summary(m, views))
        shown.append(console.file.getvalue())
    assert "view1" in shown[0]
    assert shown[0] == shown[1]
    assert str(again.certificate_) == str(model.certificate_)
    assert again.history_ == model.history_


def test_a_loaded_model_can_be_fitted_and_saved_again(views, saved, tmp_path):
    model = mkclust.load(saved)
    again = mkclust.load(model.save(tmp_path / "second.npz"))
    np.testing.assert_array_equal(again.fit(views).labels_, model.labels_)


def test_the_file_is_written_completely_or_not_at_all(views, tmp_path):
    path = tmp_path / "model.npz"
    fit(views).save(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="function laplacian_kernel"):
        fit(views, kernel=laplacian_kernel).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# ---------------------------------------------------------------- refusals


def test_values_that_cannot_be_saved_are_named(views, tmp_path):
    path = tmp_path / "model.npz"
    kernels = {"view1": "linear", "view2": laplacian_kernel, "view3": "linear"}
    with pytest.raises(InputError, match=r"kernel\['view2'\] is the function laplacian_kernel"):
        fit(views, kernel=kernels).save(path)
    model = MKCDNM(3, random_state=np.random.RandomState(0)).fit(views)
    with pytest.raises(InputError, match=r"set_params\(random_state=None\)"):
        model.save(path)
    model.set_params(random_state=None).save(path)
    np.testing.assert_array_equal(mkclust.load(path).labels_, model.labels_)
    with pytest.raises(NotFittedError):
        MKCDNM(3).save(path)


@pytest.mark.parametrize("schema", [1, 2, 4])
def test_another_schema_is_refused_with_both_versions(schema, saved):
    rewritten(saved, lambda document: document.update(schema=schema, version="9.9"))
    with pytest.raises(FileFormatError, match=rf"schema {schema}.*'9.9'.*reads schema 3"):
        mkclust.load(saved)


def test_a_subclass_without_a_name_of_its_own_is_not_saved(views, tmp_path):
    class Changed(METHODS["akkm"]):
        pass

    with pytest.raises(InputError, match="Changed is none of the methods"):
        Changed(3, random_state=0).fit(views).save(tmp_path / "model.npz")


def test_methods_are_registered_under_their_own_names():
    assert all(vars(method)["name"] == name for name, method in METHODS.items())


def test_storable_classes_are_dataclasses_with_unique_names():
    with pytest.raises(TypeError, match="not a dataclass"):
        storable(int)
    for name in ("array", "Noise"):
        with pytest.raises(TypeError, match=f"named {name}"):
            storable(make_dataclass(name, ["value"]))


def test_unregistered_dataclasses_are_neither_written_nor_built(tmp_path):
    odd = make_dataclass("Noise", ["value"])(1)
    path = tmp_path / "model.npz"
    with pytest.raises(InputError, match="noise_ is a Noise"):
        write_archive(path, kind="akkm", parameters={}, fitted={"noise_": odd})
    write_archive(path, kind="akkm", parameters={"n_clusters": 3}, fitted={"x": np.ones(2)})
    assert read_archive(path)[:2] == ("akkm", {"n_clusters": 3})
    rewritten(path, lambda d: d["fitted"].update(x={"Limits": {"max_bytes": 1}}))
    with pytest.raises(FileFormatError, match="unknown kind of value 'Limits'"):
        read_archive(path)


def test_other_archives_are_refused(tmp_path):
    path = tmp_path / "views.npz"
    np.savez(path, X1=np.ones((4, 2)))
    with pytest.raises(FileFormatError, match="not a saved model"):
        mkclust.load(path)
    np.savez(path, document=np.frombuffer(b'{"format": "x"}', dtype=np.uint8))
    with pytest.raises(FileFormatError, match="not a saved model"):
        mkclust.load(path)
    with pytest.raises(FileFormatError, match="cannot be read"):
        mkclust.load(tmp_path / "absent.npz")
    path.write_text("nothing of the kind")
    with pytest.raises(FileFormatError, match=r"views\.npz"):
        mkclust.load(path)


def test_nothing_is_unpickled(saved):
    arrays = members(saved)
    np.savez(saved, **arrays, odd=np.array([print], dtype=object))
    with pytest.raises(FileFormatError, match="Python objects"):
        mkclust.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["fitted"].update(predict=1),
        lambda d: d["fitted"].update(__class__=1),
        lambda d: d["fitted"].update({"not a name": 1}),
        lambda d: d["fitted"].update(labels_={"eval": "1"}),
        lambda d: d["fitted"].update(labels_={"array": "array99"}),
        lambda d: d["fitted"].update(labels_=[1, 2]),
        lambda d: d["fitted"].update(noise_={"Noise": {"null": 1}}),
        lambda d: d["fitted"].update(noise_={"Popen": {"args": "true"}}),
        lambda d: d["fitted"].update(_extension=None) or d["fitted"].pop("labels_"),
        lambda d: d["fitted"].update(_extension=3),
        lambda d: first_map(d).update(kernel="os.system"),
        lambda d: first_map(d).update(view=None),
        lambda d: first_map(d).update(width=7),
        lambda d: d["parameters"].update(nonsense=1),
        lambda d: d.update(kind="os.system"),
        lambda d: d.pop("parameters"),
    ],
)
def test_damaged_and_hostile_documents_are_refused(change, saved):
    with pytest.raises(FileFormatError, match=r"model\.npz"):
        mkclust.load(rewritten(saved, change))


def test_parts_of_contradicting_shapes_are_refused(saved):
    arrays = members(saved)
    for name, array in arrays.items():
        if array.shape == (60, 3):  # the embedding, or a map
            arrays[name] = array[:50]
    np.savez(saved, **arrays)
    with pytest.raises(FileFormatError, match="damaged"):
        mkclust.load(saved)


def test_sizes_are_checked_before_memory_is_allocated(saved, tmp_path):
    with pytest.raises(FileFormatError, match="over the limit"):
        mkclust.load(saved, limits=Limits(max_bytes=1000))
    bomb = tmp_path / "bomb.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }\n"
    with zipfile.ZipFile(saved) as good, zipfile.ZipFile(bomb, "w") as bad:
        bad.writestr("document.npy", good.read("document.npy"))
        start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
        bad.writestr("array0.npy", start + header)
    with pytest.raises(FileFormatError, match="claims shape"):
        mkclust.load(bomb)


def test_truncated_files_are_refused(saved):
    whole = saved.read_bytes()
    for share in (0.0, 0.1, 0.5, 0.9, 0.999):
        saved.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(FileFormatError, match=r"model\.npz"):
            mkclust.load(saved)


def test_deeply_nested_documents_are_refused(saved):
    arrays = members(saved)
    text = b'{"format": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    arrays["document"] = np.frombuffer(text, dtype=np.uint8)
    np.savez(saved, **arrays)
    with pytest.raises(FileFormatError, match=r"model\.npz"):
        mkclust.load(saved)


# ---------------------------------------------------------------- command line


def test_a_saved_model_predicts_on_the_command_line(run, views, tmp_path):
    for name, rows in (("earlier", slice(0, 40)), ("today", slice(40, 60))):
        np.savez(f"{name}.npz", **dict(zip(views.names, views[rows].views, strict=True)))
    settings = ("-k", "3", "--quiet", "--no-report", "--save", "model.npz")
    assert run("cluster", "earlier.npz", *settings)[0] == 0
    code, out, _ = run("predict", "model.npz", "today.npz", "-o", "out")
    assert (code, "20 samples assigned to 3 clusters" in out) == (0, True)
    model = mkclust.load("model.npz")
    written = np.genfromtxt("out/labels.csv", delimiter=",", skip_header=1, dtype=int)
    np.testing.assert_array_equal(written[:, 1], model.predict(views[40:]))
    np.testing.assert_array_equal(
        members("out/embedding.npz")["embedding"], model.transform(views[40:])
    )


def test_other_data_are_refused_on_the_command_line(run, views, saved):
    np.savez("names.npz", X1=np.ones((4, 10)), X2=np.ones((4, 10)))
    narrow = {name: view[:, :7] for name, view in zip(views.names, views.views, strict=True)}
    np.savez("widths.npz", **narrow)
    for arguments, complaint in (
        ((saved, "names.npz"), "fitted on the views view1, view2, view3, but got X1, X2"),
        ((saved, "widths.npz"), "'view1' has 7 columns, but was fitted on 10"),
        (("names.npz", "names.npz"), "names.npz: not a saved model"),
        ((METHODS["akkm"](3).fit(views).save("akkm.npz"), "widths.npz"), "were not fitted"),
    ):
        code, _, err = run("predict", *arguments)
        assert code == 2
        assert complaint in err


def test_an_unwritable_target_is_reported_before_the_fit(run, views, tmp_path):
    np.savez("views.npz", **dict(zip(views.names, views.views, strict=True)))
    (tmp_path / "file").write_text("")
    code, _, err = run("cluster", "views.npz", "-k", "3", "--save", "file/model.npz")
    assert code == 2
    assert "cannot be written" in err
    assert not (tmp_path / "mkclust-out" / "labels.csv").exists()
