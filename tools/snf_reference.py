"""Record a fused network of the package snfpy, and compare SNF with it on snfpy's example data.

snfpy 0.2.2 needs scikit-learn below 1.8, so that this has an environment of its own::

    python -m venv venv-snf
    venv-snf/bin/pip install . snfpy==0.2.2 "scikit-learn<1.8"
    venv-snf/bin/python tools/snf_reference.py

It writes tests/data/snf_mfeat60.npz, which tests/baselines/test_snf.py compares with.
"""

from pathlib import Path

import numpy as np
import snf
import snf.datasets

from mkclust import SNF, datasets

RECORD = Path(__file__).resolve().parent.parent / "tests" / "data" / "snf_mfeat60.npz"
METRICS = ("sqeuclidean", "euclidean")


def sixty() -> list[np.ndarray]:
    """Return the views fou, zer and mor of six digits of each of ten classes."""
    few = datasets.load_mfeat()[::33][:60]
    return [np.asarray(view, dtype=float) for view in few.select(["fou", "zer", "mor"]).views]


def reference(tables: list[np.ndarray], metric: str) -> np.ndarray:
    """Return the fused network (n, n) of snfpy with its default parameters."""
    return np.asarray(snf.snf(snf.make_affinity(tables, metric=metric, K=20, mu=0.5), K=20, t=20))


if __name__ == "__main__":
    np.savez_compressed(RECORD, **{metric: reference(sixty(), metric) for metric in METRICS})
    print(f"Written: {RECORD.name}")
    examples = {"sim": snf.datasets.load_simdata(), "digits": snf.datasets.load_digits()}
    for name, data in examples.items():
        for metric in METRICS:
            ours = SNF(2, metric=metric, random_state=0).fit(data.data).graph_
            worst = np.abs(ours - reference(data.data, metric)).max()
            print(f"{name}, {len(ours)} samples, {metric}: largest difference {worst:.1e}")
