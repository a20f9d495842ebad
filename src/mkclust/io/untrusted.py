"""Read a file in a child process with limits of memory and time, so that it cannot harm this one.

The child hands over plain arrays and texts in a file without pickle. If it crashes, needs too much
memory or does not end, a `FileFormatError` says so.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import exceptions
from ..data.memory import physical_memory
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError, MkclustWarning, warn
from .models import read_archive, storable, write_archive
from .roles import Variable

storable(Variable)
VIEWS = ("views", "names", "kernels", "labels", "index", "notes", "present", "feature_names")


def call_in_child(
    function: str, path: Any, options: Any, memory_limit: float | None, time_limit: float
) -> Any:
    """Call `read` or `inspect` in a child process.

    Parameters
    ----------
    function : {"read", "inspect"}
    path : path or list of paths
    options : mapping
        Further arguments of the function.
    memory_limit : float, optional
        Bytes that the child may allocate; half of the machine's memory by default. Where the
        system has no such limit (Windows), only the time is limited.
    time_limit : float
        Seconds.

    Returns
    -------
    MultiView or list of Variable
    """
    most = physical_memory() / 2 if memory_limit is None else memory_limit
    if not most > 0 or not time_limit > 0:
        raise InputError("memory_limit and time_limit must be positive")
    one = isinstance(path, (str, os.PathLike))
    paths = os.fspath(path) if one else list(map(os.fspath, path))
    with TemporaryDirectory(prefix="mkclust-") as folder:
        target = Path(folder, "result.npz")
        order = [function, paths, dict(options), int(most), str(target)]
        how = _run(json.dumps(order), time_limit)
        if how:
            raise FileFormatError(
                f"{str(paths)[:200]}: the process that read it {how}; it is damaged, or needs more "
                f"than {most / 2**30:.1f} GiB or {time_limit:g} seconds (memory_limit, time_limit)"
            )
        found = read_archive(target).fitted
    for category, text in found["warnings"]:
        warn(text, getattr(exceptions, category))
    if found["error"]:
        kind, text = found["error"]
        raise getattr(exceptions, kind)(text)
    value = found["value"]
    return value if isinstance(value, list) else MultiView(**value)


def _run(order: str, time_limit: float) -> str:
    """Run the child; return how it ended where it did not succeed."""
    searched = os.pathsep.join(entry for entry in sys.path if entry)
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"]
    try:
        done = subprocess.run(
            command, input=order.encode(), env=os.environ | threads | {"PYTHONPATH": searched},
            timeout=time_limit, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"took longer than {time_limit:g} seconds and was stopped"
    if done.returncode < 0:
        return f"ended by {signal.Signals(-done.returncode).name}"
    return f"ended with exit code {done.returncode}" if done.returncode else ""


def serve() -> None:
    """Carry out the order on standard input, in the child."""
    function, path, options, memory, target = json.load(sys.stdin)
    from . import reading  # before the limit, so that it holds for the file alone

    _limit_memory(memory)
    found: dict[str, Any] = {"error": None}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MkclustWarning)
        try:
            value = getattr(reading, function)(path, **options)
            if isinstance(value, MultiView):
                value = {name: getattr(value, name) for name in VIEWS}
            found["value"] = value
        except InputError as error:
            found["error"] = [type(error).__name__, str(error)]
        except MemoryError:
            found["error"] = ["FileFormatError", f"{path}: needs more memory than memory_limit"]
    ours = [w for w in caught if issubclass(w.category, MkclustWarning)]
    found["warnings"] = [[w.category.__name__, str(w.message)] for w in ours]
    write_archive(target, kind="untrusted", parameters={}, fitted=found, compress=False)


def _limit_memory(memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    used = 0
    if (status := Path("/proc/self/statm")).exists():
        used = int(status.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
