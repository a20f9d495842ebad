"""
Kernels only
============

Some data have no table of features, only similarities between samples: sequences, graphs,
molecules. mkclust takes kernel matrices in place of tables.

Here, 200 random DNA sequences come from four sources. The sources differ in which letter follows
which. The kernels compare the short words (k-mers) that two sequences have in common.
"""

# %%
# Sequences and their string kernels
# ----------------------------------

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from mkclust import MKCDNM, MultiView, cluster, metrics, plot

rng = np.random.default_rng(0)
steps = rng.dirichlet(np.full(4, 4.0), size=(4, 4))  # of each source: the letter after each letter
source = np.repeat(np.arange(4), 50)
sequences = []
for s in source:
    letters = [0]
    for draw in rng.random(150):
        letters.append(int(np.searchsorted(steps[s, letters[-1]].cumsum(), draw)))
    sequences.append("".join("ACGT"[min(letter, 3)] for letter in letters))
print(sequences[0][:60], "...")


def spectrum_kernel(length):
    """Return the cosine similarity of the k-mer counts of all pairs of sequences."""
    words = ["".join(letters) for letters in product("acgt", repeat=length)]
    counter = CountVectorizer(analyzer="char", ngram_range=(length, length), vocabulary=words)
    counts = counter.transform(sequences).toarray()
    rows = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    return rows @ rows.T


kernels = {f"{length}-mers": spectrum_kernel(length) for length in (2, 3, 5)}

# %%
# The kernels, with the sequences sorted by source. Words of five letters rarely occur twice, so
# that their kernel is noisier.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.5), layout="constrained")
for ax, (name, K) in zip(axes, kernels.items(), strict=True):
    low, high = np.quantile(K[~np.eye(200, dtype=bool)], [0.02, 0.98])
    ax.imshow(K, cmap="Blues", vmin=low, vmax=high)
    ax.set_title(name)
    ax.set_xticks([])
    ax.set_yticks([])

# %%
# Cluster
# -------
# ``MultiView(..., kernels=True)`` says that the matrices are kernels. Graph fusion then uses the
# distances and angles that the kernels define.

views = MultiView(kernels, kernels=True)
model = cluster(views, 4, random_state=0)
published = MKCDNM(4, kernel="precomputed", random_state=0).fit(views)
for fitted in (model, published):
    print(f"{fitted.title}: accuracy {metrics.accuracy(source, fitted.labels_):.2f}")

# %%
# The embedding, and the weights of the kernels.

figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
plot.embedding(model, ax=axes[0])
plot.weights(model, ax=axes[1])
