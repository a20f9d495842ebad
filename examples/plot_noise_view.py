"""
A view of pure noise
====================

One of five tables has nothing to do with the others, for example because its rows were shuffled
by mistake. Graph fusion finds it without any labels, and does not use it.
"""

# %%
# Four views of the same three clusters, and a view of random numbers
# -------------------------------------------------------------------

import matplotlib.pyplot as plt

from mkclust import MKCDNM, cluster, datasets, metrics, plot, view_influence

views = datasets.make_views(
    300, n_clusters=3, n_views=4, noise=[0.5, 0.5, 1.0, 2.0], n_noise_views=1, random_state=0
)
model = cluster(views, 3, random_state=0)
print("unrelated views:", model.unrelated_views_)
print("agreement with the planted clusters (ARI):", metrics.ari(views.labels, model.labels_))

# %%
# The noise view agrees with no other view beyond chance. Its name is red, and its weight is zero.

figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained", width_ratios=[1, 1.25])
plot.agreement(model, ax=axes[0])
plot.weights(model, ax=axes[1])

# %%
# Leaving it out changes nothing:

print(view_influence(model, views))

# %%
# Spectra
# -------
# Views with three clusters have two large eigenvalues beside the constant one. The noise view
# has none.

plot.spectrum(model)

# %%
# The published method
# --------------------
# MKC-DNM has no weights. It measures the noise of each view instead, and keeps more eigenvectors
# of all views because of the noise view.

published = MKCDNM(3, random_state=0).fit(views)
figure, axes = plt.subplots(2, 1, figsize=(7.5, 6.4), layout="constrained")
plot.noise(published, ax=axes[0])
plot.evolution(published, ax=axes[1])
