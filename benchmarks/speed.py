"""Speed of the in-memory path as ratios measured in one run; writes benchmarks/RESULTS.md.

Usage: python benchmarks/speed.py [bases] [kernels] [features] [eigen] [exact] [shapes] [peers]

Two passes, each in a process of its own: BLAS on one thread, and on every core.
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
from measure import best, in_own_process, in_turn
from reference import concatenated, literal, naive, subset
from scipy.optimize import Bounds, milp
from scipy.sparse.linalg import eigsh
from shapes import SMALL, table

import mkclust
from mkclust import MKCDNM, cluster, datasets, metrics
from mkclust.agreement.overlap import overlap
from mkclust.bench.peers import PEERS
from mkclust.dual_noise.consensus import consensus
from mkclust.dual_noise.constraints import relaxed_staircases, shortfall, staircases
from mkclust.dual_noise.dimensions import authors, choose_dimensions
from mkclust.dual_noise.exact_search import _Program, optimum
from mkclust.kernels.bank import KernelBank, KernelRecipe
from mkclust.linalg.krylov import KrylovSpace
from mkclust.linalg.spectrum import Spectra, Spectrum

HERE = Path(__file__).parent


def planted_bases(n, m, D, k, rng):
    """Orthonormal bases (n x D) of m views that share k directions nearly."""
    shared = rng.standard_normal((n, k))
    for _ in range(m):
        own = rng.standard_normal((n, D - k))
        X = np.hstack([shared + 0.02 * rng.standard_normal((n, k)), own])
        yield Spectrum(np.asfortranarray(np.linalg.qr(X)[0]), np.linspace(2, 1, D), False)


def bases():
    """From bases to H*, against the one product that cannot be avoided."""
    yield "| n, m, D, k | bare BᵀB (CPU s) | bases → H* (CPU s) | ratio CPU | ratio wall |"
    yield "|---|---|---|---|---|"
    for n, m, D, k in ((2000, 6, 100, 10), (8189, 4, 204, 102), (100000, 5, 60, 20)):
        spectra = list(planted_bases(n, m, D, k, np.random.default_rng(0)))
        B = np.asfortranarray(np.hstack([s.vectors for s in spectra]))

        def ours(spectra=spectra, k=k, D=D):
            found = overlap(spectra)
            missed = shortfall(found, k)
            stairs = (relaxed_staircases if missed else staircases)(found, k, k)
            chosen = choose_dimensions(stairs, k, "authors", D)
            return consensus(spectra, chosen.d, k, found)

        turns = in_turn({"bare": lambda B=B: B.T @ B, "ours": ours}, 5)
        bare, full = turns["bare"][0], turns["ours"][0]
        yield (
            f"| {n}, {m}, {D}, {k} | {bare.cpu:.3f} | {full.cpu:.3f} | {full / bare:.2f} | "
            f"{full.wall / bare.wall:.2f} |"
        )


def kernels():
    """Mfeat: kernels to H*."""
    views = datasets.load_mfeat()
    bank = KernelBank(views, KernelRecipe())
    ready = [bank[p] for p in range(len(bank))]

    def ours(precision):
        return MKCDNM(
            10, kernel="precomputed", center=False, normalize=False, indefinite="ignore",
            n_init=1, precision=precision,
        ).fit(ready)  # fmt: skip

    mine = {
        "ours (k-means once included)": lambda: ours("double"),
        "ours in single precision": lambda: ours("single"),
    }
    theirs = {
        "naive, with tables, Lanczos": lambda: naive(ready, 10),
        "naive, with tables, LAPACK subset": lambda: naive(ready, 10, subset),
        "published procedure, literally": lambda: literal(ready, 10),
    }
    turns = in_turn(mine, 8) | in_turn(theirs, 2)
    (fast, model), (single, _) = (turns[name] for name in mine)
    found = [turns[name][1].dimensions_ for name in mine] + [turns[name][1][0] for name in theirs]
    same = all(np.array_equal(model.dimensions_, other) for other in found)
    yield f"Dimensions equal in all five: {'yes' if same else 'NO'} ({model.dimensions_})."
    yield ""
    yield (
        "| kernels → H* | wall s | CPU s | times ours: wall | CPU | times ours in single: wall | "
        "CPU |"
    )
    yield "|---|---|---|---|---|---|---|"
    for name, (t, _) in turns.items():
        yield (
            f"| {name} | {t.wall:.2f} | {t.cpu:.2f} | {t.wall / fast.wall:.1f} | {t / fast:.1f} | "
            f"{t.wall / single.wall:.1f} | {t / single:.1f} |"
        )


def features():
    """Mfeat: features to labels, against spectral clustering of all columns side by side."""
    views = datasets.load_mfeat()

    def ours(precision):
        return MKCDNM(10, kernel="gaussian", random_state=0, precision=precision).fit(views)

    first = "scikit-learn, concatenated spectral clustering"
    rows = in_turn(
        {
            first: lambda: concatenated(views.views, 10),
            "MKC-DNM, double precision": lambda: ours("double").labels_,
            "MKC-DNM, single precision": lambda: ours("single").labels_,
            "the default, pooled neighbour graphs": lambda: (
                cluster(views, 10, random_state=0).labels_
            ),
        },
        8,
    )
    peer = rows[first][0]
    yield "| features → labels | wall s | CPU s | times concatenated: wall | CPU | ACC |"
    yield "|---|---|---|---|---|---|"
    for name, (t, y) in rows.items():
        yield (
            f"| {name} | {t.wall:.2f} | {t.cpu:.2f} | {t.wall / peer.wall:.2f} | {t / peer:.2f} | "
            f"{metrics.accuracy(views.labels, y):.3f} |"
        )


def eigen():
    """The eigensolvers, and why `spectrum.py` chooses as it does."""
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
            shown = "gives up | - | -"
        else:
            values, V = pairs
            residual = np.linalg.norm(K @ V - V * values, axis=0).max() / values[0]
            shown = f"{t.cpu:.3f} | {size} | {residual:.0e}"
        yield f"| {n} | {D} | {every} | {some} | {arpack:.3f} | {shown} |"


def exact():
    """The proven optimum for 69 views, against HiGHS on the same model without any reduction."""
    yield "| D | unreduced HiGHS (CPU s) | ours, ties broken (CPU s) | ratio | sum of d | bound |"
    yield "|---|---|---|---|---|---|"
    views = datasets.make_views(940, 4, 46, n_noise_views=23, noise=3.0, random_state=0)
    spectra = Spectra(KernelBank(views, KernelRecipe()), views.names)
    spectra.grow(80)
    for D in (64, 80):
        found = overlap([spectra[p].head(D) for p in range(len(spectra))])
        stairs = staircases(found, 4, 4)
        start = authors(stairs, 4)[0]
        ours, result = best(lambda s=stairs, d=start, f=found: optimum(s, d, f.reproduced(4)), 3)
        slow, value = best(lambda s=stairs: _unreduced(s), 1)
        assert value == result.d.sum(), (value, result.d.sum())
        yield (
            f"| {D} | {slow.cpu:.2f} | {ours.cpu:.2f} | {slow / ours:.0f} | {result.d.sum()} | "
            f"{result.lower_bound} |"
        )


def _unreduced(stairs):
    # Levels without which a pair fails even at all directions are not a choice: not modelled.
    stairs = stairs.tightened(np.maximum(stairs.lower, stairs.least(stairs.upper)), stairs.upper)
    program = _Program(stairs)
    found = milp(
        np.ones(program.size), integrality=np.ones(program.size), bounds=Bounds(0, 1),
        constraints=[program.cover], options={"mip_rel_gap": 0.0, "time_limit": 600.0},
    )  # fmt: skip
    return round(found.fun) + int(stairs.lower.sum())


def shapes():
    """The small shapes of the paper's Table 3, synthetic, from features, each in its process."""
    yield "All six, up to 18758 × 5, are in [SHAPES.md](SHAPES.md) (`benchmarks/shapes.py`)."
    yield ""
    yield from table(SMALL, cpu_limit=60.0)


