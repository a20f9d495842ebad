"""Is a noise view found, and is a genuine one spared? On every benchmark set of several views.

    MKCLUST_DATA=... python benchmarks/noise_views.py [--recipe published] [--rows 2000]
                                                      [--seeds 3] [--fits 700]
                                                      [--only NAME ...] [--out FILE]

To each set one view unrelated to all others is added: Gaussian noise, a genuine view with its
samples in another order, or sparse random counts. The test of mkclust.trust is put to it, and to
every genuine view with nothing added. Up to `--fits` samples whole fits are compared with it.
Sets of more than `--rows` samples are cut to that many. Rows already in the file are kept.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sets import SETS, load, short

from mkclust import MKCDNM, MultiView, metrics
from mkclust.agreement.chance import chance_of_relation, lone_views
from mkclust.dual_noise.estimator import RECIPES, with_recipe
from mkclust.kernels.bank import KernelBank, gaussian
from mkclust.linalg.kmeans import kmeans_labels
from mkclust.linalg.spectrum import Spectra

KINDS = ("gaussian", "permuted", "counts")


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
    return gaussian(table) if views.kernels else table


def heads_of(views: MultiView, k: int, recipe: str) -> list[np.ndarray]:
    """The 2k leading directions of every view, as MKC-DNM takes them."""
    model = MKCDNM(k, **with_recipe(recipe, {"indefinite": "shift"}))
    bank = KernelBank(views, model._recipe(views))
    spectra = Spectra(bank, bank.names)
    spectra.grow(2 * k)
    return [spectrum.vectors for spectrum in spectra]


def related_by(heads: list[np.ndarray], k: int, p: int) -> float:
    """Chance of view p's best agreement, its pairs counted together."""
    chances = chance_of_relation(heads, k)[p]
    return float(np.nanmin(chances) * np.sum(~np.isnan(chances)))


def measured(name: str, recipe: str, rows: int, seeds: int, fits: int) -> dict[str, object] | None:
    views = load(name, rows)
    if views.n_views < 2:
        return None
    k = len(set(views.labels.tolist()))
    heads = heads_of(views, k, recipe)
    flagged = lone_views(chance_of_relation(heads, k))
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
            all_heads = [*heads, *heads_of(extra, k, recipe)]
            lone = lone_views(chance_of_relation(all_heads, k))
            added.append({
                "kind": kind, "seed": seed, "found": len(heads) in lone,
                "chance": related_by(all_heads, k, len(heads)),
                "others": [views.names[p] for p in lone if p < len(heads)],
                "fit": fitted(views, kind, k, recipe) if seed == 0 and len(views) <= fits else None,
            })  # fmt: skip
    return {"set": name, "n": len(views), "k": k, "genuine": genuine, "added": added}


def fitted(views: MultiView, kind: str, k: int, recipe: str) -> dict[str, object]:
    """What whole fits say: the views they flag, and the sum of dimensions with and without."""
    extra = noise_view(views, kind, 0)
    mixed = dict(zip(views.names, views.views, strict=True)) | {"noise": extra}
    mixed_views = MultiView(mixed, kernels=views.kernels)
    settings = with_recipe(recipe, {"random_state": 0, "n_init": 1, "indefinite": "shift"})
    with_noise = MKCDNM(k, **settings).fit(mixed_views)
    without = MKCDNM(k, **settings).fit(views)
    return {
        "flagged": list(with_noise.unrelated_views_),
        "without": list(without.unrelated_views_),
        "kept": [int(without.objective_), int(with_noise.dimensions_[:-1].sum())],
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
    lines.append(f"Genuine views flagged beside an added one: {beside or 'none'}.")
    fits = [one["fit"] for one in added if one["fit"]]
    right = sum("noise" in fit["flagged"] for fit in fits)
    false = sum(len(fit["without"]) for fit in fits if fit) // len(KINDS)
    lines.append(f"Whole fits that name the noise view: {right} of {len(fits)}; genuine views that "
                 f"fits without it name: {false}.")  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipe", choices=RECIPES, default="published")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--fits", type=int, default=700)
    parser.add_argument("--only", nargs="*", default=SETS)
    parser.add_argument("--out", type=Path, help="noise_views-RECIPE.jsonl")
    given = parser.parse_args()
    out = given.out or Path(f"noise_views-{given.recipe}.jsonl")
    kept = out.read_text().splitlines() if out.exists() else []
    rows = {row["set"]: row for row in map(json.loads, kept)}
    warnings.simplefilter("ignore")
    for name in given.only:
        row = rows.get(name) or measured(name, given.recipe, given.rows, given.seeds, given.fits)
        if row is not None and name not in rows:
            rows[name] = row
            with out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(name, flush=True)
    print(table([rows[name] for name in SETS if name in rows]))


if __name__ == "__main__":
    main()
