"""Two thousand handwritten digits in six views: clusters, similarities and view weights."""

import matplotlib.pyplot as plt

from mkclust import GraphFusion, datasets, plot

views = datasets.load_mfeat()
model = GraphFusion(10, random_state=0).fit(views)

figure, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
for view, ax in zip([None, "fac", "mor"], axes, strict=True):
    plot.blocks(model, view, ax=ax)

plot.embedding(model)
plot.weights(model)
