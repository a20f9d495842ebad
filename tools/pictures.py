"""Make the pictures of the first pages again: ``python tools/pictures.py``, into docs/images.

``cohort.png`` needs the benchmark data in MKCLUST_DATA. ``report.png`` and ``explain.png`` are
taken by Chromium from the report of the bundled digits.
"""

import base64
import os
import shutil
import tempfile
import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics.cluster import contingency_matrix

from mkclust import GraphFusion, MultiView, cluster, datasets, metrics, plot, write_report
from mkclust.report.drawing import cluster_style

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"


def cohort(folder: Path) -> None:
    """Draw the breast cancer cohort: its tables, the clusters found, and the known subtypes."""
    files = [folder / "tcga-brca" / f"{name}.csv" for name in ("mrna", "mirna", "protein")]
    tables = {file.stem: pd.read_csv(file, index_col="patient") for file in files}
    subtypes = pd.read_csv(folder / "tcga-brca-subtypes" / "subtype.csv", index_col=0).iloc[:, 0]
    views = MultiView(tables)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cluster(views, 3, random_state=0)
    known = subtypes[views.index].to_numpy()

    figure, axes = plt.subplots(
        1, 3, figsize=(12, 3.9), layout="constrained", width_ratios=[1.15, 1, 1.1], dpi=150
    )
    _tables(axes[0], model, tables)
    plot.embedding(model, ax=axes[1])
    axes[1].get_legend().remove()
    axes[1].set_title("")
    axes[1].set_title("2. One map, three clusters", loc="left", fontweight="bold")
    _subtypes(axes[2], known, model.labels_)
    figure.savefig(IMAGES / "cohort.png")


def _tables(ax, model, tables) -> None:
    order = np.lexsort([model.labels_, ~model.presence_[:, 2]])
    colors = np.array([_rgb(cluster_style(c)[0]) for c in range(3)])
    image = np.where(model.presence_[order, :, None], colors[model.labels_[order], None], 1.0)
    ax.imshow(np.swapaxes(image, 0, 1), aspect="auto", interpolation="nearest")
    for y in (0.5, 1.5):
        ax.axhline(y, color="white", linewidth=6)
    titles = {"mrna": "genes", "mirna": "microRNAs", "protein": "proteins"}
    ax.set_yticks(range(3), [f"{tables[t].shape[1]} {titles[t]}" for t in tables])
    lacking = int((~model.presence_[:, 2]).sum())
    ax.text(len(order) - lacking / 2, 2, f"{lacking} patients\nnot measured", ha="center",
            va="center", fontsize=9, color="#5a6672")  # fmt: skip
    ax.set_xticks([])
    ax.set_xlabel(f"{len(order)} breast cancer patients (TCGA)")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title("1. Three tables", loc="left", fontweight="bold")


def _subtypes(ax, known, labels) -> None:
    names, codes = np.unique(known, return_inverse=True)
    counts = contingency_matrix(labels, codes)
    order = np.argmax(counts, axis=1)
    ax.imshow(counts[:, order], cmap="Blues", vmax=counts.max() * 1.3, aspect="auto")
    for (y, x), count in np.ndenumerate(counts[:, order]):
        ink = "white" if count > 80 else "black"
        ax.text(x, y, count, ha="center", va="center", fontsize=13, color=ink)
    ax.set_xticks(range(3), names[order])
    ax.set_yticks(range(3), [f"cluster {c}" for c in range(3)])
    for text, c in zip(ax.get_yticklabels(), range(3), strict=True):
        text.set(color=cluster_style(c)[0], fontweight="bold")
    ax.tick_params(length=0)
    ax.set_xlabel("known subtype (PAM50), not used to cluster")
    share = 100 * metrics.accuracy(codes, labels)
    ax.set_title(f"3. {share:.0f} % agree with the subtypes", loc="left", fontweight="bold")


def _rgb(color: str) -> tuple[float, ...]:
    return tuple(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))


def screens() -> None:
    """Take two pictures of the report of the bundled digits."""
    from selenium import webdriver

    views = datasets.load_mfeat()
    model = GraphFusion(10, random_state=0).fit(views)
    folder = Path(tempfile.mkdtemp())
    page = write_report(model, folder / "report.html", views)
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1280,900"):
        options.add_argument(flag)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    browser = webdriver.Chrome(options=options, service=service)
    try:
        _take_all(browser, page)
    finally:
        browser.quit()


def _take_all(browser, page: Path) -> None:
    browser.get(page.as_uri())
    time.sleep(3)
    _take(browser, "report.png", 0, 1000)
    top, bottom = browser.execute_script(
        """
        document.querySelector("header").style.position = "static";
        const after = document.querySelectorAll("#separation h3")[1];
        document.querySelectorAll("#separation > *").forEach((part) => {
          if (part.compareDocumentPosition(after) & Node.DOCUMENT_POSITION_FOLLOWING) part.remove();
        });
        document.querySelectorAll("#classes, #views").forEach((section) => section.remove());
        const place = (id) => document.querySelector(id).getBoundingClientRect();
        const bottom = place("#alternatives h3, #reproducibility").top;
        return [place("#separation").top + scrollY, bottom + scrollY];
        """
    )
    _take(browser, "explain.png", top, min(bottom - top, 890))  # the first conflict is enough


def _take(browser, name: str, top: float, height: float) -> None:
    clip = {"x": 0, "y": top, "width": 1280, "height": height, "scale": 1}
    taken = browser.execute_cdp_cmd(
        "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip}
    )
    (IMAGES / name).write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    if "MKCLUST_DATA" in os.environ:
        cohort(Path(os.environ["MKCLUST_DATA"]))
    screens()
