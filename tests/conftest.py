"""Where test data are, how property-based tests draw their examples, and a command line to call."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from _support.fits import SOLVERS, fit_digits
from mkclust.data.datasets import load_mfeat

# The same commit gives the same verdict; HYPOTHESIS_PROFILE=explore draws new examples each time.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


def _folder(variable: str, content: str) -> Path:
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"set {variable} to a folder with {content}")
    folder = Path(value)
    if not folder.is_dir():
        pytest.fail(f"{variable} is {value}, which is not a folder")
    return folder


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The benchmark data sets."""
    return _folder("MKCLUST_DATA", "the benchmark data sets")


@pytest.fixture(scope="session")
def fixture_dir() -> Path:
    """Outputs of the reference programs on data that are not ours to commit."""
    return _folder("MKCLUST_FIXTURES", "the reference outputs")


@pytest.fixture(scope="session")
def synth60_dir() -> Path:
    """Outputs of the reference programs on 60 synthetic samples, 4 kernels, 3 clusters."""
    return Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def digits():
    """Every tenth of the bundled digits."""
    return load_mfeat()[::10]


@pytest.fixture(scope="session")
def solved(digits):
    """The published method on them, by every solver."""
    return {solver: fit_digits(digits, solver) for solver in SOLVERS}


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run mkclust with arguments inside an empty folder; exit code, stdout, stderr."""
    from mkclust.cli import app as cli

    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["mkclust", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return call
