"""The estimator GraphFusion: parameters, fitted attributes, notes, descriptions, partitions."""

from copy import copy

import numpy as np
import pytest

from mkclust import GraphFusion, MultiView, datasets
from mkclust.agreement.chance import overlap_p_values
from mkclust.agreement.weights import view_weights
from mkclust.exceptions import InputError
from mkclust.graph_fusion.diffusion_map import diffusion_map
from mkclust.graph_fusion.fusion import fuse, joint_weights
from mkclust.graph_fusion.view_graphs import ViewGraphs
from mkclust.linalg.kmeans import kmeans_clusters, kmeans_labels

K = 3


@pytest.fixture(scope="module")
def views():
    return datasets.make_views(70, K, 2, noise=0.8, n_noise_views=1, random_state=0)


@pytest.fixture(scope="module")
def model(views):
    return GraphFusion(K, random_state=0).fit(views)


@pytest.fixture(scope="module")
def anchored(views):
    return GraphFusion(K, neighbors="anchors", n_init=2, random_state=0).fit(views)


def test_a_fit_is_its_stages(model, views):
    graphs = ViewGraphs(views, 10)
    subspaces = graphs.subspaces(2 * K)
    p_values = overlap_p_values(subspaces.heads(2 * K), K)
    chosen = view_weights(subspaces.overlap(K), 2 * K, graphs.redundancy(), p_values)
    found = diffusion_map(fuse(graphs, chosen.weights), 2 * K + 1)
    clusters = kmeans_clusters(found.embedding, K, 10, np.random.RandomState(0))
    assert model.n_neighbors_ == 10
    np.testing.assert_array_equal(model.weights_, chosen.weights)
    np.testing.assert_array_equal(model.agreement_, chosen.agreement)
    np.testing.assert_array_equal(model.redundancy_, chosen.redundancy)
    assert model.equal_weights_ is chosen.equal is False
    np.testing.assert_array_equal(model.eigenvalues_, found.eigenvalues)
    np.testing.assert_array_equal(model.embedding_, found.embedding)
    np.testing.assert_array_equal(model.labels_, clusters.labels)
    assert model.unrelated_views_ == [views.names[p] for p in chosen.unrelated] == ["noise1"]
    assert model.metrics_ == graphs.metric_names()
    assert (model.neighbor_search_, model.n_anchors_, model.notes_) == ("exact", None, ())
    heads = [spectrum.vectors[:, :K] for spectrum in subspaces]
    for kept, head in zip(model._spectra.heads, heads, strict=True):
        np.testing.assert_allclose(kept, head, atol=1e-6)


def test_new_samples_are_placed_by_what_was_fitted(model, views):
    extension = model._extension
    graphs = ViewGraphs(views, 10)
    joint = joint_weights(graphs, model.weights_)
    assert (extension.n_neighbors, extension.joint_share) == (10, 0.3)
    assert extension.embedding is model.embedding_
    for p, part in enumerate(extension.views):
        assert part.name == views.names[p] and part.view is views.views[p]
        assert part.held.all() and len(part.held) == 70
        assert (part.weight, part.joint) == (model.weights_[p], joint[p])
        assert part.spreads == pytest.approx(graphs.spreads()[p])
    X = [view @ view.T for view in views.views]
    kernels = GraphFusion(K, precomputed=True, random_state=0).fit(X)
    for part, kernel in zip(kernels._extension.views, X, strict=True):
        assert part.view is None
        np.testing.assert_allclose(part.diagonal, np.diagonal(kernel))


def test_parts_of_a_fit_are_public(model, views):
    np.testing.assert_allclose(
        model.affinity(views, K).toarray(), fuse(ViewGraphs(views, 10), model.weights_).toarray()
    )
    graphs = GraphFusion(20).view_graphs(views)
    assert isinstance(graphs, ViewGraphs) and graphs.n_neighbors == 5
    spectra = model.subspaces(views, 4)
    assert [spectrum.size for spectrum in spectra] == [4] * 3
    assert [spectrum.vectors.shape for spectrum in model.subspaces(views[:12], 30)] == [
        (12, size.vectors.shape[1]) for size in model.subspaces(views[:12], 12)
    ]
    other = GraphFusion(K).affinity(views, 10).toarray()
    assert not np.allclose(other, model.affinity(views, K).toarray())


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MissingRowsWarning")
def test_missing_samples_reach_every_part():
    made = datasets.make_views(80, K, 3, noise=1.2, n_noise_views=1, random_state=1)
    present = np.ones((80, 4), dtype=bool)
    present[:5, :3] = present[60:70, 1] = False  # five samples in the noise view only
    some = MultiView(made, present=present)
    fitted = GraphFusion(K, random_state=0).fit(some)
    assert fitted.weights_[3] == 0 and fitted.unrelated_views_ == ["noise1"]
    assert any(note.startswith("5 samples are in no view") for note in fitted.notes_)
    expected = fuse(ViewGraphs(some, fitted.n_neighbors_), fitted.weights_).toarray()
    np.testing.assert_allclose(fitted.affinity(some, K).toarray(), expected)
    for p, part in enumerate(fitted._extension.views):
        np.testing.assert_array_equal(part.held, present[:, p])
    assert fitted.verify(some).holds


