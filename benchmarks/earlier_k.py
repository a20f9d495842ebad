"""The number of clusters by the rule before the present one, for `choose_k.py --earlier`.

    PYTHONPATH=CHECKOUT/src python benchmarks/earlier_k.py FILE

CHECKOUT is a worktree of commit 3cfc7da, whose rule is chance-corrected modularity times the root
of the eigengap, near the median of the evidence. FILE is written by `choose_k.py`: a pickle of
the views and whether they are kernels.
"""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from pathlib import Path

from mkclust import GraphFusion, MultiView, choose_k


def main() -> None:
    tables, kernels = pickle.loads(Path(sys.argv[1]).read_bytes())
    views = MultiView(tables, kernels=kernels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = choose_k(GraphFusion(2, precomputed=kernels), views)
    print(json.dumps({"earlier rule": found.k}))


if __name__ == "__main__":
    main()
