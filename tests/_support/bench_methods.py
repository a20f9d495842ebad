"""Methods no benchmark should meet, for tests of how it copes with them."""

import os
import subprocess
import sys
import time

import numpy as np


def hungry(views, k, seed):
    """Takes memory without end."""
    taken = []
    while True:
        taken.append(np.ones(10_000_000))


def endless(views, k, seed):
    """Computes without end."""
    while True:
        np.dot(np.ones(1000), np.ones(1000))


def asleep(views, k, seed):
    """Waits without end, with a child that does so too."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    time.sleep(600)


def crashing(views, k, seed):
    """Ends its process."""
    os.abort()


def complaining(views, k, seed):
    """Prints a lot and raises."""
    print("x" * 200_000)
    raise ValueError("these views\nare not to my taste")


def honest(views, k, seed):
    """Labels by the first column."""
    order = np.argsort(np.argsort(np.asarray(views[0])[:, 0]))
    return order * k // len(order)
