"""Annotations and survival: clinical columns compared with the clusters, after clustering."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency, kruskal, random_table

from ..data.alignment import ROWS, as_text, match_samples, plain, rows_of
from ..data.values import as_table
from ..exceptions import InputError
from ..metrics import contingency

LEVEL = 0.05  # of the corrected p value
FEW_VALUES = 5  # a numeric column with at most so many values is a category
EXPECTED = 5.0  # expected counts below this make the chi-squared distribution unfit
PERMUTED = 9999  # random tables that are drawn then
TIMES = frozenset((
    "time", "times", "survival", "survivaltime", "survivaldays", "ostime", "osdays", "osmonths",
    "days", "daystoevent", "futime", "followup", "followuptime", "overallsurvival", "duration",
))  # fmt: skip
EVENTS = frozenset((
    "event", "events", "death", "dead", "died", "os", "osevent", "osstatus", "status", "deceased",
    "vitalstatus", "fustat", "observed",
))  # fmt: skip
OCCURRED = frozenset(("1", "1.0", "true", "dead", "deceased", "died", "yes", "event", "1:deceased"))
CENSORED = frozenset(("0", "0.0", "false", "alive", "living", "no", "censored", "0:living"))
INSTALL = "pip install 'mkclust[survival]'"


class Comparison(NamedTuple):
    """One column compared with the clusters.

    `effect` is Cramer's V for categories, epsilon squared for numbers, NaN for survival;
    `samples` have a value and a cluster.
    """

    column: str
    test: str
    statistic: float
    p: float
    p_adjusted: float
    effect: float
    samples: int
    note: str = ""


@dataclass(frozen=True)
class Annotations:
    """Columns compared with the clusters, smallest p value first.

    Attributes
    ----------
    comparisons : tuple of Comparison
    survival : Survival or None
        Kaplan-Meier curves by cluster, where there are times and events.
    skipped : tuple of str
        Columns that were not compared, with the reason.
    joined : str
        How the rows of the table were joined to the samples, and of how many they are.
    """

    comparisons: tuple[Comparison, ...]
    survival: Survival | None
    skipped: tuple[str, ...]
    joined: str

    def to_frame(self) -> Any:
        """Return a pandas frame with a row per column compared."""
        return pd.DataFrame(list(self.comparisons), columns=list(Comparison._fields))

    def __str__(self) -> str:
        if not self.comparisons:
            return "no column could be compared with the clusters"
        below = [each for each in self.comparisons if each.p_adjusted < LEVEL]
        named = ", ".join(f"{each.column} (p {each.p_adjusted:.2g})" for each in below[:5])
        text = f"{len(below)} of {len(self.comparisons)} columns differ between the clusters"
        return f"{text}{': ' if below else ''}{named}; {self.joined}"


def compare_annotations(
    labels: Any,
    table: Any,
    *,
    index: Any = None,
    id: str | None = None,
    time: str | None = None,
    event: str | None = None,
) -> Annotations:
    """Compare the columns of a table with clusters; nothing is clustered.

    Categories are compared by the chi-squared test, by permutation where expected counts are
    small, numbers by the Kruskal-Wallis test, survival
    by the log-rank test (``pip install 'mkclust[survival]'``). Samples without a value are left
    out of that column. p values are corrected over all columns by Holm.

    Parameters
    ----------
    labels : (n,) int array or pandas Series
        Clusters. The index of a Series names the samples.
    table : pandas or polars frame
        Its index or a column names the samples, in any order; those without a cluster are left
        out.
    index : (n,) sequence, optional
        Names of the samples of an array. Without it the rows of the table are in the order of
        the labels.
    id : str, optional
        Column of the table with the names of the samples; by default recognized.
    time, event : str, optional
        Columns with the time to an event or to the end of observation, and whether the event
        occurred. By default columns with usual names, such as OS.time and OS.

    Returns
    -------
    Annotations

    Examples
    --------
    >>> import pandas as pd
    >>> from mkclust.inspection import compare_annotations
    >>> table = pd.DataFrame({"stage": ["i", "i", "ii", "ii"] * 5, "age": range(20)})
    >>> found = compare_annotations([0, 0, 1, 1] * 5, table)
    >>> found.comparisons[0].column, found.comparisons[0].effect
    ('stage', 1.0)
    """
    clusters, table, joined = _aligned(labels, table, index, id)
    pair, skipped, censored = survival_columns(table, time, event)
    found, curves = [], None
    if pair is not None:
        try:
            curves = survival(clusters, table[pair[0]], table[pair[1]])
            name, test = f"{pair[0]}, {pair[1]}", (curves.statistic, curves.p)
            found.append(Comparison(name, "log-rank", *test, np.nan, np.nan, curves.samples))
        except InputError as error:
            if time is not None:
                raise
            skipped.append(f"Survival of {pair[0]} and {pair[1]}: {error}")
            censored = censored[:1]
    for column in table.columns:
        if column not in censored:
            try:
                found.append(_compared(str(column), clusters, table[column]))
            except InputError as error:
                skipped.append(str(error))
    adjusted = corrected(np.array([each.p for each in found]))
    found = [each._replace(p_adjusted=float(p)) for each, p in zip(found, adjusted, strict=True)]
    ordered = tuple(sorted(found, key=lambda each: each.p))
    return Annotations(ordered, curves, tuple(skipped), joined)


def corrected(p: np.ndarray) -> np.ndarray:
    """Return p values (t,) corrected for their number by Holm.

    >>> corrected(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p)
    found = np.empty(len(p))
    found[order] = np.maximum.accumulate(np.minimum(p[order] * np.arange(len(p), 0, -1), 1.0))
    return found


