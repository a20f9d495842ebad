"""Data sets by name: what is registered loads as registered, what is absent is named."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mkclust import METHODS
from mkclust.baselines import HMKC, ONKC
from mkclust.bench.registry import (
    checksum,
    dataset,
    registered,
    row_order,
    twelve_kernels,
    unregistered,
)
from mkclust.bench.suite import Unit, expand, grid, load_suite, parse_suite, settings, suites
from mkclust.data.datasets import make_views
from mkclust.exceptions import InputError

PAPER = ["BBCSport", "Plant", "SensIT Vehicle", "CCV", "Flower102", "Reuters"]


def test_the_papers_six_are_listed_wherever_their_files_are():
    assert [entry.name for entry in registered().values() if entry.group == "paper"] == PAPER
    for name in PAPER:
        assert dataset(name).source and dataset(name).files[0] in dataset(name).where()


def test_every_entry_says_what_it_is():
    for entry in registered().values():
        assert entry.n > entry.k > 1 and entry.views and entry.source and entry.license
        assert len(entry.sha256) in (0, 64)


def test_every_file_that_is_here_loads_as_registered(data_dir):
    here = [entry for entry in registered().values() if entry.find(data_dir)]
    assert len(here) > 20
    for entry in here:
        assert checksum(entry.find(data_dir)) == entry.sha256, entry.name
        if entry.n <= 2000:  # the larger ones take longer to read than a test should
            views = entry.load(data_dir)
            assert tuple(view.shape[1] for view in views.views) == entry.views, entry.name
            assert views.kernels == (entry.kernel == ""), entry.name


def test_bundled_sets_need_no_folder():
    for name in ("planted", "Mfeat-200", "Mfeat-500", "Mfeat"):
        entry = dataset(name)
        assert entry.present(None)
        views = entry.load(None)
        assert len(views) == entry.n and len(np.unique(views.labels)) == entry.k
        assert views.n_views == len(entry.views)


def test_an_absent_set_says_what_to_put_where(tmp_path):
    with pytest.raises(InputError, match=r"Plant is absent: put plant_Kmatrix\.mat"):
        dataset("Plant").load(tmp_path)


def test_a_file_of_another_shape_is_refused(tmp_path):
    _save(tmp_path / "plant_Kmatrix.npz", 30)
    entry = dataset("Plant")
    (tmp_path / "plant_Kmatrix.npz").rename(tmp_path / "x.npz")
    wrong = type(entry)(**{**entry.__dict__, "files": ("x.npz",)})
    with pytest.raises(InputError, match="should have 940 samples in 4 classes"):
        wrong.load(tmp_path)


def test_files_are_found_whatever_their_case(tmp_path):
    (tmp_path / "PLANT_kmatrix.mat").write_bytes(b"")
    assert dataset("Plant").find(tmp_path) == tmp_path / "PLANT_kmatrix.mat"


def test_an_unregistered_file_runs_by_its_name(tmp_path):
    _save(tmp_path / "mine.npz", 40)
    assert unregistered(tmp_path) == ["mine.npz"]
    entry = dataset("mine.npz", tmp_path)
    assert (entry.n, entry.k, entry.views, entry.group) == (40, 2, (10, 10), "file")
    with pytest.raises(InputError, match="unknown data set"):
        dataset("yours.npz", tmp_path)


def test_twelve_kernels_are_what_they_are_said_to_be():
    X = make_views(20, 2, 1, random_state=0)
    kernels = twelve_kernels(X)
    assert kernels.n_views == 12 and kernels.kernels
    for K in kernels.views:
        np.testing.assert_allclose(K, K.T)
        assert np.linalg.eigvalsh(K)[0] > -1e-9 * len(K)
    direct = ((X.views[0][:, None] - X.views[0]) ** 2).sum(axis=2)
    widest = np.exp(-direct / (2 * 100.0**2 * direct.max()))
    np.testing.assert_allclose(kernels.views[6], widest, atol=1e-12)


def test_every_suite_reads_and_names_known_data():
    families = {"multiview", "omics", "large", "kernels", "missing"}
    paper = {f"paper-{x}" for x in ("table2", "table3", "fig2")}
    assert {"quick"} | families | paper <= set(suites())
    for name in suites():
        suite = load_suite(name)
        assert suite.members(None) and suite.title
        assert name not in families or not suite.tuned  # no setting is chosen with labels


def test_a_suite_with_a_mistake_is_refused():
    with pytest.raises(InputError, match="unknown method 'nope'"):
        parse_suite("x", 'title = "x"\ndatasets = ["Mfeat"]\nmethods = ["nope"]')
    with pytest.raises(InputError, match="suite x"):
        parse_suite("x", 'title = "x"\ndatasets = ["Mfeat"]\nmethods = []\ncolour = 1')
    with pytest.raises(InputError, match="unknown suite"):
        load_suite("table9")


def test_grids_are_the_published_ones_and_thin_ones_keep_the_middle():
    assert len(grid(ONKC, 5)) == 961 and len(grid(HMKC, 5)) == 72
    thin = grid(ONKC, 5, 5)
    assert len(thin) == 49 and {"rho": 1.0, "lam": 1.0} in thin
    assert all(point in grid(ONKC, 5) for point in thin)


def test_settings_of_a_suite():
    suite = load_suite("paper-table2")
    small, large = dataset("BBCSport"), dataset("CCV")
    assert settings(suite, "akkm", small) == [({}, False), ({}, True)]
    assert settings(suite, "swmc", small) == [({}, False), ({"graph": "kernel"}, True)]
    assert len(settings(suite, "hmkc", small)) == 73
    assert settings(suite, "hmkc", large) == [({}, False)]


def test_the_order_of_rows_and_the_seed_are_part_of_a_unit():
    one = Unit("planted", "mkclust:planted", "akkm", {})
    others = [replace(one, order="sorted"), replace(one, seed=1)]
    assert len({unit.id for unit in (one, *others)}) == 3
    assert len({unit.shared().id for unit in (one, *others)}) == 3
    assert Unit.parsed(others[0].text()) == others[0]


def test_rows_are_shuffled_by_the_seed_or_sorted_by_class():
    classes = np.repeat([2, 0, 1], 20)
    assert row_order(classes, "shuffled", 3).tolist() == row_order(classes, "shuffled", 3).tolist()
    assert sorted(row_order(classes, "shuffled", 3)) == list(range(60))
    assert row_order(classes, "shuffled", 3).tolist() != row_order(classes, "shuffled", 4).tolist()
    rows = row_order(classes, "sorted", 3)
    assert (np.diff(classes[rows]) >= 0).all() and (np.diff(rows[:20]) == 1).all()


def test_an_unknown_order_of_rows_is_refused():
    text = 'title = "x"\ndatasets = ["Mfeat"]\nmethods = ["akkm"]\norder = "reversed"'
    with pytest.raises(InputError, match="rows are shuffled or sorted, not 'reversed'"):
        parse_suite("x", text)


def test_units_have_the_same_names_in_every_run_and_suite(tmp_path):
    quick = load_suite("quick")
    once = [item.unit.id for item in expand(quick, quick.members(None), None)]
    again = [item.unit.id for item in expand(quick, quick.members(None), tmp_path)]
    assert once == again
    assert len(set(once)) == len(once) >= 2 * len(METHODS)


def _save(path: Path, n: int) -> None:
    views = make_views(n, 2, 2, random_state=0)
    np.savez(path, a=views.views[0], b=views.views[1], y=views.labels)
