"""How well labels match known classes: accuracy, mutual information, purity, adjusted Rand."""

from __future__ import annotations

from typing import Any

from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix


def accuracy(classes: Any, labels: Any) -> float:
    """Share of samples in the right cluster under the best one-to-one matching.

    >>> accuracy([0, 0, 1, 1], [5, 5, 5, 3])
    0.75
    """
    table = contingency_matrix(classes, labels)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / table.sum())


def nmi(classes: Any, labels: Any, normalizer: str = "max") -> float:
    """Mutual information over the larger entropy, as in the paper's tables.

    `normalizer` is ``"max"``, ``"arithmetic"`` (scikit-learn's default), ``"geometric"`` or
    ``"min"``.
    """
    return float(normalized_mutual_info_score(classes, labels, average_method=normalizer))


def purity(classes: Any, labels: Any) -> float:
    """Share of samples that belong to the largest class of their cluster.

    >>> purity([0, 0, 1, 1], [0, 1, 2, 3])
    1.0
    """
    table = contingency_matrix(classes, labels)
    return float(table.max(axis=0).sum() / table.sum())


def ari(classes: Any, labels: Any) -> float:
    """Rand index corrected for chance: 1 for equal partitions, about 0 for unrelated ones."""
    return float(adjusted_rand_score(classes, labels))


def evaluate(classes: Any, labels: Any) -> dict[str, float]:
    """All four, NMI by the larger entropy.

    >>> evaluate([0, 0, 1], [1, 1, 0])
    {'acc': 1.0, 'nmi': 1.0, 'purity': 1.0, 'ari': 1.0}
    """
    scores = {"acc": accuracy, "nmi": nmi, "purity": purity, "ari": ari}
    return {name: score(classes, labels) for name, score in scores.items()}


__all__ = ["accuracy", "ari", "evaluate", "nmi", "purity"]
