"""The report in headless Chromium: charts, hovering, selecting, layouts, themes, widths."""

import json
import shutil
from contextlib import contextmanager

import pytest

from _support.disagreeing import planted
from mkclust import GraphFusion, choose_k, datasets, read, stability, view_influence, write_report
from mkclust.inspection import explain, markers

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
LIGHT = "return getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    views = datasets.load_mfeat()
    model = GraphFusion(10, random_state=0).fit(views)
    path = tmp_path_factory.mktemp("demo") / "report.html"
    return write_report(model, path, views, answers=[explain(model, views)])


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


def move(browser, x, y):
    actions = webdriver.ActionChains(browser, duration=0)
    actions.w3c_actions.pointer_action.move_to_location(round(x), round(y))
    return actions


def press(browser, key):
    webdriver.ActionChains(browser).send_keys(key).perform()


def cluster_size(browser, cluster):
    return browser.execute_script("return Charts.data.sizes[arguments[0]]", cluster)


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
    assert len(drawn) == 5 + 7 + 7 + 7 and all(drawn)


def test_patients_that_a_table_lacks_are_not_drawn(chromium, data_dir, tmp_path):
    views = read(data_dir / "tcga-brca")
    model = GraphFusion(3, random_state=0).fit(views)
    answers = [
        explain(model, views),
        markers(model, views),
        stability(model, views, n_splits=2),
        view_influence(model, views),
    ]
    page = write_report(model, tmp_path / "brca.html", views, answers=answers)
    drawn = "return Charts.panels.map(({ chart }) => chart.getOption().series[0].data.length)"
    with visited(chromium, page), narrow(chromium, dark=True):
        assert sorted(chromium.execute_script(drawn)) == [150, 220, 220, 220]
        assert chromium.execute_script("return document.documentElement.scrollWidth") == 390
        assert chromium.execute_script("return document.documentElement.dataset.theme") == "dark"
        shapes = chromium.find_elements("css selector", "#details tr")
        assert "protein 150 × 142" in [row.text for row in shapes]


def test_answers_to_the_next_questions_are_drawn(chromium, tmp_path):
    views = datasets.make_views(90, 3, 2, noise=0.8, n_noise_views=1, random_state=0)
    model = GraphFusion(3, random_state=0).fit(views)
    answers = [
        choose_k(model, views, (2, 4)),
        stability(model, views, n_splits=2),
        view_influence(model, views),
    ]
    page = write_report(model, tmp_path / "answers.html", views, answers=answers)
    chromium.get("about:blank")
    chromium.get(page.as_uri())
    soon(chromium, "return document.documentElement.dataset.ready === 'true'")
    drawn = "return document.querySelectorAll('#chart-choice svg path').length"
    assert chromium.execute_script(drawn) > 8
    bars = (
        "return [...document.querySelectorAll('#stability .bar-cell i')].map((i) => i.clientWidth)"
    )
    assert min(chromium.execute_script(bars)) > 20
    first = chromium.find_element("css selector", "h1 .unrelated-views")
    assert first.text == "noise1 agrees with no other view beyond chance."
    alarm = chromium.execute_script(
        "return getComputedStyle(arguments[0]).color !== getComputedStyle(document.body).color",
        first,
    )
    assert alarm and chromium.get_log("browser") == []


def test_other_answers_recolor_the_samples(chromium, tmp_path):
    views, _ = planted("contradicting", k=8)
    model = GraphFusion(8, random_state=0).fit(views)
    found = explain(model, views)
    page = write_report(model, tmp_path / "explained.html", views, answers=[found])
    chromium.get("about:blank")
    chromium.get(page.as_uri())
    soon(chromium, "return document.documentElement.dataset.ready === 'true'")
    drawn = "return document.querySelectorAll('#chart-profile svg path').length"
    assert chromium.execute_script(drawn) > 3 * 8
    clusters = "return Charts.data.samples.clusters"
    assert chromium.execute_script(clusters) == model.labels_.tolist()
    buttons = chromium.find_elements("css selector", "#answers button")
    assert len(buttons) == 1 + len(found.alternatives)
    buttons[1].click()
    assert chromium.execute_script(clusters) == found.alternatives[0].labels.tolist()
    buttons[0].click()
    assert chromium.execute_script(clusters) == model.labels_.tolist()
    assert chromium.get_log("browser") == []


