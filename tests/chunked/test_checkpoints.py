"""Checkpoints of a resumable run: they know their data, their run and their place."""

import os
import re
import shutil

import numpy as np
import pytest
import scipy.sparse as sp

from mkclust import MKCDNM, GraphFusion, MultiView
from mkclust.chunked import kmeans as kmeans_module
from mkclust.chunked import passes, rows
from mkclust.chunked.work import Work
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError, MkclustWarning
from mkclust.graph_fusion import anchor_fusion

N, K = 1800, 3
NYSTROEM = {"approximation": "nystroem", "n_components": 20}
ESTIMATORS = {
    "mkc-dnm": (MKCDNM, NYSTROEM),
    "mkc-dnm, graph": (MKCDNM, NYSTROEM | {"kernel": ["gaussian", "knn"]}),
    "graph-fusion": (GraphFusion, {"neighbors": "anchors"}),
}
EVERYWHERE = {"embedding/part-N", "results/data", "results/kmeans"}
KINDS = {
    "mkc-dnm": {"results/cross-products", "results/cross-products-N", "results/means",
                "results/means-N"},
    "graph-fusion": {"results/links", "results/links-N"},
}  # fmt: skip
FIRST = dict.fromkeys(ESTIMATORS, "results/data") | {"mkc-dnm, graph": "results/data-view2"}
KINDS["mkc-dnm, graph"] = KINDS["mkc-dnm"] | {"results/data-view2", "results/graph-view2"}


def make_small(patch):
    """Many pieces, many stretches, few anchors, and a k-means that needs its blocks."""
    patch.setattr(rows, "PIECE", 40_000)
    patch.setattr(passes, "STRETCH", 3)
    patch.setattr(kmeans_module, "SAMPLE", 100)
    for name, number in (("ANCHORS", 30), ("SAMPLE", 300), ("WEIGHED", 200)):
        patch.setattr(anchor_fusion, name, number)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    make_small(monkeypatch)


def views_of(seed):
    return make_views(N, n_clusters=K, n_views=2, noise=0.4, random_state=seed).views


def fitted(views, work=None, method="mkc-dnm"):
    kind, settings = ESTIMATORS[method]
    return kind(K, **settings, n_init=2, random_state=0, work=work).fit(views)


@pytest.fixture(scope="module", params=ESTIMATORS)
def finished(request, tmp_path_factory):
    """A method, and the work folders of two runs with its settings on data of the same shapes."""
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        folder = tmp_path_factory.mktemp("work")
        return request.param, [
            (folder / str(seed), fitted(views_of(seed), folder / str(seed), request.param))
            for seed in (0, 1)
        ]


def test_other_data_with_equal_sampled_rows_are_refused(tmp_path, finished):
    method, runs = finished
    shutil.copytree(runs[0][0], tmp_path / "work")
    other = [view.copy() for view in views_of(1)]
    sampled = np.unique(np.linspace(0, N - 1, 512).astype(int))
    for mine, first in zip(other, views_of(0), strict=True):
        mine[sampled] = first[sampled]
    place = "'view2'" if method == "mkc-dnm, graph" else "'view1', in "
    with pytest.raises(InputError, match=f"a run of other data: they differ in view {place}"):
        fitted(other, tmp_path / "work", method)


def test_one_changed_value_of_an_array_is_refused_and_the_same_values_are_not(tmp_path, finished):
    method, runs = finished
    shutil.copytree(runs[0][0], tmp_path / "work")
    views = [view.copy() for view in views_of(0)]
    again = fitted([np.asfortranarray(view) for view in views], tmp_path / "work", method)
    np.testing.assert_array_equal(again.labels_, runs[0][1].labels_)
    views[1][N - 2, 3] = np.nextafter(views[1][N - 2, 3], 9)
    rows = "" if method == "mkc-dnm, graph" else r", in the \d+ rows from row \d+ on"
    with pytest.raises(InputError, match=f"they differ in view 'view2'{rows}"):
        fitted(views, tmp_path / "work", method)


def sparse_views(least):
    """Return the values of at least this magnitude; the last two rows of the first have none."""
    views = [np.where(np.abs(view) >= least, view, 0.0) for view in views_of(0)]
    views[0][-2:] = 0.0
    views[1][-2:] = views_of(0)[1][-2:]
    return [sp.csr_array(view) for view in views]


def test_sparse_data_with_another_number_of_values_are_refused(tmp_path):
    fitted(sparse_views(0.4), tmp_path, "graph-fusion")
    for least in (0.5, 0.9, 0.0):
        with pytest.raises(InputError, match="a run of other data"):
            fitted(sparse_views(least), tmp_path, "graph-fusion")


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MissingRowsWarning")
def test_other_samples_that_a_sparse_view_lacks_are_refused(tmp_path):
    """The stored values are the same, whichever of the last two samples is missing."""
    for missing in (N - 2, N - 1):
        present = np.ones((N, 2), dtype=bool)
        present[missing, 0] = False
        views = MultiView(sparse_views(0.4), present=present)
        if missing == N - 2:
            fitted(views, tmp_path, "graph-fusion")
    with pytest.raises(InputError, match=r"holds another run \(different: missing samples\)"):
        fitted(views, tmp_path, "graph-fusion")


