"""No answer is wrong in silence: properties of whole runs by public functions and commands."""

import json
import os
import resource
import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from _support.whole_runs import (
    CHUNKS,
    QUICK,
    blas_threads_now,
    contents,
    in_child,
    labels_in,
    message_of,
    mkclust,
    planted,
    shell,
    sparse_topics,
    text_of,
    two_blas_threads,
    write_cells,
    write_keyed,
    write_parts,
    write_tables,
)
from mkclust import METHODS, MKCDNM, MultiView, cluster, inspect, metrics, read

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs fork, limits and named pipes")


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_results_never_replace_an_input_file():
    write_tables(planted().views)
    Path("d/labels.csv").write_text("".join(f"{c}\n" for c in ["class", *np.arange(60) % 3]))
    before = contents("d")
    for more in ((), ("--overwrite",)):
        code, _, err = mkclust("cluster", "d", "-k", 3, "-o", "d", *QUICK, *more)
        assert contents("d") == before
        assert code == 2 and "labels.csv" in err and "input of this run" in err


def test_results_never_replace_a_view_in_parts():
    write_parts(planted().views, ("colour", "embedding"))
    before = contents("p")
    for more in ((), ("--overwrite",)):
        code, _, err = mkclust("cluster", "p", "-k", 3, "-o", "p", *CHUNKS, *QUICK, *more)
        assert contents("p") == before
        assert code == 2 and "embedding/part-0.npy" in err


def test_results_never_remove_files_of_others():
    write_tables(planted().views)
    Path("mine/labels").mkdir(parents=True)
    for name in ("result.json", "graph.npz", "report.html", "stability.csv", "labels/part-1.npy"):
        Path("mine", name).write_text("{}")
    before = contents("mine")
    mkclust("cluster", "d", "-k", 3, "-o", "mine", *QUICK)
    assert contents("mine") == before


def test_results_beside_the_input_are_not_read_as_views_or_classes():
    write_tables(planted().views)
    command = ("cluster", "d", "-k", 3, "-o", "d", "--no-report", "--stability")
    assert mkclust(*command)[0] == 0
    first = labels_in("d")
    code, out, _ = mkclust(*command)
    assert code == 0 and "60 samples, 2 views, 3 clusters" in out and "ACC" not in out
    assert "stability.csv in the folder, which are results of mkclust." in out
    np.testing.assert_array_equal(labels_in("d"), first)


@linux
def test_wide_sparse_views_stay_sparse():
    """Two views of 300 x 2^20 numbers, of which 0.5 MB are stored, with 2 GiB of memory."""
    topics = np.repeat([0, 1], 150)
    views = sparse_topics(topics, 2**20)

    def fit():
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30),) * 2)
        return metrics.accuracy(topics, cluster(views, 2, random_state=0).labels_) < 1

    assert in_child(fit) == 0


@pytest.mark.parametrize("key", ["participant_id", "user_id", "case_id", "doc_id"])
def test_rows_are_joined_by_a_key_of_any_usual_name(key):
    truth = write_keyed(key)
    code, out, _ = mkclust("cluster", "d", "-k", 3, *QUICK)
    assert code == 0 and metrics.accuracy(truth, labels_in()) > 0.9
    assert key in out and "names the samples" in out


def test_another_key_is_named_with_the_option_that_uses_it():
    truth = write_keyed("unit")
    code, out, _ = mkclust("cluster", "d", "-k", 3, *QUICK)
    assert code == 0 and "Column 'unit' has the same distinct values" in out
    code, out, _ = mkclust("cluster", "d", "-k", 3, *QUICK, "--id", "unit")
    assert code == 0 and metrics.accuracy(truth, labels_in()) > 0.9
    assert "has a different whole number" not in out


@pytest.mark.filterwarnings("ignore")
def test_masked_rows_are_missing_rows():
    """The rows under the mask are those of other samples."""
    A, B = planted().views
    gone = np.repeat(np.arange(60) % 3 == 0, 10).reshape(60, 10)
    both = np.ma.array(np.where(gone, A[::-1], A), mask=gone), np.where(gone, np.nan, A)
    masked, missing = (cluster([X, B], 3, random_state=0).labels_ for X in both)
    np.testing.assert_array_equal(masked, missing)


