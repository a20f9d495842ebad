"""Rows outside memory: every storage, any chunks, threads and workers give the same labels."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from functools import partial
from threading import Thread
from time import sleep

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from typer.testing import CliRunner

from mkclust import GraphFusion, MultiView, load
from mkclust.cli.app import app
from mkclust.data.datasets import make_views
from mkclust.exceptions import FileFormatError, InputError, UnrelatedWarning
from mkclust.large import LargeViews, as_large_views, blocks, map_blocks, sum_blocks
from mkclust.large import kmeans as kmeans_module
from mkclust.linalg.kmeans import unit_rows
from mkclust.progress import listening

K = 3
QUICK = ["--no-checks", "--no-report"]


@pytest.fixture(scope="module")
def views():
    return make_views(2000, n_clusters=K, n_views=2, noise=0.5, random_state=0)


@pytest.fixture(scope="module")
def labels(views):
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        return fit(views).labels_


@pytest.fixture(autouse=True)
def small(monkeypatch):
    shrink(monkeypatch)


def shrink(patch):
    """Make many blocks, few anchors, and a k-means that needs its blocks."""
    patch.setattr(blocks, "BLOCK", 25_000)
    patch.setattr(kmeans_module, "SAMPLE", 100)
    for name, size in (("ANCHORS", 50), ("SAMPLE", 500), ("WEIGHED", 300)):
        patch.setattr(f"mkclust.graph_fusion.anchors.{name}", size)


def fit(views):
    return GraphFusion(K, neighbors="anchors", random_state=0, n_init=2).fit(views)


def store(X, kind, folder, rows=170):
    """Store one view in files or chunks of some rows, and return what `fit` takes."""
    parts = [X[start : start + rows] for start in range(0, len(X), rows)]
    folder.mkdir(parents=True)
    names = [f"c{column}" for column in range(X.shape[1])]
    for number, part in enumerate(parts):
        if kind == "npy":
            np.save(folder / f"part-{number}.npy", part)
        if kind in ("parquet", "frame"):
            frame = pd.DataFrame(part, columns=names)
            frame.to_parquet(folder / f"part-{number}.parquet", row_group_size=60)
    if kind == "zarr":
        stored = zarr.create_array(folder / "z", shape=X.shape, chunks=(rows, 3), dtype="f8")
        stored[:] = X
        return stored
    if kind in ("map", "columns"):
        np.save(folder / "X.npy", np.asfortranarray(X) if kind == "columns" else X)
        return np.load(folder / "X.npy", mmap_mode="r")
    if kind == "part of a map":
        np.save(folder / "X.npy", np.vstack([X, X]))
        return np.load(folder / "X.npy", mmap_mode="r")[len(X) :]
    if kind == "dask":
        return da.from_array(X, chunks=(rows, 4))
    return dd.read_parquet(folder) if kind == "frame" else folder


KINDS = ["npy", "parquet", "frame", "zarr", "map", "columns", "part of a map", "dask"]


@pytest.mark.parametrize(("kind", "rows"), [*((kind, 170) for kind in KINDS), ("dask", 999)])
def test_every_storage_gives_the_same_labels(kind, rows, views, labels, tmp_path):
    one, two = (store(X, kind, tmp_path / str(p), rows) for p, X in enumerate(views.views))
    model = fit([one, two])
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.predict([one, two]), labels)
    if kind in ("npy", "dask"):  # one view in memory
        np.testing.assert_array_equal(fit([one, views.views[1]]).labels_, labels)


def test_components_are_found_on_all_rows():
    """A drawn sample of them is correlated; memory and disk give the same answer."""
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((2000, 9)) - 5)[0]
    X = (U - U.mean(axis=0)) @ np.linalg.svd(U - U.mean(axis=0), full_matrices=False)[2].T
    counts, numbers = rng.poisson(0.3, (2000, 5)), rng.standard_normal((2000, 4))
    tables = [X * np.geomspace(9, 1, 9), counts, numbers]
    stored = LargeViews([da.from_array(table, chunks=(170, 4)) for table in tables])
    assert stored.kinds == MultiView(tables).kinds == ("components", "counts", "measurements")
    assert stored.take(np.arange(90)).kinds == stored.kinds
    fits = []
    for views in (tables, stored):
        with pytest.warns(UnrelatedWarning, match="no two views agree"):
            fits.append(fit(views))
    one, two = fits
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.metrics_ == two.metrics_ and "not scaled" in two.notes_[-1]


def test_arrays_in_memory_need_no_dask_and_stored_rows_say_so(views, labels, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] in ("dask", "distributed")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dask", None)
    np.testing.assert_array_equal(fit(views).labels_, labels)
    with pytest.raises(InputError, match=r"pip install 'mkclust\[large\]'"):
        fit([store(views.views[0], "npy", tmp_path / "0")])


def test_small_stored_views_and_kept_names(views, tmp_path):
    stored = {name: store(views[name], "parquet", tmp_path / name) for name in views.names}
    model = GraphFusion(K, random_state=0).fit(stored)
    assert model.neighbor_search_ == "exact"
    exact = GraphFusion(K, random_state=0).fit(views)
    np.testing.assert_array_equal(model.labels_, exact.labels_)
    anchored = fit(stored)
    assert anchored.view_feature_names_in_[0].tolist() == [f"c{c}" for c in range(10)]
    turned = dict(stored)
    turned["view1"] = dd.read_parquet(stored["view1"])[[f"c{c}" for c in range(9, -1, -1)]]
    np.testing.assert_array_equal(anchored.predict(turned), anchored.labels_)


def test_rows_are_taken_and_sums_have_one_order(views, tmp_path):
    X = views.views[0]
    stored = [store(X, kind, tmp_path / kind) for kind in KINDS]
    large = LargeViews({str(p): array for p, array in enumerate([*stored, X, sp.csr_array(X)])})
    assert (len(large), large.n_views) == (2000, len(KINDS) + 2)
    rows = np.array([0, 3, 169, 170, 1999])
    found = large.take(rows)
    assert all((np.asarray(view) == X[rows]).all() for view in found.views[:-1])
    first = sum_blocks("sums", _sums, [X], 97)
    for array in large.views[:-1]:
        np.testing.assert_array_equal(sum_blocks("sums", _sums, [array], 97)["x"], first["x"])
    assert as_large_views([X]) is None


def _sums(start, X):
    return {"x": X.sum(axis=0)}


def test_embeddings_too_large_for_memory_are_in_a_file(views, labels, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "KEPT", 1000)
    paths = [store(X, "npy", tmp_path / str(p)) for p, X in enumerate(views.views)]
    model = fit(paths)
    assert isinstance(model.embedding_, np.memmap)
    file = str(model.embedding_.filename)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.embedding_, fit(views).embedding_)
    assert load(model.save(tmp_path / "model.npz")).predict(paths).tolist() == labels.tolist()
    del model
    assert not os.path.exists(file)


def test_eigenvectors_of_drawn_rows_are_told(views, labels, monkeypatch):
    monkeypatch.setattr("mkclust.graph_fusion.anchors.ITERATED", 1000)
    model = fit(views)
    used = int(re.search(r"eigenvectors from (\d+) samples", model.notes_[0])[1])
    assert 1000 <= used < 1020  # half of every block, rounded up
    assert adjusted_rand_score(model.labels_, labels) > 0.99


@pytest.mark.parametrize("stored", [False, True])
def test_progress_is_told_and_an_interrupt_ends_after_the_running_blocks(stored, views, tmp_path):
    X = store(views.views[0], "npy", tmp_path / "0") if stored else views.views[0]
    arrays, told, seen = LargeViews([X]).views, [], []

    def listen(message):
        told.append(message)
        if len(told) == 2:
            raise KeyboardInterrupt

    with listening(listen), pytest.raises(KeyboardInterrupt), dask.config.set(num_workers=1):
        list(map_blocks("links", lambda start, block: seen.append(start), arrays, 100))
    assert told[0].startswith("links: 5 %, ") and told[0].endswith(" left")
    assert len(seen) <= 2 * blocks.AHEAD


class TestFaults:
    @pytest.mark.parametrize("kind", ["npy", "parquet", "dask"])
    def test_nan_is_named_by_view_row_and_column(self, kind, views, tmp_path):
        X = views.views[1].copy()
        X[1234, 5] = np.inf
        with pytest.raises(InputError, match=r"'b' has a value .* in column 5 of row 1234"):
            fit({"a": views.views[0], "b": store(X, kind, tmp_path / "b")})

    @pytest.mark.parametrize(
        ("fault", "problem"),
        [("missing", "lacks part 3"), ("truncated", "part-3.npy"), ("width", "has 9 columns"),
         ("type", "of float32"), ("pickle", "part-3.npy"), ("mixed", "both .npy and .parquet"),
         ("empty", "no .npy or .parquet"), ("nowhere", "does not exist"),
         ("length", "must have the same rows")],
    )  # fmt: skip
    def test_damaged_parts_are_refused_before_the_work(self, fault, problem, views, tmp_path):
        X = views.views[0]
        folder = store(X, "npy", tmp_path / "a")
        part = folder / "part-3.npy"
        rows = np.load(part)
        if fault == "truncated":
            part.write_bytes(part.read_bytes()[:-8])
        elif fault in ("missing", "length"):
            (part if fault == "missing" else folder / "part-11.npy").unlink()
        elif fault == "mixed":
            pd.DataFrame(rows).rename(columns=str).to_parquet(folder / "part-4.parquet")
        elif fault == "empty":
            [file.unlink() for file in folder.iterdir()]
        elif fault == "nowhere":
            folder = tmp_path / "b"
        else:
            other = {"width": rows[:, 1:], "type": rows.astype("f4"), "pickle": rows.astype(object)}
            np.save(part, other[fault], allow_pickle=True)
        with pytest.raises(InputError, match=problem):
            fit([X, folder])

    def test_what_is_no_table_of_numbers_is_refused(self, tmp_path):
        words = tmp_path / "words"
        words.mkdir()
        pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}).to_parquet(words / "part-0.parquet")
        for name in ("a.txt", "a.what"):
            (tmp_path / name).write_text("1")
        unknown = da.from_array(np.zeros((9, 2)))[da.from_array(np.arange(9)) > 3]
        for value, problem in [
            (words, r"number columns only, not \['b'\]"),
            (tmp_path / "a.txt", r"read as a whole: pass mkclust\.read"),
            (tmp_path / "a.what", "neither .npy nor .parquet"),
            (unknown, "compute_chunk_sizes"),
            (da.zeros((9,)), "rows x columns"),
            (da.from_array(np.array([["x"]])), "numbers are needed"),
            (da.zeros((0, 4)), "empty"),
        ]:
            with pytest.raises(InputError, match=problem):
                LargeViews({"a": value})
        with pytest.raises(InputError, match="must differ"):
            LargeViews([tmp_path / "x" / "a", tmp_path / "y" / "a"])

    def test_a_part_cut_off_during_the_run_is_found(self, views, tmp_path):
        folder = store(views.views[0], "npy", tmp_path / "a")
        large = LargeViews([folder])
        (folder / "part-3.npy").write_bytes(b"")
        with pytest.raises(FileFormatError, match=r"part-3\.npy cannot be read"):
            fit(large)


class TestKMeans:
    def test_blocks_give_lloyd_steps_of_scikit_learn(self):
        rng = np.random.default_rng(0)
        X = unit_rows(rng.normal(size=(3000, 4)) + 2 * rng.integers(3, size=(3000, 1)))
        found = kmeans_module.kmeans(X, 700, 5, 2, seed=0)
        start = found.centers
        again = KMeans(5, init=start, n_init=1, max_iter=1, algorithm="lloyd").fit(X)
        assert np.mean(again.labels_ == found.labels) > 0.999
        assert found.inertia == pytest.approx(((X - start[found.labels]) ** 2).sum())

    def test_an_empty_cluster_starts_anew_at_the_farthest_row(self):
        X = unit_rows(np.array([[1.0, 0.0]] * 50 + [[0.0, 1.0]] * 50 + [[-1.0, 0.0]]))
        centers = np.array([[1.0, 0.0], [0.0, 1.0], [9.0, 9.0]])
        sums = sum_blocks("step", partial(kmeans_module.lloyd_sums, centers), [X], 30)
        moved = kmeans_module._move(sums, centers, X, 30)
        np.testing.assert_array_equal(moved[2], [-1.0, 0.0])


@pytest.fixture(scope="module")
def cluster():
    """Two workers, forked from a server that has imported what they need."""
    distributed = pytest.importorskip("distributed")
    method = {"distributed.worker.multiprocessing-method": "forkserver"}
    workers = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        dask.config.set(method),
        distributed.LocalCluster(**workers, dashboard_address=None) as found,
    ):
        yield found


@pytest.mark.parametrize("moment", ["links: ", "k-means step 1: "])
def test_a_worker_killed_during_the_run_changes_nothing(
    moment, cluster, views, labels, tmp_path, monkeypatch
):
    monkeypatch.setattr(blocks, "KEPT", 1000)  # the embedding stays on the workers
    paths = [store(X, "npy", tmp_path / str(p)) for p, X in enumerate(views.views)]
    killed = []

    def kill(message):
        if message.startswith(moment) and not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            Thread(target=lambda: os.kill(killed[0], signal.SIGKILL)).start()
            sleep(0.1)

    with cluster.get_client(), listening(kill):
        model = fit(paths)
    assert killed and not hasattr(model, "embedding_")
    np.testing.assert_array_equal(model.labels_, labels)


@pytest.mark.parametrize("address", [False, True])
def test_command_line_reads_and_writes_parts(address, cluster, views, labels, tmp_path):
    for name, X in zip(views.names, views.views, strict=True):
        store(X, "npy", tmp_path / "data" / name)
    out, options = tmp_path / "out", ["--set", "neighbors=anchors", "--set", "n_init=2", *QUICK]
    options += ["--dask", cluster.scheduler_address] if address else []
    paths = [str(tmp_path / "data"), "-k", str(K), "-o", str(out)]
    done = CliRunner().invoke(app, ["cluster", *paths, *options])
    assert done.exit_code == 0, done.output
    np.testing.assert_array_equal(pd.read_csv(out / "labels.csv")["cluster"], labels)
    assert json.loads((out / "result.json").read_text())["input"]


def test_a_cluster_without_use_is_told(views, tmp_path):
    np.savez(tmp_path / "a.npz", a=views.views[0][:90], b=views.views[1][:90])
    command = ["cluster", str(tmp_path / "a.npz"), "-k", "3", "-o", str(tmp_path / "out"), *QUICK]
    done = CliRunner().invoke(app, [*command, "--dask", "localhost:1"])
    assert done.exit_code == 0 and "--dask was not used" in " ".join(done.output.split())
