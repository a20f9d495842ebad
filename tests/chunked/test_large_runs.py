"""The large-n route end to end: equal to the exact one, from any storage, when interrupted."""

import json
import random

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

from _support.planted import projector
from mkclust import MKCDNM, MultiView
from mkclust.chunked import kmeans as kmeans_module
from mkclust.chunked import passes, rows
from mkclust.chunked.engine import LocalEngine
from mkclust.chunked.project import Block
from mkclust.chunked.rows import Rows
from mkclust.chunked.sources import PartsSource
from mkclust.cli.app import app
from mkclust.data.datasets import load_mfeat, make_views
from mkclust.exceptions import InfeasibleError, InfeasibleWarning, InputError
from mkclust.kernels.approximation import fits_in_memory
from mkclust.linalg.kmeans import unit_rows
from mkclust.progress import listening

K = 3


@pytest.fixture(scope="module")
def views():
    return make_views(3000, n_clusters=K, n_views=3, noise=0.4, random_state=0)


@pytest.fixture
def small_pieces(monkeypatch):
    """Many pieces, many stretches, and a k-means that needs its blocks."""
    monkeypatch.setattr(rows, "PIECE", 40_000)
    monkeypatch.setattr(passes, "STRETCH", 3)
    monkeypatch.setattr(kmeans_module, "SAMPLE", 100)


def approximated(views, **settings):
    settings = {"random_state": 0, "n_components": 40, "n_init": 2} | settings
    return MKCDNM(K, approximation="nystroem", **settings).fit(views)


@pytest.mark.parametrize("solver", ["authors", "paper", "exact"])
def test_all_landmarks_are_the_exact_route(solver):
    views = load_mfeat()[::4].select(["fou", "zer", "mor"])
    exact = MKCDNM(10, solver=solver, random_state=0).fit(views)
    found = MKCDNM(
        10, solver=solver, approximation="nystroem", n_components=500, random_state=0
    ).fit(views)
    assert (exact.approximation_, found.approximation_) == (None, "nystroem")
    np.testing.assert_array_equal(found.dimensions_, exact.dimensions_)
    np.testing.assert_allclose(projector(found.embedding_), projector(exact.embedding_), atol=1e-6)
    np.testing.assert_array_equal(found.labels_, exact.labels_)
    np.testing.assert_allclose(found.agreement_, exact.agreement_, atol=1e-8)
    for part in ("null", "column", "cross"):
        np.testing.assert_allclose(
            getattr(found.noise_, part), getattr(exact.noise_, part), atol=1e-8
        )
    assert str(found.certificate_) == str(exact.certificate_)


@pytest.mark.slow
def test_all_landmarks_are_the_exact_route_at_two_thousand_samples():
    views = load_mfeat().select(["fou", "mor"])
    settings = {"kernel": {"fou": "linear", "mor": "gaussian"}, "n_components": 2000}
    exact, found = (
        MKCDNM(10, approximation=a, random_state=0, **settings).fit(views)
        for a in (None, "nystroem")
    )
    gap = projector(found.embedding_) - projector(exact.embedding_)
    np.testing.assert_allclose(gap, 0, atol=1e-6)
    np.testing.assert_array_equal(found.labels_, exact.labels_)


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.InfeasibleWarning")
@pytest.mark.parametrize(
    ("kernel", "center", "normalize"),
    [
        ("linear", True, True),
        ("cosine", True, False),
        ("rbf", False, True),
        ("linear", False, False),
    ],
)
def test_every_recipe_agrees_with_its_kernel(kernel, center, normalize, views):
    some = views[:400]
    settings = {"kernel": kernel, "center": center, "normalize": normalize, "random_state": 0}
    exact = MKCDNM(K, **settings).fit(some)
    found = MKCDNM(K, approximation="nystroem", n_components=400, **settings).fit(some)
    np.testing.assert_array_equal(found.dimensions_, exact.dimensions_)
    gap = projector(found.embedding_) - projector(exact.embedding_)
    np.testing.assert_allclose(gap, 0, atol=1e-6)


@pytest.mark.parametrize("method", ["nystroem", "fourier"])
def test_few_features_find_the_clusters(method, views):
    model = MKCDNM(K, approximation=method, n_components=60, random_state=0).fit(views)
    assert adjusted_rand_score(views.labels, model.labels_) > 0.98
    assert model.approximation_ == method
    assert "3000 samples: kernels approximated by" in model.notes_[0]


