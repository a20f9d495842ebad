"""Run a command in a child process, so that a signal ends it within a second.

Python handles a signal only between two of its own instructions, and one call of LAPACK may take
minutes. The parent only waits for signals: it sends SIGTERM to the child, then SIGKILL, and removes
the temporary files that are left.
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

GRACE = 0.25  # seconds between SIGTERM and SIGKILL
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
SHOW_CURSOR = "\r\x1b[2K\x1b[?25h"  # clears an interrupted progress line


class Stopped(BaseException):
    """Raised in the child to end the work; it is not an Exception, so that none catches it."""


def supervised(work: Callable[[], None]) -> None:
    """Run `work` in a child process; SIGINT and SIGTERM end it within a second.

    The exit code is that of the work, or 128 plus the number of the signal, which a line on
    standard error names. Finished files are kept: files are written completely or not at all.
    """
    if sys.platform != "linux":  # on other systems libraries do not support a fork
        work()
        return
    temporaries = Temporaries()
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    for number in (*WORDS, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)  # Python writes the number to the wakeup pipe
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    lifeline, held = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        os.close(lifeline)
        os._exit(_watched(child, readable, temporaries))  # the parent has nothing to clean up
    signal.set_wakeup_fd(-1)
    for end in (readable, writable, held):
        os.close(end)
    _end_with(lifeline)
    note_temporaries_in(temporaries)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal signals both; the parent decides
    signal.signal(signal.SIGTERM, _stop)
    try:
        work()
    except Stopped:
        sys.exit(128 + signal.SIGTERM)


def _watched(child: int, readable: int, temporaries: Temporaries) -> int:
    """Wait for the child, end it on a signal, and return the exit code of both."""
    received: signal.Signals | None = None
    until, ended, status = math.inf, 0, 0
    while not ended:
        timeout = None if received is None else max(0.0, until - time.monotonic())
        if not select.select([readable], [], [], timeout)[0]:
            os.kill(child, signal.SIGKILL)
            ended, status = os.waitpid(child, 0)
            continue
        for number in os.read(readable, 256):
            if number in WORDS and received is None:
                received, until = signal.Signals(number), time.monotonic() + GRACE
                os.kill(child, signal.SIGTERM)
        ended, status = os.waitpid(child, os.WNOHANG)
    code = os.waitstatus_to_exitcode(status)
    if code == 0 or (code > 0 and received is None):
        return code
    temporaries.remove()
    _report(received, -code)
    return 128 + (received or -code)


def _report(received: signal.Signals | None, number: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(SHOW_CURSOR)
    if received is not None:
        words = WORDS[received]
    else:
        name = signal.Signals(number).name
        reason = " (the system may be out of memory)" if name == "SIGKILL" else ""
        words = f"error: the process was ended by {name}{reason}"
    print(words, file=sys.stderr, flush=True)


def _end_with(lifeline: int) -> None:
    """Have the system end this process when the parent ends and closes the pipe."""
    import fcntl  # not on Windows, where this is never called

    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    poll = select.poll()
    poll.register(lifeline, select.POLLHUP)
    if poll.poll(0):  # the parent has ended already
        os._exit(1)


def _stop(*_: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second signal changes nothing
    sys.unraisablehook = lambda _: None  # in a destructor Python can only print the exception
    raise Stopped
