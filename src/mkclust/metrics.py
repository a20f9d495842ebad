"""How well labels match known classes: accuracy, mutual information, purity, adjusted Rand."""

from __future__ import annotations

from typing import Any

from .contingency import Table


def accuracy(classes: Any, labels: Any) -> float:
    """Share of samples in the right cluster under the best one-to-one matching.

    >>> accuracy([0, 0, 1, 1], [5, 5, 5, 3])
    0.75
    """
    return Table.of(classes, labels).accuracy()


def nmi(classes: Any, labels: Any, normalizer: str = "max") -> float:
    """Mutual information over the larger entropy, as in the paper's tables.

    `normalizer` is ``"max"``, ``"arithmetic"`` (scikit-learn's default), ``"geometric"`` or
    ``"min"``.
    """
    return Table.of(classes, labels, finite=True).nmi(normalizer)


def purity(classes: Any, labels: Any) -> float:
    """Share of samples that belong to the largest class of their cluster.

    >>> purity([0, 0, 1, 1], [0, 1, 2, 3])
    1.0
    """
    return Table.of(classes, labels).purity()


def ari(classes: Any, labels: Any) -> float:
    """Rand index corrected for chance: 1 for equal partitions, about 0 for unrelated ones."""
    return Table.of(classes, labels, finite=True).ari()


def evaluate(classes: Any, labels: Any) -> dict[str, float]:
    """All four, NMI by the larger entropy.

    >>> evaluate([0, 0, 1], [1, 1, 0])
    {'acc': 1.0, 'nmi': 1.0, 'purity': 1.0, 'ari': 1.0}
    """
    table = Table.of(classes, labels, finite=True)
    return {
        "acc": table.accuracy(),
        "nmi": table.nmi(),
        "purity": table.purity(),
        "ari": table.ari(),
    }


__all__ = ["accuracy", "ari", "evaluate", "nmi", "purity"]
