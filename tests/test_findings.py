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

from mkclust import MKCDNM, MultiView, cluster, datasets, metrics
from mkclust.exceptions import InputError

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
