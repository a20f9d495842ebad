"""Samples that some views lack: refused by the compared methods, or placed by their neighbors."""

import numpy as np
import pytest
import scipy.sparse as sp

from _support.fits import fit_quietly
from mkclust import METHODS, MultiView, metrics
from mkclust.baselines import COMPARED
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError

N, K = 60, 3
WHOLE = make_views(N, K, 3, noise=0.3, separation=6.0, random_state=0)
every_compared = pytest.mark.parametrize("name", [method.name for method in COMPARED])


def incomplete(share=0.2, kernels=False):
    present = np.random.default_rng(0).random((N, 3)) >= share
    present[~present.any(axis=1), 0] = True
    views = [view @ view.T for view in WHOLE.views] if kernels else list(WHOLE.views)
    return MultiView(views, present=present, kernels=kernels)


@every_compared
def test_they_are_refused_by_default_with_the_parameter_that_places_them(name):
    with pytest.raises(InputError, match=r'lacks sample .*missing_rows="complete" fits'):
        METHODS[name](K).fit(incomplete())
    with pytest.raises(InputError, match='missing_rows must be "raise" or "complete"'):
        METHODS[name](K, missing_rows="mean").fit(WHOLE)


@every_compared
def test_complete_samples_are_fitted_and_the_others_placed(name):
    views = incomplete()
    model = fit_quietly(name, views, K, missing_rows="complete")
    complete = views.present.all(axis=1)
    assert 0 < complete.sum() < N
    assert metrics.accuracy(WHOLE.labels, model.labels_) == 1.0
    alone = fit_quietly(name, WHOLE[complete], K)
    np.testing.assert_array_equal(model.labels_[complete], alone.labels_)
    for attribute in ("embedding_", "graph_", "kernel_"):
        assert hasattr(model, attribute) == hasattr(alone, attribute)
        if hasattr(model, attribute):
            found = getattr(model, attribute)
            assert len(found) == N and np.isfinite(found).all()
    assert f"fitted to the {complete.sum()} samples that all views have" in model.notes_[-1]
    assert model.support_.tolist() == views.present.sum(axis=1).tolist()


@pytest.mark.parametrize("name", ["akkm", "swmc"])
@pytest.mark.parametrize("kind", ["kernels", "sparse"])
def test_kernels_and_sparse_views(name, kind):
    views = incomplete(kernels=kind == "kernels")
    if kind == "sparse":
        sparse = [sp.csr_array(np.nan_to_num(view)) for view in views.views]
        views = MultiView(sparse, present=views.present)
    model = fit_quietly(name, views, K, missing_rows="complete")
    assert metrics.accuracy(WHOLE.labels, model.labels_) == 1.0


def test_too_few_complete_samples_are_counted():
    present = np.ones((N, 2), dtype=bool)
    present[:30, 0] = present[32:, 1] = False
    views = MultiView(list(WHOLE.views[:2]), present=present)
    with pytest.raises(InputError, match="no more than 3 samples are common"):
        fit_quietly("akkm", views, K, missing_rows="complete")
    present = np.ones((N, 3), dtype=bool)
    present[:20, 0] = present[20:40, 1] = present[40:58, 2] = False
    with pytest.raises(InputError, match="2 of the 60 samples are in every view, too few for 3"):
        fit_quietly("akkm", MultiView(WHOLE, present=present), K, missing_rows="complete")
