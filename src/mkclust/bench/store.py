"""The store: one SQLite file with all units, their claims and their outcomes."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from .machine import alive, machine, versions
from .record import DONE, OUT_OF_MEMORY, OUT_OF_TIME, Record
from .units import KERNELS, Planned, Unit

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
                self._check_layout()
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
            mine = "(id IN (SELECT unit FROM wanted) OR method = ?) AND status = ?"
            for status, limit, value in (
                (OUT_OF_TIME, "time_limit", limits.seconds),
                (OUT_OF_MEMORY, "memory_limit", limits.bytes),
            ):
                self._reopen(f"{mine} AND {limit} < ?", KERNELS, status, value)

    def retry(self) -> None:
        """Open the planned units that did not succeed again."""
        with self._writing():
            self._reopen(
                "(id IN (SELECT unit FROM wanted) OR method = ?) AND status <> ?", KERNELS, DONE
            )

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
            changed = self._db.execute(
                """UPDATE units SET status = ?, message = ?, cpu = ?, wall = ?, peak = ?,
                shared_cpu = ?, time_limit = ?, memory_limit = ?, versions = ?, machine = ?,
                finished = ?, owner = NULL WHERE id = ? AND status IS NULL""",
                (
                    outcome.status, outcome.message, outcome.cpu, outcome.wall, outcome.peak,
                    outcome.shared_cpu, limits.seconds, limits.bytes, outcome.versions,
                    row.fetchone()[0], time.time(), unit_id,
                ),
            )  # fmt: skip
            if changed.rowcount == 0:
                return False
            self._db.executemany(
                "INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?, ?, ?)",
                [(unit_id, *row, outcome.runs) for row in outcome.metrics],
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
        metrics: dict[str, dict[str, tuple[float, float]]] = {}
        for unit, metric, normalizer, mean, std in self._db.execute(
            "SELECT unit, metric, normalizer, mean, std FROM metrics"
        ):
            name = metric if normalizer in ("", "max") else f"{metric}-{normalizer}"
            metrics.setdefault(unit, {})[name] = (mean, std)
        rows = self._db.execute(
            """SELECT p.suite, u.id, u.dataset, u.method, u.parameters, p.tuned, u.seed, u.status,
            u.message, u.cpu, u.wall, u.peak, u.shared_cpu, u.row_order
            FROM plan p JOIN units u ON u.id = p.unit
            WHERE u.status IS NOT NULL AND (? IS NULL OR p.suite = ?)
            ORDER BY p.suite, p.position""",
            (suite, suite),
        )
        return [_record(row, metrics.get(row[1], {})) for row in rows]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield every finished unit as a row of the export, with metrics as columns."""
        self._db.row_factory = sqlite3.Row
        try:
            units = self._db.execute(
                """SELECT p.suite, p.tuned, u.*, m.description AS machine_description
                FROM plan p JOIN units u ON u.id = p.unit LEFT JOIN machines m ON m.id = u.machine
                WHERE u.status IS NOT NULL ORDER BY p.suite, p.position"""
            ).fetchall()
            scores = self._db.execute("SELECT * FROM metrics").fetchall()
        finally:
            self._db.row_factory = None
        yield from _wide(units, scores)

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

    def _check_layout(self) -> None:
        (found,) = self._db.execute("PRAGMA user_version").fetchone()
        if found not in (0, LAYOUT):
            raise InputError(f"{self.path} was written by another version of mkclust ({found})")
        self._db.execute(f"PRAGMA user_version = {LAYOUT}")

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


def _record(row: Sequence[Any], metrics: dict[str, tuple[float, float]]) -> Record:
    suite, _, dataset, method, parameters, tuned, seed, status, message, *numbers = row
    full = f"{status}: {message}" if status == "failed" and message else status
    return Record(
        suite, dataset, method, json.loads(parameters), bool(tuned), seed, full, metrics, *numbers
    )


def _wide(units: Sequence[Any], scores: Sequence[Any]) -> Iterator[dict[str, Any]]:
    by_unit: dict[str, dict[str, Any]] = {}
    for score in scores:
        name = "_".join(filter(None, (score["metric"], score["normalizer"])))
        columns = by_unit.setdefault(score["unit"], {})
        columns |= {f"{name}_mean": score["mean"], f"{name}_std": score["std"]}
        columns["runs"] = score["runs"]
    names = sorted({name for columns in by_unit.values() for name in columns})
    left_out = {"content", "owner", "lease", "needs", "machine", "attempts"}
    for unit in units:
        row = {key: unit[key] for key in unit.keys() if key not in left_out}  # noqa: SIM118
        found = by_unit.get(unit["id"], {})
        yield row | {name: found.get(name) for name in names}


__all__ = ["DONE", "KERNELS", "Limits", "Outcome", "Store"]
