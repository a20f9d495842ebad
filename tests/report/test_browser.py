"""The report in headless Chromium: charts, hovering, selecting, layouts, themes, widths."""

import json
import shutil
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from mkclust import GraphFusion, MultiView, cluster, datasets, explain, read, write_report
from mkclust.inspection import compare_annotations

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
WebDriverWait = pytest.importorskip("selenium.webdriver.support.wait").WebDriverWait

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium with chromedriver found"),
]
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1280,900",
)  # fmt: skip
LIT = "return Charts.panels.map(({ chart }) => chart.getOption().series[1].data.length)"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    views = datasets.load_mfeat()
    model = GraphFusion(10, random_state=0).fit(views)
    path = tmp_path_factory.mktemp("demo") / "report.html"
    return write_report(model, path, views, answers=[explain(model, views)], compute=False)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield browser
    browser.quit()


@pytest.fixture
def browser(chromium, report):
    """Open the page of the digits; at the end, check it as `visited` does."""
    with visited(chromium, report):
        yield chromium


@contextmanager
def visited(chromium, report):
    """Open a page; at the end, check that nothing was logged and nothing was loaded."""
    chromium.get("about:blank")
    chromium.get_log("performance")
    chromium.get(report.as_uri())
    soon(chromium, "return document.documentElement.dataset.ready === 'true'")
    yield
    assert chromium.get_log("browser") == []
    events = (json.loads(entry["message"])["message"] for entry in chromium.get_log("performance"))
    asked = [
        e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in asked if not url.startswith("data:")] == [report.as_uri()]


def soon(browser, script):
    """Wait until a script returns true."""
    WebDriverWait(browser, 20).until(lambda _: browser.execute_script(script), script)


@contextmanager
def narrow(browser, dark=False):
    """Show a page as a phone does, light or dark."""
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    theme = "dark" if dark else "light"
    scheme = {"name": "prefers-color-scheme", "value": theme}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    soon(browser, f"return document.documentElement.dataset.theme === '{theme}'")
    yield
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def place_of(browser, panel, sample):
    """Where a sample of a panel lies on the screen, scrolled into view."""
    return browser.execute_script(
        """
        const [panel, sample] = arguments;
        const { chart } = Charts.panels[panel];
        chart.getDom().scrollIntoView({ block: "center" });
        const point = chart.getOption().series[0].data[sample];
        const [x, y] = chart.convertToPixel("grid", [point[0], point[1]]);
        const box = chart.getDom().getBoundingClientRect();
        return [box.left + x, box.top + y];
        """,
        panel,
        sample,
    )


def press(browser, key):
    webdriver.ActionChains(browser).send_keys(key).perform()


def test_every_chart_is_drawn(browser):
    drawn = browser.execute_script(
        """
        const drawn = (canvas) => canvas.getContext("2d")
          .getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value !== 0);
        return [...document.querySelectorAll("main [role=img]")].map((chart) =>
          [...chart.querySelectorAll("canvas")].some(drawn)
          || chart.querySelectorAll("svg path").length > 5);
        """
    )
    assert len(drawn) == 7 + 7 + 7 and all(drawn)  # samples, eigenvalues, similarity


def test_patients_that_a_table_lacks_are_not_drawn(chromium, data_dir, tmp_path):
    """The breast cancer cohort, with made-up survival times."""
    views = read(data_dir / "tcga-brca")
    model = cluster(views, "auto", random_state=0)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"time": rng.exponential(900, 220), "event": rng.integers(0, 2, 220)})
    found = compare_annotations(model.labels_, table)
    page = write_report(model, tmp_path / "brca.html", views, answers=[found])
    drawn = "return Charts.panels.map(({ chart }) => chart.getOption().series[0].data.length)"
    with visited(chromium, page):
        fits(chromium, 1280)
        assert sorted(chromium.execute_script(drawn)) == [150, 220, 220, 220]
        for chart in ("choice", "survival"):
            paths = f"return document.querySelectorAll('#chart-{chart} svg path').length"
            assert chromium.execute_script(paths) > 6
    with visited(chromium, page), narrow(chromium, dark=True):
        fits(chromium, 390)
        cut = "(cell) => cell.scrollWidth > cell.clientWidth"
        cells = "[...document.querySelectorAll('td.heat')]"
        assert not chromium.execute_script(f"return {cells}.some({cut})")


