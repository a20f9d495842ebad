"""The oldest versions pyproject.toml allows, as constraints for pip: one `name==version` a line.

Everything that is imported while mkclust runs is held at its lower bound, with all extras; so are
the tools the tests import. Versions of what these packages need in turn are left to pip.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_RUN = ("docs", "fuzz", "mutation", "release")  # extras that no test needs
REQUIREMENT = re.compile(r"(?P<name>[\w-]+)(\[(?P<extras>[\w,]+)\])?(>=(?P<bound>[\d.]+))?")


def project() -> dict:
    """The table `project` of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def lower_bounds() -> dict[str, str]:
    """The lower bound of every package that pyproject.toml names."""
    stated = project()
    extras = stated["optional-dependencies"].items()
    wanted = [
        *stated["dependencies"],
        *(r for name, rs in extras if name not in NOT_RUN for r in rs),
    ]
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
