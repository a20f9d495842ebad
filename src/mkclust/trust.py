"""Which views to trust: how much each agrees with the others, and which agree with none."""

from __future__ import annotations

from typing import Any

import numpy as np

DEVIATIONS = 5.0  # standard deviations of chance agreement before agreement is believed
FAINT = 0.05  # agreement of two views that is real at large n, yet too little to build on


def mean_agreement(agreement: np.ndarray) -> np.ndarray:
    """Mean over the other views (m,); NaN for a view that has no other.

    >>> mean_agreement(np.array([[1.0, 0.4], [0.4, 1.0]]))
    array([0.4, 0.4])
    """
    m = len(agreement)
    others = agreement.sum(axis=1) - agreement.diagonal()
    return np.asarray(others / (m - 1)) if m > 1 else np.full(m, np.nan)


def beyond_chance(agreement: np.ndarray, n_samples: int) -> np.ndarray:
    r"""Which pairs agree more than two unrelated views would: (m, m) booleans.

    The agreement of two random subspaces of equal dimension has mean 0 and variance
    $2 / ((n-1)(n+2))$.

    >>> beyond_chance(np.array([[1.0, 0.01], [0.01, 1.0]]), 1000)
    array([[ True, False],
           [False,  True]])
    """
    spread = np.sqrt(2.0 / ((n_samples - 1) * (n_samples + 2)))
    return np.asarray(agreement > max(FAINT, DEVIATIONS * spread))


def lone_views(agreement: np.ndarray, n_samples: int) -> list[int]:
    """Views that agree with no other beyond chance, by position; none for a single view.

    >>> lone_views(np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.01], [0.0, 0.01, 1.0]]), 1000)
    [2]
    """
    related = beyond_chance(agreement, n_samples) & ~np.eye(len(agreement), dtype=bool)
    return [p for p in range(len(agreement)) if len(agreement) > 1 and not related[p].any()]


def unrelated(model: Any) -> list[int]:
    """Positions of the views a fitted model calls unrelated."""
    named = set(getattr(model, "unrelated_views_", ()))
    return [p for p, name in enumerate(model.view_names_in_) if name in named]


def ranking(model: Any) -> np.ndarray:
    """Views from the most to the least trusted: by agreement, else by weight, else as given."""
    m = len(model.view_names_in_)
    if m > 1 and hasattr(model, "agreement_"):
        score = mean_agreement(model.agreement_)
    else:
        score = np.asarray(getattr(model, "weights_", np.zeros(m)), dtype=float)
    return np.argsort(-score, kind="stable")
