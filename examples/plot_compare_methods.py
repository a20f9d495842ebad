"""
Compare methods
===============

All methods of mkclust have the same interface, so that comparing them is a loop over ``METHODS``.
"""

# %%
# All methods on the same digits
# ------------------------------
# Every method runs with its default parameters and without labels. The views are 250 of the
# bundled digits.

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np

from mkclust import METHODS, cluster, datasets, metrics
from mkclust.exceptions import ConvergenceWarning

warnings.simplefilter("ignore", ConvergenceWarning)  # of SPMKC, which stops after 20 iterations
views = datasets.load_mfeat()[::8]
seconds, accuracy, labels = {}, {}, {}
for name, method in METHODS.items():
    start = time.process_time()
    labels[name] = cluster(views, 10, method=name, random_state=0).labels_
    seconds[name] = time.process_time() - start
    accuracy[name] = metrics.accuracy(views.labels, labels[name])
    print(f"{method.title:12} accuracy {accuracy[name]:.2f}, {seconds[name]:.1f} s")

# %%
# Accuracy and time
# -----------------

names = sorted(accuracy, key=accuracy.get)
titles = [METHODS[name].title for name in names]
main = ["#c26a1b" if name in ("graph-fusion", "mkc-dnm") else "#2f6f9f" for name in names]
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", sharey=True)
axes[0].barh(titles, [accuracy[name] for name in names], color=main)
axes[0].set_xlabel("accuracy")
axes[1].barh(titles, [seconds[name] for name in names], color=main)
axes[1].set_xscale("log")
axes[1].set_xlabel("seconds of CPU, logarithmic")
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
figure.suptitle("250 digits in six views")

# %%
# One small data set proves little. The :doc:`leaderboard </leaderboard>` compares the methods on
# many.
#
# Which methods find the same clusters
# ------------------------------------
# The adjusted Rand index (ARI) compares the labels of two methods without known classes. It is 1
# for equal clusters and 0 by chance.

names.reverse()
titles.reverse()
table = np.array([[metrics.ari(labels[a], labels[b]) for b in names] for a in names])
figure, ax = plt.subplots(figsize=(7, 6), layout="constrained")
image = ax.imshow(table, cmap="Blues", vmin=0, vmax=1)
for (y, x), value in np.ndenumerate(table):
    ink = "white" if value > 0.6 else "black"
    ax.text(x, y, f"{value:.1f}", ha="center", va="center", fontsize=8, color=ink)
ax.set_xticks(range(len(names)), titles, rotation=40, ha="right")
ax.set_yticks(range(len(names)), titles)
figure.colorbar(image, label="ARI between two methods", shrink=0.8)
