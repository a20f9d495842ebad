"""The cohorts: generated, and fetched from an address with a checksum."""

import functools
import http.server
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from mkclust import GraphFusion, datasets
from mkclust.data.preparation import largest_variance, log_counts, prepare_views
from mkclust.exceptions import InputError
from mkclust.metrics import ari

SHARED = Path(os.environ.get("MKCLUST_DATA", "absent")) / "breast.TCGA.rda"


def test_a_generated_cohort_has_names_gaps_and_subtypes_that_are_found():
    cohort = datasets.make_cohort(random_state=0)
    assert cohort.index[0] == "P001" and len(set(cohort.index)) == 200
    assert (~cohort.present).sum(axis=0).tolist() == [0, 0, 40]
    found = GraphFusion(3, random_state=0).fit(cohort)
    assert ari(cohort.labels, found.labels_) > 0.9


@pytest.fixture
def cache(tmp_path, monkeypatch):
    pooch = pytest.importorskip("pooch")
    pytest.importorskip("rdata")
    monkeypatch.setattr(pooch, "os_cache", lambda _: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def address(monkeypatch):
    if not SHARED.exists():
        pytest.skip("set MKCLUST_DATA to a folder with breast.TCGA.rda")
    folder = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(SHARED.parent))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/{SHARED.name}"
    monkeypatch.setenv("MKCLUST_BREAST_URL", url)
    yield url
    server.shutdown()


def test_the_breast_cancer_cohort_is_fetched_once_with_names_and_subtypes(
    cache, address, monkeypatch
):
    views = datasets.fetch_breast()
    assert dict(zip(views.names, views.widths, strict=True)) == {
        "mrna": 200, "mirna": 184, "protein": 142,
    }  # fmt: skip
    assert len(views) == 220 and (~views.present).sum(axis=0).tolist() == [0, 0, 70]
    assert views.feature_names[0][0] == "RTN2" and "A0FJ" in views.index
    assert np.unique(views.labels).tolist() == ["Basal", "Her2", "LumA"]
    monkeypatch.setenv("MKCLUST_BREAST_URL", "http://127.0.0.1:9/none")
    assert len(datasets.fetch_breast()) == 220


@pytest.mark.slow
def test_a_demo_fits_on_a_screen_the_verdict_first(run, cache, address, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for given in [(), ("--cohort",)]:
        code, out, err = run("demo", *given, "-o", "out")
        assert code == 0, err
        assert out.startswith("There are clusters beyond chance") and len(out.splitlines()) <= 30
        assert "first marker" in out and max(map(len, out.splitlines())) <= 80


def test_without_a_network_the_error_says_what_to_do(cache, monkeypatch):
    monkeypatch.setenv("MKCLUST_BREAST_URL", "http://127.0.0.1:9/none")
    with pytest.raises(InputError, match=r"Copy the file .* Or write the tables in R"):
        datasets.fetch_breast()


def test_counts_per_million_and_variance_filter():
    X = np.array([[1.0, 3.0, 0.0], [2.0, 0.0, 2.0]])
    np.testing.assert_allclose(log_counts(X)[0, 1], np.log2(1 + 0.75e6))
    assert largest_variance(X, 1).tolist() == [1]
    with pytest.raises(InputError, match="negative"):
        log_counts(-X)


def test_prepared_views_keep_names_and_missing_samples():
    cohort = datasets.make_cohort(random_state=0)
    views = prepare_views(cohort, top_variance=10)
    assert views.widths == (10, 10, 10) and (views.present == cohort.present).all()
    assert set(views.feature_names[0]) < set(cohort.feature_names[0])
    assert list(views.index) == list(cohort.index)
