"""
Digits in six views
===================

Two thousand handwritten digits are described by six tables of features. Graph fusion clusters
all six together, and the plots show what it found. The digits are bundled with mkclust.
"""

# %%
# Look at the data
# ----------------
# The view ``pix`` has the gray levels of 16 x 15 pixels, so its rows can be drawn. The other
# views hold shape features, such as Fourier coefficients (``fou``) and Zernike moments (``zer``).

import matplotlib.pyplot as plt

from mkclust import cluster, datasets, metrics, plot

digits = datasets.load_mfeat()
print(digits)

figure, axes = plt.subplots(2, 10, figsize=(9, 2.1), layout="constrained")
for i, ax in enumerate(axes.T.flat):
    ax.imshow(digits["pix"][100 * i].reshape(16, 15), cmap="Greys")
    ax.axis("off")

# %%
# Cluster
# -------
# The digits' true values are not used. They only score the result.

model = cluster(digits, 10, random_state=0)
print(f"NMI with the true digits: {metrics.nmi(digits.labels, model.labels_):.2f}")

# %%
# Every point is a digit. Neighbors in the fused graph are drawn close together by t-SNE.

plot.embedding(model)

# %%
# Which views agree
# -----------------
# ``fac``, ``kar`` and ``pix`` hold much of the same information. They agree strongly, and
# therefore share their weight: a weight is not a quality score.

figure, axes = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained", width_ratios=[1, 1.3])
plot.agreement(model, ax=axes[0])
plot.weights(model, ax=axes[1])

# %%
# What single views see
# ---------------------
# Each picture has the similarity of all pairs of digits, sorted by cluster. Blocks on the
# diagonal are clusters. The fused graph has clear blocks. The view ``mor`` alone confuses several
# of them.

figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for view, ax in zip([None, "fac", "mor"], axes, strict=True):
    plot.blocks(model, view, ax=ax)

# sphinx_gallery_thumbnail_number = 2
