"""Speed of fits in memory, as ratios measured in one run; writes benchmarks/RESULTS.md.

    python benchmarks/speed.py [--out FILE] [features] [large] [questions] [bases] [kernels] [eigen]
                               [exact] [shapes] [peers]

There are two passes, each in its own process: BLAS on one thread, and on every core.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.linalg
from fits import features, large, questions
from measure import best, in_own_process, in_turn
from reference import literal, naive, subset
from scipy.optimize import Bounds, milp
from scipy.sparse.linalg import eigsh
from shapes import SMALL, table

import mkclust
from mkclust import METHODS, MKCDNM, datasets, metrics
from mkclust.agreement.overlap import overlap
from mkclust.agreement.subspaces import KernelSubspaces, SpectraInMemory
from mkclust.bench.peers import PEERS
from mkclust.dual_noise.consensus import consensus
from mkclust.dual_noise.constraints import overlap_constraints, relaxed_constraints, shortfall
from mkclust.dual_noise.dimensions import authors, choose_dimensions
from mkclust.dual_noise.exact_search import _Program, optimum
from mkclust.kernels.bank import KernelBank, KernelRecipe
from mkclust.linalg.krylov import KrylovSpace
from mkclust.linalg.spectrum import Spectrum

HERE = Path(__file__).parent


class GivenSubspaces(SpectraInMemory):
    """Bases that are computed already."""

    def __init__(self, spectra):
        super().__init__([f"view{p + 1}" for p in range(len(spectra))])
        self._spectra = spectra
        self._size = max(spectrum.size for spectrum in spectra)

    def known(self, p):
        return self._spectra[p]

    def find(self, p, size):
        raise AssertionError("all eigenvectors are given")


def planted_bases(n, m, D, k, rng):
    """Yield orthonormal bases (n x D) of m views that nearly share a k-dimensional subspace."""
    shared = rng.standard_normal((n, k))
    for _ in range(m):
        own = rng.standard_normal((n, D - k))
        X = np.hstack([shared + 0.02 * rng.standard_normal((n, k)), own])
        yield Spectrum(np.asfortranarray(np.linalg.qr(X)[0]), np.linspace(2, 1, D), False)


def bases():
    """Eigenvectors to consensus, compared with the product of all bases alone."""
    yield "| n, m, D, k | BᵀB alone (CPU s) | bases → H* (CPU s) | ratio CPU | ratio wall |"
    yield "|---|---|---|---|---|"
    for n, m, D, k in ((2000, 6, 100, 10), (8189, 4, 204, 102), (100000, 5, 60, 20)):
        spectra = GivenSubspaces(list(planted_bases(n, m, D, k, np.random.default_rng(0))))
        B = np.asfortranarray(np.hstack([s.vectors for s in spectra]))

        def ours(spectra=spectra, k=k, D=D):
            found = spectra.overlap(k)
            missed = shortfall(found, k)
            limits = (relaxed_constraints if missed else overlap_constraints)(found, k, k)
            chosen = choose_dimensions(limits, k, "authors", D)
            return consensus(spectra, chosen.d, k, found)

        turns = in_turn({"bare": lambda B=B: B.T @ B, "ours": ours}, 5)
        bare, full = turns["bare"][0], turns["ours"][0]
        yield (
            f"| {n}, {m}, {D}, {k} | {bare.cpu:.3f} | {full.cpu:.3f} | {full / bare:.2f} | "
            f"{full.wall / bare.wall:.2f} |"
        )


def kernels():
    """Mfeat: kernels to consensus."""
    views = datasets.load_mfeat()
    bank = KernelBank(views, KernelRecipe())
    ready = [bank[p] for p in range(len(bank))]

    def ours(precision):
        return MKCDNM(
            10, kernel="precomputed", center=False, normalize=False, indefinite="ignore",
            n_init=1, precision=precision,
        ).fit(ready)  # fmt: skip

    mine = {
        "mkclust (with one start of k-means)": lambda: ours("double"),
        "mkclust, single precision": lambda: ours("single"),
    }
    theirs = {
        "reference with tables, Lanczos": lambda: naive(ready, 10),
        "reference with tables, LAPACK subset": lambda: naive(ready, 10, subset),
        "published procedure": lambda: literal(ready, 10),
    }
    turns = in_turn(mine, 8) | in_turn(theirs, 2)
    (fast, model), (single, _) = (turns[name] for name in mine)
    found = [turns[name][1].dimensions_ for name in mine] + [turns[name][1][0] for name in theirs]
    same = all(np.array_equal(model.dimensions_, other) for other in found)
    yield f"Dimensions equal in all five: {'yes' if same else 'NO'} ({model.dimensions_})."
    yield ""
    yield (
        "| kernels → H* | wall s | CPU s | ratio: wall | CPU | ratio to single precision: wall | "
        "CPU |"
    )
    yield "|---|---|---|---|---|---|---|"
    for name, (t, _) in turns.items():
        yield (
            f"| {name} | {t.wall:.2f} | {t.cpu:.2f} | {t.wall / fast.wall:.1f} | {t / fast:.1f} | "
            f"{t.wall / single.wall:.1f} | {t / single:.1f} |"
        )


def eigen():
    """Eigensolvers (CPU s), from which `linalg/spectrum.py` chooses."""
    yield "| n | D | LAPACK, all | LAPACK, subset | Lanczos | block Krylov | its space | residual |"
    yield "|---|---|---|---|---|---|---|---|"
    rng = np.random.default_rng(0)
    views = datasets.load_mfeat()
    for n, sizes in ((300, (20,)), (600, (20, 60)), (1200, (20, 120)), (2000, (20, 80, 250))):
        rows = rng.permutation(2000)[:n]
        K = KernelRecipe().matrix(views["pix"][rows], "pix", "gaussian")
        yield from _solvers(K, sizes, direct=True)
    big = datasets.make_views(8000, 20, 1, n_features=50, noise=2.0, random_state=0)
    K = KernelRecipe().matrix(big.views[0], "big", "gaussian")
    yield from _solvers(K, (60, 300), direct=False)


def _solvers(K, sizes, direct):
    n = len(K)
    every = f"{best(lambda: scipy.linalg.eigh(K), 1)[0].cpu:.3f}" if direct else "-"
    for D in sizes:
        some = "-"
        if direct:
            window = [n - D, n - 1]
            some = f"{best(lambda w=window: scipy.linalg.eigh(K, subset_by_index=w), 2)[0].cpu:.3f}"
        arpack = best(lambda D=D: eigsh(K, k=D, which="LA", v0=np.ones(n)), 1)[0].cpu

        def krylov(D=D):
            space = KrylovSpace(n)
            return space.pairs(K, D), space._expanded

        t, (pairs, size) = best(krylov, 2)
        if pairs is None:
            shown = "not converged | - | -"
        else:
            values, V = pairs
            residual = np.linalg.norm(K @ V - V * values, axis=0).max() / values[0]
            shown = f"{t.cpu:.3f} | {size} | {residual:.0e}"
        yield f"| {n} | {D} | {every} | {some} | {arpack:.3f} | {shown} |"


def exact():
    """The proven optimum for 69 views, compared with HiGHS on the same model without reduction."""
    yield "| D | HiGHS without reduction (CPU s) | mkclust (CPU s) | ratio | sum of d | bound |"
    yield "|---|---|---|---|---|---|"
    views = datasets.make_views(940, 4, 46, n_noise_views=23, noise=3.0, random_state=0)
    spectra = KernelSubspaces.of(KernelBank(views, KernelRecipe()))
    spectra.grow(80)
    for D in (64, 80):
        found = overlap([spectra[p].head(D) for p in range(len(spectra))])
        limits = overlap_constraints(found, 4, 4)
        start = authors(limits, 4)[0]
        ours, result = best(lambda s=limits, d=start, f=found: optimum(s, d, f.reproduced(4)), 3)
        slow, value = best(lambda s=limits: _unreduced(s), 1)
        assert value == result.d.sum(), (value, result.d.sum())
        yield (
            f"| {D} | {slow.cpu:.2f} | {ours.cpu:.2f} | {slow / ours:.0f} | {result.d.sum()} | "
            f"{result.lower_bound} |"
        )


def _unreduced(limits):
    # Levels that every solution needs are not modeled.
    limits = limits.tightened(np.maximum(limits.lower, limits.least(limits.upper)), limits.upper)
    program = _Program(limits)
    found = milp(
        np.ones(program.size), integrality=np.ones(program.size), bounds=Bounds(0, 1),
        constraints=[program.cover], options={"mip_rel_gap": 0.0, "time_limit": 600.0},
    )  # fmt: skip
    return round(found.fun) + int(limits.lower.sum())


def shapes():
    """Synthetic data of the small shapes of the paper's Table 3."""
    yield "All six shapes are in [SHAPES.md](SHAPES.md) (`benchmarks/shapes.py`)."
    yield ""
    yield from table(SMALL, cpu_limit=60.0)


