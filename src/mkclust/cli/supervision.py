"""A command that ends when told to: the work in a child process, a parent that always hears.

Python acts on a signal only between two steps of its own, and a single call of LAPACK may take
minutes. The parent does nothing but wait: it asks the work to end, ends it if it does not, and
removes the temporary files that are left.
"""

from __future__ import annotations

import math
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from ..io.atomic import Temporaries, note_temporaries_in

GRACE = 0.25  # seconds the work has to end by itself
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
SHOW_CURSOR = "\r\x1b[2K\x1b[?25h"  # what a progress line leaves behind that is ended on the way


class Stopped(BaseException):
    """Raised where the work is when it has to end; no handler of errors takes it for one."""


def supervised(work: Callable[[], None]) -> None:
    """Run `work` so that SIGINT and SIGTERM end it within a second, whatever it is at.

    The exit code is that of the work, or 128 and the number of the signal; a line on standard
    error says which. What the work had finished is kept: files are written whole or not at all.
    """
    if sys.platform != "linux":  # elsewhere libraries at work do not stand a fork
        work()
        return
    temporaries = Temporaries()
    heard, hears = os.pipe()
    os.set_blocking(hears, False)
    for number in (*WORDS, signal.SIGCHLD):
        signal.signal(number, _noted_by_the_wakeup_pipe)
    signal.set_wakeup_fd(hears, warn_on_full_buffer=False)
    lifeline, held = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        os.close(lifeline)
        os._exit(_watched(child, heard, temporaries))  # nothing of its own to be tidied up
    signal.set_wakeup_fd(-1)
    for end in (heard, hears, held):
        os.close(end)
    _end_with(lifeline)
    note_temporaries_in(temporaries)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells both; the parent decides
    signal.signal(signal.SIGTERM, _stop)
    try:
        work()
    except Stopped:
        sys.exit(128 + signal.SIGTERM)


def _watched(child: int, heard: int, temporaries: Temporaries) -> int:
    """Wait for the child, and end it when told to; the exit code of both."""
    told: signal.Signals | None = None
    until, ended, status = math.inf, 0, 0
    while not ended:
        patience = None if told is None else max(0.0, until - time.monotonic())
        if not select.select([heard], [], [], patience)[0]:
            os.kill(child, signal.SIGKILL)
            ended, status = os.waitpid(child, 0)
            continue
        for number in os.read(heard, 256):
            if number in WORDS and told is None:
                told, until = signal.Signals(number), time.monotonic() + GRACE
                os.kill(child, signal.SIGTERM)
        ended, status = os.waitpid(child, os.WNOHANG)
    code = os.waitstatus_to_exitcode(status)
    if code == 0 or (code > 0 and told is None):
        return code
    temporaries.remove()
    _say(told, -code)
    return 128 + (told or -code)


def _say(told: signal.Signals | None, number: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(SHOW_CURSOR)
    if told is not None:
        words = WORDS[told]
    else:
        name = signal.Signals(number).name
        reason = " (as a system does that is out of memory)" if name == "SIGKILL" else ""
        words = f"error: the process was ended by {name}{reason}"
    print(words, file=sys.stderr, flush=True)


def _end_with(lifeline: int) -> None:
    """Have the system end this process when the parent is gone and the pipe's other end with it."""
    import fcntl  # not on Windows, where this is never called

    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    poll = select.poll()
    poll.register(lifeline, select.POLLHUP)
    if poll.poll(0):  # before we asked
        os._exit(1)


def _stop(*_: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    sys.unraisablehook = _silent  # it may be raised where Python can only report it
    raise Stopped


def _silent(_: Any) -> None:
    """Nothing to be said."""


def _noted_by_the_wakeup_pipe(*_: Any) -> None:
    """The number of the signal is in the pipe already."""
