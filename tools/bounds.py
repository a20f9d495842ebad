"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

Packages that mkclust imports are held at their lower bounds, with all extras; so are those that
the tests import. Versions of what these packages need in turn are left to pip.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENT = re.compile(r"(?P<name>[\w-]+)(\[(?P<extras>[\w,]+)\])?(>=(?P<bound>[\d.]+))?")


def pyproject() -> dict:
    """Return the contents of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def project() -> dict:
    """Return the table `project` of pyproject.toml."""
    return pyproject()["project"]


def lower_bounds() -> dict[str, str]:
    """Return the lower bound of every package that runs or is imported by the tests."""
    stated = project()
    extras = stated["optional-dependencies"].values()
    wanted = [*stated["dependencies"], *(r for extra in extras for r in extra)]
    wanted += pyproject()["dependency-groups"]["test"]
    found: dict[str, str] = {}
    for requirement in wanted:
        parts = REQUIREMENT.fullmatch(requirement)
        if parts is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} is not of the form name>=version")
        name, bound = parts["name"], parts["bound"]
        if name == stated["name"]:
            continue
        if bound is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} has no lower bound")
        if found.setdefault(name, bound) != bound:
            raise SystemExit(
                f"pyproject.toml: two lower bounds for {name}, {found[name]} and {bound}"
            )
    return found


if __name__ == "__main__":
    print("\n".join(f"{name}=={bound}" for name, bound in lower_bounds().items()))