def test_a_cohort_without_structure(chromium, tmp_path):
    rng = np.random.default_rng(0)
    views = MultiView({f"table {i}": rng.standard_normal((120, 20)) for i in range(3)})
    model = GraphFusion(3, random_state=0).fit(views)
    page = write_report(model, tmp_path / "noise.html", views)
    with visited(chromium, page):
        fits(chromium, 1280)
        first = chromium.find_element("id", "summary").text
        assert "arbitrary" in first or "No cluster structure" in first or "beyond chance" in first
    for dark in (False, True):
        with visited(chromium, page), narrow(chromium, dark):
            fits(chromium, 390)


def fits(browser, width):
    """Check that nothing is wider than the screen, and that all of the navigation is visible."""
    wide, links = browser.execute_script(
        """
        const links = [...document.querySelectorAll("nav a")].map((a) => a.getBoundingClientRect());
        return [document.documentElement.scrollWidth, links.map((box) => [box.left, box.right])];
        """
    )
    assert wide <= width and all(0 <= left < right <= width for left, right in links)


def test_other_answers_recolor_the_samples(chromium, contradicting, tmp_path):
    views, model, found = contradicting
    page = write_report(model, tmp_path / "explained.html", views, answers=[found], compute=False)
    clusters = "return Charts.data.samples.clusters"
    with visited(chromium, page):
        buttons = chromium.find_elements("css selector", "#answers button")
        assert len(buttons) == 1 + len(found.alternatives)
        assert chromium.execute_script(clusters) == model.labels_.tolist()
        for button, shown in ((1, found.alternatives[0].labels), (0, model.labels_)):
            buttons[button].click()
            assert chromium.execute_script(clusters) == shown.tolist()


def test_a_cluster_lights_up_in_all_views(browser):
    chips = browser.find_elements("css selector", "button.pick")
    assert len(chips) == 10
    browser.execute_script("arguments[0].focus()", chips[3])
    press(browser, "\ue007")  # Enter
    assert (
        browser.execute_script(LIT) == [browser.execute_script("return Charts.data.sizes[3]")] * 7
    )
    assert chips[3].get_attribute("aria-pressed") == "true"
    assert "in cluster 3" in browser.find_element("id", "selected").text
    outline = browser.execute_script("return getComputedStyle(arguments[0]).outlineStyle", chips[3])
    assert outline == "solid"
    press(browser, "\ue00c")  # Escape
    assert browser.execute_script(LIT) == [0] * 7
    assert chips[3].get_attribute("aria-pressed") == "false"


@pytest.mark.parametrize("tool", ["Box", "Lasso"])
def test_drawing_selects_the_same_samples_everywhere(browser, tool):
    browser.find_element("xpath", f"//button[text()='{tool}']").click()
    x, y = place_of(browser, 1, 0)
    actions = webdriver.ActionChains(browser, duration=0)
    pointer = actions.w3c_actions.pointer_action
    pointer.move_to_location(round(x - 40), round(y - 40))
    pointer.pointer_down()
    for right, down in ((40, -40), (40, 40), (-40, 40) if tool == "Lasso" else (40, 40)):
        pointer.move_to_location(round(x + right), round(y + down))
    pointer.pointer_up()
    actions.perform()
    lit = browser.execute_script(LIT)
    assert len(set(lit)) == 1 and 0 < lit[0] < 2000
    firsts = browser.execute_script(LIT.replace(".length", ".map((point) => point[2])"))
    assert 0 in firsts[0] and all(samples == firsts[0] for samples in firsts)
