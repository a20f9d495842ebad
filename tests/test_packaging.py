"""What is imported is declared, what is declared has a bound, and licences are permissive."""

import ast
import os
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from audit import license_of, permissive, required
from bounds import lower_bounds, project

import mkclust

pytestmark = pytest.mark.versions

PACKAGE = Path(mkclust.__file__).parent
DISTRIBUTION = {"sklearn": "scikit-learn", "markupsafe": "jinja2"}  # what to install for a name


def names(requirements):
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


def imports(path):
    """Packages a module imports: when it is imported itself, and only where they are used."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    at_once, later = set(), set()
    for node in ast.walk(tree):
        found = set()
        if isinstance(node, ast.Import):
            found = {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found = {node.module}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_module":
            found = {a.value for a in node.args if isinstance(a, ast.Constant)}
        roots = {name.split(".")[0] for name in found} - sys.stdlib_module_names
        (at_once if node in tree.body else later).update(roots)
    return at_once, later


def test_imports_are_declared():
    stated = project()
    core = names(stated["dependencies"])
    extras = {name for group in stated["optional-dependencies"].values() for name in names(group)}
    for path in PACKAGE.rglob("*.py"):
        at_once, later = ({DISTRIBUTION.get(n, n) for n in found} for found in imports(path))
        assert at_once <= core, path
        assert later <= core | extras | {"mkclust"}, path


def test_every_dependency_is_imported():
    used = set().union(*(set().union(*imports(path)) for path in PACKAGE.rglob("*.py")))
    assert names(project()["dependencies"]) <= {DISTRIBUTION.get(name, name) for name in used}


def test_every_dependency_has_one_lower_bound_and_no_upper():
    bounds = lower_bounds()
    assert names(project()["dependencies"]) <= set(bounds)
    assert all(re.fullmatch(r"\d+(\.\d+)*", bound) for bound in bounds.values())


@pytest.mark.skipif("MKCLUST_OLDEST" not in os.environ, reason="said by make test-oldest")
def test_the_oldest_environment_has_the_lower_bounds():
    for name, lowest in lower_bounds().items():
        found, bound = ([int(part) for part in text.split(".")] for text in (version(name), lowest))
        assert found[: len(bound)] == bound, name
        assert not any(found[len(bound) :]), name


def test_licenses_are_permissive():
    try:
        version("mkclust")
    except PackageNotFoundError:
        pytest.skip("mkclust is not installed, only on the path")
    packages = required()
    doubtful = {name: license_of(package) for name, package in packages.items()}
    doubtful = {name: text for name, text in doubtful.items() if not permissive(text)}
    assert not doubtful
    assert {"numpy", "scipy", "scikit-learn"} <= set(packages)


def test_a_licence_is_judged_by_all_its_parts():
    good = ["BSD-3-Clause", "BSD-3-Clause AND MIT", "GPL-2.0-only OR MIT"]
    bad = ["GPL-3.0-only", "BSD-3-Clause AND GPL-3.0-only", ""]
    assert [permissive(text) for text in good + bad] == [True] * 3 + [False] * 3


def test_the_types_are_marked_as_such():
    assert (PACKAGE / "py.typed").is_file()