def peers():
    """Packages of others on Mfeat, from features to labels in their documented default use."""
    yield "| who | wall s | CPU s | times MKC-DNM, CPU | peak GiB | ACC |"
    yield "|---|---|---|---|---|---|"
    ours = None
    for name in ("mkc-dnm", "auto", "concat-spectral", *THEIRS):
        title, version = _title(name)
        if version is None:
            yield f"| {title} | not installed | | | | |"
            continue
        found = in_own_process(_on_mfeat, name, cpu_limit=PATIENCE)
        if isinstance(found, str):  # a limit it passed, or its error
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
    """What a table calls it, and its version: empty for what is no package, None if missing."""
    if name not in PEERS:
        return "mkclust, MKC-DNM", mkclust.__version__
    title, package = PEERS[name].title, PEERS[name].package
    try:
        return title, importlib.metadata.version(package) if package else ""
    except importlib.metadata.PackageNotFoundError:
        return title, None


def _on_mfeat(name):
    """Time without imports, and accuracy."""
    views = datasets.load_mfeat()
    if name in PEERS:
        importlib.import_module(PEERS[name].package or "mkclust")
        given = views if PEERS[name].whole else views.views
        t, labels = best(lambda: PEERS[name].label(given, 10, 0), 1)
    else:
        t, fitted = best(lambda: MKCDNM(10, kernel="gaussian", random_state=0).fit(views), 1)
        labels = fitted.labels_
    return t, metrics.accuracy(views.labels, np.asarray(labels))