def _aligned(labels: Any, table: Any, index: Any, id: str | None) -> tuple[np.ndarray, Any, str]:
    """Return clusters (n,), the rows of the table that have one, in the same order, and how."""
    if not hasattr(table, "columns"):
        raise InputError(f"the annotations must be a frame, got {type(table).__name__}")
    table = as_table(table, "annotations")
    names = getattr(labels, "index", None) if index is None else index
    clusters = np.asarray(labels)
    if names is None or callable(names):
        if len(clusters) != len(table):
            raise InputError(f"{len(table)} rows of annotations for {len(clusters)} labels")
        return clusters, table, "joined by position"
    if id is None and isinstance(names, (range, pd.RangeIndex)):  # samples without names
        table = table.set_axis(as_text(table.index))
    else:
        table = match_samples(table, names, id)
    rows = rows_of(table.index, as_text(names))
    if (rows < 0).all():
        named = f"they name {table.index[0]!r}, the samples are named {as_text(names)[0]!r}"
        raise InputError(f"no sample of the annotations has a cluster: {named}")
    joined = f"joined by {table.index.name or ROWS}: {sum(rows >= 0)} of {len(clusters)} samples"
    return clusters[rows[rows >= 0]], table[rows >= 0], joined


def _compared(name: str, clusters: np.ndarray, column: Any) -> Comparison:
    """Compare one column; an InputError says why it cannot be compared."""
    known = column.notna().to_numpy()
    values, groups = column[known], clusters[known]
    distinct, n = values.nunique(), len(values)
    if distinct < 2:
        raise InputError(f"{name}: it has the same value for all samples")
    if len(np.unique(groups)) < 2:
        raise InputError(f"{name}: only one cluster has values")
    if column.dtype.kind in "iuf" and distinct > FEW_VALUES:
        numbers = values.to_numpy(float)
        if not np.isfinite(numbers).all():
            raise InputError(f"{name}: it has infinite values")
        found = kruskal(*(numbers[groups == c] for c in np.unique(groups)))
        statistic, p = float(found.statistic), float(found.pvalue)
        return Comparison(name, "Kruskal-Wallis", statistic, p, np.nan, statistic / (n - 1), n)
    if distinct > n / 2:
        raise InputError(f"{name}: {distinct} different values of {n} are no categories")
    return category_test(name, groups, values.astype(str).to_numpy())


def category_test(name: str, groups: np.ndarray, values: np.ndarray) -> Comparison:
    """Test whether categories are independent of groups, by the chi-squared statistic.

    Where an expected count is below 5, the p value is that of 9999 random tables with the same
    margins, and not of the chi-squared distribution.

    >>> category_test("sex", np.array([0, 0, 1, 1] * 5), np.array([0, 0, 1, 1] * 5)).effect
    1.0
    """
    counts = contingency(groups, values)
    found = chi2_contingency(counts, correction=False)
    statistic, p, expected = float(found.statistic), float(found.pvalue), found.expected_freq
    effect = float(np.sqrt(statistic / (counts.sum() * (min(counts.shape) - 1))))
    few, test, note = int(np.count_nonzero(expected < EXPECTED)), "chi-squared", ""
    if few:
        tables = random_table(counts.sum(axis=1), counts.sum(axis=0)).rvs(PERMUTED, random_state=0)
        drawn = np.sum((tables - expected) ** 2 / expected, axis=(1, 2))
        p = (1 + int(np.count_nonzero(drawn >= statistic * (1 - 1e-9)))) / (1 + PERMUTED)
        note = f"{few} of {counts.size} expected counts are below {EXPECTED:g}: p by permutation"
        test = "permutation"
    return Comparison(name, test, statistic, p, np.nan, effect, len(values), note)


