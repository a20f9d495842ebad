"""Measure how often unrelated views are flagged, and how often genuine views are.

    MKCLUST_DATA=... python -m benchmarks.noise_views [--method mkc-dnm] [--rows 2000]
                                                      [--seeds 3] [--fits 700]
                                                      [--only NAME ...] [--out FILE]

One unrelated view is added to each data set of several views: Gaussian noise, a genuine view with
permuted samples, or sparse random counts. The chance-level test of mkclust.agreement is applied to
it, and to every genuine view without it. Up to `--fits` samples, complete fits are compared too.
Of data sets with more than `--rows` samples a random sample is used. Rows already in the file are
kept.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from mkclust import METHODS, MultiView, metrics
from mkclust.agreement.chance import overlap_p_values, unrelated_positions
from mkclust.base import MultiViewClusterer
from mkclust.kernels.functions import fitted_kernel
from mkclust.linalg.kmeans import kmeans_labels

from .sets import SETS, load, short

KINDS = ("gaussian", "permuted", "counts")
TESTED = {"mkc-dnm": {"indefinite": "shift"}, "graph-fusion": {}}  # parameters


def noise_view(views: MultiView, kind: str, seed: int) -> np.ndarray | sp.csr_array:
    rng = np.random.default_rng(seed)
    n = len(views)
    if kind == "permuted":
        order = rng.permutation(n)
        view = views.views[seed % views.n_views]
        return view[order][:, order] if views.kernels else view[order]
    table = rng.standard_normal((n, 50))
    if kind == "counts":
        table = sp.csr_array(rng.poisson(0.03, (n, 400)).astype(float))
    return fitted_kernel("gaussian", {}, table).matrix() if views.kernels else table


def model_of(method: str, k: int) -> MultiViewClusterer:
    return METHODS[method](k, n_init=1, random_state=0, **TESTED[method])


def heads_of(views: MultiView, k: int, method: str) -> list[np.ndarray]:
    """Return the 2k leading eigenvectors of every view, as the method computes them."""
    return model_of(method, k).subspaces(views, 2 * k).heads(2 * k)


def related_by(heads: list[np.ndarray], k: int, p: int) -> float:
    """Return the probability of the best agreement of view p, corrected for its pairs."""
    p_values = overlap_p_values(heads, k)[p]
    return float(np.nanmin(p_values) * np.sum(~np.isnan(p_values)))


def measured(name: str, method: str, rows: int, seeds: int, fits: int) -> dict[str, object] | None:
    views = load(name, rows)
    if views.n_views < 2:
        return None
    k = len(set(views.labels.tolist()))
    heads = heads_of(views, k, method)
    flagged = unrelated_positions(overlap_p_values(heads, k))
    genuine = [
        {
            "view": views.names[p], "flagged": p in flagged, "chance": related_by(heads, k, p),
            "nmi": metrics.nmi(views.labels, kmeans_labels(head[:, :k], k, random_state=0)),
        }
        for p, head in enumerate(heads)
    ]  # fmt: skip
    added = []
    for kind in KINDS:
        for seed in range(seeds):
            extra = MultiView([noise_view(views, kind, seed)], kernels=views.kernels)
            all_heads = [*heads, *heads_of(extra, k, method)]
            lone = unrelated_positions(overlap_p_values(all_heads, k))
            added.append({
                "kind": kind, "seed": seed, "found": len(heads) in lone,
                "chance": related_by(all_heads, k, len(heads)),
                "others": [views.names[p] for p in lone if p < len(heads)],
                "fit": fitted(views, kind, k, method) if seed == 0 and len(views) <= fits else None,
            })  # fmt: skip
    return {"set": name, "n": len(views), "k": k, "genuine": genuine, "added": added}


def fitted(views: MultiView, kind: str, k: int, method: str) -> dict[str, object]:
    """Return the views that complete fits flag, with and without the added view."""
    extra = noise_view(views, kind, 0)
    mixed = dict(zip(views.names, views.views, strict=True)) | {"noise": extra}
    mixed_views = MultiView(mixed, kernels=views.kernels)
    with_noise = model_of(method, k).fit(mixed_views)
    without = model_of(method, k).fit(views)
    return {
        "flagged": list(with_noise.unrelated_views_),
        "without": list(without.unrelated_views_),
    }


def table(rows: list[dict]) -> str:
    lines = [
        "| set | n | k | genuine views flagged | noise views found | least chance of a noise view "
        "| largest chance of a genuine view |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        flagged = [view["view"] for view in row["genuine"] if view["flagged"]]
        found = sum(one["found"] for one in row["added"])
        lines.append(
            f"| {short(row['set'])} | {row['n']} | {row['k']} "
            f"| {len(flagged)} of {len(row['genuine'])}{': ' if flagged else ''}"
            f"{', '.join(flagged)} | {found} of {len(row['added'])} "
            f"| {min(one['chance'] for one in row['added']):.2g} "
            f"| {max(view['chance'] for view in row['genuine']):.1g} |"
        )
    added = [one for row in rows for one in row["added"]]
    genuine = [view | {"set": row["set"]} for row in rows for view in row["genuine"]]
    found = sum(one["found"] for one in added)
    flagged = [view for view in genuine if view["flagged"]]
    lines += ["", f"Noise views found: {found} of {len(added)}. Genuine views flagged: "
              f"{len(flagged)} of {len(genuine)}."]  # fmt: skip
    for view in flagged:
        lines.append(
            f"- {short(view['set'])}, {view['view']}: chance {view['chance']:.2g}; NMI of its own "
            f"clusters with the classes {view['nmi']:.3f}"
        )
    beside = sorted({(short(row["set"]), view) for row in rows for one in row["added"]
                     for view in one["others"]})  # fmt: skip
    lines.append(f"Genuine views flagged together with an added one: {beside or 'none'}.")
    fits = [one["fit"] for one in added if one["fit"]]
    right = sum("noise" in fit["flagged"] for fit in fits)
    false = sum(len(fit["without"]) for fit in fits if fit) // len(KINDS)
    lines.append(f"Complete fits that flag the noise view: {right} of {len(fits)}; genuine views "
                 f"flagged by fits without it: {false}.")  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", choices=TESTED, default="mkc-dnm")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--fits", type=int, default=700)
    parser.add_argument("--only", nargs="*", default=SETS)
    parser.add_argument("--out", type=Path, help="by default noise_views-METHOD.jsonl")
    given = parser.parse_args()
    out = given.out or Path(f"noise_views-{given.method}.jsonl")
    kept = out.read_text().splitlines() if out.exists() else []
    rows = {row["set"]: row for row in map(json.loads, kept)}
    warnings.simplefilter("ignore")
    for name in given.only:
        row = rows.get(name) or measured(name, given.method, given.rows, given.seeds, given.fits)
        if row is not None and name not in rows:
            rows[name] = row
            with out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(name, flush=True)
    print(table([rows[name] for name in SETS if name in rows]))


if __name__ == "__main__":
    main()
