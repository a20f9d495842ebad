"""Figures: the files are there, and what they show is what the mathematics says."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from mkclust import MKCDNM, datasets
from mkclust.bench import figures, paper_figures
from mkclust.bench.figures import POINTS, for_print, rank_figure, saved
from mkclust.bench.paper_figures import grid_figure, grid_of, parts, scores_by_round
from mkclust.bench.ranks import average_ranks, critical_difference
from mkclust.bench.store import DONE, OUT_OF_TIME, Record, Store
from mkclust.dual_noise.noise import dual_noise
from mkclust.exceptions import InputError
from mkclust.kernels.bank import KernelBank, KernelRecipe
from mkclust.linalg.spectrum import leading, top_eigenpairs
from mkclust.metrics import accuracy

K = 4


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    monkeypatch.setattr(paper_figures, "REPEATS", 3)
    monkeypatch.setattr(paper_figures, "RESTARTS", 10)
    monkeypatch.setattr(figures, "DPI", 100)


@pytest.fixture(scope="module")
def views():
    return datasets.make_views(80, K, 3, noise=2.0, random_state=0)


@pytest.fixture(scope="module")
def kernel(views):
    return KernelBank(views, KernelRecipe())[0]


@pytest.fixture(scope="module")
def found(views, kernel):
    return parts(kernel, views.labels)


def full(found, M):
    return found.basis @ M @ found.basis.T


def texts(figure):
    from matplotlib.text import Text

    figure.canvas.draw()
    return [text for text in figure.findobj(Text) if text.get_text().strip()]


# Figure 2 ---------------------------------------------------------------------------------------


def test_the_parts_add_up_and_lie_where_they_should(found, views, kernel):
    A, P = full(found, found.kernel), full(found, found.partition)
    N, C, X = (full(found, M) for M in (found.null, found.column, found.cross))
    U = top_eigenpairs(kernel, K)[1]
    assert pytest.approx(U @ U.T, abs=1e-12) == A
    assert pytest.approx(A, abs=1e-12) == P + N + C + X
    assert pytest.approx(P @ P, abs=1e-12) == P and np.trace(P) == pytest.approx(K)
    assert abs(P @ N).max() < 1e-12 and abs(P @ C - C).max() < 1e-12
    assert np.linalg.eigvalsh(N)[0] > -1e-12 and np.linalg.eigvalsh(C)[-1] < 1e-12
    assert abs(np.trace(X)) < 1e-12


def test_the_parts_have_the_traces_the_package_computes_elsewhere(found, kernel):
    noise = dual_noise([found.basis[:, :K].T @ leading(kernel, K).head(K).vectors])
    assert np.trace(full(found, found.null)) == pytest.approx(noise.null[0])
    assert np.trace(full(found, found.column)) == pytest.approx(noise.column[0])
    assert np.sum(full(found, found.cross) ** 2) == pytest.approx(noise.cross[0])


def test_without_noise_kernel_kmeans_makes_no_mistake(found, views):
    as_found, *better, clean = (found.accuracy(M, views.labels) for M in found.panels())
    assert clean == 1.0
    assert as_found < min(better)


def test_small_matrices_give_the_partition_of_the_large_ones(found, views):
    for M in found.panels()[:3]:
        H = top_eigenpairs(full(found, M), K)[1]
        assert found.leading(M) @ found.leading(M).T == pytest.approx(H @ H.T, abs=1e-8)


def test_taking_either_noise_off_a_projector_leaves_the_same_partition(found):
    """In the plane of each principal angle both have the same leading direction."""
    _, without_null, without_column, _ = found.panels()
    H, G = found.leading(without_null), found.leading(without_column)
    assert H @ H.T == pytest.approx(G @ G.T, abs=1e-8)


def test_pictures_are_sorted_by_class_and_average_cells(found, views, monkeypatch):
    blocks = found.picture(found.partition, views.labels)
    own = np.equal.outer(np.sort(views.labels), np.sort(views.labels))
    assert blocks[own] == pytest.approx(1, abs=0.3) and abs(blocks[~own]).max() < 1e-12
    monkeypatch.setattr(paper_figures, "CELLS", 40)
    order = np.argsort(views.labels, kind="stable")
    exact = full(found, found.kernel)[np.ix_(order, order)] * len(order) / K
    means = exact.reshape(40, 2, 40, 2).mean(axis=(1, 3))
    assert found.picture(found.kernel, views.labels) == pytest.approx(means)


def test_figure2_states_the_accuracy_of_every_panel(views, found):
    shown = [text.get_text() for text in texts(paper_figures.noise_figure(views, KernelRecipe()))]
    labels = [text for text in shown if "ACC" in text]
    assert len(labels) == 4 and "ACC 100.0 %" in labels[3]
    assert f"{100 * found.accuracy(found.kernel, views.labels):.1f} %" in labels[0]


# Figure 5 ---------------------------------------------------------------------------------------


def test_the_last_round_is_the_model(views):
    scores = scores_by_round(views, KernelRecipe(), K)
    model = MKCDNM(K, random_state=0).fit(views)
    assert {len(values) for values in scores.values()} == {len(model.history_)}
    # k-means from random rows against the model's from spread rows
    assert scores["acc"][-1] == pytest.approx(accuracy(views.labels, model.labels_), abs=0.03)


def test_figure5_has_four_lines_that_differ_without_colour(views):
    figure = paper_figures.rounds_figure(scores_by_round(views, KernelRecipe(), K), "planted")
    lines = figure.axes[0].lines
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 4


# Figure 4 ---------------------------------------------------------------------------------------


def grid_records(dataset="BBCSport", k=5):
    metrics = {"acc": (0.876, 0.0), "nmi": (0.697, 0.0)}
    made = [Record("paper-fig4", dataset, "mkc-dnm", {}, False, 0, DONE, metrics)]
    for a in range(3, 11):
        for b in range(2, 11):
            low = {"acc": (a / 20 + b / 100, 0.0), "nmi": (a / 20, 0.0)}
            status = OUT_OF_TIME if (a, b) == (10, 10) else DONE
            widths = {"c1": a * k, "c2": b * k}
            made.append(Record("paper-fig4", dataset, "hmkc", widths, True, 0, status, low))
    return made


def test_figure4_has_a_bar_for_every_setting_and_a_line_for_the_level():
    grid = grid_of(grid_records(), "BBCSport", 5)
    assert grid.c1 == tuple(range(3, 11)) and grid.c2 == tuple(range(2, 11))
    assert grid.scores["acc"][0, 1] == pytest.approx(18) and np.isnan(grid.scores["acc"][-1, -1])
    figure = grid_figure(grid, "BBCSport")
    for ax, level in zip(figure.axes, (87.6, 69.7), strict=True):
        assert len(ax.patches) == 72
        assert ax.lines[0].get_ydata()[0] == pytest.approx(level)
    greys = [float(bars[0].get_facecolor()[0]) for bars in figure.axes[0].containers]
    assert greys == sorted(greys, reverse=True) and len(set(greys)) == 9


def test_figure4_without_its_grid_says_what_to_run():
    with pytest.raises(InputError, match="mkclust bench run paper-fig4"):
        grid_of(grid_records()[:1], "BBCSport", 5)
    with pytest.raises(InputError, match="on CCV"):
        grid_of(grid_records(), "CCV", 20)


# ranks ------------------------------------------------------------------------------------------


def test_the_diagram_joins_what_lies_within_the_critical_difference():
    scores = np.array([[6, 5, 4, 3, 2, 1]] * 9 + [[6, 5, 3, 4, 2, 1]] * 3, dtype=float)
    names = list("ABCDEF")
    figure = rank_figure(names, scores)
    bars = [line for line in figure.axes[0].lines if line.get_gid() == "alike"]
    ranks, difference = average_ranks(scores), critical_difference(6, 12)
    joined = {
        (i, j) for i in range(6) for j in range(i + 1, 6)
        for low, high in (bar.get_xdata() for bar in bars)
        if low <= ranks[i] and ranks[j] <= high
    }  # fmt: skip
    close = {(i, j) for i in range(6) for j in range(i + 1, 6) if ranks[j] - ranks[i] <= difference}
    assert joined == close and close and len(close) < 15


def test_the_diagram_names_every_method_within_the_page():
    rng = np.random.default_rng(0)
    names = [f"concatenation, method {i}" for i in range(19)]
    figure = rank_figure(names, rng.random((12, 19)))
    shown = texts(figure)
    width, height = figure.bbox.size
    for text in shown:
        box = text.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height
    assert sum("method" in text.get_text() for text in shown) == 19


def test_the_diagram_needs_something_to_compare():
    with pytest.raises(InputError, match="2 methods"):
        rank_figure(["A"], np.ones((3, 1)))


# files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["figure2", "figure5"])
def test_figures_of_bundled_data_are_drawn_without_a_store(name, tmp_path):
    written = paper_figures.draw(name, None, tmp_path, tmp_path / "out", dataset="Mfeat-200")
    assert [path.name for path in written] == [f"{name}-Mfeat-200.png", f"{name}-Mfeat-200.svg"]
    assert written[0].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert ET.parse(written[1]).getroot().tag.endswith("svg")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [p.name for p in written]


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    twice = [
        saved(grid_figure(grid_of(grid_records(), "BBCSport", 5), "BBCSport"), tmp_path / n, "f")
        for n in "ab"
    ]
    for first, second in zip(*twice, strict=True):
        assert first.read_bytes() == second.read_bytes()


def test_no_letter_is_smaller_than_eight_points(views):
    made = [
        paper_figures.noise_figure(views, KernelRecipe()),
        grid_figure(grid_of(grid_records(), "BBCSport", 5), "BBCSport"),
        rank_figure(["A", "B", "C"], np.random.default_rng(0).random((5, 3))),
    ]
    for figure in made:
        assert min(text.get_fontsize() for text in texts(figure)) >= POINTS


def test_the_callers_matplotlib_is_left_as_it_was():
    import matplotlib

    before = dict(matplotlib.rcParams)
    with for_print(2, 2):
        pass
    assert dict(matplotlib.rcParams) == before


def test_drawing_says_what_is_missing(tmp_path):
    with pytest.raises(InputError, match="figure2, figure4, figure5, ranks"):
        paper_figures.draw("fig9")
    with pytest.raises(InputError, match="bench run multiview"):
        paper_figures.draw("ranks", tmp_path / "none.db", tmp_path, tmp_path)
    Store(tmp_path / "empty.db").close()
    with pytest.raises(InputError, match="bench run paper-fig4"):
        paper_figures.draw("figure4", tmp_path / "empty.db", tmp_path, tmp_path)
    with pytest.raises(InputError, match="unknown data set"):
        paper_figures.draw("paper-fig2", None, tmp_path, tmp_path, dataset="nothing")


def test_figure2_of_the_papers_bbcsport(data_dir, tmp_path):
    written = paper_figures.draw("figure2", None, data_dir, tmp_path)
    assert written[0].name == "figure2-BBCSport.png"
    assert "ACC 100.0 %" in written[1].read_text("utf-8")
