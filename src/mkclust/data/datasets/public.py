"""Public data sets: where each is to be had, and downloads with a checksum."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from ...exceptions import InputError

SCHEMES = ("https", "http", "file")
TIMEOUT = 60.0  # seconds without an answer


@cache
def public_sets() -> Mapping[str, Mapping[str, Any]]:
    """Return the entries of public.toml by name: files, size, source, license and checksum."""
    return tomllib.loads(files(__package__).joinpath("public.toml").read_text("utf-8"))


def fetch(name: str, *, folder: str | Path | None = None, url: str | None = None) -> Path:
    """Return the file of a public data set, and download it if it is not in the folder yet.

    No set has an address of its own so far: most are passed on in formats of their own, without
    a license. For these, `fetch` raises an error that names the source, the license and the file
    name. With `url`, the file is read from an address that you know. A download whose SHA-256 is
    not that of the tested file is not kept; a file that is there already is returned unchecked.

    Parameters
    ----------
    name : str
        A data set of ``mkclust bench list``.
    folder : path, optional
        Where data sets are kept; by default the environment variable MKCLUST_DATA.
    url : str, optional
        An http, https or file address.

    Returns
    -------
    pathlib.Path
        The file, for `mkclust.read`.

    Examples
    --------
    >>> from mkclust import datasets
    >>> datasets.fetch("MSRC-v1", folder=".")
    Traceback (most recent call last):
    ...
    mkclust.exceptions.InputError: MSRC-v1 has no known address. ...
    """
    known = public_sets()
    if name not in known:
        raise InputError(f"unknown data set {name!r}: known are {', '.join(known)}")
    entry = known[name]
    place = _folder(folder)
    for file in entry["files"]:
        if (place / file).exists():
            return place / file
    address = url or entry.get("url", "")
    if not address:
        raise InputError(
            f"{name} has no known address. Source: {entry['source']}. License: "
            f"{entry['license']}. Put it into {place} as {' or '.join(entry['files'])}, or give "
            f"the address of {entry['files'][0]} as url"
        )
    target = place / _file_of(name, entry, address)
    _download(address, target, entry["sha256"])
    return target


def _folder(given: str | Path | None) -> Path:
    named = given or os.environ.get("MKCLUST_DATA")
    if not named:
        raise InputError("give folder, or set MKCLUST_DATA to the folder of data sets")
    if not Path(named).is_dir():
        raise InputError(f"{named} is not a folder")
    return Path(named)


def _file_of(name: str, entry: Mapping[str, Any], address: str) -> str:
    """Return the name of the file to write; refuse what cannot be checked."""
    if urlsplit(address).scheme not in SCHEMES:
        raise InputError(f"url must begin with {', '.join(SCHEMES)}, got {address!r}")
    tested = [file for file in entry["files"] if Path(file).suffix]
    if not tested or not entry["sha256"]:
        raise InputError(f"{name} cannot be downloaded: no checksum of a single file is known")
    last = Path(urlsplit(address).path).name
    return last if last in tested else str(tested[-1])


def _download(address: str, target: Path, sha256: str) -> None:
    """Write the content of an address to a temporary file, check it, and rename it."""
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".fetch-", delete=False) as file:
        partial = Path(file.name)
        try:
            with urlopen(address, timeout=TIMEOUT) as answer:
                shutil.copyfileobj(answer, file)
            file.flush()
            with partial.open("rb") as written:
                found = hashlib.file_digest(written, "sha256").hexdigest()
            if found != sha256:
                raise InputError(
                    f"{address} is not the tested {target.name}: its SHA-256 is {found}, "
                    f"expected {sha256}"
                )
            partial.replace(target)
        except URLError as error:
            raise InputError(f"{address} cannot be read: {error.reason}") from None
        finally:
            partial.unlink(missing_ok=True)