SECTIONS = {s.__name__: s for s in (bases, kernels, features, eigen, exact, shapes, peers)}
ON_EVERY_CORE = ("bases", "kernels", "features")  # what is measured a second time
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def header():
    versions = ", ".join(
        f"{p} {importlib.metadata.version(p)}" for p in ("numpy", "scipy", "scikit-learn")
    )
    return [
        "# Speed, measured",
        "",
        f"mkclust {mkclust.__version__}, Python {platform.python_version()}, {versions}; "
        f"{os.cpu_count()} cores; load at start {os.getloadavg()[0]:.1f}. Best of several runs, "
        "taken in turns where they are compared; compare ratios, not seconds.",
        "",
        *PRECISION_NOTE,
    ]


PRECISION_NOTE = (
    'Single precision (`precision="single"`) rounds kernels and Krylov spaces to float32: half '
    "the memory of a kernel, eigenvalues to some 1e-7 of the largest, H* to about 1e-5. Directions "
    "with eigenvalues below 1e-5 of the largest are left out (1e-10 in double). Overlaps, "
    "dimensions, consensus and k-means are in double either way; dimensions may differ where an "
    "overlap is within 1e-5 of its threshold.",
    "",
)


def measured(names):
    """The sections as they are measured, in this process and with its threads."""
    for name in names:
        section, began = SECTIONS[name], time.perf_counter()
        yield from (f"### {section.__doc__}", "")
        yield from section()
        seconds = time.perf_counter() - began
        yield from ("", f"(load {os.getloadavg()[0]:.1f}, {seconds:.0f} s)", "")


def in_a_pass(threads, names):
    """The same from a process whose libraries were loaded with that many threads."""
    command = [sys.executable, __file__, "--here", *names]
    environment = os.environ | dict.fromkeys(THREADS, str(threads))
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield line.rstrip("\n")
    if process.returncode:
        raise SystemExit(process.returncode)


def main(chosen):
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
    (HERE / "RESULTS.md").write_text("\n".join(lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        for line in measured(sys.argv[2:]):
            print(line, flush=True)
    else:
        main(sys.argv[1:])