def test_datetimes_are_not_numbers():
    dates = np.array([["2020-01-01", "NaT"], ["2020-01-03", "2020-01-04"]] * 30, dtype="M8[D]")
    said = message_of(lambda: cluster([dates, planted().views[0]], 2))
    assert "datetime" in said and "NaT" not in said


@pytest.mark.parametrize("method", [(), ("--method", "akkm"), ("--method", "oplf")])
def test_equal_samples_share_a_cluster(method):
    random, group = np.random.default_rng(0), np.repeat([0, 1], [500, 3])
    write_tables([random.standard_normal((2, f))[group] for f in (5, 4)])
    code, out, _ = mkclust("cluster", "d", "-k", 2, *method, *QUICK)
    assert code == 0 and sorted(np.bincount(labels_in())) == [3, 500]
    assert "501 of 503 samples are equal to others" in out


@pytest.mark.parametrize("factor", [1e6, 1e12])
@pytest.mark.parametrize("method", [(), CHUNKS[:4]])
def test_a_sample_that_would_decide_alone_is_named(method, factor):
    views = planted(120, 3).views
    for X in views:
        X[17] *= factor
    write_tables(views)
    code, out, _ = mkclust("cluster", "d", "-k", 3, *method, *QUICK)
    assert code == 0 and "sample 17: values up to" in out


def test_columns_that_are_constant_up_to_rounding_have_no_effect():
    random, views = np.random.default_rng(0), planted(120, 3)
    noise = np.where(random.random((120, 200)) < 0.5, 0.1, np.nextafter(0.1, 1))
    wide = [np.hstack([X, noise]) for X in views.views]
    model = MKCDNM(3, kernel="gaussian", random_state=0)
    assert metrics.accuracy(model.fit(views).labels_, model.fit(wide).labels_) == 1.0
    before, after = (cluster(given, 3, random_state=0).labels_ for given in (views, wide))
    assert metrics.accuracy(before, after) == 1.0


def test_the_default_refuses_indefinite_kernels():
    A = np.random.default_rng(0).standard_normal((60, 60))
    kernels = MultiView([A + A.T + 5 * np.eye(60), np.eye(60) + 0.1], kernels=True)
    assert "'view1' is indefinite" in message_of(lambda: cluster(kernels, 3))


def test_distances_and_affinities_are_not_called_constant():
    fits = (cluster, lambda views, k: MKCDNM(k, kernel="precomputed").fit(views))
    X = planted().views[0]
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    A = np.exp(-D / D.mean()) - np.eye(60)
    for (K, name), fit in product(((D, "distance matrix"), (A, "affinity")), fits):
        said = message_of(lambda K=K, fit=fit: fit(MultiView([K, K], kernels=True), 3))
        assert "diagonal is zero" in said and name in said and "constant" not in said


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_the_number_of_clusters_of_narrow_and_of_yes_no_tables(kernel):
    random = np.random.default_rng(0)
    yes_no = [(random.random((40, 3)) < 0.5).astype(float) for _ in range(2)]
    narrow = [np.eye(3)[np.arange(30) % 3, :2] + random.random((30, 2)) / 9 for _ in range(2)]
    for name, views in (("yes-no", yes_no), ("narrow", narrow)):
        write_tables(views, name)
        options = ("-k", "auto", "--method", "mkc-dnm", "--kernel", kernel, *QUICK)
        code, _, err = mkclust("cluster", name, *options)
        assert code == 0, err


@pytest.fixture
def views_file():
    views = planted(40)
    np.savez("views.npz", **dict(zip(("rna", "atac\x1b[2J\x07"), views.views, strict=True)))


