"""The store: one SQLite file with all units, their claims and their outcomes."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from .machine import alive, machine, versions
from .suite import KERNELS, Planned, Unit

DONE = "done"
OUT_OF_MEMORY = "N/A: out of memory"
OUT_OF_TIME = "N/A: out of time"
FAILED = "failed"
LEASE = 60.0  # seconds that a claim of another machine is valid after its last heartbeat
LAYOUT = 2
SCHEMA = """
CREATE TABLE IF NOT EXISTS machines (id INTEGER PRIMARY KEY, description TEXT UNIQUE);
CREATE TABLE IF NOT EXISTS units (
    id TEXT PRIMARY KEY, dataset TEXT, method TEXT, parameters TEXT, seed INTEGER, row_order TEXT,
    protocol TEXT, version TEXT, content TEXT, needs TEXT,
    owner TEXT, lease REAL, attempts INTEGER NOT NULL DEFAULT 0,
    status TEXT, message TEXT, cpu REAL, wall REAL, peak REAL, shared_cpu REAL,
    time_limit REAL, memory_limit REAL, versions TEXT, machine INTEGER, finished REAL);
CREATE TABLE IF NOT EXISTS metrics (
    unit TEXT, metric TEXT, normalizer TEXT, mean REAL, std REAL, runs INTEGER,
    PRIMARY KEY (unit, metric, normalizer)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS plan (
    suite TEXT, unit TEXT, tuned INTEGER, position INTEGER,
    PRIMARY KEY (suite, unit, tuned)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS open_units ON units (status, owner);
CREATE INDEX IF NOT EXISTS by_method ON units (dataset, method);
CREATE TEMP TABLE IF NOT EXISTS wanted (
    unit TEXT PRIMARY KEY, position INTEGER, tuned INTEGER) WITHOUT ROWID;
"""
FREE = "u.status IS NULL AND u.owner IS NULL"
MINE = "(id IN (SELECT unit FROM wanted) OR method = ?)"  # the planned units and the shared kernels
FINISHED = """SELECT p.suite, p.tuned, u.*, m.description AS machine_description
FROM plan p JOIN units u ON u.id = p.unit LEFT JOIN machines m ON m.id = u.machine
WHERE u.status IS NOT NULL AND (? IS NULL OR p.suite = ?) ORDER BY p.suite, p.position"""
NOT_EXPORTED = ("content", "owner", "lease", "needs", "machine", "attempts")


@dataclass(frozen=True)
class Outcome:
    """The status of a unit and its measurements.

    `metrics` has rows (metric, normalizer, mean, std); times are in seconds, `peak` in bytes.
    """

    status: str
    message: str = ""
    metrics: Sequence[tuple[str, str, float, float]] = ()
    runs: int = 0
    cpu: float = 0.0
    wall: float = 0.0
    peak: float = 0.0
    shared_cpu: float = 0.0
    versions: str = field(default_factory=versions)


@dataclass(frozen=True)
class Record:
    """One finished unit: a method with its parameters on one data set.

    `metrics` maps ``acc``, ``nmi`` (divided by the larger entropy), ``nmi-arithmetic``, ``purity``
    and ``ari`` to mean and standard deviation over the repetitions, as fractions. `tuned` marks a
    point of a grid, of which the best is chosen with labels. `cpu` and `wall` are seconds of the
    unit itself; `shared_cpu` are those of the kernels and eigenvectors that all units of the data
    set share. `peak` is resident memory in bytes. `order` is the order of rows.

    The tuned score of a method is, for each metric separately, the best over its records with
    `tuned`. A method without parameters has a tuned record equal to its default one. The best
    single view is a grid over the parameter ``view`` and has tuned records only.

    >>> Record("quick", "Mfeat", "akkm", {}, False, 0, DONE, {"acc": (0.9, 0.01)}, 1, 1, 1, 2).ok
    True
    """

    suite: str
    dataset: str
    method: str
    parameters: Mapping[str, Any]
    tuned: bool
    seed: int
    status: str
    metrics: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    cpu: float = 0.0
    wall: float = 0.0
    peak: float = 0.0
    shared_cpu: float = 0.0
    order: str = "shuffled"

    @property
    def ok(self) -> bool:
        """Whether the unit succeeded, so that it has metrics."""
        return self.status == DONE


@dataclass(frozen=True)
class Limits:
    """Limits of one unit: seconds of computing or sleeping, bytes of memory."""

    seconds: float
    bytes: float


class Store:
    """Results in one file, which several runners may use at once, also over a shared disk.

    Every change is one transaction, so a run that was killed can be resumed. A claim ends with the
    process that made it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._db = sqlite3.connect(self.path, timeout=60.0, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            with self._writing():
                for statement in SCHEMA.split(";"):
                    self._db.execute(statement)
                (found,) = self._db.execute("PRAGMA user_version").fetchone()
                if found not in (0, LAYOUT):
                    raise InputError(
                        f"{self.path} was written by another version of mkclust ({found})"
                    )
                self._db.execute(f"PRAGMA user_version = {LAYOUT}")
        except sqlite3.DatabaseError as error:
            raise InputError(f"{self.path} cannot be used as a store: {error}") from None

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def plan(self, suite: str, planned: Sequence[Planned], limits: Limits) -> None:
        """Enter the units of a suite, and select them for this connection.

        Units of the suite for other methods and data sets are kept. Units that were stopped by a
        smaller limit are opened again.
        """
        with self._writing():
            self._db.execute("DELETE FROM wanted")
            self._forget_plan(suite, planned)
            for position, item in enumerate(planned):
                if item.unit.needs_kernels:
                    self._enter(item.unit.shared())
                self._enter(item.unit)
                row = (item.unit.id, position, item.tuned)
                self._db.execute("INSERT OR IGNORE INTO wanted VALUES (?, ?, ?)", row)
                self._db.execute(
                    "INSERT OR IGNORE INTO plan VALUES (?, ?, ?, ?)",
                    (suite, item.unit.id, item.tuned, position),
                )
            stopped = f"{MINE} AND status = ?"
            self._reopen(f"{stopped} AND time_limit < ?", KERNELS, OUT_OF_TIME, limits.seconds)
            self._reopen(f"{stopped} AND memory_limit < ?", KERNELS, OUT_OF_MEMORY, limits.bytes)

    def retry(self) -> None:
        """Open the planned units that did not succeed again."""
        with self._writing():
            self._reopen(f"{MINE} AND status <> ?", KERNELS, DONE)

    def claim(self, owner: str, most: int) -> list[Unit]:
        """Claim up to `most` free units of one method on one data set, and return them.

        Where the shared kernels of a data set are absent, the unit that computes them comes first.
        """
        with self._writing():
            self._release_orphaned(owner)
            first = self._db.execute(
                f"""SELECT u.dataset, u.method, w.tuned, u.needs, s.status
                FROM wanted w JOIN units u ON u.id = w.unit LEFT JOIN units s ON s.id = u.needs
                WHERE {FREE} AND (s.id IS NULL OR s.status IS NOT NULL OR s.owner IS NULL)
                ORDER BY w.position LIMIT 1"""
            ).fetchone()
            if first is None:
                return []
            *alike, needs, ready = first
            if needs is not None and ready is None:
                chosen = self._texts("u.id = ?", needs)
            else:
                chosen = self._texts(
                    f"""u.dataset = ? AND u.method = ? AND w.tuned = ? AND {FREE}
                    ORDER BY w.position LIMIT ?""",
                    *alike, most, source="wanted w JOIN units u ON u.id = w.unit",
                )  # fmt: skip
            lease = time.time() + LEASE
            self._db.executemany(
                "UPDATE units SET owner = ?, lease = ? WHERE id = ?",
                [(owner, lease, unit.id) for unit in chosen],
            )
            return chosen

    def started(self, unit_id: str) -> None:
        """Count an attempt at a unit."""
        self._db.execute("UPDATE units SET attempts = attempts + 1 WHERE id = ?", (unit_id,))

    def beat(self, owner: str) -> None:
        """Record a heartbeat, which extends the owner's claims."""
        self._db.execute(
            "UPDATE units SET lease = ? WHERE owner = ? AND status IS NULL",
            (time.time() + LEASE, owner),
        )

    def release(self, owner: str, unit_ids: Sequence[str] | None = None) -> None:
        """Release the given claims, or all claims of the owner."""
        if unit_ids is None:
            self._db.execute("UPDATE units SET owner = NULL WHERE owner = ?", (owner,))
        else:
            self._db.executemany(
                "UPDATE units SET owner = NULL WHERE owner = ? AND id = ?",
                [(owner, unit_id) for unit_id in unit_ids],
            )

    def finish(self, unit_id: str, outcome: Outcome, limits: Limits) -> bool:
        """Enter the outcome of a unit; return False if it was already finished."""
        with self._writing():
            self._db.execute(
                "INSERT OR IGNORE INTO machines (description) VALUES (?)", (machine(),)
            )
            row = self._db.execute("SELECT id FROM machines WHERE description = ?", (machine(),))
            values = asdict(outcome) | {
                "time_limit": limits.seconds, "memory_limit": limits.bytes, "owner": None,
                "machine": row.fetchone()[0], "finished": time.time(),
            }  # fmt: skip
            metrics, runs = values.pop("metrics"), values.pop("runs")
            changed = self._db.execute(
                f"""UPDATE units SET {", ".join(f"{name} = :{name}" for name in values)}
                WHERE id = :id AND status IS NULL""",
                values | {"id": unit_id},
            )
            if changed.rowcount == 0:
                return False
            self._db.executemany(
                "INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?, ?, ?)",
                [(unit_id, *row, runs) for row in metrics],
            )
            return True

    def waiting(self, unit_id: str) -> list[str]:
        """Return the ids of open units, of any suite, that need this one."""
        rows = self._db.execute(
            """SELECT id FROM units WHERE needs = ? AND status IS NULL
            AND id IN (SELECT unit FROM plan)""",
            (unit_id,),
        )
        return [row[0] for row in rows]

    def forget(self, unit_id: str) -> None:
        """Open a finished unit again, because its files were deleted."""
        with self._writing():
            self._reopen("id = ? AND status IS NOT NULL", unit_id)

    def counts(self) -> dict[str, int]:
        """Count the planned units by status; ``""`` stands for open ones."""
        rows = self._db.execute(
            """SELECT coalesce(u.status, ''), count(*)
            FROM wanted w JOIN units u ON u.id = w.unit GROUP BY 1"""
        )
        return dict(rows.fetchall())

    def attempts(self) -> dict[str, int]:
        """Return how often each unit was started."""
        return dict(self._db.execute("SELECT id, attempts FROM units").fetchall())

    def records(self, suite: str | None = None) -> list[Record]:
        """Return the finished units of a suite, or of all suites, in the order of the plan."""
        return [_record(*found) for found in self._finished(suite)]

    def rows(self) -> list[dict[str, Any]]:
        """Return every finished unit as a row of the export, with metrics as columns."""
        units = [(dict(unit), _columns(scores)) for unit, scores in self._finished()]
        names = sorted({name for _, columns in units for name in columns})
        return [
            {name: value for name, value in unit.items() if name not in NOT_EXPORTED}
            | {name: columns.get(name) for name in names}
            for unit, columns in units
        ]

    def _finished(
        self, suite: str | None = None
    ) -> Iterator[tuple[sqlite3.Row, list[sqlite3.Row]]]:
        """Yield the finished units in the order of the plan, each with its metrics."""
        scores: dict[str, list[sqlite3.Row]] = {}
        cursor = self._db.cursor()
        cursor.row_factory = sqlite3.Row
        for score in cursor.execute("SELECT * FROM metrics"):
            scores.setdefault(score["unit"], []).append(score)
        for unit in cursor.execute(FINISHED, (suite, suite)):
            yield unit, scores.get(unit["id"], [])

    def _enter(self, unit: Unit) -> None:
        text = json.loads(unit.text())
        self._db.execute(
            """INSERT OR IGNORE INTO units
            (id, dataset, method, parameters, seed, row_order, protocol, version, content, needs)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                unit.id, unit.dataset, unit.method, json.dumps(text["parameters"], sort_keys=True),
                unit.seed, unit.order, unit.protocol.name, unit.version, unit.text(),
                unit.shared().id if unit.needs_kernels else None,
            ),
        )  # fmt: skip

    def _forget_plan(self, suite: str, planned: Sequence[Planned]) -> None:
        """Delete the plan for these methods and data sets, which may be of an earlier version."""
        pairs = {(item.unit.dataset, item.unit.method) for item in planned}
        self._db.executemany(
            """DELETE FROM plan WHERE suite = ? AND unit IN
            (SELECT id FROM units WHERE dataset = ? AND method = ?)""",
            [(suite, *pair) for pair in sorted(pairs)],
        )

    def _reopen(self, condition: str, *values: Any) -> None:
        self._db.execute(f"UPDATE units SET status = NULL, owner = NULL WHERE {condition}", values)

    def _release_orphaned(self, me: str) -> None:
        held = self._db.execute(
            """SELECT owner, max(lease) FROM units WHERE status IS NULL AND owner IS NOT NULL
            GROUP BY owner"""
        ).fetchall()
        for owner, lease in held:
            if owner != me and not alive(owner, lease):
                self.release(owner)

    def _texts(self, condition: str, *values: Any, source: str = "units u") -> list[Unit]:
        rows = self._db.execute(f"SELECT u.content FROM {source} WHERE {condition}", values)
        return [Unit.parsed(row[0]) for row in rows.fetchall()]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Run one transaction that holds the write lock of the file from the start."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _record(unit: sqlite3.Row, scores: Sequence[sqlite3.Row]) -> Record:
    metrics = {}
    for score in scores:
        name, normalizer = score["metric"], score["normalizer"]
        metrics[name if normalizer in ("", "max") else f"{name}-{normalizer}"] = (
            score["mean"], score["std"],
        )  # fmt: skip
    status = unit["status"]
    if status == FAILED and unit["message"]:
        status = f"{FAILED}: {unit['message']}"
    same = ("suite", "dataset", "method", "seed", "cpu", "wall", "peak", "shared_cpu")
    return Record(
        **{name: unit[name] for name in same}, parameters=json.loads(unit["parameters"]),
        tuned=bool(unit["tuned"]), status=status, metrics=metrics, order=unit["row_order"],
    )  # fmt: skip


def _columns(scores: Sequence[sqlite3.Row]) -> dict[str, Any]:
    """Return the metrics of a unit as columns of the export."""
    columns: dict[str, Any] = {}
    for score in scores:
        name = "_".join(filter(None, (score["metric"], score["normalizer"])))
        columns |= {f"{name}_mean": score["mean"], f"{name}_std": score["std"]}
        columns["runs"] = score["runs"]
    return columns
