"""The dask engine: the same labels as one machine, also when a worker is killed."""

import gc
import os
import signal
from contextlib import contextmanager

import numpy as np
import pytest

from mkclust import MKCDNM
from mkclust.chunked import kmeans as kmeans_module
from mkclust.chunked import passes, rows
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError
from mkclust.progress import listening

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
K = 3


def two_workers():
    # A client of an earlier test that is finalized while the cluster starts would block it.
    gc.collect()
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )


@contextmanager
def client_of(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=300)  # on a busy machine they start late
        yield client


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with client_of(cluster) as client:
        yield client


@pytest.fixture
def own_client():
    """Return a client whose workers no other test needs: a killed one may not come back."""
    with two_workers() as cluster, client_of(cluster) as client:
        yield client


@pytest.fixture
def stored(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "PIECE", 120_000)
    monkeypatch.setattr(passes, "STRETCH", 4)
    monkeypatch.setattr(kmeans_module, "SAMPLE", 100)
    views = make_views(3000, n_clusters=K, n_views=3, noise=0.4, random_state=0)
    for name, X in zip(views.names, views.views, strict=True):
        (tmp_path / name).mkdir()
        for number, part in enumerate(np.array_split(X, 4)):
            np.save(tmp_path / name / f"part-{number}.npy", part)
    return [tmp_path / name for name in views.names]


def fitted(views, **settings):
    model = MKCDNM(K, approximation="nystroem", n_components=30, n_init=2, random_state=0)
    return model.set_params(**settings).fit(views)


def test_two_workers_give_the_bits_of_one_machine(stored, client):
    reference, found = fitted(stored), fitted(stored, dask=client)
    np.testing.assert_array_equal(found.labels_, reference.labels_)
    np.testing.assert_array_equal(found.embedding_, reference.embedding_)
    assert client.status == "running"


def test_an_address_and_a_work_folder(stored, cluster, tmp_path):
    reference = fitted(stored)
    found = fitted(stored, dask=cluster.scheduler_address, work=tmp_path / "work")
    np.testing.assert_array_equal(found.labels_, reference.labels_)
    again = fitted(stored, work=tmp_path / "work")
    np.testing.assert_array_equal(again.labels_, reference.labels_)


def test_arrays_in_memory_and_dask_arrays(stored, client):
    da = pytest.importorskip("dask.array")
    reference = fitted(stored)
    arrays = [np.concatenate([np.load(f) for f in sorted(p.iterdir())]) for p in stored]
    mixed = [arrays[0], da.from_array(arrays[1], chunks=(900, 2)), stored[2]]
    np.testing.assert_array_equal(fitted(arrays, dask=client).labels_, reference.labels_)
    np.testing.assert_array_equal(fitted(mixed, dask=client).labels_, reference.labels_)


@pytest.mark.parametrize("moment", ["means", "cross-products", "embedding", "k-means step 1"])
def test_a_worker_killed_in_the_middle_changes_nothing(moment, stored, own_client):
    reference = fitted(stored)
    victims = [*own_client.run(os.getpid).values()]
    killed = []

    def kill_once(message):
        if message.startswith(moment) and not killed:
            killed.append(victims[0])
            os.kill(victims[0], signal.SIGKILL)

    with listening(kill_once):
        found = fitted(stored, dask=own_client)
    assert killed
    np.testing.assert_array_equal(found.labels_, reference.labels_)


def test_errors_of_workers_are_ours(stored, client):
    part = np.load(stored[1] / "part-2.npy")
    part[40, 1] = np.nan
    np.save(stored[1] / "part-2.npy", part)
    with pytest.raises(InputError, match=r"'view2'.*column 1 of row 1540.*part-2\.npy"):
        fitted(stored, dask=client)


def test_no_scheduler_is_a_clear_error(stored, monkeypatch):
    monkeypatch.setattr("mkclust.chunked.distributed.PATIENCE", "1s")
    with pytest.raises(InputError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1:9"):
        fitted(stored, dask="tcp://127.0.0.1:9")


def test_a_worker_without_the_package_is_named(stored):
    with (
        distributed.LocalCluster(n_workers=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.run(exec, "import sys; sys.modules['mkclust'] = None")
        with pytest.raises(InputError, match=r"dask worker tcp://.* lacks mkclust: every worker"):
            fitted(stored, dask=client)
