"""Check the licenses of all dependencies, and their known vulnerabilities by pip-audit.

Dependencies are found from the requirements of the installed package, with extras. A license that
is not in the list of permissive ones is an error, and so is a package that states no license.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

EXTRAS = (  # for users
    "pandas", "parquet", "plot", "large", "neighbors", "survival", "omics",
)  # fmt: skip
# MPL-2.0 is included: its copyleft applies to its own files only.
PERMISSIVE = (
    "0bsd", "apache", "bsd", "cc0", "historical permission notice", "hpnd", "isc", "mit",
    "mpl-2.0", "mozilla public license 2.0", "psf", "python software foundation", "unlicense",
    "zlib",
)  # fmt: skip
OWN_WORDS = {"matplotlib": "PSF-like, matplotlib's own"}  # it states a text and no name


def required() -> dict[str, Distribution]:
    """Return every installed package that mkclust or its extras need, directly or not."""
    found: dict[str, Distribution] = {}
    waiting = [("mkclust", EXTRAS)]
    while waiting:
        name, extras = waiting.pop()
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # not installed, or for another system
        if found.setdefault(_plain(name), package) is package:
            waiting += [n for n in _needs(package, extras) if _plain(n[0]) not in found]
    del found["mkclust"]
    return dict(sorted(found.items()))


def _needs(package: Distribution, extras: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for requirement in package.requires or []:
        wanted = re.findall(r"extra\s*==\s*['\"]([\w.-]+)['\"]", requirement)
        if not wanted or set(wanted) & set(extras):
            head = re.match(r"([\w.-]+)(?:\[([\w,]+)\])?", requirement)
            assert head is not None, requirement
            yield head[1], tuple((head[2] or "").split(","))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def license_of(package: Distribution) -> str:
    """Return the license a package states: an SPDX expression, classifiers, or a short text."""
    metadata = package.metadata
    classified = [c for c in metadata.get_all("Classifier", []) if c.startswith("License ::")]
    words = [c.rsplit(" :: ", 1)[1] for c in classified]
    stated = metadata.get("License-Expression") or ", ".join(words) or metadata.get("License", "")
    return OWN_WORDS.get(_plain(metadata["Name"]), stated.strip().split("\n")[0])


def permissive(text: str) -> bool:
    """Return whether every part of a license expression, or of one alternative, is permissive."""
    alternatives = re.split(r"\bOR\b", text)
    return any(
        all(
            any(known in part.lower() for known in PERMISSIVE) for part in re.split(r"\bAND\b", way)
        )
        for way in alternatives
    )


def main() -> None:
    """Print the licenses, then run pip-audit; fail on either."""
    found = {name: (p.version, license_of(p)) for name, p in required().items()}
    for name, (version, text) in found.items():
        print(f"{name} {version}: {text}")
    doubtful = [name for name, (_, text) in found.items() if not permissive(text)]
    if doubtful:
        raise SystemExit(f"not known to be permissive: {', '.join(doubtful)}")
    wanted = "\n".join(f"{name}=={version}" for name, (version, _) in found.items())
    audit = [sys.executable, "-m", "pip_audit", "--strict", "--no-deps", "--disable-pip"]
    sys.exit(
        subprocess.run(
            [*audit, "-r", "/dev/stdin"], input=wanted, text=True, check=False
        ).returncode
    )


if __name__ == "__main__":
    main()