def test_hovering_names_the_sample(browser):
    for panel in (0, 3):
        move(browser, *place_of(browser, panel, 700)).perform()
        tips = browser.find_elements("class name", "tip")
        shown = [tip.text for tip in tips if tip.is_displayed()]
        assert len(shown) == 1
        name, cluster, known = shown[0].split("\n")
        data = browser.execute_script("return Charts.data.samples")
        at = data["names"].index(name)
        assert cluster == f"cluster {data['clusters'][at]}"
        assert known == f"class {data['classes'][at]}"


def test_a_cluster_lights_up_in_all_views(browser):
    chips = browser.find_elements("css selector", "#chips button")
    assert len(chips) == 10
    browser.execute_script("arguments[0].focus()", chips[3])
    press(browser, "\ue007")  # Enter
    assert browser.execute_script(LIT) == [cluster_size(browser, 3)] * 7
    assert chips[3].get_attribute("aria-pressed") == "true"
    assert "in cluster 3" in browser.find_element("id", "selected").text
    outline = browser.execute_script("return getComputedStyle(arguments[0]).outlineStyle", chips[3])
    assert outline == "solid"
    press(browser, "\ue00c")  # Escape
    assert browser.execute_script(LIT) == [0] * 7
    assert chips[3].get_attribute("aria-pressed") == "false"


def test_clicking_a_sample_lights_up_its_cluster(browser):
    move(browser, *place_of(browser, 2, 1200)).click().perform()
    lit = browser.execute_script(LIT)
    assert len(set(lit)) == 1 and lit[0] in browser.execute_script("return Charts.data.sizes")


@pytest.mark.parametrize("tool", ["Box", "Lasso"])
def test_drawing_selects_the_same_samples_everywhere(browser, tool):
    browser.find_element("xpath", f"//button[text()='{tool}']").click()
    x, y = place_of(browser, 1, 0)
    actions = move(browser, x - 40, y - 40)
    actions.w3c_actions.pointer_action.pointer_down()
    for right, down in ((40, -40), (40, 40), (-40, 40) if tool == "Lasso" else (40, 40)):
        actions.w3c_actions.pointer_action.move_to_location(round(x + right), round(y + down))
    actions.w3c_actions.pointer_action.pointer_up()
    actions.perform()
    lit = browser.execute_script(LIT)
    assert len(set(lit)) == 1 and 0 < lit[0] < 2000
    firsts = browser.execute_script(LIT.replace(".length", ".map((point) => point[2])"))
    assert 0 in firsts[0] and all(samples == firsts[0] for samples in firsts)


def test_samples_are_found_by_name(browser):
    browser.find_element("id", "find").send_keys("1234")
    assert browser.execute_script(LIT) == [1] * 7
    browser.find_element("id", "clear").click()
    assert browser.execute_script(LIT) == [0] * 7


def test_the_layout_can_be_changed(browser):
    before = place_of(browser, 0, 5)
    browser.find_element("xpath", "//button[text()='Principal plane']").click()
    assert place_of(browser, 0, 5) != before


def test_light_and_dark(browser):
    before = browser.execute_script(LIGHT)
    button = browser.find_element("id", "theme")
    button.click()
    assert browser.execute_script(LIGHT) != before
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert browser.execute_script(LIGHT) == before


def test_the_readers_preference_for_dark_is_followed(browser):
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    soon(browser, "return document.documentElement.dataset.theme === 'dark'")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    soon(browser, "return document.documentElement.dataset.theme === 'light'")


def test_the_names_of_the_views_are_not_cut(browser):
    texts = "document.querySelectorAll('#chart-agreement svg text')"
    shown = browser.execute_script(f"return [...{texts}].map((text) => text.textContent)")
    assert all(f"{rank}. {name}" in shown for rank, name in ((1, "pix"), (6, "mor")))


def test_a_table_that_is_cut_shows_a_shadow(browser):
    shadow = browser.execute_script(
        "return getComputedStyle(document.querySelector('.scroll')).backgroundAttachment"
    )
    assert shadow == "local, local, scroll, scroll"


def test_a_narrow_screen_has_one_column_and_no_sideways_scrolling(browser):
    with narrow(browser):
        wide, lefts = browser.execute_script(
            """
            const boxes = [...document.querySelectorAll(".multiples figure")];
            return [document.documentElement.scrollWidth,
                    [...new Set(boxes.map((box) => Math.round(box.getBoundingClientRect().left)))]];
            """
        )
    assert wide == 390 and len(lefts) == 1
