"""Read a file in a child process with limits of memory and time, so that it cannot harm this one.

The child hands over plain arrays and texts in a file without pickle, which is checked again. If
it crashes, needs too much memory or does not end, a `FileFormatError` says so.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import exceptions
from ..data.memory import physical_memory
from ..data.views import MultiView
from ..exceptions import FileFormatError, InputError, warn
from .models import read_archive, storable, write_archive
from .roles import Variable

storable(Variable)
VIEWS = ("views", "names", "kernels", "labels", "index", "notes", "present", "feature_names")
KIND = "untrusted result"


def call_in_child(
    function: str,
    path: Any,
    options: Mapping[str, Any],
    memory_limit: float | None = None,
    time_limit: float = 600.0,
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
    single = isinstance(path, (str, os.PathLike))
    paths = os.fspath(path) if single else list(map(os.fspath, path))
    with TemporaryDirectory(prefix="mkclust-") as folder:
        target = Path(folder, "result.npz")
        order = {"function": function, "path": paths, "options": dict(options), "memory": most,
                 "target": str(target)}  # fmt: skip
        _run(order, str(paths)[:200], time_limit)
        found = _read_result(target)
    for category, text in found["warnings"]:
        warn(text, getattr(exceptions, category, exceptions.MkclustWarning))
    if "error" in found:
        kind, text = found["error"]
        raise (FileFormatError if kind == FileFormatError.__name__ else InputError)(text)
    value = found["value"]
    return value if isinstance(value, list) else MultiView(**value)


def _run(order: dict[str, Any], what: str, time_limit: float) -> None:
    searched = os.pathsep.join(entry for entry in sys.path if entry)
    environment = os.environ | {"PYTHONPATH": searched, "OMP_NUM_THREADS": "1",
                                "OPENBLAS_NUM_THREADS": "1"}  # fmt: skip
    command = [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"]
    try:
        done = subprocess.run(
            command, input=json.dumps(order).encode(), env=environment, timeout=time_limit,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise FileFormatError(
            f"{what}: reading took longer than {time_limit:g} seconds and was stopped; it may be "
            "damaged; raise time_limit if it is only large"
        ) from None
    if done.returncode:
        code = -done.returncode
        how = f"by {signal.Signals(code).name}" if code > 0 else f"with exit code {-code}"
        raise FileFormatError(
            f"{what}: the process that read it ended {how}: it is damaged, or needs more memory "
            f"than {order['memory'] / 2**30:.1f} GiB (memory_limit)"
        )


def _read_result(target: Path) -> dict[str, Any]:
    """Return what the child wrote; nothing in it may unpack to more than is stored."""
    try:
        with zipfile.ZipFile(target) as archive:
            if any(member.compress_type for member in archive.infolist()):
                raise FileFormatError("the process that read it handed over something else")
    except (OSError, zipfile.BadZipFile) as error:
        raise FileFormatError(f"the process that read it handed nothing over: {error}") from None
    return read_archive(target).fitted


def serve() -> None:
    """Carry out the order on standard input, in the child."""
    order = json.load(sys.stdin)
    from . import reading  # before the limit, so that it holds for the file alone

    functions: dict[str, Any] = {"read": reading.read, "inspect": reading.inspect}
    _limit_memory(int(order["memory"]))
    found: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", exceptions.MkclustWarning)
        try:
            value = functions[order["function"]](order["path"], **order["options"])
            if isinstance(value, MultiView):
                value = {name: getattr(value, name) for name in VIEWS}
            found["value"] = value
        except InputError as error:
            found["error"] = [type(error).__name__, str(error)]
        except MemoryError:
            what = f"{order['path']}: it needs more memory than memory_limit allows"
            found["error"] = ["FileFormatError", what]
    ours = [w for w in caught if issubclass(w.category, exceptions.MkclustWarning)]
    found["warnings"] = [[w.category.__name__, str(w.message)] for w in ours]
    write_archive(order["target"], kind=KIND, parameters={}, fitted=found, compress=False)


def _limit_memory(memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    used = 0
    if (status := Path("/proc/self/statm")).exists():
        used = int(status.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (memory, memory))
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
