"""Plots return their axes and show the numbers of the model; the examples run."""

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

from mkclust import (  # noqa: E402
    AKKM,
    MKCDNM,
    GraphFusion,
    choose_k,
    datasets,
    plot,
    stability,
    write_figures,
)
from mkclust.exceptions import InputError  # noqa: E402
from mkclust.inspection import markers  # noqa: E402

SHARED = (plot.agreement, plot.blocks, plot.spectrum, plot.embedding)


@pytest.fixture(scope="module")
def views():
    return datasets.make_views(90, 3, 3, noise=0.5, n_noise_views=1, random_state=0)


@pytest.fixture(scope="module")
def fused(views):
    return GraphFusion(3, random_state=0).fit(views)


@pytest.fixture(scope="module")
def published(views):
    return MKCDNM(3, random_state=0).fit(views)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def drawn(draw, found):
    made = draw(found)
    made.figure.canvas.draw()
    assert made.get_title()
    _, given = plt.subplots()
    assert draw(found, ax=given) is given
    return made


@pytest.mark.parametrize("draw", SHARED, ids=lambda draw: draw.__name__)
def test_plots_of_both_estimators(draw, fused, published):
    drawn(draw, fused)
    drawn(draw, published)


def test_plots_of_one_estimator(fused, published):
    drawn(plot.weights, fused)
    drawn(plot.noise, published)
    drawn(plot.evolution, published)


def test_plots_of_answers(fused, views):
    found = drawn(plot.stability, stability(fused, views, n_splits=2))
    assert len(found.patches) == 3
    choice = choose_k(fused, views, (2, 4))
    curve = drawn(plot.choice, choice).lines[0].get_ydata()
    np.testing.assert_allclose(curve, [row.held_out for row in choice.table])
    for draw in (plot.choice, plot.stability):
        with pytest.raises(InputError, match="takes the result of"):
            draw(fused)


def test_figures_of_a_paper(fused, views, tmp_path):
    found = stability(fused, views, n_splits=2)
    answers = [found, markers(fused, views)]
    for kind in ("svg", "pdf"):
        paths = write_figures(fused, views, tmp_path, kind, answers=answers)
        assert sorted(path.name for path in paths) == [
            f"{name}.{kind}" for name in ("consensus", "features", "map", "sizes")
        ]
        first = [path.read_bytes() for path in paths]
        write_figures(fused, views, tmp_path, kind, answers=answers)
        assert [path.read_bytes() for path in paths] == first
    own = np.equal.outer(np.sort(fused.labels_), np.sort(fused.labels_))
    drawn = plot.consensus(found).images[0].get_array()
    assert drawn[own].mean() > 0.9 > 0.1 > drawn[~own].mean()
    image = plot.features(fused, views, answers[1], count=2).images[0].get_array()
    cluster = np.sort(fused.labels_)
    effect = answers[1].effect[answers[1].top(0, 1)[0]]
    assert (image[0][cluster == 0].mean() > image[0][cluster != 0].mean()) == (effect > 0)
    with pytest.raises(InputError, match="svg, pdf or png"):
        write_figures(fused, views, tmp_path, "gif")


def test_the_unrelated_view_is_red(fused, published):
    for ax in (plot.agreement(fused), plot.weights(fused), plot.noise(published)):
        colors = {label.get_text(): label.get_color() for label in ax.get_yticklabels()}
        assert [name for name, color in colors.items() if color == plot.ALARM] == ["noise1"]


def test_spectrum_marks_the_kept_eigenvectors(published):
    marks = [line for line in plot.spectrum(published).lines if line.get_linestyle() == "None"]
    assert sorted(int(mark.get_xdata()[0]) for mark in marks) == sorted(published.dimensions_)


@pytest.mark.parametrize("kind", ["fused", "published"])
def test_a_view_can_be_drawn_instead_of_the_embedding(kind, request):
    model = request.getfixturevalue(kind)
    assert plot.embedding(model, "view2").get_title() == "view2"
    assert plot.embedding(model, "view2", layout="t-sne").get_title() == "view2"
    sharp = plot.blocks(model).images[0].get_array()
    blurred = plot.blocks(model, "noise1").images[0].get_array()
    own = np.equal.outer(np.sort(model.labels_), np.sort(model.labels_))
    assert sharp[own].mean() > 0.6 > 0.2 > blurred[own].mean()
    with pytest.raises(InputError, match="no view 'x'"):
        plot.blocks(model, "x")
    with pytest.raises(InputError, match="layout"):
        plot.embedding(model, layout="magic")


def test_other_methods_show_what_they_have(views):
    model = AKKM(3, random_state=0).fit(views)
    assert plot.embedding(model) is not plot.blocks(model)
    for draw in (plot.agreement, plot.noise, plot.evolution):
        with pytest.raises(InputError, match="AKKM has no"):
            draw(model)
    with pytest.raises(InputError, match="kept no eigenvectors"):
        plot.spectrum(model)
