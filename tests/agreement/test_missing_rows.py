"""Samples that some views lack: what is estimated, what is recovered, what is refused."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkclust import MKCDNM, MultiView, datasets, metrics, write_report
from mkclust.agreement.subspace_overlap import overlap, overlap_on_common_rows
from mkclust.data.missing import check_presence, common_rows
from mkclust.exceptions import InputError, MissingRowsWarning
from mkclust.linalg.eigenpairs import Spectrum

pytestmark = pytest.mark.filterwarnings("ignore::mkclust.exceptions.MissingRowsWarning")


def some_missing(n, m, share, seed):
    """Which cells are there when a share of them is missing, at least one for each sample."""
    rng = np.random.default_rng(seed)
    present = rng.random((n, m)) >= share
    present[np.arange(n), rng.integers(m, size=n)] = True
    return present


def basis(rng, n, size):
    return np.linalg.qr(rng.standard_normal((n, size)))[0]


def test_with_nothing_missing_nothing_changes():
    views = datasets.make_views(90, 3, 3, noise=1.0, random_state=0)
    told = MultiView(views, present=np.ones((90, 3), dtype=bool))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, two = (MKCDNM(3, random_state=0).fit(data) for data in (views, told))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.presence_ is None
    assert one.support_ is None


@pytest.mark.parametrize(("shared", "share"), [(0.0, 0.3), (0.9, 0.5)])
def test_agreement_is_estimated_without_bias(shared, share):
    """Two views with canonical correlations `shared`: the agreement is its square.

    The complete agreement of n samples is itself biased by O(1/n), so the mean over the draws is
    held against that of complete views of as many samples as are common, within four standard
    errors of the difference.
    """
    rng, k, n = np.random.default_rng(5), 3, 200
    ours, full = [], []
    for _ in range(120):
        X = rng.standard_normal((n, k))
        Y = shared * X + np.sqrt(1 - shared**2) * rng.standard_normal((n, k))
        present = some_missing(n, 2, share, rng.integers(2**31))
        there = [np.linalg.qr(view[held])[0] for view, held in zip((X, Y), present.T, strict=True)]
        bases = [
            Spectrum(V, np.ones(k), True).pad(held)
            for V, held in zip(there, present.T, strict=True)
        ]
        ours.append(overlap_on_common_rows(bases, present, k).agreement(k)[0, 1])
        both = present.all(axis=1)
        whole = [Spectrum(np.linalg.qr(view[both])[0], np.ones(k), True) for view in (X, Y)]
        full.append(overlap(whole).agreement(k)[0, 1])
    difference = np.array(ours) - full
    spread = np.hypot(np.std(ours), np.std(full)) / np.sqrt(len(ours))
    assert abs(difference.mean()) <= 4 * spread + 1e-9
    assert abs(np.mean(ours) - shared**2) <= 4 * np.std(ours) / np.sqrt(len(ours)) + k / n


def test_unrelated_views_show_the_overlap_of_chance():
    """Mean ab/n_pq and the stated variance, which exemption and lone views rest on."""
    rng, n, a, b, draws = np.random.default_rng(0), 120, 4, 9, 400
    present = some_missing(n, 2, 0.4, 1)
    c = int(present.all(axis=1).sum())
    found = []
    for _ in range(draws):
        bases = [
            Spectrum(basis(rng, held.sum(), size), np.ones(size), True).pad(held)
            for held, size in zip(present.T, (a, b), strict=True)
        ]
        found.append(overlap_on_common_rows(bases, present, 2).table(0, 1)[a, b])
    variance = 2 * a * b * (c - a) * (c - b) / (c**2 * (c - 1) * (c + 2))
    assert abs(np.mean(found) - a * b / c) <= 4 * np.sqrt(variance / draws)
    # The relative standard error of a variance is sqrt(2/draws) for a normal law, and of the
    # order of twice that for one as skewed as this.
    assert abs(np.var(found) / variance - 1) <= 4 * 2 * np.sqrt(2 / draws)


@given(st.integers(0, 2**31 - 1), st.integers(6, 30), st.floats(0, 0.7))
def test_overlaps_keep_their_bounds_whatever_is_missing(seed, n, share):
    rng = np.random.default_rng(seed)
    present = some_missing(n, 3, share, seed)
    present[:2] = True  # a basis needs samples
    bases = [
        Spectrum(V, np.ones(V.shape[1]), True).pad(held)
        for held in present.T
        for V in [basis(rng, held.sum(), int(rng.integers(1, held.sum() + 1)))]
    ]
    found = overlap_on_common_rows(bases, present, 1)
    common = common_rows(present)
    for p, q in found.pairs():
        table = found.table(p, q)
        assert (np.diff(table, axis=0) >= 0).all()
        assert (np.diff(table, axis=1) >= 0).all()
        most = np.minimum.outer(
            *(np.minimum(np.arange(size), common[p, q]) for size in table.shape)
        )
        assert (table <= most + 1e-9).all()
    assert {(p, q) for p, q in found.pairs()} == {
        (p, q) for p in range(3) for q in range(p + 1, 3) if common[p, q] > 1
    }


def test_pairs_of_views_that_meet_in_few_samples_are_left_out_and_said(tmp_path):
    n = 120
    views = datasets.make_views(n, 3, 3, noise=0.5, random_state=0)
    present = np.ones((n, 3), dtype=bool)
    present[:60, 1] = present[60:, 2] = False
    with pytest.warns(MissingRowsWarning, match=r"Too few samples in common.*view2 and view3"):
        model = MKCDNM(3, random_state=0).fit(MultiView(views, present=present))
    assert np.isnan(model.agreement_[1, 2])
    assert np.isfinite(model.agreement_).sum() == 7
    assert model.unrelated_views_ == []
    assert metrics.accuracy(views.labels, model.labels_) == 1.0
    assert "Agreement of every pair" in write_report(model, tmp_path / "page.html").read_text()


def test_too_few_rows_and_views_that_do_not_meet():
    rng = np.random.default_rng(0)
    a, b = rng.random((20, 2)), rng.random((20, 2))
    few = b.copy()
    few[2:] = np.nan
    with pytest.raises(InputError, match=r"'view2' holds 2 of the 20 samples, too few for 3"):
        MKCDNM(3).fit([a, few])
    left, right = a.copy(), b.copy()
    left[12:] = right[:9] = np.nan
    with pytest.raises(InputError, match=r"no more than 3 samples.*view1 / view2"):
        MKCDNM(3).fit([left, right])
    assert check_presence(MultiView([a, b]), 3) == ()
