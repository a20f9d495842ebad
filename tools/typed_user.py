"""A user's program that mypy --strict checks against the types of the installed package.

Lines that mypy must refuse have an ignore. If the package were untyped, mypy would report the
ignores as unused.
"""

import numpy as np

import mkclust
from mkclust.exceptions import InputError
from mkclust.inspection import ChoiceOfK, Stability
from mkclust.linalg.verification import Verification

views = mkclust.datasets.make_views(60, n_clusters=3, random_state=0)
model: mkclust.GraphFusion = mkclust.cluster(views, 3, random_state=0)
labels: np.ndarray = model.predict(views)
verdict: Verification = mkclust.verify(model, views)
accuracy: float = mkclust.metrics.accuracy(views.labels, labels)
found: Stability = mkclust.stability(model, views)
choice: ChoiceOfK = mkclust.choose_k(model, views, (2, 4))
best: int = choice.k
published = mkclust.MKCDNM(3, solver="exact", kernel="gaussian").fit(views)
try:
    mkclust.read("no.such.file", transpose=True)
except InputError as error:
    print(error.args)

mkclust.cluster(views, 3, method=5)  # type: ignore[arg-type]
mkclust.metrics.accuracy(views.labels)  # type: ignore[call-arg]
