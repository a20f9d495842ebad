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
DISTRIBUTION = {"sklearn": "scikit-learn"}  # where the name to import is another than to install
PEERS = {"mvlearn", "polyview", "imml", "leidenalg", "igraph", "mofapy2"}  # in bench/peers.py alone


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


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.stem)
def test_imports_are_declared(path):
    stated = project()
    core = names(stated["dependencies"])
    extras = {name for group in stated["optional-dependencies"].values() for name in names(group)}
    at_once, later = imports(path)
    assert {DISTRIBUTION.get(name, name) for name in at_once} <= core
    allowed = core | extras | {"mkclust"} | (PEERS if path.name == "peers.py" else set())
    assert {DISTRIBUTION.get(name, name) for name in later} <= allowed


def test_every_dependency_is_imported():
    used = set().union(*(set().union(*imports(path)) for path in PACKAGE.rglob("*.py")))
    assert names(project()["dependencies"]) <= {DISTRIBUTION.get(name, name) for name in used}


def test_every_dependency_has_one_lower_bound_and_no_upper():
    bounds = lower_bounds()
    assert names(project()["dependencies"]) <= set(bounds)
    assert all(re.fullmatch(r"\d+(\.\d+)*", bound) for bound in bounds.values())


@pytest.mark.skipif("MKCLUST_OLDEST" not in os.environ, reason="said by make test-oldest")
@pytest.mark.parametrize("name", lower_bounds())
def test_the_oldest_environment_has_the_lower_bounds(name):
    found, bound = (
        [int(part) for part in text.split(".")] for text in (version(name), lower_bounds()[name])
    )
    assert found[: len(bound)] == bound
    assert not any(found[len(bound) :])


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


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("BSD-3-Clause", True),
        ("BSD-3-Clause AND MIT", True),
        ("GPL-3.0-only", False),
        ("BSD-3-Clause AND GPL-3.0-only", False),
        ("GPL-2.0-only OR MIT", True),
        ("", False),
    ],
)
def test_a_licence_is_judged_by_all_its_parts(text, verdict):
    assert permissive(text) is verdict


def test_the_types_are_marked_as_such():
    assert (PACKAGE / "py.typed").is_file()
