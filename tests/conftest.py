"""Where test data are: committed beside the tests, or in folders named by the environment."""

import os
from pathlib import Path

import pytest


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
