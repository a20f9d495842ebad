"""Markers: planted features come first, p values are honest, sparse and incomplete views work."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mkclust import GraphFusion, MultiView, view_influence
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError
from mkclust.inspection import markers
from mkclust.inspection.markers import CIRCULAR, INDEPENDENT, group_tests


@pytest.fixture(scope="module")
def planted():
    """Two views: clusters in the first three columns of each, noise in the other five."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 30)
    tables = {}
    for name in ("rna", "protein"):
        X = rng.standard_normal((90, 8))
        X[np.arange(90), labels] += 5
        tables[name] = pd.DataFrame(X, columns=[f"{name}{j}" for j in range(8)])
    return tables, labels


@pytest.fixture(scope="module")
def model(planted):
    return GraphFusion(3, random_state=0).fit(MultiView(planted[0]))


def test_planted_features_come_first_in_a_sorted_frame(model, planted):
    tables, labels = planted
    found = markers(model, MultiView(tables))
    frame = found.to_frame()
    assert list(frame) == list(found.COLUMNS) and len(frame) == 3 * 16
    assert frame[["p", "p_adjusted"]].isna().all(axis=None)
    for c in range(3):
        column = int(np.bincount(labels[model.labels_ == c]).argmax())
        rows = found.top(c, 2)
        assert {int(str(name)[-1]) for name in found.feature[rows]} == {column}
        assert (found.effect[rows] > 2).all() and (found.auc[rows] > 0.95).all()
        only = found.top(c, 1, "rna")
        assert found.view[only].tolist() == ["rna"]
    assert not found.valid and found.warning == CIRCULAR
    assert "p value below" not in str(found) and str(found).endswith(CIRCULAR)
    tested = markers(model, planted[0], valid=True)
    assert f"of {len(found)} tests" in str(tested) and (np.diff(tested.p) >= 0).all()
    assert (tested.p_adjusted >= tested.p).all()


def test_p_values_without_the_tested_view_hold_their_level_on_noise():
    below = {"fit": [], "valid": []}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        views = MultiView([rng.standard_normal((90, 6)) for _ in range(2)])
        model = GraphFusion(3, random_state=0, n_init=2).fit(views)
        below["fit"].append((group_tests(views.views[0], model.labels_, 3).p < 0.05).mean())
        below["valid"].append((markers(model, views, valid=True).p < 0.05).mean())
    assert np.mean(below["fit"]) > 0.3  # why there are none without refits
    assert np.mean(below["valid"]) < 0.08


def rows(found):
    """Every row but its p values, in one order."""
    numbers = found.effect.round(12), found.auc.round(12)
    return sorted(zip(found.cluster, found.view, found.feature, *numbers, strict=True))


def test_valid_p_values_find_what_the_views_share_and_reuse_the_refits(model, planted):
    views = MultiView(planted[0])
    found = markers(model, views, valid=True)
    again = markers(model, views, valid=view_influence(model, views))
    np.testing.assert_array_equal(found.p, again.p)
    assert found.valid and found.warning == INDEPENDENT
    assert (found.p_adjusted[: 3 * 2] < 1e-6).all()
    plain = markers(model, views)
    assert rows(found) == rows(plain)  # only the p values are of other clusters
    turned = {name: table.iloc[:, ::-1] for name, table in planted[0].items()}
    assert rows(markers(model, turned)) == rows(plain)


def test_sparse_views_give_the_same():
    dense = [np.where(X < 1, 0, X) for X in make_views(60, 3, 2, random_state=0).views]
    model = GraphFusion(3, random_state=0).fit(dense)
    expected = markers(model, dense)
    found = markers(model, [sp.csr_array(X) for X in dense])
    order = [np.lexsort((m.feature, m.view, m.cluster)) for m in (found, expected)]
    for name in ("auc", "effect", "mean"):
        one, two = (getattr(m, name)[o] for m, o in zip((found, expected), order, strict=True))
        np.testing.assert_allclose(one, two, atol=1e-9)


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.MissingRowsWarning")
@pytest.mark.parametrize("valid", [False, True])
def test_samples_that_a_view_lacks_are_left_out_of_it(planted, valid):
    tables, _ = planted
    fewer = tables | {"protein": tables["protein"].iloc[::2]}
    views = MultiView(fewer)
    model = GraphFusion(3, random_state=0).fit(views)
    found = markers(model, views, valid=valid)
    counts = {view: set(found.samples[found.view == view].tolist()) for view in fewer}
    assert counts == {"rna": {90}, "protein": {45}}
    assert np.isfinite(found.p).all() == valid


@pytest.mark.filterwarnings("ignore::mkclust.exceptions.ColumnsWarning")
@pytest.mark.parametrize("named", [False, True])
def test_columns_that_were_left_out_do_not_shift_the_names_of_others(planted, named):
    tables, _ = planted
    expected = markers(GraphFusion(3, random_state=0), tables)
    wide = {name: table.copy() for name, table in tables.items()}
    for name, table in wide.items():
        table.insert(0, f"{name} empty", np.where(np.arange(90) < 80, np.nan, 1.0))
        table.iloc[3, 4] = np.nan
    views = wide if named else [table.to_numpy() for table in wide.values()]
    model = GraphFusion(3, random_state=0, missing="median").fit(views)
    found = markers(model, views)
    assert len(found) == len(expected)
    first = found.feature[found.top(0, 2)].tolist()
    same = expected.feature[expected.top(0, 2)].tolist()
    assert first == (same if named else [str(int(name[-1]) + 1) for name in same])


def test_what_cannot_be_tested_is_refused(planted):
    views = make_views(30, 3, 1, noise=0.5, random_state=0)
    with pytest.raises(InputError, match="two views"):
        markers(GraphFusion(3, random_state=0), views, valid=True)
    with pytest.raises(InputError, match="two clusters"):
        markers(GraphFusion(1, random_state=0), views)
    kernels = MultiView([np.diag(np.arange(1.0, 31)) + 0.1], kernels=True)
    with pytest.raises(InputError, match="kernel matrices have no features"):
        markers(GraphFusion(3, random_state=0, precomputed=True), kernels)
