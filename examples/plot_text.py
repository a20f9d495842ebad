"""
Text in two views
=================

The documents are the descriptions of functions in SciPy, which is installed with mkclust. Each
text is cut into two halves, and each half is a view of word counts. The package that a function
belongs to is the known class; it is not used to cluster.
"""

# %%
# Make two views of word counts
# -----------------------------

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.cluster import contingency_matrix

from mkclust import MultiView, cluster, metrics
from mkclust.inspection import markers

packages = ["linalg", "ndimage", "optimize", "signal", "stats"]
texts = {}
for package in packages:
    module = importlib.import_module(f"scipy.{package}")
    for name, function in inspect.getmembers(module, inspect.isroutine):
        # SciPy ends many descriptions with the same paragraph about array types.
        text, *_ = (inspect.getdoc(function) or "").split("**Array API")
        if len(text) > 800:
            texts[package, name] = text.split()

halves = {
    "first half": [" ".join(words[: len(words) // 2]) for words in texts.values()],
    "second half": [" ".join(words[len(words) // 2 :]) for words in texts.values()],
}
views = {}
for view, half in halves.items():
    counter = CountVectorizer(token_pattern="[a-z]{3,}", stop_words="english", min_df=3)
    counts = counter.fit_transform(half)
    words = counter.get_feature_names_out()
    views[view] = pd.DataFrame.sparse.from_spmatrix(counts, columns=words)
known = np.array([packages.index(package) for package, _ in texts])
print(MultiView(views))

# %%
# Cluster
# -------
# mkclust recognizes word counts and compares texts with the Hellinger metric.

model = cluster(views, 5, random_state=0)
print(*model.describe(), sep="\n")
print(f"accuracy {metrics.accuracy(known, model.labels_):.2f}")

# %%
# Compare with the packages
# -------------------------
# Linear algebra and optimization have a cluster each, and so have the statistical tests of
# ``stats``. The functions of ``ndimage`` that extend an image beyond its edges, such as filters,
# have another. The last cluster has ``signal`` and everything else.

table = contingency_matrix(known, model.labels_)
order = np.argsort(np.argmax(table / table.sum(0), axis=0), kind="stable")
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.imshow(table[:, order], cmap="Blues", aspect="auto")
for (y, x), count in np.ndenumerate(table[:, order]):
    ax.text(x, y, count, ha="center", va="center", color="white" if count > 60 else "black")
ax.set_xticks(range(5), [f"cluster {c}" for c in order])
ax.set_yticks(range(5), [f"scipy.{package}" for package in packages])
ax.set_title("Functions of each package in each cluster")

# %%
# Words that set the clusters apart
# ---------------------------------

found = markers(model, views)
figure, axes = plt.subplots(1, 5, figsize=(10, 2.4), layout="constrained")
for ax, c in zip(axes, order, strict=True):
    best = dict.fromkeys(found.feature[(found.cluster == c) & (found.effect > 0)])
    ax.text(0.5, 0.97, "\n".join(list(best)[:8]), ha="center", va="top", fontsize=11)
    ax.set_title(f"cluster {c}", fontweight="bold")
    ax.axis("off")
