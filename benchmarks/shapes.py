"""Time of methods on synthetic data of the shapes in the paper's Table 3.

    python benchmarks/shapes.py [544] [940] [1500] [6773] [8189] [18758] [--methods mkc-dnm ...]

The script writes benchmarks/SHAPES.md. Every run starts from features in its own process, with
limits of CPU seconds and memory.
"""

from __future__ import annotations

import argparse
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

from measure import in_own_process

from mkclust import METHODS, datasets, metrics

PEERS = ("akkm", "lfmkc", "hmkc")
OURS = ("mkc-dnm", "mkc-dnm, single")
CPU_LIMIT = {"mkc-dnm": 1200.0}  # seconds; PEER_LIMIT for the others
PEER_LIMIT = 300.0
MEMORY_LIMIT = 4.0  # GiB


@dataclass(frozen=True)
class Shape:
    name: str
    n: int
    m: int
    k: int
    published: dict[str, float]  # the paper's run time, seconds

    def __str__(self):
        return f"{self.n} × {self.m}, k = {self.k} ({self.name})"


def _published(ours, akkm, lfmkc, hmkc):
    return {"mkc-dnm": ours, "akkm": akkm, "lfmkc": lfmkc, "hmkc": hmkc}


SHAPES = (
    Shape("BBCSport", 544, 2, 5, _published(0.02, 0.04, 0.02, 0.38)),
    Shape("Plant", 940, 69, 4, _published(15.29, 0.16, 0.81, 21.43)),
    Shape("SensIT", 1500, 2, 3, _published(0.22, 0.04, 0.11, 1.77)),
    Shape("CCV", 6773, 3, 20, _published(55.99, 1.64, 6.74, 302.44)),
    Shape("Flower102", 8189, 4, 102, _published(237.29, 7.27, 38.57, 5489.66)),
    Shape("Reuters", 18758, 5, 6, _published(44.57, 11.43, 50.69, 1297.23)),
)
SMALL = SHAPES[:3]


def run_shape(method, shape):
    """Fit one method to planted clusters of this shape; return its accuracy."""
    noise_views = shape.m // 3 if shape.m > 10 else 0
    views = datasets.make_views(
        shape.n, shape.k, shape.m - noise_views, n_noise_views=noise_views,
        n_features=30, noise=1.5, random_state=0,
    )  # fmt: skip
    settings = {"kernel": "gaussian", "random_state": 0}
    if method in OURS:
        precision = "single" if method.endswith("single") else "double"
        settings |= {"approximation": None, "precision": precision}
    model = METHODS[method.split(",")[0]](shape.k, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = model.fit_predict(views)
    return metrics.accuracy(views.labels, labels)


def table(shapes, methods=(*OURS, *PEERS), cpu_limit=None):
    """Yield one line for each shape and method."""
    yield "| shape (n × m, k) | method | wall s | CPU s | peak GiB | ACC | published run s |"
    yield "|---|---|---|---|---|---|---|"
    for shape in shapes:
        for method in methods:
            name = method.split(",")[0]
            limit = cpu_limit or CPU_LIMIT.get(name, PEER_LIMIT)
            found = in_own_process(
                run_shape, method, shape, cpu_limit=limit, memory_limit=MEMORY_LIMIT
            )
            if isinstance(found, tuple):
                cells = f"{found[0]:.2f} | {found[1]:.2f} | {found[2]:.2f} | {found[3]:.3f}"
            else:
                cells = f"N/A: {found} | | |"
            yield f"| {shape} | {method} | {cells} | {shape.published[name]} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("samples", nargs="*", type=int, help="of the shapes to run; all of them")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("SHAPES.md"))
    parser.add_argument("--methods", nargs="+", choices=[*OURS, *PEERS], default=[*OURS, *PEERS])
    asked = parser.parse_args()
    unknown = {*asked.samples} - {shape.n for shape in SHAPES}
    if unknown:
        parser.error(f"no shape of {min(unknown)} samples")
    shapes = [s for s in SHAPES if not asked.samples or s.n in asked.samples]
    lines = [
        "# Times at the shapes of the paper's Table 3",
        "",
        "Synthetic data: planted clusters in views of 30 columns with noise; a third of the 69 "
        "views is pure noise. Only the shapes are those of the paper. The published seconds start "
        "from kernels, on the authors' machine; here every run starts from features, in its own "
        f"process, with limits of {MEMORY_LIMIT:g} GiB and {PEER_LIMIT:.0f} s of CPU "
        f"({CPU_LIMIT['mkc-dnm']:.0f} s for MKC-DNM). BLAS threads: "
        f"{os.environ.get('OMP_NUM_THREADS', 'all')} of {os.cpu_count()} cores, load at start "
        f"{os.getloadavg()[0]:.1f}. Compare CPU seconds where the machine was shared.",
        "",
    ]
    for line in table(shapes, asked.methods):
        print(line, flush=True)
        lines.append(line)
    asked.out.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
