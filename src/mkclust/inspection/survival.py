"""Survival of the clusters: Kaplan-Meier curves and the log-rank test, by lifelines."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..exceptions import InputError

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
    if time is not None:
        for name in (time, event):
            if name not in table.columns:
                raise InputError(
                    f"the annotations have no column {name!r}; there are "
                    f"{', '.join(map(str, table.columns))}"
                )
        _require_lifelines()
        return (time, event), [], [time, event]
    times, events = ([c for c in table.columns if _plain(c) in known] for known in (TIMES, EVENTS))
    if not times or not events:
        return None, [], []
    if len(times) > 1 or len(events) > 1:
        several = ", ".join(map(str, [*times, *events]))
        remark = f"Survival: several columns may be times or events ({several}); name them"
        return None, [remark], times
    if find_spec("lifelines") is None:
        return None, [f"Survival of {times[0]} and {events[0]}: {INSTALL}"], times
    return (times[0], events[0]), [], [times[0], events[0]]


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
    known, when, happened = times_and_events(times, events)
    groups = clusters[known]
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
    return Survival(
        tuple(curves), float(tested.test_statistic), float(tested.p_value), int(known.sum())
    )


def times_and_events(times: Any, events: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which samples have both (n,), and their times and events; refuse other values."""
    known = (times.notna() & events.notna()).to_numpy()
    return known, _times(times[known]), _events(events[known])


def _plain(name: Any) -> str:
    """Return a name without case and punctuation.

    >>> _plain("OS.time"), _plain("Vital_Status")
    ('ostime', 'vitalstatus')
    """
    return re.sub(r"[^a-z]", "", str(name).lower())


def _times(column: Any) -> np.ndarray:
    if column.dtype.kind not in "iuf":
        raise InputError(f"the times in {column.name!r} must be numbers")
    found = column.to_numpy(float)
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise InputError(f"the times in {column.name!r} must be finite and at least 0")
    return np.asarray(found)


def _events(column: Any) -> np.ndarray:
    words = np.array([str(value).strip().lower() for value in column])
    known = np.isin(words, [*OCCURRED, *CENSORED])
    if not known.all():
        raise InputError(
            f"the events in {column.name!r} must be 0 or 1, or words such as alive and dead, got "
            f"{words[~known][0]!r}"
        )
    return np.isin(words, list(OCCURRED))


def _require_lifelines() -> None:
    if find_spec("lifelines") is None:
        raise InputError(f"survival needs the package lifelines: {INSTALL}")
