"""Tables of results: average ranks and tests of a family, and the paper's Tables 2 and 3.

Ranks and tests follow J. Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets,
JMLR 7, 2006. A missing result ranks last; a second rank is over the sets that all methods finished.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, studentized_range, wilcoxon

from mkclust import METHODS

from .data import LOG_RANK
from .suites import PAPER

HERE = Path(__file__).parent
NAMES = {"acc": "ACC", "nmi": "NMI", "purity": "purity", "ari": "ARI", LOG_RANK: "log-rank"}
TUNED = "best-view"  # chosen with the labels: shown, not ranked
NAMED = 2  # data sets without a result of a method that are listed by name


def title(method: str) -> str:
    """Return the name of a method in tables.

    >>> title("mkc-dnm"), title("leiden"), title("best-view")
    ('MKC-DNM', 'leiden', 'best-view†')
    """
    if method == TUNED:
        return f"{method}†"
    return METHODS[method].title if method in METHODS else method


def scores(results: pd.DataFrame, metric: str = "") -> pd.DataFrame:
    """Return data sets x methods in percent, means over seeds, the best view by its best result.

    Without a `metric`: ACC, or -log10 p of the log-rank test where there are no classes. NaN where
    a method has no result.
    """
    found = results.assign(value=_value(results, metric))
    seeds = found.groupby(["dataset", "method", "parameters"], sort=False).value.mean()
    return seeds.groupby(["dataset", "method"], sort=False).max().unstack().round(2)


def _value(results: pd.DataFrame, metric: str) -> pd.Series:
    if metric:
        return results[f"{metric}_mean"] * (1 if metric == LOG_RANK else 100)
    return (100 * results.acc_mean).fillna(results[f"{LOG_RANK}_mean"])


def average_ranks(table: pd.DataFrame) -> pd.Series:
    """Return the mean rank of each method; ties share their mean, what is missing ranks last.

    >>> average_ranks(pd.DataFrame({"a": [0.9, 0.2], "b": [0.5, np.nan], "c": [0.9, 0.1]})).tolist()
    [1.25, 3.0, 1.75]
    """
    return table.fillna(-np.inf).rank(axis=1, ascending=False).mean()


def critical_difference(n_methods: int, n_sets: int, alpha: float = 0.05) -> float:
    r"""Return Nemenyi's critical difference of average ranks, $q_\alpha \sqrt{k(k+1)/(6N)}$.

    >>> round(critical_difference(5, 30), 3)  # q = 2.728
    1.114
    """
    q = studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def holm(p: pd.Series) -> pd.Series:
    """Return p values corrected by Holm.

    >>> holm(pd.Series([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    ordered = p.sort_values()
    steps = ordered * np.arange(len(p), 0, -1)
    return steps.cummax().clip(upper=1.0).reindex(p.index)


def compare_with_first(table: pd.DataFrame) -> pd.Series:
    """Test the first method against each other by Wilcoxon's signed-rank test, with Holm."""

    def p_value(other: str) -> float:
        differences = (table.iloc[:, 0] - table[other]).dropna()
        return float(wilcoxon(differences).pvalue) if differences.any() else 1.0

    return holm(pd.Series({other: p_value(other) for other in table.columns[1:]}))


def ranked(results: pd.DataFrame, metric: str = "") -> pd.DataFrame:
    """Return `scores` of the methods that use no labels, best average rank first."""
    table = scores(results, metric).drop(columns=TUNED, errors="ignore")
    return table[average_ranks(table).sort_values(kind="stable").index]


def standing(results: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return methods by average rank with means, times and p values, and notes below them."""
    table = ranked(results)
    done = table.dropna(axis=1, how="all").dropna()
    metrics = [m for m in ("acc", "nmi", "ari", LOG_RANK) if results[f"{m}_mean"].notna().any()]
    found = pd.DataFrame({"rank": average_ranks(table)})
    if len(done):
        found["rank, all finished"] = average_ranks(done)
    for metric in metrics[1:3]:
        found[f"rank {NAMES[metric]}"] = average_ranks(scores(results, metric)[table.columns])
    best = table.max(axis=1)
    found["wins"] = table.eq(best, axis=0).sum()
    for metric in metrics:
        found[f"mean {NAMES[metric]}"] = (
            scores(results, metric).loc[lambda t: t.index.isin(done.index)].mean()
        )
    found["results"] = table.notna().sum()
    finished = results[results.status == "done"]
    found["CPU s"] = finished.groupby("method").cpu.median()
    n, m = table.shape
    notes = [f"All methods finished {len(done)} of {n} sets."]
    if n >= 2 and m >= 3:
        found["p"] = compare_with_first(table)
        p = friedmanchisquare(*table.fillna(-np.inf).rank(axis=1).T.to_numpy()).pvalue
        notes[0] += (
            f" Friedman's test of equal ranks: p = {p:.2g}. Average ranks differ at 5 % if they "
            f"are more than {critical_difference(m, n):.2f} apart (Nemenyi)."
        )
    return found.loc[table.columns].rename(index=title), notes


def scoreboard(results: pd.DataFrame, metric: str = "") -> pd.DataFrame:
    """Return data sets x methods, best average rank first, the best view last."""
    table = scores(results, metric)
    order = [*ranked(results).columns, *([TUNED] if TUNED in table else [])]
    return table.reindex(results.dataset.unique(), columns=order).rename(columns=title)


def missing_reasons(results: pd.DataFrame) -> list[str]:
    """Return a sentence for each reason of missing results, with methods and data sets."""
    lost = results[results.status != "done"]
    lost = lost.assign(status=lost.status.str.split(r" \(|\. | needs ").str[0].str.rstrip(". "))
    lost = lost.drop_duplicates(["status", "method", "dataset"])
    found = []
    for reason, group in lost.groupby("status", sort=False):
        whom = [
            f"{title(m)} on {', '.join(g.dataset) if len(g) <= NAMED else f'{len(g)} sets'}"
            for m, g in group.groupby("method", sort=False)
        ]
        found.append(f"{reason}: {'; '.join(whom)}.")
    return found


def published(number: int) -> pd.Series:
    """Return the paper's Table 2 in percent, or 3 in seconds, by data set, method and column."""
    table = pd.read_csv(HERE / f"published-table{number}.csv")
    return table.set_index(table.columns[:3].tolist()).iloc[:, 0].dropna()


def table2(results: pd.DataFrame) -> pd.DataFrame:
    """Return Table 2: scores tuned with the labels, default and published, and a difference.

    tuned†: the best setting of the grid by the labels, for each metric separately, as published.
    default: one setting, chosen without labels. difference: tuned minus published.
    """
    known, rows = published(2), []
    for metric in ("acc", "nmi", "purity", "ari"):
        value = 100 * results[f"{metric}_mean"]
        best = value.groupby([results.dataset, results.method]).max()
        plain = value[results.tuned == 0].groupby([results.dataset, results.method]).max()
        for name in results.dataset.unique():
            for method in (m for m in PAPER if (name, m) in best.index):
                printed = known.get((name, title(method), metric), np.nan)
                tuned = best[name, method]
                rows.append((NAMES[metric], name, title(method), tuned, plain.get((name, method)),
                             printed, tuned - printed))  # fmt: skip
    columns = ["metric", "data set", "method", "tuned†", "default", "published", "difference"]
    return pd.DataFrame(rows, columns=columns).round(2)


def table3(results: pd.DataFrame) -> pd.DataFrame:
    """Return Table 3: CPU seconds of the whole grid (tune) and of the default setting (run)."""
    known, rows = published(3), []
    for (name, method), group in results.groupby(["dataset", "method"], sort=False):
        tune, run = group[group.tuned == 1], group[group.tuned == 0]
        row = [name, title(method), tune.cpu.sum() if len(tune) else np.nan, run.cpu.mean()]
        rows.append([*row, *(known.get((name, title(method), kind)) for kind in ("tune", "run"))])
    columns = ["data set", "method", "tune", "run", "published tune", "published run"]
    return pd.DataFrame(rows, columns=columns).round(2)


def markdown(table: pd.DataFrame, index: str = "method") -> list[str]:
    """Return a table as lines of Markdown, numbers with two decimals, p values with two figures."""
    shown = table.copy()
    for column in shown:
        if column == "p":
            shown[column] = ["" if pd.isna(v) else f"{v:.2g}" for v in shown[column]]
        elif shown[column].dtype.kind == "f":
            shown[column] = ["–" if pd.isna(v) else f"{v:.2f}" for v in shown[column]]
    head = [index, *map(str, shown.columns)]
    rows = [
        [str(name), *map(str, row)] for name, row in zip(shown.index, shown.to_numpy(), strict=True)
    ]
    return [
        f"| {' | '.join(head)} |",
        f"|:---|{'---:|' * (len(head) - 1)}",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