def peers():
    """Other packages on Mfeat, features to labels, with their documented defaults."""
    yield "| method | wall s | CPU s | ratio to graph fusion, CPU | peak GiB | ACC |"
    yield "|---|---|---|---|---|---|"
    ours = None
    for name in ("graph-fusion", "mkc-dnm", "concat-spectral", *THEIRS):
        title, version = _title(name)
        if version is None:
            yield f"| {title} | not installed | | | | |"
            continue
        found = in_own_process(_on_mfeat, name, cpu_limit=PATIENCE)
        if isinstance(found, str):  # a limit that it exceeded, or its error
            yield f"| {title} {version} | {found} | | | | |"
            continue
        t, accuracy = found[3]
        ours = ours or t
        yield (
            f"| {title} {version} | {t.wall:.2f} | {t.cpu:.2f} | {t / ours:.1f} | {found[2]:.2f} | "
            f"{accuracy:.3f} |"
        )


PATIENCE = 60.0  # CPU seconds for a peer
THEIRS = [name for name, peer in PEERS.items() if peer.package in ("mvlearn", "polyview", "imml")]


def _title(name):
    """Return the name in tables and the version: empty without a package, None if missing."""
    if name not in PEERS:
        return f"mkclust, {METHODS[name].title}", mkclust.__version__
    title, package = PEERS[name].title, PEERS[name].package
    try:
        return title, importlib.metadata.version(package) if package else ""
    except importlib.metadata.PackageNotFoundError:
        return title, None


