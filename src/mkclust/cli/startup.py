"""Imported before everything else: Ctrl-C while the command is still starting.

Importing what the package needs takes a second or more, in which Python would answer Ctrl-C with
a traceback out of somebody's import. Nothing has begun then, so the command just ends, as the shell
expects it. In any other program that imports the package nothing changes.
"""

import os
import signal
import sys

if os.path.basename(getattr(sys, "argv", [""])[0]) in ("mkclust", "mkclust.exe"):
    signal.signal(signal.SIGINT, signal.SIG_DFL)
