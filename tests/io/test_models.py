"""Saved models: every method comes back as it was, and nothing else is built from a file."""

import json
from dataclasses import make_dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import laplacian_kernel

import mkclust
from mkclust import METHODS, MKCDNM, MultiView
from mkclust.data.datasets import make_views
from mkclust.exceptions import FileFormatError, InputError
from mkclust.io.models import read_archive, storable, write_archive

pytestmark = [
    pytest.mark.versions,
    pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning"),
]


@pytest.fixture(scope="module")
def views():
    return make_views(60, n_clusters=3, n_views=3, noise=0.8, random_state=0)


@pytest.fixture
def saved(views, tmp_path):
    return MKCDNM(3, random_state=0).fit(views).save(tmp_path / "model.npz")


def members(path):
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


def rewrite(path, change):
    """Change the document of the file in place."""
    arrays = members(path)
    document = json.loads(bytes(arrays.pop("document")))
    change(document)
    text = np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)
    np.savez(path, document=text, **arrays)
    return path


@pytest.mark.parametrize("name", METHODS)
def test_round_trip_of_every_method(name, views, tmp_path):
    model = METHODS[name](3, random_state=0).fit(views)
    again = mkclust.load(model.save(tmp_path / "model.npz"))
    assert type(again) is type(model) and again.get_params() == model.get_params()
    assert set(vars(again)) == set(vars(model))
    for attribute in ("labels_", "embedding_", "graph_", "cluster_centers_"):
        if hasattr(model, attribute):
            np.testing.assert_array_equal(getattr(again, attribute), getattr(model, attribute))
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(again.predict(views), model.predict(views))


def test_round_trip_of_other_kinds_of_views(views, tmp_path):
    path = tmp_path / "model.npz"
    sparse = MultiView([sp.csr_array(np.where(view > 0, view, 0)) for view in views.views])
    kernels = MultiView(np.stack([view @ view.T for view in views.views]), kernels=True)
    present = np.random.default_rng(0).random((60, 3)) > 0.2
    present[~present.any(axis=1)] = True
    gaps = MultiView(list(views.views), present=present)
    for data in (sparse, kernels, gaps):
        model = mkclust.cluster(data, 3, verdict=False, random_state=0)
        again = mkclust.load(model.save(path))
        np.testing.assert_array_equal(again.predict(data), model.predict(data))
        np.testing.assert_array_equal(again.fit(data).labels_, model.labels_)


def test_values_that_cannot_be_saved_are_named_and_leave_the_file(views, saved):
    before = saved.read_bytes()
    kernels = {"view1": "linear", "view2": laplacian_kernel, "view3": "linear"}
    with pytest.raises(InputError, match=r"kernel\['view2'\] is the function laplacian_kernel"):
        MKCDNM(3, kernel=kernels, random_state=0).fit(views).save(saved)
    model = MKCDNM(3, random_state=np.random.RandomState(0)).fit(views)
    with pytest.raises(InputError, match=r"set_params\(random_state=None\)"):
        model.save(saved)
    assert saved.read_bytes() == before and list(saved.parent.iterdir()) == [saved]


def test_only_registered_dataclasses_are_written_and_built(tmp_path):
    with pytest.raises(TypeError, match="not a dataclass"):
        storable(int)
    with pytest.raises(TypeError, match="array is not a dataclass, or another"):
        storable(make_dataclass("array", ["value"]))
    path = tmp_path / "model.npz"
    with pytest.raises(InputError, match="noise_ is a Odd"):
        odd = make_dataclass("Odd", ["value"])(1)
        write_archive(path, kind="akkm", parameters={}, fitted={"noise_": odd})
    write_archive(path, kind="akkm", parameters={"n_clusters": 3}, fitted={"x": np.ones(2)})
    assert read_archive(path)[:2] == ("akkm", {"n_clusters": 3})


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
        lambda d: d["fitted"].update(_extension=3),
        lambda d: d["parameters"].update(nonsense=1),
        lambda d: d.update(kind="os.system"),
        lambda d: d.update(schema=1, version="9.9"),
        lambda d: d.update(format="x"),
        lambda d: d.pop("parameters"),
    ],
)
def test_damaged_and_hostile_documents_are_refused(change, saved):
    with pytest.raises(FileFormatError, match=r"model\.npz"):
        mkclust.load(rewrite(saved, change))


def test_other_and_damaged_files_are_refused(saved, tmp_path):
    whole, arrays = saved.read_bytes(), members(saved)
    short = {n: a[:50] if a.shape == (60, 3) else a for n, a in arrays.items()}
    deep = np.frombuffer(b'{"format": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", dtype=np.uint8)
    objects = np.array([print], dtype=object)
    other = {"X": np.ones(3)}
    for changed in (other, short, arrays | {"document": deep}, arrays | {"odd": objects}):
        np.savez(saved, **changed)
        with pytest.raises(FileFormatError, match=r"model\.npz"):
            mkclust.load(saved)
    for share in (0.0, 0.1, 0.5, 0.999):
        saved.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(FileFormatError, match=r"model\.npz"):
            mkclust.load(saved)
    with pytest.raises(FileFormatError, match="cannot be read"):
        mkclust.load(tmp_path / "absent.npz")
