"""The whole store as one table: CSV or Parquet."""

from __future__ import annotations

from pathlib import Path

from ..exceptions import InputError
from ..io.atomic import replacing, write_csv_atomic
from .store import Store


def export(store: Store, out: Path) -> int:
    """Write a row for every finished unit of every suite; how many there were."""
    rows = list(store.rows())
    if not rows:
        raise InputError(f"{store.path} holds no finished unit yet")
    kind = out.suffix.lower()
    if kind == ".csv":
        write_csv_atomic(out, list(rows[0]), [list(row.values()) for row in rows])
    elif kind == ".parquet":
        _write_parquet(rows, out)
    else:
        raise InputError(f"results are written as .csv or .parquet, not {out.name!r}")
    return len(rows)


def _write_parquet(rows: list[dict[str, object]], out: Path) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError('writing Parquet needs pyarrow: pip install "mkclust[parquet]"') from None
    table = pa.Table.from_pylist(rows)
    with replacing(out) as file:
        pq.write_table(table, file)
