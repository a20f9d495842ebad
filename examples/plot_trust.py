"""Which views to trust: four views of the same clusters and one of pure noise.

The noise view agrees with no other, adds much N-noise and lacks the consensus; its name is red.
"""

from mkclust import MKCDNM, datasets, plot

views = datasets.make_views(
    300, n_clusters=3, n_views=4, noise=[0.5, 0.5, 1.0, 2.0], n_noise_views=1, random_state=0
)
model = MKCDNM(3, random_state=0).fit(views)

plot.agreement(model)
plot.noise(model)
plot.spectrum(model)
