"""Fuzz one reader in this process: python fuzz/one.py NAME [options of libFuzzer] [folders]."""

from __future__ import annotations

import inspect
import os
import random
import resource
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType

import atheris
import mutations
import targets

from mkclust.io._guards.memory import allow_process_limit

# Coverage is asked of what reads bytes, not of what is done with the numbers.
READERS = ("mkclust.io", "mkclust.large", "mkclust.data.adapters",
           "mkclust.data.views", "zipfile", "numpy.lib._format_impl", "numpy.lib.format",
           "scipy.io.matlab", "h5py._hl", "openpyxl",
           "pyarrow.parquet.core")  # fmt: skip
MEMORY = 1 << 30  # bytes: more, beyond what the imports took, is a finding


def instrument() -> int:
    """Have the readers' functions report their branches; how many there are.

    Once they are imported: atheris' own way, at import, takes a minute for all that comes along.
    """
    found = {}
    for module in [m for n, m in sys.modules.items() if n.startswith(READERS)]:
        owners = [module, *(v for v in vars(module).values() if isinstance(v, type))]
        for value in [value for owner in owners for value in vars(owner).values()]:
            function = inspect.unwrap(getattr(value, "fget", None) or value)
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                found[id(function)] = function
    for function in found.values():
        atheris.instrument_func(function)
    return len(found)


def mutate(name: str, data: bytes, max_size: int, seed: int) -> bytes:
    """libFuzzer's changes and ours, half of the time each, inside of what is compressed."""
    rng = random.Random(seed)

    def libfuzzer(part: bytes, _: random.Random) -> bytes:
        return atheris.Mutate(part, max(len(part) + 64, 8))

    change = rng.choice((libfuzzer, mutations.damaged))
    return mutations.mutated(name, data, rng, change)[:max_size]


def main() -> None:
    name = sys.argv.pop(1)
    scratch = TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    folder = Path(scratch.name)
    for seed in sorted((Path(__file__).with_name("corpus") / name).iterdir()):
        # also imports what is imported only when needed
        targets.run(name, seed.read_bytes(), folder, every=True)
    print(f"{instrument()} functions report their branches", file=sys.stderr)
    before = _peak()
    _limit_memory()
    allow_process_limit()
    targets.watch()

    def one_input(data: bytes) -> None:
        targets.run(name, data, folder)
        if _peak() - before > MEMORY:
            raise targets.FoundError(f"{(_peak() - before) >> 20} MiB were taken")

    def custom(data: bytes, max_size: int, seed: int) -> bytes:
        return mutate(name, data, max_size, seed)

    atheris.Setup(sys.argv, one_input, custom_mutator=custom)
    atheris.Fuzz()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _limit_memory() -> None:
    """Let an allocation of more than the allowed memory fail rather than swap."""
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = mapped + MEMORY + (256 << 20)  # libFuzzer and its threads need a little
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    main()