@pytest.mark.parametrize(
    ("method", "place"),
    [
        ("mkc-dnm", r"'v0'.*v0\.npy on"),
        ("mkc-dnm, graph", "'v1'"),
        ("graph-fusion", r"'v0'.*v0\.npy on"),
    ],
)
def test_parts_replaced_with_their_time_stamp_kept_are_refused(tmp_path, method, place):
    first, second = views_of(0), views_of(1)
    files = {f"v{p}": tmp_path / f"v{p}.npy" for p in (0, 1)}
    for path, view in zip(files.values(), first, strict=True):
        np.save(path, view)
    fitted(files, tmp_path / "work", method)
    for path, view in zip(files.values(), second, strict=True):
        times = path.stat().st_atime_ns, path.stat().st_mtime_ns
        np.save(path, view)
        os.utime(path, ns=times)
    with pytest.raises(InputError, match=rf"other data: they differ in view {place}"):
        fitted(files, tmp_path / "work", method)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_files_that_were_only_touched_continue(tmp_path, method):
    files = {f"v{p}": tmp_path / f"v{p}.npy" for p in (0, 1)}
    for path, view in zip(files.values(), views_of(0), strict=True):
        np.save(path, view)
    before = fitted(files, tmp_path / "work", method)
    for path in files.values():
        os.utime(path, (1, 1))
    np.testing.assert_array_equal(fitted(files, tmp_path / "work", method).labels_, before.labels_)


def kinds(folder):
    """Return one result of every kind in a work folder, without its suffix, by its kind."""
    found = {}
    for path in sorted(folder.rglob("*.sha256")):
        kind = re.sub(r"-[0-9a-f]{12}.*", "", path.parent.name) + "/"
        number = re.sub(r"\d{5}$", "N", path.stem)
        kind += re.sub(r"-[0-9a-f]{12}(-\d+-\d+)?", "", number)
        found.setdefault(kind, path.with_suffix(""))
    return found


def copied(source, work, stem):
    """Copy a work folder; return a result of it, which the next run will load."""
    shutil.copytree(source, work)
    if stem.parent.name == "results" and re.search(r"-\d{5}$", stem.name):
        (work / f"results/{stem.name[:-6]}.npz").unlink()  # or the stretches are not loaded
    return work / stem.relative_to(source)


def contents_of(stem):
    return stem.with_suffix(".npy" if stem.name.startswith("part") else ".npz")


def test_one_flipped_byte_in_every_kind_of_file_is_mended_or_refused(tmp_path, finished):
    method, ((source, reference), _) = finished
    assert set(kinds(source)) == EVERYWHERE | KINDS[method]
    for number, stem in enumerate(kinds(source).values()):
        for path in (stem.with_suffix(".sha256"), contents_of(stem)):
            work = tmp_path / f"{number}{path.suffix}"
            damaged = copied(source, work, stem).with_suffix(path.suffix)
            flip(damaged)
            with pytest.warns(MkclustWarning, match="is damaged, or belongs to another run"):
                found = fitted(views_of(0), work, method)
            np.testing.assert_array_equal(found.labels_, reference.labels_)


def flip(path):
    data = bytearray(path.read_bytes())
    data[2 * len(data) // 3] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_damaged_description_of_the_run_says_damaged(tmp_path, finished, place):
    method, runs = finished
    shutil.copytree(runs[0][0], tmp_path / "work")
    path = tmp_path / "work" / "run.json"
    data = bytearray(path.read_bytes())
    at = int(place * len(data))
    while not chr(data[at]).isalnum():
        at += 1
    data[at] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"run\.json is damaged"):
        fitted(views_of(0), tmp_path / "work", method)


def test_files_swapped_between_runs_are_computed_again_or_refused(tmp_path, finished):
    method, ((first, reference), (second, _)) = finished
    for number, (kind, stem) in enumerate(kinds(first).items()):
        target, origin = copied(first, tmp_path / str(number), stem), kinds(second)[kind]
        shutil.copy(origin.with_suffix(".sha256"), target.with_suffix(".sha256"))
        shutil.copy(contents_of(origin), contents_of(target))
        if kind == FIRST[method]:  # nothing but this file says which data the run is of
            with pytest.raises(InputError, match="other data"):
                fitted(views_of(0), tmp_path / str(number), method)
            continue
        with pytest.warns(MkclustWarning, match="belongs to another run"):
            found = fitted(views_of(0), tmp_path / str(number), method)
        np.testing.assert_array_equal(found.labels_, reference.labels_)


def test_a_result_under_another_name_is_computed_again(tmp_path):
    work = Work(tmp_path, {"k": 3})
    work.save("means", {"x": np.arange(3)})
    for suffix in (".npz", ".sha256"):
        shutil.copy(tmp_path / f"results/means{suffix}", tmp_path / f"results/gram{suffix}")
    with pytest.warns(MkclustWarning, match=r"gram\.npz"):
        assert work.load("gram") is None


def test_results_are_bound_to_the_data(tmp_path):
    for data in (b"a", b"b"):
        work = Work(tmp_path, {"k": 3})
        work.bind(data)
        if data == b"a":
            work.save("means", {"x": np.arange(3)})
    with pytest.warns(MkclustWarning, match="other data"):
        assert work.load("means") is None