def test_partitions_share_the_graph_of_the_middle_number():
    estimator, views = GraphFusion(K), datasets.make_views(70, K, 2, noise=4.0, random_state=0)
    found = estimator.partitions(views, [2, 4, 5], 3, 2)
    graph = estimator.affinity(views, 4)
    np.testing.assert_array_equal(found.graph.toarray(), graph.toarray())
    embedding = diffusion_map(graph, 11).embedding
    for k in (2, 4, 5):
        expected = kmeans_labels(embedding[:, : 2 * k + 1], k, 2, 3)
        np.testing.assert_array_equal(found.labels[k], expected)
    even = estimator.partitions(views, [2, 5], 3, 2).graph
    np.testing.assert_array_equal(even.toarray(), estimator.affinity(views, 5).toarray())


@pytest.mark.parametrize("asked", [0, -1, 2.5, True, "5"])
def test_numbers_of_neighbors_that_are_refused(views, asked):
    with pytest.raises(InputError, match=r"^n_neighbors must be a whole number from 1 on, got "):
        GraphFusion(K, n_neighbors=asked).fit(views)


def test_numbers_of_neighbors(views):
    assert GraphFusion(2, n_neighbors=1)._neighbors_among(9, 2) == 1
    assert GraphFusion(2, n_neighbors=np.int64(8))._neighbors_among(9, 2) == 8
    assert GraphFusion(2, n_neighbors=9)._neighbors_among(9, 2) == 8
    assert GraphFusion(2)._neighbors_among(28, 2) == 7
    few = GraphFusion(2, n_neighbors=30, random_state=0).fit(views[:10])
    assert few.n_neighbors_ == 9
    assert "n_neighbors = 30 is more than there are: 9 neighbors were used" in few.notes_
    enough = GraphFusion(2, n_neighbors=9, random_state=0).fit(views[:10])
    assert not any("more than there are" in note for note in enough.notes_)


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MissingRowsWarning")
def test_notes_on_views_and_samples(views):
    present = np.ones((70, 3), dtype=bool)
    present[:6, :2] = False
    fitted = GraphFusion(K, random_state=0).fit(MultiView(views, present=present))
    assert fitted.notes_[-1].startswith("6 samples are in no view that is used: they were placed")
    assert len(fitted.notes_) == 2
    present = np.ones((70, 3), dtype=bool)
    present[:33, 0] = present[43:, 1] = False  # ten samples in both
    left_out = "too few samples are in all used views: the joint graph was left out"
    assert left_out in GraphFusion(K, random_state=0).fit(MultiView(views, present=present)).notes_
    present[43, 1] = True
    notes = GraphFusion(K, random_state=0).fit(MultiView(views, present=present)).notes_
    assert left_out not in notes


def test_descriptions(model, anchored, views):
    lines = model.describe()
    last = model.eigenvalues_[-1] / model.eigenvalues_[0]
    assert lines[0] == (
        "affinity graphs of 10 to 20 exact neighbors; metrics: z-scored Euclidean, cosine in "
        "every view"
    )
    assert lines[-1] == f"diffusion map of 7 components, relative eigenvalues 1 to {last:.2f}"
    assert [line.split(":")[0] for line in lines[1:-1]] == list(views.names)
    assert "not used" in lines[3]
    other = copy(model)
    other.eigenvalues_ = 3 * model.eigenvalues_  # only their ratio is described
    assert other.describe() == lines
    assert anchored.describe()[0] == (
        "anchor graphs: each sample is linked to 5 of up to 35 anchors per metric; metrics: "
        "z-scored Euclidean, cosine in every view"
    )
    rng = np.random.default_rng(0)
    mixed = GraphFusion(2, random_state=0).fit(
        {"a": rng.standard_normal((30, 3)), "b": rng.poisson(0.07, (30, 80))}
    )
    assert mixed.describe()[0].endswith(
        "metrics: z-scored Euclidean, cosine in a; z-scored Euclidean, Hellinger, tf-idf "
        "Hellinger in b"
    )
    assert (
        mixed.describe()[-2]
        == "no two views agree beyond chance: the weights follow from redundancy alone"
    )


class TestAnchors:
    def test_attributes(self, anchored, model, views):
        assert anchored.neighbor_search_ == "anchors" and anchored.n_anchors_ == 35
        assert anchored.embedding_.shape == (70, 7) and anchored.eigenvalues_.shape == (7,)
        np.testing.assert_allclose(anchored.weights_, model.weights_)
        np.testing.assert_allclose(anchored.agreement_, model.agreement_)
        np.testing.assert_allclose(anchored.redundancy_, model.redundancy_)
        assert anchored.unrelated_views_ == ["noise1"] and anchored.metrics_ == model.metrics_
        assert anchored.cluster_centers_.shape == (3, 7) and anchored.inertia_ > 0
        assert anchored._extension.links.count == 5
        assert anchored.notes_ == (
            "70 samples: neighbors by links to 35 anchors per metric, made from 70 samples; view "
            "weights from 70 samples",
        )
        np.testing.assert_array_equal(anchored.predict(views), anchored.labels_)

    def test_verify_is_refused(self, anchored, views):
        with pytest.raises(InputError) as error:
            anchored.verify(views)
        assert str(error.value) == (
            "verify needs exact graphs, and this model was fitted with anchors: fit a sample of "
            'the rows with neighbors="exact"'
        )