@linux
@pytest.mark.parametrize("end", ["| head -1", ">&- 2>&- <&-"])
def test_a_reader_that_stops_reading_or_never_began_loses_nothing(views_file, end):
    code, _, err = shell(f"MKCLUST cluster views.npz -k 3 {' '.join(QUICK)} --save m.npz {end}")
    assert code == 0 and err == b""
    assert Path("m.npz").exists() and Path("mkclust-out/result.json").exists()


@linux
def test_a_full_disk_is_named_with_the_file(views_file):
    command = ("cluster", "views.npz", "-k", 3, *QUICK, "--save")
    assert mkclust(*command, "first.npz")[0] == 0

    def on_a_full_disk():
        limit = Path("first.npz").stat().st_size - 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        code, _, err = mkclust(*command, "m.npz", "-o", "second")
        Path("said").write_text(err)
        return code

    assert in_child(on_a_full_disk) == 1
    assert "m.npz: File too large; the results are in second" in Path("said").read_text()
    assert len(labels_in("second")) == 40 and not Path("m.npz").exists()


def test_a_folder_as_target_of_save_is_refused_before_the_fit(views_file):
    Path("models").mkdir()
    code, _, err = mkclust("cluster", "views.npz", "-k", 3, *QUICK, "--save", "models")
    assert code == 2 and "models is a folder" in err and not Path("mkclust-out").exists()


@linux
def test_file_names_that_are_not_utf8():
    os.mkdir(b"data\xff")
    for name, X in zip((b"a\xff.csv", b"a\xfe.csv"), planted().views, strict=True):
        with open(b"data\xff/" + name, "w") as file:
            np.savetxt(file, X, delimiter=",")
    line = "MKCLUST cluster $'data\\xff' -k 3 --no-stability -o $'out\\xff' --save $'m\\xff.npz'"
    code, _, err = shell(line)
    assert code == 0 and b"Traceback" not in err
    assert {b"result.json", b"labels.csv", b"report.html"} <= {*os.listdir(b"out\xff")}
    assert os.path.exists(b"m\xff.npz")
    result = json.loads(Path(os.fsdecode(b"out\xff")).joinpath("result.json").read_text())
    assert {*result["input"]["views"]} == {"a\\xff", "a\\xfe"}


def test_concurrent_fits_leave_blas_as_it_was_and_give_the_labels_of_one_after_another():
    def fitted(seed):
        if seed % 2:
            return cluster(views, 3, random_state=seed).labels_
        return MKCDNM(3, kernel="gaussian", random_state=seed).fit(views).labels_

    views = planted(90, 3)
    with two_blas_threads():
        alone = [fitted(seed) for seed in range(8)]
        for _ in range(3):
            with ThreadPoolExecutor(4) as pool:
                together = list(pool.map(fitted, range(8)))
            assert blas_threads_now() == {2}
            np.testing.assert_array_equal(together, alone)


@linux
def test_files_of_two_runs_are_never_mixed_in_silence():
    """A run of three clusters in place of one of two is killed at each of its renames in turn."""

    def killed():
        step[0] -= 1
        if step[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def second_run():
        real = os.replace
        os.replace = lambda *arguments: (killed(), real(*arguments))
        return mkclust("cluster", "d", "-k", 3, "-o", "out", *QUICK)[0]

    write_tables(planted().views)
    assert mkclust("cluster", "d", "-k", 2, "-o", "first", *QUICK)[0] == 0
    for number in range(20):
        shutil.rmtree("out", ignore_errors=True)
        shutil.copytree("first", "out")
        step = [number]
        ended = in_child(second_run)
        clusters = json.loads(Path("out/result.json").read_text())["clusters"]
        runs = {len(np.unique(labels_in("out"))), len(clusters)}
        if ended == 0:
            break
        manifest = Path("out/mkclust.json")
        told = manifest.exists() and not json.loads(manifest.read_text())["complete"]
        assert ended == -signal.SIGKILL and (told or len(runs) == 1)
    assert number > 2 and runs == {3}


@linux
def test_a_full_disk_leaves_no_old_report_beside_new_results():
    write_tables(planted().views)
    command = ("cluster", "d", "--no-stability", "-o", "out", "-k")
    assert mkclust(*command, 2)[0] == 0
    before = contents("out")

    def on_a_full_disk():
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before["report.html"]) // 2,) * 2)
        return mkclust(*command, 3)[0]

    assert in_child(on_a_full_disk) == 1
    assert contents("out") == before


