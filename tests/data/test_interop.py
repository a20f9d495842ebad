"""Other people's tables and tools: pandas, polars, MuData, scikit-learn's pipelines, joblib."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mkclust import MKCDNM, MultiView, cluster, metrics, omics
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError

pytestmark = [
    pytest.mark.versions,
    pytest.mark.filterwarnings("ignore::mkclust.exceptions.MkclustWarning"),
]
SAMPLES = [f"s{i}" for i in range(90)]


@pytest.fixture(scope="module")
def views():
    return make_views(90, n_clusters=3, n_views=3, noise=0.5, random_state=0)


def model(**settings):
    return MKCDNM(3, random_state=0, n_init=2, **settings)


def test_polars_columns_that_are_no_numbers_are_named(views):
    pl = pytest.importorskip("polars", reason="polars is not a dependency")
    names = [f"c{i}" for i in range(10)]
    frames = [pl.DataFrame(dict(zip(names, view.T, strict=True))) for view in views.views]
    with pytest.raises(InputError, match=r"'view1' has 1 non-numeric column \('kind'\)"):
        MultiView([frames[0].with_columns(pl.Series("kind", SAMPLES)), frames[1]])
    holes = frames[0].with_columns(pl.Series("h", [None] * 2 + [1.0] * 88))
    with pytest.raises(InputError, match="column 'h'"):
        model().fit([holes, frames[1]])
    whole = frames[0].with_columns(pl.Series("b", [True] * 90))
    assert MultiView([whole, frames[1]]).widths[0] == 11


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_embedding_comes_out_as_a_frame(library, views):
    kind = pytest.importorskip(library, reason=f"{library} is not installed")
    line = model().set_output(transform=library)
    for found in (line.fit_transform(views), line.transform(views)):
        assert isinstance(found, kind.DataFrame)
        assert list(found.columns) == ["mkcdnm0", "mkcdnm1", "mkcdnm2"]
        np.testing.assert_allclose(found.to_numpy(), line.embedding_, atol=1e-9)
    assert list(line.get_feature_names_out()) == ["mkcdnm0", "mkcdnm1", "mkcdnm2"]
    assert isinstance(clone(line).set_output(transform="default").fit_transform(views), np.ndarray)


def test_a_pipeline_predicts_and_transforms(views):
    X, owners = np.hstack(views.views), np.repeat(views.names, views.widths)
    line = make_pipeline(StandardScaler(), model(columns=owners)).fit(X[:60])
    np.testing.assert_array_equal(line.predict(X[:60]), line[-1].labels_)
    labels = np.concatenate([line[-1].labels_, line.predict(X[60:])])
    assert metrics.accuracy(views.labels, labels) > 0.95
    assert line.transform(X[60:]).shape == (30, 3)
    first = make_pipeline(model(columns=owners), StandardScaler()).fit_transform(X)
    np.testing.assert_allclose(first.mean(axis=0), 0, atol=1e-12)


def likeness(X, names, **obsm):
    """What is used of an AnnData, for machines without it."""
    return SimpleNamespace(
        X=X, obs_names=names, obs={}, obsm=obsm, layers={"twice": 2 * X}, uns={},
        var_names=[f"gene{j}" for j in range(X.shape[1])],
    )  # fmt: skip


def test_matrices_are_found_by_their_place(views):
    a, b, c = views.views
    whole = SimpleNamespace(
        mod={"rna": likeness(a, SAMPLES, X_pca=b), "atac": likeness(c, SAMPLES)},
        obs_names=SAMPLES, obs={}, obsm={}, uns={},
    )  # fmt: skip
    found = omics.views_of(whole, {"raw": "rna/layers/twice", "pca": "rna/obsm/X_pca", "c": "atac"})
    assert found.names == ("raw", "pca", "c")
    for view, expected in zip(found.views, (2 * a, b, c), strict=True):
        np.testing.assert_array_equal(view, expected)
    assert list(found.index) == SAMPLES
    assert omics.views_of(whole).names == ("rna", "atac")
    assert omics.views_of(whole.mod["rna"], ["X", "obsm/X_pca"]).names == ("X", "obsm/X_pca")
    fitted = cluster(whole, 3, verdict=False, random_state=0)
    omics.write_back(whole, fitted)
    assert whole.obs["mkclust"].astype(int).tolist() == fitted.labels_.tolist()
    np.testing.assert_array_equal(whole.obsm["X_mkclust"], fitted.embedding_)
    np.testing.assert_array_equal(model().fit(whole).predict(whole), model().fit([a, c]).labels_)


def test_what_is_not_there_is_named(views):
    data = likeness(views.views[0], SAMPLES)
    with pytest.raises(InputError, match="no matrix 'layers/raw'; there are X, layers/twice"):
        omics.views_of(data, ["layers/raw"])
    whole = SimpleNamespace(mod={"rna": data}, obs_names=SAMPLES, obs={}, obsm={}, uns={})
    with pytest.raises(InputError, match="no modality 'atac'; there are rna"):
        omics.views_of(whole, ["atac"])
    with pytest.raises(InputError, match="neither MuData nor AnnData but list"):
        omics.views_of([1, 2])
    data.X = None
    with pytest.raises(InputError, match="'X' is empty"):
        omics.views_of(data)
    with pytest.raises(InputError, match=r"'a'.*several samples are named.*obs_names_make_unique"):
        omics.join_by_name({"a": (np.eye(2), ["x", "x"])}, ["x", "y"])


def test_modalities_in_and_answers_out(views):
    anndata = pytest.importorskip("anndata", reason="anndata comes with mkclust[omics]")
    mudata = pytest.importorskip("mudata", reason="mudata comes with mkclust[omics]")
    obs = pd.DataFrame(index=SAMPLES)
    a, b = views.views[:2]
    rna, atac = (anndata.AnnData(X, obs=obs.copy()) for X in (a, sp.csr_matrix(b)))
    whole = mudata.MuData({"rna": rna, "atac": atac})
    fitted = cluster(whole, 3, verdict=False, random_state=0)
    omics.write_back(whole, fitted, key="found")
    assert metrics.accuracy(views.labels, fitted.labels_) > 0.95
    assert whole.obs["found"].astype(int).tolist() == fitted.labels_.tolist()
    np.testing.assert_array_equal(whole.obsm["X_found"], fitted.embedding_)
    np.testing.assert_array_equal(fitted.predict(whole[:20]), fitted.labels_[:20])
    parts = {"rna": rna, "atac": atac}
    for several in (parts, [rna, atac]):  # without MuData
        alike = cluster(several, 3, verdict=False, random_state=0)
        np.testing.assert_array_equal(alike.labels_, fitted.labels_)
        np.testing.assert_array_equal(alike.predict(several), fitted.labels_)
    omics.write_back(parts, fitted, confidence=np.ones(90))
    assert rna.obs["mkclust"].astype(int).tolist() == fitted.labels_.tolist()
    np.testing.assert_array_equal(atac.obsm["mkclust_membership"], fitted.membership_)
    assert (atac.obs["mkclust_confidence"] == 1).all()
    rna.obsm["X_pca"], rna.layers["raw"] = a[:, :3], a
    places = {"pca": "rna/obsm/X_pca", "raw": "rna/layers/raw"}
    assert omics.views_of(parts, places).widths == (3, a.shape[1])
    some = mudata.MuData({"rna": rna, "atac": atac[30:][::-1].copy()})
    gaps = omics.views_of(some)
    assert gaps.present.sum(axis=0).tolist() == [90, 60]
    order = [SAMPLES.index(name) for name in gaps.index]
    found = cluster(some, 3, verdict=False, random_state=0)
    omics.write_back(some, found)
    assert metrics.accuracy(views.labels[order], found.labels_) > 0.9
    assert some.obs["mkclust"].notna().all()