def test_auto_is_exact_up_to_twenty_thousand(monkeypatch, views):
    model = MKCDNM(K, random_state=0)
    assert model.fit(views[:300]).approximation_ is None
    monkeypatch.setattr("mkclust.kernels.approximation.IN_MEMORY_UP_TO", 200)
    assert model.fit(views[:300]).approximation_ == "nystroem"
    assert model.set_params(approximation=None).fit(views[:300]).approximation_ is None
    assert model.set_params(approximation="none").fit(views[:300]).approximation_ is None


def test_auto_leaves_what_has_no_features_to_the_exact_route(monkeypatch, views):
    monkeypatch.setattr("mkclust.kernels.approximation.IN_MEMORY_UP_TO", 200)
    some, kernel = views[:300], "self-tuning"
    assert MKCDNM(K, kernel=kernel, random_state=0).fit(some).approximation_ is None
    with pytest.raises(InputError, match="'self-tuning' has no explicit features"):
        MKCDNM(K, kernel=kernel, approximation="nystroem").fit(some)


def test_memory_counts_too(monkeypatch):
    monkeypatch.setattr("mkclust.kernels.approximation.physical_memory", lambda: 1e9)
    assert fits_in_memory(4_000) and not fits_in_memory(5_000)


@pytest.mark.parametrize("kind", ["npy", "memmap", "parquet", "zarr", "dask", "mixed"])
def test_every_storage_gives_the_same_answer(kind, views, tmp_path, small_pieces):
    reference = approximated(views)
    stored = {}
    for p, (name, X) in enumerate(zip(views.names, views.views, strict=True)):
        each = ["npy", "zarr", "dask"][p] if kind == "mixed" else kind
        stored[name] = storage(each, X, tmp_path / name)
    found = approximated(stored)
    np.testing.assert_array_equal(found.labels_, reference.labels_)
    np.testing.assert_array_equal(found.embedding_, reference.embedding_)
    assert list(found.view_names_in_) == list(views.names)


def storage(kind, X, folder):
    folder.mkdir()
    if kind == "npy":
        for number, rows_ in enumerate(np.array_split(X, 5)):
            np.save(folder / f"part-{number}.npy", rows_)
        return folder
    if kind == "parquet":
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        for number, rows_ in enumerate(np.array_split(X, 5)):
            frame = pandas.DataFrame(rows_, columns=[f"c{j}" for j in range(X.shape[1])])
            frame.to_parquet(folder / f"part-{number}.parquet")
        return str(folder)
    if kind == "memmap":
        np.save(folder / "x.npy", X)
        return np.load(folder / "x.npy", mmap_mode="r")
    if kind == "zarr":
        return pytest.importorskip("zarr").create_array(folder / "z", data=X, chunks=(500, 2))
    return pytest.importorskip("dask.array").from_array(X, chunks=(700, 2))


def test_threads_do_not_change_a_bit(views, small_pieces):
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(approximated(views))
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)


def test_small_stored_views_take_the_exact_route(views, tmp_path):
    few = views[:200]
    reference = MKCDNM(K, random_state=0).fit(few)
    stored = {name: storage("npy", few[name], tmp_path / name) for name in few.names}
    found = MKCDNM(K, random_state=0).fit(stored)
    assert found.approximation_ is None
    np.testing.assert_array_equal(found.embedding_, reference.embedding_)