def test_an_unrelated_view_has_no_weight_or_the_reason_is_told():
    """Views whose clusters are their own, with too little agreement to weight them."""
    random, y = np.random.default_rng(13), np.arange(40) % 2
    draws = [random.standard_normal((40, 5)) for _ in range(3)]
    own = 4 * np.eye(2, 5)[random.permutation(y)] + random.standard_normal((40, 5))
    write_tables([4 * np.eye(2, 5)[y] + draws[2], own, random.standard_normal((40, 5))])
    code, out, _ = mkclust("cluster", "d", "-k", 2, *QUICK)
    assert code == 0 and "v2 (unrelated)" in out
    assert "No two views agree beyond chance: the weights follow from redundancy alone." in out


def test_nan_is_called_nan():
    X, Y = (view.copy() for view in planted().views)
    X[4, 7] = np.nan
    said = message_of(lambda: cluster([X, Y], 3))
    assert "row 4, column 7" in said and "NaN" in said and "inf" not in said


@linux
def test_reading_sets_no_limit_of_the_process(monkeypatch):
    calls, real = [], resource.setrlimit
    monkeypatch.setattr(resource, "setrlimit", lambda *a: (calls.append(a), real(*a)))
    assert read(write_cells()).shape == (3, 2) and len(inspect(write_cells())) == 1
    assert calls == []


@pytest.mark.parametrize("options", [None, (), ("--views", "absent"), ("--labels", "absent")])
def test_terminal_escapes_in_names_are_not_printed(views_file, options):
    command = ("inspect",) if options is None else ("cluster", "-k", 3, *QUICK, *options)
    _, out, err = mkclust(*command, "views.npz")
    assert "atac" in out + err and not {"\x1b", "\x07"} & {*(out + err)}


@linux
def test_a_named_pipe_among_parts_is_refused():
    Path("p/a").mkdir(parents=True)
    np.save("p/a/part-0.npy", np.ones((4, 2)))
    os.mkfifo("p/a/part-1.npy")

    def command():
        signal.alarm(60)
        return mkclust("cluster", "p", "-k", 2, *QUICK)[0]

    assert in_child(command) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cluster([pd.DataFrame()] * 2, 2), "view 'view1' is empty"),
        (lambda: cluster([[[10**400, 1], [2, 3], [4, 5]]], 2), "too large to convert"),
        (lambda: MKCDNM(2, kernel="rbf", kernel_params=5).fit(planted()), "kernel_params must be"),
        (lambda: METHODS["spmkc"](3, lam1=1e308).fit(planted(30)), "lam1 must be"),
        (lambda: METHODS["cagl"](3, alpha=1e308).fit(planted(30)), "alpha must be"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_wrong_input_is_named(call, message):
    assert message in message_of(call)


@linux
def test_a_sparse_matrix_with_an_index_out_of_range_is_refused():
    def fit():
        X = sp.csr_array(np.where(planted().views[0] > 0, 1.0, 0))
        X.indices[3] = 10**8
        return 0 if "indices outside its shape" in message_of(lambda: cluster([X, X], 3)) else 1

    assert in_child(fit) == 0


@pytest.mark.parametrize("program", ["decimal commas", "R", "Excel"])
def test_tables_of_other_programs_are_read(program):
    views = planted()
    Path("d").mkdir()
    for name, X in zip("ab", views.views, strict=True):
        Path(f"d/{name}.csv").write_text(text_of(X, program))
    code, _, err = mkclust("cluster", "d", "-k", 3, *QUICK)
    assert code == 0, err
    assert metrics.accuracy(views.labels, labels_in()) == 1.0
