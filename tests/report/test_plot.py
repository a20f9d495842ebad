"""Plots return their axes and show the numbers of the model; the examples run."""

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

from mkclust import AKKM, plot, stability, write_figures  # noqa: E402
from mkclust.exceptions import InputError  # noqa: E402
from mkclust.inspection import markers  # noqa: E402

SHARED = (plot.agreement, plot.blocks, plot.spectrum, plot.embedding)


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


def test_plots_of_estimators(model, published):
    for draw in (*SHARED, plot.weights):
        drawn(draw, model)
    for draw in (*SHARED, plot.noise, plot.evolution):
        drawn(draw, published)


def test_plots_of_answers(model, views, choice):
    found = drawn(plot.stability, stability(model, views, n_splits=2))
    assert len(found.patches) == 3
    curve = drawn(plot.choice, choice).lines[0].get_ydata()
    np.testing.assert_allclose(curve, [row.held_out for row in choice.table])
    for draw in (plot.choice, plot.stability):
        with pytest.raises(InputError, match="takes the result of"):
            draw(model)


def test_figures_of_a_paper(model, views, tmp_path):
    found = stability(model, views, n_splits=2)
    answers = [found, markers(model, views)]
    for kind in ("svg", "pdf"):
        paths = write_figures(model, views, tmp_path, kind, answers=answers)
        assert sorted(path.name for path in paths) == [
            f"{name}.{kind}" for name in ("consensus", "features", "map", "sizes")
        ]
        first = [path.read_bytes() for path in paths]
        write_figures(model, views, tmp_path, kind, answers=answers)
        assert [path.read_bytes() for path in paths] == first
    own = np.equal.outer(np.sort(model.labels_), np.sort(model.labels_))
    drawn = plot.consensus(found).images[0].get_array()
    assert drawn[own].mean() > 0.9 > 0.1 > drawn[~own].mean()
    image = plot.features(model, views, answers[1], count=2).images[0].get_array()
    cluster = np.sort(model.labels_)
    effect = answers[1].effect[answers[1].top(0, 1)[0]]
    assert (image[0][cluster == 0].mean() > image[0][cluster != 0].mean()) == (effect > 0)
    with pytest.raises(InputError, match="svg, pdf or png"):
        write_figures(model, views, tmp_path, "gif")


def test_the_unrelated_view_is_red(model, published):
    for ax in (plot.agreement(model), plot.weights(model), plot.noise(published)):
        colors = {label.get_text(): label.get_color() for label in ax.get_yticklabels()}
        assert [name for name, color in colors.items() if color == plot.ALARM] == ["noise1"]


def test_spectrum_marks_the_kept_eigenvectors(published):
    marks = [line for line in plot.spectrum(published).lines if line.get_linestyle() == "None"]
    assert sorted(int(mark.get_xdata()[0]) for mark in marks) == sorted(published.dimensions_)


@pytest.mark.parametrize("kind", ["model", "published"])
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
