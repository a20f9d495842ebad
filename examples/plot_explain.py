"""
Explain the answer
==================

Which view sees which cluster? Where do the views contradict each other? Is there another answer
that is nearly as good? ``explain`` answers all three, without known classes.
"""

# %%
# Cluster the digits, and ask
# ---------------------------

import matplotlib.pyplot as plt
import numpy as np

from mkclust import cluster, datasets, explain, metrics

digits = datasets.load_mfeat()
model = cluster(digits, 10, random_state=0)
found = explain(model, digits)

# %%
# Which views separate which clusters
# -----------------------------------
# Each number says how well one view alone separates one cluster from all others: 1 is perfect, 0
# is the level of chance.

profile = found.profile
figure, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
ax.imshow(profile.clusters.T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
for (c, p), value in np.ndenumerate(profile.clusters):
    ink = "white" if value > 0.6 else "black"
    ax.text(c, p, f"{value:.2f}", ha="center", va="center", fontsize=8, color=ink)
ax.set_xticks(range(10))
ax.set_yticks(range(len(digits.names)), digits.names)
ax.set_xlabel("cluster")
ax.set_title("How well each view alone separates each cluster")

# %%
# Conflicts
# ---------
# The views contradict each other about one pair of clusters.

for conflict in found.conflicts:
    print(conflict)

# %%
# Some digits of these two clusters show why. Both contain sixes and nines. The features of
# ``fou``, ``zer`` and ``mor`` do not change when a digit is turned by 180 degrees, so these views
# cannot tell 6 from 9. They divide the digits by something else.

conflict = found.conflicts[0]
rng = np.random.default_rng(1)


def draw(clusters, labels, title):
    """Draw twelve samples of each cluster."""
    figure, axes = plt.subplots(2, 12, figsize=(9, 1.9), layout="constrained")
    for row, c in zip(axes, clusters, strict=True):
        chosen = rng.choice(np.flatnonzero(labels == c), 12, replace=False)
        for ax, sample in zip(row, chosen, strict=True):
            ax.imshow(digits["pix"][sample].reshape(16, 15), cmap="Greys")
            ax.set_xticks([])
            ax.set_yticks([])
            ax.spines[:].set_visible(False)
        row[0].set_ylabel(f"{c}", rotation=0, labelpad=12, va="center", fontsize=13)
    figure.suptitle(title)


pair = conflict.clusters
draw(pair, model.labels_, f"Clusters {pair[0]} and {pair[1]} of the answer")

# %%
# Other answers
# -------------
# The first one follows the other side of the conflict. It separates 6 from 9.

for other in found.alternatives:
    print(f"accuracy {metrics.accuracy(digits.labels, other.labels):.2f}: {other}\n")

draw(pair, found.alternatives[0].labels, "The same clusters in the first other answer")

# %%
# The accuracy needs the true digits. Without them, no criterion picks the best answer reliably:
# decide by what you know about the samples.

# sphinx_gallery_thumbnail_number = 2
