"""Downloads of public data sets, from addresses on this machine only."""

import hashlib

import pytest

from mkclust import datasets
from mkclust.data.datasets import public as module
from mkclust.exceptions import InputError

TEXT = b"the tested file"


@pytest.fixture(autouse=True)
def two_sets(monkeypatch):
    """One set of a file, and one of a folder."""
    entry = {"files": ["Old.mat", "Mine.mat"], "source": "a page", "license": "not stated",
             "sha256": hashlib.sha256(TEXT).hexdigest()}  # fmt: skip
    sets = {"mine": entry, "tables": {**entry, "files": ["folder"]}}
    monkeypatch.setattr(module, "public_sets", lambda: sets)


@pytest.fixture
def address(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "x.mat").write_bytes(TEXT)
    return (tmp_path / "there" / "x.mat").as_uri()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("MKCLUST_DATA", str(tmp_path / "here"))
    return tmp_path / "here"


def test_a_file_is_downloaded_once_and_kept_under_its_name(folder, address):
    path = datasets.fetch("mine", url=address)
    assert path == folder / "Mine.mat" and path.read_bytes() == TEXT
    assert [file.name for file in folder.iterdir()] == ["Mine.mat"]
    assert datasets.fetch("mine", url="file:///no/such/file") == path


def test_another_content_is_not_kept(folder, address, tmp_path):
    (tmp_path / "there" / "x.mat").write_bytes(b"something else")
    with pytest.raises(InputError, match=r"not the tested Mine\.mat: its SHA-256 is"):
        datasets.fetch("mine", url=address)
    assert not list(folder.iterdir())


def test_without_an_address_the_source_and_the_file_are_named(folder):
    with pytest.raises(InputError, match=r"Source: a page\. License: not stated\. Put it into"):
        datasets.fetch("mine")


@pytest.mark.parametrize(
    ("name", "url", "message"),
    [
        ("yours", None, "unknown data set 'yours': known are mine, tables"),
        ("mine", "ftp://host/x.mat", "url must begin with https, http, file"),
        ("mine", "file:///no/such/file.mat", "cannot be read"),
        ("tables", "file:///x.zip", "no checksum of a single file is known"),
    ],
)
def test_what_cannot_be_fetched_is_refused(name, url, message, folder):
    with pytest.raises(InputError, match=message):
        datasets.fetch(name, url=url)
    assert not list(folder.iterdir())


def test_a_folder_is_needed(monkeypatch, tmp_path):
    monkeypatch.delenv("MKCLUST_DATA", raising=False)
    with pytest.raises(InputError, match="give folder, or set MKCLUST_DATA"):
        datasets.fetch("mine")
    with pytest.raises(InputError, match="is not a folder"):
        datasets.fetch("mine", folder=tmp_path / "absent")