@pytest.mark.slow
def test_interrupted_at_random_and_resumed_ten_times(views, tmp_path, small_pieces):
    reference = approximated(views)
    moments = []
    with listening(moments.append):
        approximated(views, work=tmp_path / "whole")
    chance = random.Random(0)
    for trial in range(10):
        work, left = tmp_path / f"work{trial}", [chance.randrange(len(moments))]

        def interrupt(message, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt(message)

        with pytest.raises(KeyboardInterrupt), listening(interrupt):
            approximated(views, work=work)
        assert not [*work.rglob("*.tmp")]
        resumed = approximated(views, work=work)
        np.testing.assert_array_equal(resumed.labels_, reference.labels_)
        np.testing.assert_array_equal(resumed.embedding_, reference.embedding_)


def test_killed_between_a_file_and_its_seal(views, tmp_path, small_pieces, monkeypatch):
    """As if the process ended at any rename: what is half done is done again."""
    reference = approximated(views)
    replace = __import__("os").replace
    for stop in (1, 2, 5, 8, 30):
        left = [stop]

        def sometimes(source, target, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            replace(source, target)

        monkeypatch.setattr("mkclust.io.atomic.os.replace", sometimes)
        with pytest.raises(KeyboardInterrupt):
            approximated(views, work=tmp_path / str(stop))
        monkeypatch.setattr("mkclust.io.atomic.os.replace", replace)
        resumed = approximated(views, work=tmp_path / str(stop))
        np.testing.assert_array_equal(resumed.labels_, reference.labels_)


def test_a_finished_run_is_not_repeated_and_another_k_reuses_it(views, tmp_path, small_pieces):
    approximated(views, work=tmp_path)
    said = []
    with listening(said.append):
        approximated(views, work=tmp_path)
    assert not [text for text in said if text.startswith(("means", "cross"))]
    other = MKCDNM(4, approximation="nystroem", n_components=40, n_init=2, random_state=0)
    with listening(said.append):
        other.set_params(work=tmp_path).fit(views)
    assert not [text for text in said if text.startswith(("means", "cross"))]
    with pytest.raises(InputError, match="another run"):
        approximated(views, work=tmp_path, n_components=41)
    with pytest.raises(InputError, match="random_state"):
        approximated(views, work=tmp_path, random_state=None)


def test_progress_says_rate_and_time_left(views, small_pieces):
    said = []
    with listening(said.append):
        approximated(views)
    assert any("cross-products: 100 %" in text and "rows/s, 0:00:00 left" in text for text in said)


def test_embeddings_too_large_for_memory_become_parts(views, monkeypatch, small_pieces):
    reference = approximated(views)
    monkeypatch.setattr("mkclust.chunked.row_run.KEPT_EMBEDDING", 1000)
    found = approximated(views)
    assert isinstance(found.embedding_, PartsSource)
    folder = found.embedding_.parts[0].path.parent
    np.testing.assert_array_equal(np.asarray(found.embedding_), reference.embedding_)
    np.testing.assert_array_equal(found.labels_, reference.labels_)
    del found
    assert not folder.exists()


def test_relaxed_constraints_are_warned_of_and_unrelated_views_named():
    views = make_views(3000, n_clusters=5, n_views=3, noise=0.2, random_state=0)
    settings = {"approximation": "nystroem", "n_components": 50, "random_state": 0}
    with pytest.warns(InfeasibleWarning, match="cannot reach an overlap of 5"):
        clean = MKCDNM(5, **settings).fit(views)
    assert clean.unrelated_views_ == []
    assert "cannot reach an overlap of 5" in clean.notes_[1]
    assert clean.dimensions_.max() <= 2 * 5
    noise = np.random.default_rng(0).normal(size=(3000, 10))
    with pytest.warns(InfeasibleWarning, match="Unrelated to every other view: noise"):
        model = MKCDNM(5, **settings).fit(
            dict(zip(views.names, views.views, strict=True)) | {"noise": noise}
        )
    assert model.unrelated_views_ == ["noise"]
    with pytest.raises(InfeasibleError):
        MKCDNM(5, on_infeasible="raise", **settings).fit(views)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"approximation": "magic"}, "approximation must be one of"),
        ({"n_components": 2}, "n_components must be"),
        ({"n_components": 50.5}, "n_components must be"),
        ({"kernel_params": {"gamma": 1.0}}, "do not fit"),
        ({"kernel": "polynomial", "kernel_params": {"degree": 0}}, "whole degree"),
    ],
)
def test_settings_are_checked(settings, message, views):
    with pytest.raises(InputError, match=message):
        MKCDNM(K, **{"approximation": "nystroem"} | settings).fit(views)


def test_a_view_that_is_constant_or_too_large_is_named(views):
    bad = {"fine": views.views[0], "flat": np.ones((3000, 2))}
    with pytest.raises(InputError, match=r"view 'flat'.*constant"):
        approximated(bad)
    same_direction = np.outer(np.arange(1.0, 3001), [1.0, 2.0])
    with pytest.raises(InputError, match="view 'flat' is constant"):
        approximated(bad | {"flat": same_direction}, kernel="cosine")
    huge = views.views[0] * 1e200
    with pytest.raises(InputError, match=r"'flat'.*scale its columns"):
        approximated(bad | {"flat": huge})


