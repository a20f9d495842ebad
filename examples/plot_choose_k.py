"""
Choose the number of clusters
=============================

``choose_k`` tries several numbers with the estimator that will cluster. It also tests whether
there are clusters at all.
"""

# %%
# Five planted clusters
# ---------------------

import matplotlib.pyplot as plt

from mkclust import GraphFusion, choose_k, cluster, datasets, plot

views = datasets.make_views(300, 5, 3, noise=1.2, random_state=0)
choice = choose_k(GraphFusion(2), views, (2, 10))
print(choice)

# %%
# The blue line decides. One half of the samples is clustered, and the modularity is that of the
# other half: how much more edge weight lies inside clusters than expected by chance. It is largest
# for 5. The dotted line is the modularity of the samples tested for cluster structure. The gray
# band is what the same method reaches in data without clusters.

plot.choice(choice)

# %%
# What splits from one number to the next
# ---------------------------------------
# With six clusters, one of the five is divided.

print(choice.tree())

# %%
# Data without clusters
# ---------------------
# Every method divides noise into as many clusters as it is asked for. ``choose_k`` answers 1.

noise = datasets.make_views(300, 2, 0, n_noise_views=3, random_state=0)
none = choose_k(GraphFusion(2), noise, (2, 10))
print(none)
plot.choice(none)

# %%
# Real data
# ---------
# Between clear clusters and noise lie real data. For 500 of the bundled digits the answer is a
# range. ``cluster(views, "auto")`` chooses and clusters in one step.

digits = datasets.load_mfeat()[::4]
model = cluster(digits, (4, 14), random_state=0)
print(model.choice_of_k_)

figure, axes = plt.subplots(1, 2, figsize=(12.5, 4.2), layout="constrained")
plot.choice(model, ax=axes[0])
plot.embedding(model, ax=axes[1])
