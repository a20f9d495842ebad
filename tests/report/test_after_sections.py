"""The sections about markers and annotations."""

import numpy as np
import pytest

from _support.page import Page
from mkclust import GraphFusion, MultiView, write_report
from mkclust.exceptions import InputError
from mkclust.inspection import compare_annotations, markers

pd = pytest.importorskip("pandas")

HOSTILE = "<img src=x onerror=alert(1)>"


def test_markers_have_a_heat_map_and_the_meaning_of_their_p_values(model, views, tmp_path):
    for valid in (False, True):
        found = markers(model, views, valid=valid)
        page = Page(write_report(model, tmp_path / "a.html", views, answers=[found]))
        assert "markers" in page.sections() and found.warning in page.text
        shades = [a["style"] for tag, a in page.elements if a.get("class") == "heat"]
        assert len(shades) >= 3 * 3 and all("rgb(var(--" in shade for shade in shades)
        first = found.top(0, 1)[0]
        assert f"{found.effect[first]:.2f}" in page.text


def test_names_of_features_and_columns_are_escaped(views, tmp_path):
    frames = {HOSTILE: pd.DataFrame(views.views[0]), "b": pd.DataFrame(views.views[1])}
    data = MultiView(frames)
    model = GraphFusion(3, random_state=0).fit(data)
    table = pd.DataFrame({HOSTILE: np.array(["x", HOSTILE])[np.arange(90) % 2]})
    answers = [markers(model, data), compare_annotations(model.labels_, table)]
    path = write_report(model, tmp_path / "a.html", data, answers=answers)
    assert HOSTILE not in path.read_text() and "annotations" in Page(path).sections()


def test_survival_is_drawn_with_a_curve_for_each_cluster(model, views, tmp_path):
    pytest.importorskip("lifelines")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"time": rng.exponential(9, 90), "event": rng.integers(0, 2, 90), "id": range(90)}
    )
    found = compare_annotations(model.labels_, table.assign(one=1))
    page = Page(write_report(model, tmp_path / "a.html", views, answers=[found]))
    curves = [
        a for tag, a in page.elements if tag == "path" and a.get("stroke", "").startswith("#")
    ]
    assert len(curves) == 3 and all(a["d"].startswith("M") for a in curves)
    assert "log-rank" in page.text and "Not compared" in page.text
    assert "Holm" in page.text


def test_other_answers_are_refused(model, views, tmp_path):
    with pytest.raises(InputError, match="markers or compare_annotations, not str"):
        write_report(model, tmp_path / "a.html", views, answers=["something"])
