"""Graph fusion over chunked rows: any storage, interruptions, faults, dask."""

from __future__ import annotations

import gc
import json
import os
import random
import re
import signal

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

from mkclust import GraphFusion
from mkclust.chunked import kmeans as kmeans_module
from mkclust.chunked import passes, rows
from mkclust.chunked.sources import PartsSource
from mkclust.cli.app import app
from mkclust.data.datasets import make_views
from mkclust.exceptions import FileFormatError, InputError
from mkclust.progress import listening

K = 3


@pytest.fixture(scope="module")
def views():
    return make_views(2000, n_clusters=K, n_views=2, noise=0.5, random_state=0)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Many pieces, many stretches, few anchors, and a k-means that needs its blocks."""
    monkeypatch.setattr(rows, "PIECE", 25_000)
    monkeypatch.setattr(passes, "STRETCH", 3)
    monkeypatch.setattr(kmeans_module, "SAMPLE", 100)
    for name, size in (("ANCHORS", 50), ("SAMPLE", 500), ("WEIGHED", 300)):
        monkeypatch.setattr(f"mkclust.graph_fusion.anchor_fusion.{name}", size)


def fitted(views, **settings):
    settings = {"random_state": 0, "n_init": 2} | settings
    return GraphFusion(K, neighbors="anchors", **settings).fit(views)


def in_parts(views, folder):
    """Store every view as five .npy parts, and return the folders."""
    for name, X in zip(views.names, views.views, strict=True):
        (folder / name).mkdir(parents=True)
        for number, part in enumerate(np.array_split(X, 5)):
            np.save(folder / name / f"part-{number}.npy", part)
    return [folder / name for name in views.names]


@pytest.mark.parametrize("kind", ["npy", "memmap", "zarr", "dask"])
def test_every_storage_gives_the_same_answer(kind, views, tmp_path):
    reference = fitted(views)
    if kind == "npy":
        stored = in_parts(views, tmp_path)
    else:
        stored = []
        for p, X in enumerate(views.views):
            if kind == "memmap":
                np.save(tmp_path / f"{p}.npy", X)
                stored.append(np.load(tmp_path / f"{p}.npy", mmap_mode="r"))
            elif kind == "zarr":
                zarr = pytest.importorskip("zarr")
                stored.append(zarr.create_array(tmp_path / str(p), data=X, chunks=(300, 2)))
            else:
                stored.append(pytest.importorskip("dask.array").from_array(X, chunks=(700, 2)))
    found = fitted(stored)
    np.testing.assert_array_equal(found.labels_, reference.labels_)
    np.testing.assert_array_equal(found.embedding_, reference.embedding_)
    np.testing.assert_array_equal(found.predict(stored), found.labels_)
    assert adjusted_rand_score(views.labels, found.labels_) > 0.95


def test_small_stored_views_take_the_exact_search(views, tmp_path):
    found = GraphFusion(K, random_state=0).fit(in_parts(views, tmp_path))
    reference = GraphFusion(K, random_state=0).fit(views)
    assert found.neighbor_search_ == "exact"
    np.testing.assert_array_equal(found.labels_, reference.labels_)


def test_threads_do_not_change_the_labels(views):
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(fitted(views))
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    np.testing.assert_allclose(found[0].embedding_, found[1].embedding_, atol=1e-8)


def test_interrupted_at_random_and_resumed_ten_times(views, tmp_path):
    reference, moments = fitted(views), []
    with listening(moments.append):
        fitted(views, work=tmp_path / "whole")
    chance = random.Random(0)
    for trial in range(10):
        work, left = tmp_path / f"work{trial}", [chance.randrange(len(moments))]

        def interrupt(message, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt(message)

        with pytest.raises(KeyboardInterrupt), listening(interrupt):
            fitted(views, work=work)
        assert not [*work.rglob("*.tmp")]
        resumed = fitted(views, work=work)
        np.testing.assert_array_equal(resumed.labels_, reference.labels_)
        np.testing.assert_array_equal(resumed.embedding_, reference.embedding_)


def test_a_finished_run_is_not_repeated(views, tmp_path):
    stored = in_parts(views, tmp_path)
    fitted(stored, work=tmp_path / "work")
    said = []
    with listening(said.append):
        fitted(stored, work=tmp_path / "work")
    assert not [text for text in said if text.startswith(("links", "k-means step"))]
    with pytest.raises(InputError, match=r"another run.*n_neighbors"):
        fitted(stored, work=tmp_path / "work", n_neighbors=7)


def test_a_damaged_result_in_the_work_folder_is_computed_again(views, tmp_path):
    reference = fitted(views, work=tmp_path)
    for path in sorted((tmp_path / "results").glob("links-*.npz")):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 255
        path.write_bytes(data)
    np.testing.assert_array_equal(fitted(views, work=tmp_path).labels_, reference.labels_)


def test_embeddings_too_large_for_memory_become_parts(views, monkeypatch):
    reference = fitted(views)
    monkeypatch.setattr("mkclust.chunked.row_run.KEPT_EMBEDDING", 1000)
    found = fitted(views)
    assert isinstance(found.embedding_, PartsSource)
    np.testing.assert_array_equal(np.asarray(found.embedding_), reference.embedding_)


def test_eigenvectors_of_drawn_rows_are_told(views, monkeypatch):
    reference = fitted(views)
    monkeypatch.setattr("mkclust.chunked.anchor_run.ITERATED", 1000)
    found = fitted(views)
    assert not np.array_equal(found.embedding_, reference.embedding_)
    assert not any("eigenvectors from" in note for note in reference.notes_)
    told = re.search(r"eigenvectors from (\d+) samples", " ".join(found.notes_))
    assert 1000 <= int(told[1]) < 1100
    assert adjusted_rand_score(found.labels_, reference.labels_) > 0.98
    np.testing.assert_allclose(found.eigenvalues_, reference.eigenvalues_, rtol=0.05)
    length, expected = (np.linalg.norm(each.embedding_) for each in (found, reference))
    assert length == pytest.approx(expected, rel=0.05)
    np.testing.assert_array_equal(fitted(views).embedding_, found.embedding_)


def test_progress_says_rate_and_time_left(views):
    said = []
    with listening(said.append):
        fitted(views)
    assert any("100 %" in text and "rows/s, 0:00:00 left" in text for text in said)


class TestFaults:
    def test_nan_in_a_late_row_is_named_before_the_work(self, views, tmp_path):
        stored, said = in_parts(views, tmp_path), []
        part = np.load(stored[1] / "part-4.npy")
        part[399, 1] = np.nan
        np.save(stored[1] / "part-4.npy", part)
        problem = r"'view2'.*column 1 of row 1999, which is row 399 of .*part-4\.npy"
        with pytest.raises(InputError, match=problem), listening(said.append):
            fitted(stored)
        assert not [text for text in said if "anchors" in text or "weights" in text]

    @pytest.mark.parametrize("fault", ["missing", "truncated", "width"])
    def test_a_damaged_part_is_refused(self, fault, views, tmp_path):
        stored = in_parts(views, tmp_path)
        path = stored[0] / "part-3.npy"
        if fault == "missing":
            path.unlink()
        elif fault == "truncated":
            path.write_bytes(path.read_bytes()[:-100])
        else:
            np.save(path, np.load(path)[:, :1])
        with pytest.raises(InputError if fault == "missing" else FileFormatError) as caught:
            fitted(stored)
        assert ("part-3.npy" in str(caught.value)) or fault == "missing"

    def test_files_that_change_between_two_passes_are_noticed(self, views, tmp_path):
        stored = in_parts(views, tmp_path)

        def change(message):
            if message.startswith("links"):
                path = stored[0] / "part-0.npy"
                np.save(path, np.load(path) + 1)

        with (
            pytest.raises(InputError, match="files of view 'view1' changed"),
            listening(change),
        ):
            fitted(stored)


def test_command_line_reads_parts_and_writes_parts(views, tmp_path):
    stored, out = in_parts(views, tmp_path), tmp_path / "out"
    arguments = [
        "cluster", *map(str, stored), "-k", "3", "-o", str(out), "--neighbors", "anchors",
        "--work", str(tmp_path / "work"), "--n-init", "2",
    ]  # fmt: skip
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "neighbors by links to" in done.output
    labels = np.concatenate([np.load(p) for p in sorted((out / "labels").glob("*.npy"))])
    np.testing.assert_array_equal(labels, fitted(views).labels_)
    result = json.loads((out / "result.json").read_text())
    assert result["fitted"]["neighbor_search"] == "anchors"
    assert result["description"][0].startswith("Anchor graphs: each sample is linked to")


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    gc.collect()  # a client finalized while the cluster starts would block it
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    import distributed

    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=300)  # on a busy machine they start late
        yield client


class TestDask:
    def test_two_workers_give_the_bits_of_one_machine(self, views, tmp_path, client):
        stored = in_parts(views, tmp_path)
        reference, found = fitted(stored), fitted(stored, dask=client)
        np.testing.assert_array_equal(found.labels_, reference.labels_)
        np.testing.assert_array_equal(found.embedding_, reference.embedding_)

    @pytest.mark.parametrize("moment", ["links", "embedding"])
    def test_a_worker_killed_in_the_middle_changes_nothing(self, moment, views, tmp_path, client):
        stored, killed = in_parts(views, tmp_path), []
        victim = next(iter(client.run(os.getpid).values()))

        def kill_once(message):
            if message.startswith(moment) and not killed:
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

        with listening(kill_once):
            found = fitted(stored, dask=client)
        assert killed
        np.testing.assert_array_equal(found.labels_, fitted(stored).labels_)
