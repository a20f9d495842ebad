"""Find a noise view: four views of the same clusters and one of pure noise.

The noise view agrees with no other view beyond chance, so its weight is zero and its name is
red. MKC-DNM measures its noise.
"""

from mkclust import MKCDNM, GraphFusion, datasets, plot

views = datasets.make_views(
    300, n_clusters=3, n_views=4, noise=[0.5, 0.5, 1.0, 2.0], n_noise_views=1, random_state=0
)
model = GraphFusion(3, random_state=0).fit(views)
plot.agreement(model)
plot.weights(model)
plot.spectrum(model)

published = MKCDNM(3, random_state=0).fit(views)
plot.noise(published)
plot.evolution(published)
