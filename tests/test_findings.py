"""No answer is wrong in silence, and no name or file of others does harm: whole runs."""

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from mkclust import MKCDNM, SNF, GraphFusion, MultiView, choose_k, cluster, datasets, metrics
from mkclust.data.memory import shared_views
from mkclust.data.values import kind_of
from mkclust.exceptions import InputError
from mkclust.graph_fusion.fusion import missingness_p_value


@pytest.fixture
def rng():
    return np.random.default_rng(0)


linux = pytest.mark.skipif(sys.platform != "linux", reason="needs fork, limits and named pipes")


def in_child(action):
    """Run an action in a child process; return its exit code, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = action() or 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def planted(n=60):
    return datasets.make_views(n, 3, 2, noise=0.5, random_state=0)


@linux
def test_wide_sparse_views_stay_sparse():
    """Two views of 300 x 2^18 numbers, of which 0.2 MB are stored, with 0.5 GiB of memory."""
    random, topics, views = np.random.default_rng(0), np.repeat([0, 1], 150), []
    for _ in range(2):  # 30 words per document, among 40 of its topic
        words = topics[:, None] * 2**17 + random.integers(0, 40, (300, 30))
        at = np.repeat(np.arange(300), 30), words.ravel()
        views.append(sp.csr_array(sp.coo_array((np.ones(9000), at), shape=(300, 2**18))))

    def fit():
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29),) * 2)
        return metrics.accuracy(topics, cluster(views, 2, random_state=0).labels_) < 1

    assert in_child(fit) == 0


def test_distances_and_affinities_are_not_called_constant():
    fits = (cluster, lambda views, k: MKCDNM(k, kernel="precomputed").fit(views))
    X = planted().views[0]
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    A = np.exp(-D / D.mean()) - np.eye(60)
    for (K, name), fit in product(((D, "distance matrix"), (A, "affinity")), fits):
        with pytest.raises(InputError, match=f"diagonal is zero.*{name}") as error:
            fit(MultiView([K, K], kernels=True), 3)
        assert "constant" not in str(error.value)


@linux
def test_file_names_that_are_not_utf8(tmp_path):
    folder = os.fsencode(tmp_path)
    os.mkdir(folder + b"/data\xff")
    for name, X in zip((b"a\xff.csv", b"a\xfe.csv"), planted().views, strict=True):
        with open(folder + b"/data\xff/" + name, "w") as file:
            np.savetxt(file, X, delimiter=",")
    line = f"{shlex.quote(sys.executable)} -m mkclust cluster $'data\\xff' -k 3 -o $'out\\xff'"
    done = subprocess.run(["bash", "-c", line + " --save"], capture_output=True, cwd=tmp_path)
    assert done.returncode == 0 and b"Traceback" not in done.stderr
    written = {*os.listdir(folder + b"/out\xff")}
    assert {b"result.json", b"labels.csv", b"report.html", b"model.npz"} <= written
    result = json.loads(Path(os.fsdecode(folder + b"/out\xff/result.json")).read_text())
    assert {*result["input"]["views"]} == {"a\\udcff", "a\\udcfe"}


@pytest.mark.parametrize("options", [None, (), ("--views", "absent"), ("--labels", "absent")])
def test_terminal_escapes_in_names_are_not_printed(run, tmp_path, options):
    views = dict(zip(("rna", "atac\x1b[2J\x07"), planted(40).views, strict=True))
    np.savez(tmp_path / "views.npz", **views)
    quick = ("-k", 3, "--no-report", "--no-checks")
    command = ("inspect",) if options is None else ("cluster", *quick, *options)
    _, out, err = run(*command, "views.npz")
    assert "atac" in out + err and not {"\x1b", "\x07"} & {*(out + err)}


@linux
def test_a_named_pipe_among_parts_is_refused(run, tmp_path):
    (tmp_path / "p/a").mkdir(parents=True)
    np.save(tmp_path / "p/a/part-0.npy", np.ones((4, 2)))
    os.mkfifo(tmp_path / "p/a/part-1.npy")

    def command():
        signal.alarm(60)
        return run("cluster", "p", "-k", 2, "--no-report", "--no-checks")[0]

    assert in_child(command) == 2


def test_nan_cells_do_not_change_what_columns_are(rng):
    amounts, counts = rng.lognormal(size=(200, 20)), rng.poisson(1.0, (200, 20)).astype(float)
    for X, kind in ((amounts, "measurements"), (counts, "counts")):
        assert kind_of(np.where(rng.random(X.shape) < 0.3, np.nan, X).astype(np.float16)) == kind


def test_a_column_in_a_large_unit_hides_no_others(rng):
    one, two = planted().views
    found = cluster([np.hstack([one, 1e13 + 1e12 * rng.random((60, 1))]), two], 3, verdict=False)
    assert metrics.ari(planted().labels, found.labels_) == 1


def test_a_small_cluster_without_a_view_is_no_dependence():
    labels, present = np.repeat([0, 1], [98, 2]), np.ones((100, 2), dtype=bool)
    present[99, 1] = False  # Fisher's exact test: 0.02
    assert missingness_p_value(labels, present) > 0.01


def test_fitted_kernels_are_matched_by_name_and_keep_their_labels():
    tables = datasets.load_mfeat()[::8].views
    kernels = MultiView(
        [X @ X.T for X in tables], kernels=True, index=[f"s{i}" for i in range(250)]
    )
    model, turned = GraphFusion(10, random_state=0).fit(kernels), np.arange(250)[::-1]
    np.testing.assert_array_equal(model.predict(kernels[turned]), model.labels_[turned])


def test_shifted_kernels_place_no_new_samples(rng):
    X = rng.standard_normal((40, 3))
    kernels = [np.tanh(X @ X.T + 1), X @ X.T]
    model = GraphFusion(3, precomputed=True, indefinite="shift").fit(kernels)
    with pytest.raises(InputError, match=r"view1.*shifted"):
        model.predict(kernels, self_similarity=[np.diagonal(K) for K in kernels])


def test_what_is_shared_depends_on_all_parameters():
    scaled = MKCDNM(2, kernel=lambda X, Y=None, w=1: (X * w) @ (X if Y is None else Y).T)
    scaled.set_params(kernel_params={"w": np.arange(10.0)})
    assert choose_k(scaled, planted(), (2, 3)).k in (2, 3)
    with shared_views():
        kinds = ["measurements"] * 2, ["components"] * 2
        graphs = [SNF(3).fit(MultiView(planted().views, kinds=kind)).graph_ for kind in kinds]
    assert np.abs(graphs[0] - graphs[1]).max() > 1e-6
