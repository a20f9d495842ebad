"""The plots return their axes, show what the model says, and the examples run."""

import runpy

import numpy as np
import pytest

from _support.paths import ROOT

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

from mkclust import AKKM, MKCDNM, datasets, plot  # noqa: E402
from mkclust.exceptions import InputError  # noqa: E402

EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
PLOTS = (plot.agreement, plot.noise, plot.blocks, plot.spectrum, plot.embedding, plot.evolution)


@pytest.fixture(scope="module")
def views():
    return datasets.make_views(90, 3, 3, noise=0.5, n_noise_views=1, random_state=0)


@pytest.fixture(scope="module")
def model(views):
    return MKCDNM(3, random_state=0).fit(views)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("draw", PLOTS, ids=lambda draw: draw.__name__)
def test_a_plot_returns_its_axes(draw, model):
    made = draw(model)
    made.figure.canvas.draw()
    assert made.get_title()
    _, given = plt.subplots()
    assert draw(model, ax=given) is given


def test_the_unrelated_view_is_red(model):
    for ax in (plot.agreement(model), plot.noise(model)):
        colours = {label.get_text(): label.get_color() for label in ax.get_yticklabels()}
        assert [name for name, colour in colours.items() if colour == plot.ALARM] == ["noise1"]


def test_spectrum_marks_the_kept_directions(model):
    marks = [line for line in plot.spectrum(model).lines if line.get_linestyle() == "None"]
    assert sorted(int(mark.get_xdata()[0]) for mark in marks) == sorted(model.dimensions_)


def test_evolution_ends_at_the_dimensions(model, views):
    ends = [int(line.get_ydata()[-1]) for line in plot.evolution(model).lines]
    assert sorted(ends) == sorted(model.dimensions_)
    with pytest.raises(InputError, match="no rounds"):
        plot.evolution(MKCDNM(3, solver="exact", random_state=0).fit(views))


def test_a_view_can_be_shown_instead_of_the_consensus(model):
    assert plot.embedding(model, "view2").get_title() == "view2"
    assert plot.embedding(model, "view2", layout="corners").get_title() == "view2"
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
    for draw in (plot.agreement, plot.noise, plot.spectrum, plot.evolution):
        with pytest.raises(InputError, match="MKC-DNM"):
            draw(model)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example):
    runpy.run_path(str(example))
    assert plt.get_fignums()
