"""What is imported at the start: help and version need neither arrays nor readers."""

import subprocess
import sys

import pytest
import typer.main

from mkclust.cli.app import COMMANDS, app, loaded

HEAVY = ("numpy", "scipy", "sklearn", "h5py", "pandas", "matplotlib", "mkclust.methods")
PROGRAM = """
import sys
sys.argv = ["mkclust", *{arguments!r}]
from mkclust.cli.app import main
try:
    main()
except SystemExit as stop:
    assert not stop.code
print("imported:", *sys.modules)
"""


def imported(program):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], []])
def test_help_and_version_import_little(arguments):
    program = PROGRAM.format(arguments=arguments)
    if not arguments:
        program = program.replace("assert not stop.code", "pass")
    assert not imported(program) & {*HEAVY, "mkclust.report", "mkclust.bench"}


def test_the_package_imports_little():
    found = imported("import sys, mkclust\nprint('imported:', *sys.modules)")
    assert not found & {"h5py", "typer", "rich", "mkclust.report", "mkclust.bench", "sklearn"}


def test_the_command_itself_imports_little():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "mkclust", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    found = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "typer" in found and not found & {*HEAVY, "mkclust.report", "mkclust.bench"}


def test_help_lists_every_command_with_its_first_line():
    for name, entry in COMMANDS.items():
        command = loaded(name)
        if name != "bench":
            assert command.help.splitlines()[0] == entry.help
        assert command.name in (name, None) or name == "bench"
    assert list(typer.main.get_command(app).commands) == list(COMMANDS)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "bench"])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help(run, name, flag):
    code, out, _ = run(name, flag)
    assert code == 0 and COMMANDS[name].help in " ".join(out.split())
