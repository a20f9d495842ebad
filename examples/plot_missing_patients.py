"""
Omics with missing patients
===========================

Studies rarely measure everything in every patient. mkclust clusters each patient from the tables
that have the patient. It imputes nothing and drops nobody.

The patients are made up: 240 patients of four subtypes with three tables, about a third of the
patients missing from each table.
"""

# %%
# Tables with different patients
# ------------------------------

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from mkclust import MultiView, cluster, datasets, inspection, metrics, plot
from mkclust.exceptions import MissingRowsWarning

made = datasets.make_views(
    240, 4, 3, n_features=[200, 80, 40], noise=[2.0, 2.0, 2.0], separation=7, random_state=0
)
patients = [f"patient{i:03d}" for i in range(240)]
subtype = pd.Series(made.labels, index=patients)
tables = {
    name: pd.DataFrame(view, index=patients).sample(frac=0.65, random_state=seed)
    for seed, (name, view) in enumerate(
        zip(["expression", "methylation", "protein"], made.views, strict=True)
    )
}
views = MultiView(tables)
print(views)

# %%
# The frames are aligned by their index. Four of the 240 patients are in no table. A fit warns about
# missing patients, and ``notes_`` keeps the text of the warning.

warnings.simplefilter("ignore", MissingRowsWarning)
model = cluster(views, 4, random_state=0)
print(model.notes_[0])

# %%
# The picture has one column per patient. White means that the table lacks the patient.

order = np.lexsort([*model.presence_.T, model.support_])
figure, ax = plt.subplots(figsize=(9, 1.7), layout="constrained")
ax.imshow(model.presence_[order].T, aspect="auto", cmap="Blues", vmax=1.4, interpolation="nearest")
ax.set_yticks(range(3), views.names)
ax.set_xlabel(f"{len(order)} patients, sorted by the number of their tables")

# %%
# All patients have a cluster
# ---------------------------
# The left plot shows the fused graph, the right one the view ``protein``: patients without a
# protein table are not drawn there.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
plot.embedding(model, ax=axes[0])
plot.embedding(model, "protein", ax=axes[1])

# %%
# How much the tables matter
# --------------------------
# Patients with fewer tables are placed with less confidence, and less often correctly.
# The confidence needs no known subtypes.

known = subtype[views.index].to_numpy()
match = linear_sum_assignment(contingency_matrix(known, model.labels_), maximize=True)[1]
right = match[known] == model.labels_
certain = inspection.confidence(model, views).samples
groups = [model.support_ == tables for tables in (1, 2, 3)]

figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
places = np.arange(3)
share = [right[group].mean() for group in groups]
confidence = [certain[group].mean() for group in groups]
ax.bar(places - 0.2, share, 0.38, label="share in the right cluster", color="#2f6f9f")
ax.bar(places + 0.2, confidence, 0.38, label="mean confidence", color="#c9d6e2")
ax.set_xticks(places, [f"{t + 1} of 3 tables\n{groups[t].sum()} patients" for t in range(3)])
ax.set_ylim(0, 1.3)
ax.legend(frameon=False, ncols=2, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
print(f"accuracy over all patients: {metrics.accuracy(known, model.labels_):.2f}")

# sphinx_gallery_thumbnail_number = 2
