"""Shared by tests of whole runs: commands, tables on disk, and messages of errors."""

import io
import os
import shlex
import subprocess
import sys
import threading
import traceback
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import h5py
import numpy as np
import pandas as pd
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from mkclust import datasets
from mkclust.cli.app import main

QUICK = ("--no-report", "--no-checks")
CHUNKS = ("--method", "mkc-dnm", "--set", "kernel=gaussian", "--set", "n_samples_fit=40")


def mkclust(*arguments):
    """Run a command in this process as Python would: exit code, output, errors or traceback."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    named = patch.object(sys, "argv", ["mkclust", *map(str, arguments)])
    with named, redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
        except Exception:
            traceback.print_exc()
            code = 1
    return code, " ".join(out.getvalue().split()), " ".join(err.getvalue().split())


def shell(line):
    """Run a line of bash in which MKCLUST is the command: exit code, output, errors."""
    line = line.replace("MKCLUST", f"{shlex.quote(sys.executable)} -m mkclust")
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True)
    return done.returncode, done.stdout, done.stderr


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


def planted(n=60, m=2, **settings):
    """Return views of three planted clusters."""
    return datasets.make_views(n, 3, m, **({"noise": 0.5, "random_state": 0} | settings))


def write_tables(views, folder="d"):
    """Write views as tables without names to a folder."""
    Path(folder).mkdir()
    for number, X in enumerate(views):
        np.savetxt(Path(folder) / f"v{number}.csv", X, delimiter=",")


def labels_in(folder="mkclust-out"):
    return pd.read_csv(Path(folder) / "labels.csv")["cluster"].to_numpy()


def contents(folder):
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def message_of(call):
    """Return the message of the InputError that a call raises, which is a ValueError."""
    try:
        call()
    except ValueError as error:
        return str(error) if type(error).__name__ == "InputError" else f"bare: {error!r}"
    except Exception as error:
        return f"bare: {error!r}"
    return "no error"


def write_parts(views, names="ab"):
    """Write views in parts; files that exist keep their time stamps."""
    for name, X in zip(names, views, strict=True):
        path = Path("p", name, "part-0.npy")
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat() if path.exists() else None
        np.save(path, X)
        if before is not None:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return "p"


def write_archive(views):
    """Write views to one file."""
    np.savez("views.npz", **dict(zip("ab", views, strict=True)))
    return "views.npz"


def write_keyed(key):
    """Write two tables with a column of sample names, in different orders; return the classes."""
    views, random = planted(), np.random.default_rng(0)
    names, order = random.permutation(60) + 1000, random.permutation(60)
    Path("d").mkdir()
    for name, X, rows in zip("ab", views.views, (np.arange(60), order), strict=True):
        frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(10)])
        frame.insert(0, key, names)
        frame.iloc[rows].to_csv(f"d/{name}.csv", index=False)
    return views.labels


def text_of(X, program):
    """Return a table as other programs write it."""
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(X.shape[1])])
    if program == "R":  # write.table: the header has one cell less than the rows
        return frame.rename("p{}".format).to_csv(sep=" ").lstrip()
    if program == "Excel":
        return frame.to_csv(index=False).replace("\n", ",,,\n")
    return frame.to_csv(sep=";", decimal=",", index=False)


def blas_threads_now():
    """Return the numbers of threads that the libraries of BLAS have now."""
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@contextmanager
def two_blas_threads():
    """Give BLAS two threads, set by threads that end: no block of this one is open."""

    def set_to(number):
        thread = threading.Thread(target=threadpool_limits, args=(number, "blas"))
        thread.start()
        thread.join()

    set_to(2)
    try:
        yield
    finally:
        set_to(1)


def sparse_topics(topics, width, m=2):
    """Return views of 30 words per document, among 40 of its topic."""
    random, n, views = np.random.default_rng(0), len(topics), []
    for _ in range(m):
        words = topics[:, None] * (width // 2) + random.integers(0, 40, (n, 30))
        at = np.repeat(np.arange(n), 30), words.ravel()
        views.append(sp.csr_array(sp.coo_array((np.ones(30 * n), at), shape=(n, width))))
    return views


def write_cells():
    """Write an .h5ad file of three cells."""
    with h5py.File("cells.h5ad", "w") as file:
        file["X"] = np.ones((3, 2))
        file["obs/_index"] = np.array(["a", "b", "c"], dtype=object)
        file["obs"].attrs["_index"] = "_index"
    return "cells.h5ad"
