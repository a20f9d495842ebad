"""
Large data
==========

Up to 20 000 samples, graph fusion finds exact nearest neighbors, which takes time proportional to
the square of the number of samples. Beyond, every sample is linked to the nearest of about 1000
anchors. Time and memory then grow linearly, and rows may stay on disk.
"""

# %%
# 30 000 samples on disk
# ----------------------
# Every sample lies on one of three rings, in each of three views at another random angle. The rows
# are written in parts, as they would come from a larger study.

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from mkclust import GraphFusion, metrics
from mkclust.report.drawing import cluster_style

rng = np.random.default_rng(0)
n = 30_000
ring = rng.integers(0, 3, n)


def rings():
    """Return points (n, 2) on three rings."""
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = 1 + 2 * ring + rng.normal(0, 0.25, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


views = {"one": rings(), "two": rings(), "three": rings()}
folder = Path(tempfile.mkdtemp())
for name, view in views.items():
    (folder / name).mkdir()
    for part, rows in enumerate(np.array_split(view, 3)):
        np.save(folder / name / f"part-{part}.npy", rows)

# %%
# Folders go in place of tables. The rows are read in chunks.

start = time.process_time()
model = GraphFusion(3, random_state=0).fit({name: folder / name for name in views})
print(f"{time.process_time() - start:.1f} seconds of CPU")
print(*model.describe(), sep="\n")

# %%
# Compare with k-means
# --------------------
# The picture shows a tenth of the samples in the first view. k-means on all columns mixes the
# rings. Graph fusion follows them. The views have equal weights, because their leading eigenvectors
# are the angles, and these are unrelated.

side_by_side = KMeans(3, n_init=3, random_state=0).fit_predict(np.hstack(list(views.values())))
shown = rng.choice(n, 3000, replace=False)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
for ax, title, labels in zip(
    axes, ["k-means", "Graph fusion"], [side_by_side, model.labels_], strict=True
):
    colors = np.array([cluster_style(c)[0] for c in range(3)])[labels[shown]]
    ax.scatter(*views["one"][shown].T, s=5, c=colors, linewidths=0)
    ax.set_title(f"{title}: accuracy {metrics.accuracy(ring, labels):.2f}")
    ax.set_aspect("equal")
    ax.axis("off")

# %%
# New samples
# -----------
# ``predict`` links new samples to the same anchors. It reads no fitted row.

new = {name: view[:5] for name, view in views.items()}
print(model.predict(new), model.labels_[:5])
