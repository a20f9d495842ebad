"""The io package is a low layer: what it may import, and what it must not load at import."""

import ast
import subprocess
import sys
from importlib.util import resolve_name
from pathlib import Path

import pytest

import mkclust

ROOT = Path(mkclust.__file__).parent
BELOW = ("_version", "data", "exceptions", "io", "metrics", "progress")
MODULES = sorted((ROOT / "io").rglob("*.py"))


def imported(path):
    """Absolute names of all modules a file imports, also inside functions."""
    package = ".".join(("mkclust", *path.relative_to(ROOT).parent.parts))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            yield from (f"{module}.{name.name}" for name in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_io_imports_nothing_from_above(path):
    for name in imported(path):
        if name.split(".")[0] == "mkclust":
            assert name.split(".")[1] in BELOW, name


def test_importing_io_loads_no_heavy_package():
    code = "import sys, mkclust.io; print(*{'h5py', 'pandas', 'pyarrow'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.split()