@dataclass(frozen=True)
class Curve:
    """Kaplan-Meier estimate of one cluster.

    `survival` (t,) is the share that survives beyond `times` (t,), ascending from 0; `at_risk`
    (t,) are the samples observed until just before them. `median` is infinite where more than
    half survive to the end.
    """

    cluster: int
    times: np.ndarray
    survival: np.ndarray
    at_risk: np.ndarray
    samples: int
    events: int
    median: float


@dataclass(frozen=True)
class Survival:
    """Survival curves of all clusters and the log-rank test that they are equal."""

    curves: tuple[Curve, ...]
    statistic: float
    p: float
    samples: int


def survival_columns(
    table: Any, time: str | None, event: str | None
) -> tuple[tuple[Any, Any] | None, list[str], list[Any]]:
    """Return the columns with times and events, as named or by usual names.

    Then remarks, and columns that must not be compared otherwise: times that are censored.
    """
    if (time is None) != (event is None):
        raise InputError("time and event must be given together")
    times, events = [time], [event]
    if time is None:
        known = TIMES, EVENTS
        times, events = ([c for c in table.columns if plain(str(c)) in each] for each in known)
    elif unknown := [name for name in (time, event) if name not in table.columns]:
        there = ", ".join(map(str, table.columns))
        raise InputError(f"the annotations have no column {unknown[0]!r}; there are {there}")
    if not times or not events:
        return None, [], []
    if len(times) > 1 or len(events) > 1:
        several = ", ".join(map(str, [*times, *events]))
        remark = f"Survival: several columns may be times or events ({several}); name them"
        return None, [remark], times
    if find_spec("lifelines") is not None:
        return (times[0], events[0]), [], [times[0], events[0]]
    if time is not None:
        raise InputError(f"survival needs the package lifelines: {INSTALL}")
    return None, [f"Survival of {times[0]} and {events[0]}: {INSTALL}"], times


def survival(clusters: np.ndarray, times: Any, events: Any) -> Survival:
    """Estimate survival in every cluster and test whether it is equal.

    Parameters
    ----------
    clusters : (n,) int array
    times, events : (n,) pandas Series
        Times of at least 0, and whether the event occurred (1, True, dead) or the sample was
        censored (0, False, alive). Samples without either are left out.

    Returns
    -------
    Survival
    """
    known = (times.notna() & events.notna()).to_numpy()
    groups, when, happened = clusters[known], _times(times[known]), _events(events[known])
    if len(np.unique(groups)) < 2:
        raise InputError("survival cannot be compared: fewer than two clusters have times")
    from lifelines import KaplanMeierFitter
    from lifelines.statistics import multivariate_logrank_test

    curves = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations inside lifelines
        tested = multivariate_logrank_test(when, groups, happened)
        for c in np.unique(groups).tolist():
            own = groups == c
            found = KaplanMeierFitter().fit(when[own], happened[own])
            line = found.survival_function_
            curves.append(
                Curve(c, line.index.to_numpy(float), line.iloc[:, 0].to_numpy(float),
                      found.event_table["at_risk"].to_numpy(int), int(own.sum()),
                      int(happened[own].sum()), float(found.median_survival_time_))
            )  # fmt: skip
    statistic, p = float(tested.test_statistic), float(tested.p_value)
    return Survival(tuple(curves), statistic, p, int(known.sum()))


def _times(column: Any) -> np.ndarray:
    found = np.asarray(column.to_numpy(float) if column.dtype.kind in "iuf" else np.nan)
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise InputError(f"the times in {column.name!r} must be numbers, finite and at least 0")
    return found


def _events(column: Any) -> np.ndarray:
    words = np.array([str(value).strip().lower() for value in column])
    known = np.isin(words, [*OCCURRED, *CENSORED])
    if not known.all():
        r = "; R counts 2 as the event: subtract 1" if set(words) == {"1", "2"} else ""
        raise InputError(
            f"the events in {column.name!r} must be 0 or 1, or words such as alive and dead, got "
            f"{str(words[~known][0])!r}{r}"
        )
    return np.isin(words, list(OCCURRED))