def test_kmeans_over_blocks_is_lloyd():
    random_ = np.random.default_rng(0)
    y = random_.integers(6, size=30_000)
    H = random_.normal(size=(6, 6))[y] + 0.15 * random_.normal(size=(30_000, 6))
    cuts = range(0, 30_000, 4000)
    blocks = [Block(a, min(a + 4000, 30_000), H[a : a + 4000]) for a in cuts]
    found = kmeans_module.kmeans(blocks, 6, 5, 0, LocalEngine(2), sample=3000)
    model = KMeans(6, n_init=5, random_state=0).fit(unit_rows(H))
    assert found.inertia == pytest.approx(model.inertia_, rel=1e-3)
    assert adjusted_rand_score(found.labels, model.labels_) > 0.999
    U = unit_rows(H)
    squared = ((U[:, None] - found.centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found.labels, squared.argmin(axis=1))
    assert found.inertia == pytest.approx(squared.min(axis=1).sum())


def test_an_empty_cluster_starts_anew_at_the_farthest_rows():
    U = unit_rows(np.random.default_rng(0).normal(size=(500, 3)))
    blocks = [Block(0, 250, U[:250]), Block(250, 500, U[250:])]
    centres = np.vstack([U[:2], [[9, 9, 9]], [[-9, 9, 9]]])
    task = kmeans_module.LloydTask(centres)
    found = passes.total("step", task, blocks, LocalEngine(1), None)
    assert found["counts"].tolist()[2:] == [0, 0]
    moved = kmeans_module._moved(found, centres, blocks, LocalEngine(1))
    squared = ((U[:, None] - centres) ** 2).sum(axis=2).min(axis=1)
    np.testing.assert_allclose(moved[2:], U[np.argsort(-squared)[:2]])


def test_command_line_reads_parts_and_writes_parts(views, tmp_path, monkeypatch):
    monkeypatch.setattr("mkclust.cli.results.PART", 1000)
    for name, X in zip(views.names, views.views, strict=True):
        storage("npy", X, tmp_path / name)
    np.save(tmp_path / "classes.npy", views.labels)
    out = tmp_path / "out"
    arguments = [
        "cluster", *(str(tmp_path / name) for name in views.names), "-k", "3", "-o", str(out),
        "--method", "mkc-dnm", "--approximation", "nystroem", "--n-components", "40",
        "--work", str(tmp_path / "work"),
        "--labels", str(tmp_path / "classes.npy"),
    ]  # fmt: skip
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "3000 samples: kernels approximated by" in done.output
    labels = np.concatenate([np.load(p) for p in sorted((out / "labels").glob("*.npy"))])
    reference = approximated(views, n_init=10)
    np.testing.assert_array_equal(labels, reference.labels_)
    H = np.concatenate([np.load(p) for p in sorted((out / "embedding").glob("*.npy"))])
    np.testing.assert_array_equal(H, reference.embedding_)
    assert len([*(out / "labels").glob("*.npy")]) == 3
    result = json.loads((out / "result.json").read_text())
    assert result["fitted"]["approximation"] == "nystroem"
    assert result["metrics"]["ari"] > 0.95


def test_rows_given_as_such_and_multiview_agree(views):
    named = dict(zip(views.names, views.views, strict=True))
    a, b = approximated(Rows(named)), approximated(MultiView(named))
    np.testing.assert_array_equal(a.labels_, b.labels_)


def test_a_model_fitted_again_keeps_nothing_of_the_other_route(views):
    model = MKCDNM(K, random_state=0, n_components=40).fit(views[:300])
    assert hasattr(model, "_spectra")
    model.set_params(approximation="nystroem").fit(views)
    assert not hasattr(model, "_spectra") and len(model.labels_) == 3000
    model.set_params(approximation=None).fit(views[:300])
    assert not hasattr(model, "stage_seconds_") and model.embedding_.shape == (300, K)


def test_one_view_and_one_cluster(views):
    assert approximated(views.views[0]).dimensions_.tolist() == [K]
    one = MKCDNM(1, approximation="nystroem", n_components=20, random_state=0).fit(views)
    assert set(one.labels_.tolist()) == {0}


def test_what_only_large_runs_use_is_said_not_to_have_been_used(tmp_path):
    views = make_views(60, 3, 2, random_state=0)
    model = MKCDNM(3, work=tmp_path / "work", dask="localhost:1", random_state=0).fit(views)
    assert model.notes_[0].startswith("work and dask were not used: the kernels of 60 samples fit")
    assert not (tmp_path / "work").exists()
    assert MKCDNM(3, random_state=0).fit(views).notes_ == model.notes_[1:]
