"""The difference between two partitions, in words."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components

NOTABLE = 0.15  # share of a cluster, before or after, from which samples in common are described
MOST = 3  # rearranged groups of clusters that are described; the others are counted


def matching(table: np.ndarray) -> np.ndarray:
    """Return for every column (k,) the row that it is matched to, by the largest common sum.

    >>> matching(np.array([[0, 5], [3, 1]])).tolist()
    [1, 0]
    """
    own, other = linear_sum_assignment(table, maximize=True)
    return np.asarray(own[np.argsort(other)])


def matched(reference: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Rename clusters so that as many samples as possible keep the label of the reference.

    >>> matched(np.array([0, 0, 1, 1]), np.array([1, 1, 1, 0])).tolist()
    [0, 0, 0, 1]
    """
    return np.asarray(matching(counts(reference, labels))[labels])


def counts(one: np.ndarray, two: np.ndarray, k: int = 0) -> np.ndarray:
    """Return how many samples have each pair of labels, from 0 on: a square table, at least k."""
    k = max(k, int(one.max()) + 1, int(two.max()) + 1)
    return np.bincount(one * k + two, minlength=k * k).reshape(k, k)


def difference(before: np.ndarray, after: np.ndarray) -> str:
    """Return what distinguishes a partition from the one before it: splits, merges, moves.

    Clusters that have a notable share of samples in common are linked. A group of linked clusters
    is unchanged, split, merged, or divided differently. Both are (n,) labels from 0 on.

    >>> difference(np.array([0] * 8 + [1] * 8), np.array([0] * 4 + [1] * 4 + [2] * 8))
    'splits cluster 0 (4 + 4)'
    >>> difference(np.array([0] * 8 + [1] * 8), np.array([0, 1] * 8))
    'divides clusters 0 and 1 differently (8 + 8 instead of 8 + 8)'
    """
    table = counts(before, after)
    k = len(table)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    linked = (table > 0) & ((table >= NOTABLE * rows[:, None]) | (table >= NOTABLE * columns))
    linked[np.arange(k), table.argmax(axis=1)] |= rows > 0  # a scattered cluster has one link
    linked[table.argmax(axis=0), np.arange(k)] |= columns > 0
    both = sp.block_array([[None, sp.csr_array(linked)], [sp.csr_array(linked.T), None]])
    group = connected_components(both, directed=False)[1]
    splits, merges, mixed, kept = [], [], [], 0
    for name in np.unique(group):
        old = np.flatnonzero((group[:k] == name) & (rows > 0))
        new = np.flatnonzero((group[k:] == name) & (columns > 0))
        if len(old) <= 1 and len(new) <= 1:  # none: a number that a partition does not use
            kept += int(table[np.ix_(old, new)].sum())
        elif len(old) == 1:
            splits.append((int(old[0]), table[old[0], new].tolist()))
        elif len(new) == 1:
            merges.append(old.tolist())
        elif joined := _joined(table[np.ix_(old, new)], rows[old]):
            merges.append(old[joined].tolist())
        else:
            mixed.append((old.tolist(), rows[old].tolist(), columns[new].tolist()))
    lines = [f"splits cluster {c} ({_sum(parts)})" for c, parts in splits]
    mixed.sort(key=lambda each: -sum(each[1]))
    lines += [_divided(*each) for each in mixed[:MOST]]
    if len(mixed) > MOST:
        lines.append(f"rearranges {sum(len(old) for old, _, _ in mixed[MOST:])} more clusters")
    lines += [f"merges {_named(old)}" for old in merges]
    if not splits and not mixed and not merges:
        return f"moves {len(before) - kept} samples between clusters"
    return "; ".join(lines)


def _joined(table: np.ndarray, sizes: np.ndarray) -> list[int]:
    """Return the rows of a table that lie almost entirely in one common column."""
    whole = table >= (1 - NOTABLE) * sizes[:, None]
    column = whole.sum(axis=0).argmax()
    return np.flatnonzero(whole[:, column]).tolist() if whole[:, column].sum() > 1 else []


def _divided(old: list[int], sizes: list[int], parts: list[int]) -> str:
    if len(old) > 4:
        return f"rearranges {len(old)} clusters into {len(parts)}"
    if len(old) != len(parts):
        return f"divides {_named(old)} into {len(parts)} ({_sum(parts)})"
    return f"divides {_named(old)} differently ({_sum(parts)} instead of {_sum(sizes)})"


def _named(clusters: list[int]) -> str:
    names = [str(c) for c in clusters]
    return f"clusters {', '.join(names[:-1])} and {names[-1]}"


def _sum(parts: list[int]) -> str:
    return " + ".join(map(str, sorted(parts, reverse=True)))
