"""A user's program that mypy --strict checks against the types of the installed package.

Lines that mypy must refuse have an ignore. If the package were untyped, mypy would report the
ignores as unused.
"""

import numpy as np

import mkclust
from mkclust.dual_noise.verify import Verification
from mkclust.exceptions import InputError

views = mkclust.datasets.make_views(60, n_clusters=3, random_state=0)
model: mkclust.MKCDNM = mkclust.cluster(views, 3, random_state=0)
labels: np.ndarray = model.predict(views)
verdict: Verification = model.verify(views)
accuracy: float = mkclust.metrics.accuracy(views.labels, labels)
kept: int = model.stability(views).flips[0].cluster if not verdict.holds else 0
best: int = mkclust.choose_k(views, (2, 4)).k
try:
    mkclust.read("no.such.file", transpose=True)
except InputError as error:
    print(error.args)

mkclust.cluster(views, "three")  # type: ignore[arg-type]
mkclust.metrics.accuracy(views.labels)  # type: ignore[call-arg]
