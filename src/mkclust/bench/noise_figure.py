r"""Figure 2: what the two kinds of noise do to one kernel, measured against the true classes.

$A = UU^T$ with U the k leading eigenvectors of the kernel, $P = H^*H^{*T}$ with $H^*$ the
normalised indicator of the classes, $Q = I - P$. Then $A = P + E^N + E^C + X$ with N-noise
$E^N = QAQ$, C-noise $E^C = PAP - P$ and the cross part $X = PAQ + QAP$.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from ..data.views import MultiView
from ..kernels.bank import KernelBank, KernelRecipe
from ..linalg.kmeans import kmeans_labels
from ..linalg.spectrum import top_eigenpairs
from ..metrics import accuracy
from ..report.layout import block_edges
from .pictures import POINTS, SINGLE, for_print

CELLS = 600  # of a picture, each way
RESTARTS = 50  # of k-means
TITLES = ("as found", "without N-noise", "without C-noise", "without dual noise")


@dataclass(frozen=True)
class Parts:
    r"""$F M F^T$ with $F = [H^*\;U]$ (n, 2k) for every part: no n x n matrix.

    `basis` is F; `kernel`, `partition`, `null`, `column` and `cross` are the M (2k, 2k) of A, P,
    $E^N$, $E^C$ and X.
    """

    basis: np.ndarray
    kernel: np.ndarray
    partition: np.ndarray
    null: np.ndarray
    column: np.ndarray
    cross: np.ndarray

    def panels(self) -> tuple[np.ndarray, ...]:
        """M of A, A - E^N, A - E^C, and of P, from which the cross part is gone as well."""
        return self.kernel, self.kernel - self.null, self.kernel - self.column, self.partition

    def leading(self, M: np.ndarray) -> np.ndarray:
        """The k leading eigenvectors of $F M F^T$ (n, k), through a 2k x 2k matrix."""
        basis, R = scipy.linalg.qr(self.basis, mode="economic")
        return np.asarray(basis @ np.linalg.eigh(R @ M @ R.T)[1][:, -(len(M) // 2) :])

    def accuracy(self, M: np.ndarray, classes: np.ndarray) -> float:
        """ACC of kernel k-means on $F M F^T$."""
        labels = kmeans_labels(self.leading(M), len(M) // 2, n_init=RESTARTS, random_state=0)
        return accuracy(classes, labels)

    def picture(self, M: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Entries times n/k, rows sorted by class, means over cells where n is large."""
        n = len(classes)
        edges = np.linspace(0, n, min(n, CELLS) + 1).round().astype(int)
        rows = self.basis[np.argsort(classes, kind="stable")]
        F = np.add.reduceat(rows, edges[:-1]) / np.diff(edges)[:, None]
        return np.asarray(F @ M @ F.T * (n / (len(M) / 2)))


def parts(kernel: np.ndarray, classes: np.ndarray) -> Parts:
    """The kernel's leading subspace taken apart along the classes (n,), coded 0 to k-1.

    >>> found = parts(np.diag([3.0, 2.0, 0.0, 0.0]), np.array([0, 0, 1, 1]))
    >>> [round(found.accuracy(M, np.array([0, 0, 1, 1])), 2) for M in found.panels()][-1]
    1.0
    """
    k = int(classes.max()) + 1
    U = top_eigenpairs(kernel, k)[1]
    H = np.eye(k)[classes] / np.sqrt(np.bincount(classes))
    T = H.T @ U
    zero, one = np.zeros((k, k)), np.eye(k)
    A = np.block([[zero, zero], [zero, one]])
    P = np.block([[one, zero], [zero, zero]])
    PAP = np.block([[T @ T.T, zero], [zero, zero]])
    PA_and_AP = np.block([[zero, T], [T.T, zero]])
    return Parts(
        np.hstack([H, U]), A, P,
        null=A - PA_and_AP + PAP, column=PAP - P, cross=PA_and_AP - 2 * PAP,
    )  # fmt: skip


def noise_figure(views: MultiView, recipe: KernelRecipe, view: int = 0) -> Any:
    """Four pictures of one view's kernel, the ACC of kernel k-means under each."""
    classes = np.unique(np.asarray(views.labels), return_inverse=True)[1]
    found = parts(KernelBank(views, recipe)[view], classes)
    with for_print(SINGLE, SINGLE * 1.1, nrows=2, ncols=2) as (figure, axes):
        for place, (ax, M) in enumerate(zip(axes.flat, found.panels(), strict=True)):
            image = ax.imshow(
                found.picture(M, classes), cmap="Greys", vmin=0, vmax=1.5, extent=(0, 1, 1, 0),
            )  # fmt: skip
            _class_ticks(ax, classes)
            score = 100 * found.accuracy(M, classes)
            ax.set_xlabel(f"({'abcd'[place]}) {TITLES[place]}\nACC {score:.1f} %", labelpad=3)
        bar = figure.colorbar(image, ax=axes, shrink=0.5, aspect=25, extend="both", pad=0.02,
                              ticks=(0, 0.5, 1, 1.5))  # fmt: skip
        bar.set_label("entry × n / k", fontsize=POINTS)
    return figure


def _class_ticks(ax: Any, classes: np.ndarray) -> None:
    """Short strokes where a class ends, on the left and below, and no numbers."""
    edges = block_edges(classes)
    ax.set_xticks(edges, [""] * len(edges))
    ax.set_yticks(edges, [""] * len(edges))
    ax.spines[:].set_visible(True)
