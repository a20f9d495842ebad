"""New samples, questions and files of a model fitted on fused graphs."""

import numpy as np
import pytest

from mkclust import GraphFusion, MultiView, datasets, metrics
from mkclust.predict.neighbors import neighbor_weights

pytestmark = pytest.mark.versions


@pytest.fixture(scope="module")
def planted() -> MultiView:
    return datasets.make_views(300, 3, 3, noise=1.0, random_state=0)


@pytest.fixture(scope="module")
def half(planted):
    """Which samples are fitted, which are new, and the model of the former."""
    order = np.random.default_rng(0).permutation(300)
    fitted, new = np.sort(order[:150]), np.sort(order[150:])
    return fitted, new, GraphFusion(3, random_state=0).fit(planted[fitted])


class TestNewSamples:
    def test_the_fitted_ones_get_their_own_labels(self, planted, half):
        fitted, _, model = half
        assert np.array_equal(model.predict(planted[fitted]), model.labels_)
        assert np.array_equal(model.transform(planted[fitted]), model.embedding_)

    def test_others_are_placed_among_their_neighbors(self, planted, half):
        _, new, model = half
        assert model.transform(planted[new]).shape == (150, 7)
        assert metrics.accuracy(planted.labels[new], model.predict(planted[new])) > 0.97

    def test_a_sample_may_lack_views(self, planted, half):
        _, new, model = half
        views = [np.array(view[new]) for view in planted.views]
        views[0][::2] = np.nan
        assert metrics.accuracy(planted.labels[new], model.predict(MultiView(views))) > 0.95

    def test_kernel_columns_say_the_same_as_rows(self, planted, half):
        fitted, new, _ = half
        X = [view / np.linalg.norm(view, axis=1, keepdims=True) for view in planted.views]
        kernels = MultiView([view[fitted] @ view[fitted].T for view in X], kernels=True)
        model = GraphFusion(3, random_state=0).fit(kernels)
        columns = [view[new] @ view[fitted].T for view in X]
        own = [np.ones(len(new))] * 3
        found = model.predict(columns, self_similarity=own)
        assert metrics.accuracy(planted.labels[new], found) > 0.97

    @pytest.mark.parametrize("angular", [False, True])
    def test_weights_are_shares_of_the_nearest(self, angular):
        D2 = np.random.default_rng(0).uniform(0, 1.9, (8, 40))
        weights = neighbor_weights(D2, 5, angular).toarray()
        assert weights.sum(axis=1) == pytest.approx(np.ones(8))
        assert (np.count_nonzero(weights, axis=1) <= 10).all()
        assert np.array_equal(weights.argmax(axis=1), D2.argmin(axis=1))

    def test_at_right_angles_to_everything_nobody_is_near(self):
        assert neighbor_weights(np.full((1, 9), 2.0), 3, True).toarray().max() == 0
