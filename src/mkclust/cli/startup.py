"""Imported before everything else: handle Ctrl-C during start-up, and note when the command began.

Imports take a second or more, in which Python would answer Ctrl-C with a traceback. No work has
begun by then, so the signal simply ends the command. Other programs that import the package are
not affected.
"""

import os
import signal
import sys
import time

began = time.perf_counter()  # of the command
_called = False

if os.path.basename(getattr(sys, "argv", [""])[0]) in ("mkclust", "mkclust.exe"):
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start() -> None:
    """Note that a command begins: the first with the import of this module, others now."""
    global began, _called
    began, _called = time.perf_counter() if _called else began, True
