"""Views that agree with no other: the flag, the weight and the sentences follow one rule."""

import numpy as np
import pytest

from mkclust import GraphFusion, MultiView
from mkclust.metrics import accuracy

NAMES = ("a", "b", "noise")


def two_related_and_one_independent(seed, n=200):
    """Return views of which 20 % of the samples are missing each, and the classes."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 4
    related = [
        size * rng.standard_normal((4, 20))[labels] + rng.standard_normal((n, 20))
        for size in (1.0, 0.8)
    ]
    present = rng.random((n, 3)) > 0.2
    present[~present.any(axis=1), 0] = True
    views = [*related, rng.standard_normal((n, 20))]
    return MultiView(views, names=NAMES, present=present), labels


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MissingRowsWarning")
def test_unrelated_views_have_no_weight_though_samples_are_missing():
    for seed in range(8):
        views, labels = two_related_and_one_independent(seed)
        model = GraphFusion(4, random_state=0).fit(views)
        weightless = [name for name, w in zip(NAMES, model.weights_, strict=True) if w == 0]
        assert model.unrelated_views_ == weightless == ["noise"]
        assert "noise: weight 0.00, agrees with no other view beyond chance" in model.describe()[3]
        alone = views.present[:, 2] & ~views.present[:, :2].any(axis=1)
        assert any(f"{alone.sum()} samples are in no view" in note for note in model.notes_)
        assert np.linalg.norm(model.embedding_[alone], axis=1).min() > 0
        assert accuracy(labels[~alone], model.labels_[~alone]) > 0.9


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MissingRowsWarning")
def test_new_samples_of_an_unrelated_view_alone_are_placed_by_it():
    views, _ = two_related_and_one_independent(0)
    model = GraphFusion(4, random_state=0).fit(views)
    rows = np.flatnonzero(views.present[:, 2])[:40]
    tables = [np.full_like(view[rows], np.nan) for view in views.views]
    tables[2] = views["noise"][rows]
    found = model.transform(MultiView(tables, names=NAMES))
    assert np.linalg.norm(found, axis=1).min() > 0


def test_copies_are_not_called_unrelated(recwarn):
    X = two_related_and_one_independent(0)[0].views[0][:, :5].copy()
    X = X[~np.isnan(X).any(axis=1)]
    model = GraphFusion(4, random_state=0).fit([X, X.copy()])
    assert model.unrelated_views_ == [] and not recwarn.list
    assert "all views are copies" in model.describe_method()[3]
