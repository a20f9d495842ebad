"""The examples in the documentation run, their output is as shown, and links lead to files."""

import ast
import doctest
import os
import re
import runpy
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import mkclust
from _support.paths import ROOT
from mkclust import datasets, inspection
from mkclust.cli import app as cli

DOCS = ROOT / "docs"
PAGES = [
    *(DOCS.glob("*.md")),
    *(DOCS / "tutorials").glob("*.md"),
    *(DOCS / "api").rglob("*.md"),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]
FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, *kinds: str) -> list[tuple[int, str]]:
    """Return the fenced blocks of the given kinds, each with the line it starts at."""
    text = page.read_text(encoding="utf-8")
    found = [block for block in FENCE.finditer(text) if block[1] in kinds]
    return [(text.count("\n", 0, block.start()) + 1, block[2]) for block in found]


WITH_CODE = sorted((page for page in PAGES if blocks(page, "python")), key=named)
# choose_k and all checks of 2000 samples, four fits and their stability of 544 articles
SLOW = {"docs/tutorials/digits.md", "docs/tutorials/text.md"}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=named(page), marks=[pytest.mark.slow] if named(page) in SLOW else [])
        for page in WITH_CODE
    ],
)
def test_examples_run_and_have_the_output_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = page.read_text(encoding="utf-8")
    signs = {
        "pandas": "import pandas",
        "matplotlib": "import plot",
        "lifelines": "import compare_annotations",
        "anndata": "import anndata",
    }
    for package, sign in signs.items():
        if sign in text:
            pytest.importorskip(package)
    if 'environ["MKCLUST_DATA"]' in text and not os.environ.get("MKCLUST_DATA"):
        pytest.skip("set MKCLUST_DATA to a folder with the benchmark data sets")
    names = {"__name__": page.stem, **PREPARED.get(named(page), dict)()}
    for line, code in blocks(page, "python"):
        run(page, line, code, names)


def run(page: Path, line: int, code: str, names: dict) -> None:
    if ">>>" not in code:
        exec(compile("\n" * line + code, str(page), "exec"), names)
        return
    test = doctest.DocTest([], names, named(page), str(page), line, None)
    test.examples = doctest.DocTestParser().get_examples(code)
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    test.globs = names
    failed, tried = runner.run(test, out=output.append, clear_globs=False)
    assert tried and not failed, "".join(output)


def readme() -> dict:
    return {"new_views": datasets.make_cohort(random_state=0)[:5]}


def patient_files() -> dict:
    import pandas as pd

    views = datasets.make_views(530, 4, 2, noise=0.5, random_state=0)
    index = pd.Index([f"p{i}" for i in range(530)], name="patient")
    rna, protein = (pd.DataFrame(view, index=index) for view in views.views)
    rna[:500].to_csv("rna.csv")
    protein[80:].to_csv("protein.csv")
    return {}


def parts() -> dict:
    views = datasets.make_views(100, 20, 3, noise=0.1, random_state=0)
    for name, view in zip(("shape", "color"), views.views, strict=False):
        folder = Path("data") / name
        folder.mkdir(parents=True)
        np.save(folder / "part-0.npy", view[:50])
        np.save(folder / "part-1.npy", view[50:])
    distributed = pytest.importorskip("distributed")
    here = {"n_workers": 1, "processes": False, "dashboard_address": None}
    return {"address": distributed.LocalCluster(**here)}


def breast_cancer() -> dict:
    """Put the file that fetch_breast would download into the cache of the test."""
    pooch = pytest.importorskip("pooch")
    pytest.importorskip("rdata")
    file = Path(os.environ.get("MKCLUST_DATA", "absent")) / "breast.TCGA.rda"
    if not file.exists():
        pytest.skip("set MKCLUST_DATA to a folder with breast.TCGA.rda")
    cache = Path(pooch.os_cache("mkclust"))
    cache.mkdir(parents=True)
    shutil.copy(file, cache)
    return {}


# Files that a page reads and names that it uses without defining them.
PREPARED = {
    "README.md": readme,
    "docs/missing.md": patient_files,
    "docs/scale.md": parts,
    "docs/tutorials/breast-cancer.md": breast_cancer,
}


def commands() -> list[tuple[str, str]]:
    lines = [
        (page, line.split("#")[0].strip())
        for page in PAGES
        for _, block in blocks(page, "", "console", "sh", "bash")
        for line in block.splitlines()
    ]
    return sorted({(named(page), line) for page, line in lines if line.startswith("mkclust ")})


def test_commands_exist_with_their_options():
    for page, line in commands():
        name, *words = shlex.split(line)[1:]
        assert name in cli.COMMANDS, f"{page}: {line}"
        command = cli.import_command(name)
        taken = command.make_context("mkclust", words).params
        assert set(taken) == {option.name for option in command.params} - {"help"}, line


def test_every_page_is_in_the_navigation():
    pages = [page for page in DOCS.rglob("*.md") if "_build" not in page.parts]
    listed = {DOCS / "index.md", *(below for page in pages for below in navigation(page))}
    assert sorted(map(named, listed)) == sorted(map(named, pages))


def navigation(page: Path) -> list[Path]:
    """Return the pages that a page lists, without those that are made of examples/."""
    lines = [line for _, block in blocks(page, "{toctree}") for line in block.splitlines()]
    names = [line for line in lines if line and line[0] != ":" and line != "gallery/index"]
    here = page.parent
    return [below for name in names for below in [*here.glob(f"{name}.md")] or [here / name]]


def test_every_example_has_a_place_and_a_title():
    listed = runpy.run_path(str(DOCS / "_ext" / "gallery.py"))["ORDER"]
    files = {file.stem.removeprefix("plot_"): file for file in (ROOT / "examples").glob("*.py")}
    assert sorted(listed) == sorted(files)
    for name, file in files.items():
        head = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))).splitlines()
        assert head[1] == "=" * len(head[0]), f"{name}: the first line is the title, underlined"


def test_every_public_name_is_in_the_reference():
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").rglob("*.md"))
    names = [name for name in mkclust.__all__ if not name.startswith("__")]
    names += [f"datasets.{name}" for name in datasets.__all__]
    names += [f"inspection.{name}" for name in inspection.__all__ if not hasattr(mkclust, name)]
    missing = [name for name in names if not re.search(rf"mkclust\.{re.escape(name)}\b", text)]
    assert not missing


def test_every_estimator_has_a_page():
    for name, estimator in mkclust.METHODS.items():
        (page,) = (DOCS / "api").rglob(f"{name}.md")
        assert f".. autoclass:: mkclust.{estimator.__name__}\n" in page.read_text(encoding="utf-8")


def test_links_lead_to_files():
    dead = []
    for page in PAGES:
        text = FENCE.sub("", page.read_text(encoding="utf-8"))
        links = [link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
        dead += [(named(page), link) for link in links if not place_of(page, link).exists()]
    assert not dead


def place_of(page: Path, link: str) -> Path:
    """Return the path of a link; a link into the package leads to the imported one."""
    place = (page.parent / link).resolve()
    package = ROOT.resolve() / "src" / "mkclust"
    if not place.is_relative_to(package):
        return place
    return Path(mkclust.__file__).parent / place.relative_to(package)
