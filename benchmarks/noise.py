"""Data without clusters: how often the test of structure calls them clustered.

    python -m benchmarks.noise [--draws 30] [--kinds KIND ...] [--out FILE] [--page]

Every kind of noise is drawn in two widths (two views of 10 columns; 100 and 50 columns) and for 200
and 600 samples. A draw counts where its p value is at most 0.05. The rows *planted* have three
clusters, and should count. Rows already in the file are kept. With --page the table goes
into docs/how-many-clusters.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np

from mkclust import GraphFusion, MultiView
from mkclust.inspection.choose_k import LEVEL, structure_test

from .pages import fill_page

PAGE = Path(__file__).parents[1] / "docs" / "how-many-clusters.md"
WIDTHS = {"2 x 10": (10, 10), "100 + 50": (100, 50)}
SIZES = (200, 600)
KS = list(range(2, 21))
Generator = np.random.Generator
Columns = Callable[[Generator, tuple[int, int]], np.ndarray]
LATENT: dict[str, Columns] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.uniform(-1.7, 1.7, shape),
    "exponential": lambda rng, shape: rng.standard_exponential(shape),
}


def factors(scales: tuple[float, ...], latent: str = "normal", noise: float = 1.0) -> Columns:
    """Return columns that mix latent variables, the same in every view, with noise."""

    def columns(rng: Generator, shape: tuple[int, int]) -> np.ndarray:
        same = np.random.default_rng(shape[0] + columns.seed)
        Z = LATENT[latent](same, (shape[0], len(scales)))
        mixed = Z * scales @ rng.standard_normal((len(scales), shape[1]))
        return mixed + noise * rng.standard_normal(shape)

    columns.seed = 0
    return columns


def ball(rng: Generator, shape: tuple[int, int]) -> np.ndarray:
    X = rng.standard_normal(shape)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X * rng.random((shape[0], 1)) ** (1 / shape[1])


def planted(rng: Generator, shape: tuple[int, int]) -> np.ndarray:
    cluster = np.arange(shape[0]) % 3
    return 1.2 * rng.standard_normal((3, shape[1]))[cluster] + rng.standard_normal(shape)


def t_blob(rng: Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.standard_normal(shape) / np.sqrt(rng.chisquare(3, (shape[0], 1)) / 3)


KINDS: dict[str, Columns] = {
    "Gaussian": lambda rng, shape: rng.standard_normal(shape),
    "Gaussian, three shared factors": factors((4, 2, 1)),
    "Gaussian, elongated": factors((5,)),
    "log-normal": lambda rng, shape: rng.lognormal(0, 1, shape),
    "log-normal, sigma 0.5": lambda rng, shape: rng.lognormal(0, 0.5, shape),
    "exponential": lambda rng, shape: rng.exponential(1, shape),
    "gamma(4)": lambda rng, shape: rng.gamma(4, 1, shape),
    "negative binomial": lambda rng, shape: rng.negative_binomial(1, 0.2, shape).astype(float),
    "Poisson(4)": lambda rng, shape: rng.poisson(4, shape).astype(float),
    "binary": lambda rng, shape: (rng.random(shape) < 0.4).astype(float),
    "t(2) columns": lambda rng, shape: rng.standard_t(2, shape),
    "t(3) columns": lambda rng, shape: rng.standard_t(3, shape),
    "t(3) blob": t_blob,
    "uniform columns": lambda rng, shape: rng.random(shape),
    "ball": ball,
    "uniform plane, shared": factors((3, 3), "uniform"),
    "uniform line, shared": factors((5,), "uniform"),
    "exponential factors, eight, shared": factors((1,) * 8, "exponential"),
    "planted, three clusters": planted,
}


def views_of(kind: str, n: int, widths: tuple[int, ...], seed: int) -> MultiView:
    columns = KINDS[kind]
    if hasattr(columns, "seed"):
        columns.seed = 1000 * seed
    rng = np.random.default_rng([seed, n, sum(widths)])
    return MultiView([columns(rng, (n, width)) for width in widths])


def table(rows: list[dict]) -> list[str]:
    cases = list(product(WIDTHS, SIZES))
    lines = ["| data | " + " | ".join(f"{width}, n = {n}" for width, n in cases) + " |"]
    lines += ["|---|" + "--:|" * len(cases)]
    for kind in KINDS:
        cells = []
        for width, n in cases:
            p = [r["p"] for r in rows if (r["kind"], r["width"], r["n"]) == (kind, width, n)]
            cells.append(f"{sum(each <= LEVEL for each in p)} of {len(p)}" if p else "")
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), metavar="KIND")
    parser.add_argument("--out", type=Path, default=Path("noise.jsonl"))
    parser.add_argument("--page", action="store_true", help="fill the page, measure nothing")
    given = parser.parse_args()
    lines = given.out.read_text().splitlines() if given.out.exists() else []
    rows = [json.loads(line) for line in lines]
    done = {(r["kind"], r["width"], r["n"], r["seed"]) for r in rows}
    if not given.page:
        for seed, kind, width, n in product(range(given.draws), given.kinds, WIDTHS, SIZES):
            if (kind, width, n, seed) in done:
                continue
            views = views_of(kind, n, WIDTHS[width], seed)
            p = structure_test(GraphFusion(2), views, KS, seed).p_value
            rows.append({"kind": kind, "width": width, "n": n, "seed": seed, "p": p})
            with given.out.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    print("\n".join(table(rows)))
    if given.page:
        fill_page(PAGE, "noise", table(rows))


if __name__ == "__main__":
    main()
