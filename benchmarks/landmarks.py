"""Compare the labels of MKC-DNM with Nystroem landmarks with those of exact kernels.

    [MKCLUST_DATA=folder] python benchmarks/landmarks.py [MOST]

The script prints the table of docs/scale.md for the bundled Mfeat and, if the folder holds it,
Hdigit. MOST limits the number of samples, for a trial.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sklearn.metrics import adjusted_rand_score

from mkclust import MKCDNM, datasets, metrics, read

SEEDS = (0, 1, 2)


def row(name, views, k, components):
    """Return the accuracy of both, and the ARI between their labels, over the seeds."""
    exact = MKCDNM(k, random_state=0, approximation=None).fit(views)
    scores, agreements = [], {size: [] for size in components}
    for size in components:
        for seed in SEEDS:
            model = MKCDNM(k, random_state=seed, approximation="nystroem", n_components=size)
            labels = model.fit_predict(views)
            agreements[size].append(adjusted_rand_score(exact.labels_, labels))
            if size is None:
                scores.append(metrics.accuracy(views.labels, labels))
    listed = [", ".join(f"{value:.3f}" for value in values) for values in agreements.values()]
    accuracy = metrics.accuracy(views.labels, exact.labels_)
    shown = ", ".join(f"{score:.3f}" for score in scores)
    return f"| {name} (n = {len(views)}) | {accuracy:.3f} | {shown} | {' | '.join(listed)} |"


def main():
    print("| data | exact ACC | ACC, default landmarks | ARI to exact | ARI with 1000 |")
    print("|---|---|---|---|---|")
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 10**9
    mfeat = datasets.load_mfeat()
    step = max(1, len(mfeat) // most)
    print(row("Mfeat", mfeat[::step], 10, (None, 1000)), flush=True)
    folder = os.environ.get("MKCLUST_DATA")
    if most >= 10_000 and folder and (Path(folder) / "Hdigit.mat").exists():
        print(row("Hdigit", read(Path(folder) / "Hdigit.mat"), 10, (None, 1000)))


if __name__ == "__main__":
    main()
