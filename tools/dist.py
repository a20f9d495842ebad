"""Build wheel and sdist twice, compare and check them, and test them in new environments.

``python tools/dist.py`` runs all steps; ``--smoke`` stops after the demo has run from the wheel.
The second build starts from the unpacked sdist of the first, in another folder, with other file
times. The artifacts are in dist/.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
EPOCH = "1580601600"  # the time in both archives, unless SOURCE_DATE_EPOCH is set
SDIST = {
    ".gitignore", "CITATION.cff", "LICENSE", "Makefile", "PKG-INFO", "docs", "examples",
    "fuzz", "pyproject.toml", "src", "tests", "tools",
}  # fmt: skip
USER = ROOT / "tools" / "typed_user.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="no tests in the new environments")
    smoke = parser.parse_args().smoke
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        shutil.rmtree(DIST, ignore_errors=True)
        wheel, sdist = build(ROOT, DIST)
        unpacked = unpack(sdist, scratch)
        compare((wheel, sdist), build(unpacked, scratch / "again"))
        check_contents(wheel, sdist)
        run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
        try_out(wheel, scratch / "wheel", scratch)
        if not smoke:
            shutil.rmtree(unpacked / "src")  # so that the tests import the installed package
            for artifact in (wheel, sdist):
                test(artifact, scratch / f"tests-{artifact.name}", unpacked)


def build(source: Path, out: Path) -> tuple[Path, Path]:
    """Build the wheel and the sdist of a source tree."""
    run(sys.executable, "-m", "build", "--outdir", out, source, quiet=True)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


def unpack(sdist: Path, folder: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    unpacked = folder / sdist.name.removesuffix(".tar.gz")
    for path in unpacked.rglob("*"):
        os.utime(path)
    return unpacked


def compare(first: tuple[Path, Path], second: tuple[Path, Path]) -> None:
    for one, other in zip(first, second, strict=True):
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (one, other)]
        print(f"{digests[0]}  {one.name}")
        if digests[0] != digests[1]:
            raise SystemExit(f"{one.name} differs when built from its own sdist: {digests[1]}")


def check_contents(wheel: Path, sdist: Path) -> None:
    """Check that the wheel has every file of the package, and the sdist the listed entries."""
    package = ROOT / "src" / "mkclust"
    sources = {f"mkclust/{path.relative_to(package).as_posix()}" for path in _tracked(package)}
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if not name.split("/")[0].endswith("-info")}
    _same("the wheel", packed, sources)
    with tarfile.open(sdist) as archive:
        names = {name.split("/")[1] for name in archive.getnames()}
    _same("the sdist", {name for name in names if not name.endswith(".md")}, SDIST)


def _tracked(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and p.parent.name != "__pycache__"]


def _same(what: str, found: set[str], expected: set[str]) -> None:
    if found != expected:
        raise SystemExit(
            f"{what} lacks {sorted(expected - found)} and has unexpected {sorted(found - expected)}"
        )
    print(f"{what} is complete: {len(found)} entries")


def try_out(wheel: Path, place: Path, scratch: Path) -> None:
    """Check the package without extras: import, demo, and types."""
    python = environment(place, wheel)
    run(place / "bin" / "mkclust", "--version", cwd=scratch)
    run(place / "bin" / "mkclust", "demo", cwd=scratch)
    run(python, "-c", "import mkclust; print(mkclust.__file__)", cwd=scratch)
    strict = ("--strict", "--warn-unused-ignores", f"--python-executable={python}")
    run(sys.executable, "-m", "mypy", *strict, f"--cache-dir={scratch / 'mypy'}", USER, cwd=scratch)


def test(artifact: Path, place: Path, unpacked: Path) -> None:
    """Run the tests of the sdist and the doctests of the installed package."""
    print(f"Testing {artifact.name} ...", flush=True)
    python = environment(place, artifact, "--group", f"{unpacked / 'pyproject.toml'}:test")
    parallel = ("-n", "2", "--dist", "worksteal")
    one = {"OMP_NUM_THREADS": "1"}
    run(
        python, "-m", "pytest", "-q", *parallel, "tests", "--pyargs", "mkclust", cwd=unpacked, **one
    )


def environment(place: Path, *wanted: object) -> Path:
    """Create an environment with these packages and their dependencies; return its python."""
    venv.create(place, with_pip=True, clear=True)
    python = place / "bin" / "python"
    install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*install, "--upgrade", "pip>=25.1")  # the first with dependency groups
    run(*install, *wanted)
    return python


def run(*command: object, cwd: Path = ROOT, quiet: bool = False, **variables: str) -> None:
    """Run a command without PYTHONPATH, so that it does not import this checkout."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    settings = {"SOURCE_DATE_EPOCH": EPOCH} | settings | variables
    words = [str(word) for word in command]
    print("$", " ".join(words), flush=True)
    output = subprocess.DEVNULL if quiet else None
    subprocess.run(words, cwd=cwd, env=settings, check=True, stdout=output)


if __name__ == "__main__":
    main()
