"""Compare labels with known classes: accuracy, NMI, purity and the adjusted Rand index."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from .exceptions import InputError, check_choice

NORMALIZERS = ("max", "arithmetic", "geometric", "min")


def accuracy(classes: Any, labels: Any) -> float:
    r"""Compute the share of samples in the right cluster under the best one-to-one matching.

    $$\frac1n \max_\pi \sum_i [y_i = \pi(l_i)]$$

    Parameters
    ----------
    classes, labels : (n,) sequences
        Known classes and cluster labels: numbers or strings, of any values.

    Returns
    -------
    float between 0 and 1

    Examples
    --------
    >>> accuracy([0, 0, 1, 1], [5, 5, 5, 3])
    0.75
    """
    table = contingency(classes, labels)
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / table.sum())


def nmi(classes: Any, labels: Any, normalizer: str = "max") -> float:
    r"""Compute the normalized mutual information, $I(Y, L) / N(H(Y), H(L))$.

    Parameters
    ----------
    classes, labels : (n,) sequences
        Known classes and cluster labels.
    normalizer : {"max", "arithmetic", "geometric", "min"}
        The mean N of the two entropies. ``"max"`` is that of the paper's tables,
        ``"arithmetic"`` the default of scikit-learn.

    Returns
    -------
    float between 0 and 1
        1 if both labelings have one cluster, 0 if only one of them has.

    Examples
    --------
    >>> nmi([0, 0, 1, 1], [0, 0, 1, 2]), nmi([0, 0, 1, 1], [0, 0, 0, 0])
    (0.6666666666666666, 0.0)
    """
    check_choice("normalizer", normalizer, NORMALIZERS)
    codes = _codes(classes, labels)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of many clusters
        return float(normalized_mutual_info_score(*codes, average_method=normalizer))


def purity(classes: Any, labels: Any) -> float:
    r"""Compute the share of samples that belong to the largest class of their cluster.

    $$\frac1n \sum_j \max_i n_{ij}$$

    Parameters
    ----------
    classes, labels : (n,) sequences
        Known classes and cluster labels.

    Returns
    -------
    float between 0 and 1

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 1, 2, 3])
    1.0
    """
    # Sparse, because it has at most n entries for any number of classes.
    table = contingency_matrix(*_codes(classes, labels), sparse=True)
    return float(table.max(axis=0).sum() / table.sum())


def ari(classes: Any, labels: Any) -> float:
    """Compute the adjusted Rand index: 1 for equal partitions, about 0 for unrelated ones.

    Parameters
    ----------
    classes, labels : (n,) sequences
        Known classes and cluster labels.

    Returns
    -------
    float between -0.5 and 1

    Examples
    --------
    >>> ari([0, 0, 1, 1], [1, 1, 0, 0]), ari([0, 0, 1, 1], [0, 1, 0, 1])
    (1.0, -0.5)
    """
    codes = _codes(classes, labels)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of many clusters
        return float(adjusted_rand_score(*codes))


def evaluate(classes: Any, labels: Any) -> dict[str, float]:
    """Compute all four metrics, with the NMI normalized by the larger entropy.

    Parameters
    ----------
    classes, labels : (n,) sequences
        Known classes and cluster labels.

    Returns
    -------
    dict with the keys "acc", "nmi", "purity" and "ari"

    Examples
    --------
    >>> evaluate([0, 0, 1], [1, 1, 0])
    {'acc': 1.0, 'nmi': 1.0, 'purity': 1.0, 'ari': 1.0}
    """
    codes = _codes(classes, labels)
    return {
        "acc": accuracy(*codes),
        "nmi": nmi(*codes),
        "purity": purity(*codes),
        "ari": ari(*codes),
    }


def contingency(classes: Any, labels: Any) -> np.ndarray:
    """Count the samples of every class in every cluster.

    Parameters
    ----------
    classes, labels : (n,) sequences
        Known classes and cluster labels.

    Returns
    -------
    (c, k) int array
        Rows are the distinct classes in sorted order, columns the distinct labels.

    Examples
    --------
    >>> contingency(["a", "a", "b"], [7, 3, 3])
    array([[1, 1],
           [1, 0]])
    """
    return np.asarray(contingency_matrix(*_codes(classes, labels)))


def _codes(classes: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Check both labelings and number their distinct values from 0 on: two (n,) int arrays."""
    found = []
    for values, name in ((np.asarray(classes), "classes"), (np.asarray(labels), "labels")):
        if values.ndim != 1 or not len(values):
            raise InputError(
                f"{name} must be a sequence of one label per sample, not of shape {values.shape}"
            )
        numbers = pd.factorize(values, sort=True)[0]
        if (numbers < 0).any() or (values.dtype.kind == "f" and np.isinf(values).any()):
            raise InputError(
                f"{name} contain missing values or infinity: leave out samples without a label"
            )
        found.append(numbers)
    one, two = found
    if len(one) != len(two):
        raise InputError(
            f"classes and labels must be of the same samples: there are {len(one)} classes "
            f"and {len(two)} labels"
        )
    return one, two


__all__ = ["accuracy", "ari", "contingency", "evaluate", "nmi", "purity"]
