"""
Survival of clusters
====================

A clustering of patients is useful if the clusters differ in something that was not used to find
them, such as survival. ``compare_annotations`` tests this.

The patients are made up: three subtypes with different hazards, two tables of measurements, and
a clinical table with times, events, age and stage. Survival needs lifelines
(``pip install 'mkclust[survival]'``).
"""

# %%
# Patients, measurements and a clinical table
# -------------------------------------------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mkclust import cluster, datasets
from mkclust.inspection import compare_annotations
from mkclust.report.drawing import cluster_style

made = datasets.make_views(210, 3, 2, n_features=[60, 30], noise=1.5, separation=7, random_state=1)
patients = [f"patient{i:03d}" for i in range(210)]
tables = {
    name: pd.DataFrame(view, index=patients)
    for name, view in zip(["expression", "methylation"], made.views, strict=True)
}

rng = np.random.default_rng(0)
death = rng.exponential(np.array([1200, 2600, 7000])[made.labels])  # days
end = rng.uniform(500, 3500, 210)  # of the observation
clinical = pd.DataFrame(
    {
        "time": np.minimum(death, end).round(),
        "event": (death < end).astype(int),
        "age": rng.normal(60, 10, 210).round(),
        "stage": np.where(rng.random(210) < 0.3 + 0.2 * (made.labels == 0), "late", "early"),
    },
    index=patients,
)

# %%
# Cluster, then compare
# ---------------------
# The clinical table is not used to cluster, so the p values are valid. They are corrected for
# the number of columns.

model = cluster(tables, 3, random_state=0)
found = compare_annotations(model.labels_series(), clinical)
print(found, end="\n\n")
table = found.to_frame()[["column", "test", "p", "p_adjusted"]]
print(table.to_string(float_format="{:.1g}".format, index=False))

# %%
# Kaplan-Meier curves
# -------------------

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for curve in found.survival.curves:
    color, _ = cluster_style(curve.cluster)
    label = f"cluster {curve.cluster}: {curve.events} of {curve.samples} died"
    ax.step(curve.times, curve.survival, where="post", color=color, linewidth=2, label=label)
ax.set_ylim(0, 1.02)
ax.set_xlim(0)
ax.set_xlabel("days")
ax.set_ylabel("share that survives")
ax.set_title(f"Survival of the clusters (log-rank test: p = {found.survival.p:.1g})")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %%
# On the command line, ``mkclust cluster tables/ -k 3 --annotations clinical.csv`` writes the same
# curves into the report.