def _on_mfeat(name):
    """Return the time without imports, and the accuracy."""
    views = datasets.load_mfeat()
    if name in PEERS:
        importlib.import_module(PEERS[name].package or "mkclust")
        t, labels = best(lambda: PEERS[name].label(views.views, 10, 0), 1)
    else:
        t, fitted = best(lambda: METHODS[name](10, random_state=0).fit(views), 1)
        labels = fitted.labels_
    return t, metrics.accuracy(views.labels, np.asarray(labels))


SECTIONS = {
    section.__name__: section
    for section in (features, large, questions, bases, kernels, eigen, exact, shapes, peers)
}
ON_EVERY_CORE = ("features", "questions", "bases", "kernels")  # measured a second time
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def header():
    versions = ", ".join(
        f"{p} {importlib.metadata.version(p)}" for p in ("numpy", "scipy", "scikit-learn")
    )
    return [
        "# Speed",
        "",
        f"mkclust {mkclust.__version__}, Python {platform.python_version()}, {versions}; "
        f"{os.cpu_count()} cores; load at start {os.getloadavg()[0]:.1f}. Best of several runs, "
        "which alternate where they are compared. Compare ratios, not seconds.",
        "",
        *PRECISION_NOTE,
    ]


PRECISION_NOTE = (
    'Single precision (`precision="single"`) rounds kernels and Krylov spaces to float32. A kernel '
    "takes half the memory; errors are about 1e-7 of the largest eigenvalue and 1e-5 in H*. "
    "Eigenvectors with eigenvalues below 1e-5 of the largest are left out (1e-10 in double "
    "precision). Overlaps, dimensions, consensus and k-means are always in double precision; "
    "dimensions may differ where an overlap is within 1e-5 of its threshold.",
    "",
)


def measured(names):
    """Yield the lines of the sections, measured in this process."""
    for name in names:
        section, began = SECTIONS[name], time.perf_counter()
        yield from (f"### {section.__doc__}", "")
        yield from section()
        seconds = time.perf_counter() - began
        yield from ("", f"(load {os.getloadavg()[0]:.1f}, {seconds:.0f} s)", "")


def in_a_pass(threads, names):
    """Yield the same from a process with that many threads."""
    command = [sys.executable, __file__, "--here", *names]
    environment = os.environ | dict.fromkeys(THREADS, str(threads))
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield line.rstrip("\n")
    if process.returncode:
        raise SystemExit(process.returncode)


def main(chosen):
    out = HERE / "RESULTS.md"
    if chosen[:1] == ["--out"]:
        out, chosen = Path(chosen[1]), chosen[2:]
    lines = header()
    names = chosen or list(SECTIONS)
    again = [name for name in names if name in ON_EVERY_CORE]
    passes = {"One thread": (1, names), "Every core": (os.cpu_count(), again)}
    for title, (threads, sections) in passes.items():
        if sections:
            lines += [f"## {title}", ""]
            for line in in_a_pass(threads, sections):
                print(line, flush=True)
                lines.append(line)
    out.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        for line in measured(sys.argv[2:]):
            print(line, flush=True)
    else:
        main(sys.argv[1:])
