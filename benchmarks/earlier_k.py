"""The number of clusters by the rule before the present one, for `choose_k.py --earlier`.

    PYTHONPATH=CHECKOUT/src python benchmarks/earlier_k.py FILE

CHECKOUT is a worktree of commit 3b461b2, whose `choose_k` works on Gaussian kernels. FILE is
written by `choose_k.py`: a pickle of the views and whether they are kernels. The script scans
the numbers 2 to 20 once and prints the best of them, and the best of 2 to 12, the range that was
then the default.
"""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from pathlib import Path

from mkclust import MultiView, choose_k

DEFAULT, MOST = 12, 20


def main() -> None:
    tables, kernels = pickle.loads(Path(sys.argv[1]).read_bytes())
    views = MultiView(tables, kernels=kernels)
    settings = {"kernel": "precomputed"} if kernels else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = choose_k(views, (2, min(MOST, len(views) // 2)), indefinite="shift", **settings)
    usual = max((row for row in found.table if row.k <= DEFAULT), key=lambda row: row.score)
    print(json.dumps({"earlier rule": found.k, "earlier rule to 12": usual.k}))


if __name__ == "__main__":
    main()
