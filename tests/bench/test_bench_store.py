"""The store: claims, leases, resuming, and what comes out of it."""

import csv
import os
import subprocess
import sys
import time

import pytest

from mkclust.bench.machine import alive, owner_name
from mkclust.bench.store import DONE, FAILED, LEASE, OUT_OF_TIME, Limits, Outcome, Store
from mkclust.bench.suite import KERNELS, Planned, Unit
from mkclust.bench.tables import export
from mkclust.exceptions import InputError

LIMITS = Limits(10.0, 1e9)
ROWS = [("acc", "", 0.5, 0.1), ("nmi", "max", 0.4, 0.0), ("nmi", "arithmetic", 0.45, 0.0)]


def unit(method="akkm", dataset="planted", **parameters):
    return Unit(dataset, f"mkclust:{dataset}", method, parameters)


def planned(*units, tuned=False):
    return [Planned(item, tuned) for item in units]


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "s.db")
    yield made
    made.close()


def open_kernels(store, me):
    """Have the kernels of the first data set computed."""
    (kernels,) = store.claim(me, 9)
    assert kernels.method == KERNELS
    store.finish(kernels.id, Outcome(DONE), LIMITS)


def test_kernels_come_first_and_once_then_one_method_at_a_time(store):
    store.plan("s", planned(unit(), unit("hmkc", c1=3), unit("hmkc", c1=4)), LIMITS)
    me = owner_name()
    open_kernels(store, me)
    assert [u.method for u in store.claim(me, 9)] == ["akkm"]
    assert [u.parameters["c1"] for u in store.claim(me, 9)] == [3, 4]
    assert store.claim(me, 9) == []


def test_nobody_gets_what_another_living_process_holds(store):
    store.plan("s", planned(unit("concat-kmeans")), LIMITS)
    other = Store(store.path)
    other.plan("s", planned(unit("concat-kmeans")), LIMITS)
    mine = store.claim(owner_name(), 9)
    assert len(mine) == 1
    assert other.claim(owner_name(os.getppid()), 9) == []
    other.close()


def test_while_kernels_are_computed_others_take_what_needs_none(store):
    store.plan("s", planned(unit("akkm"), unit("concat-kmeans")), LIMITS)
    me, other = owner_name(), owner_name(os.getppid())
    assert store.claim(me, 9)[0].method == KERNELS
    assert store.claim(other, 9)[0].method == "concat-kmeans"
    assert store.claim(other, 9) == []


def test_a_claim_of_a_dead_process_is_void(store):
    store.plan("s", planned(unit("concat-kmeans")), LIMITS)
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = owner_name(process.pid)
    assert len(store.claim(owner, 9)) == 1
    assert alive(owner, 0.0)
    process.kill()
    process.wait()
    assert not alive(owner, time.time() + LEASE)
    assert len(store.claim(owner_name(), 9)) == 1


def test_a_claim_from_another_machine_holds_while_its_lease_does():
    assert alive("elsewhere:1:5", time.time() + 1)
    assert not alive("elsewhere:1:5", time.time() - 1)


def test_a_number_used_again_by_another_process_is_not_taken_for_the_owner():
    host, pid, began = owner_name().rsplit(":", 2)
    assert alive(f"{host}:{pid}:{began}", 0.0)
    assert not alive(f"{host}:{pid}:{int(began) - 1}", 0.0)


def test_what_is_finished_stays_and_the_first_answer_counts(store):
    done = unit("concat-kmeans")
    store.plan("s", planned(done), LIMITS)
    assert store.finish(done.id, Outcome(DONE, metrics=ROWS, runs=3, cpu=1.0), LIMITS)
    assert not store.finish(done.id, Outcome(FAILED, "late"), LIMITS)
    store.plan("s", planned(done), LIMITS)
    (record,) = store.records("s")
    assert record.ok and record.cpu == 1.0
    assert record.metrics == {"acc": (0.5, 0.1), "nmi": (0.4, 0.0), "nmi-arithmetic": (0.45, 0.0)}


def test_a_unit_of_two_suites_is_computed_once(store):
    shared = unit("concat-kmeans")
    store.plan("a", planned(shared), LIMITS)
    store.plan("b", [Planned(shared, False), Planned(shared, True)], LIMITS)
    store.finish(shared.id, Outcome(DONE, metrics=ROWS), LIMITS)
    assert store.claim(owner_name(), 9) == []
    assert [(r.suite, r.tuned) for r in store.records()] == [
        ("a", False),
        ("b", False),
        ("b", True),
    ]


def test_a_run_of_some_methods_leaves_the_others_results_in_the_suite(store):
    one, two = unit("concat-kmeans"), unit("snfpy")
    store.plan("s", planned(one, two), LIMITS)
    store.finish(one.id, Outcome(DONE, metrics=ROWS), LIMITS)
    store.plan("s", planned(two), LIMITS)
    assert store.counts() == {"": 1}
    assert [record.method for record in store.records("s")] == ["concat-kmeans"]


def test_a_larger_limit_opens_what_a_smaller_one_stopped(store):
    slow = unit("concat-kmeans")
    store.plan("s", planned(slow), LIMITS)
    store.finish(slow.id, Outcome(OUT_OF_TIME), LIMITS)
    store.plan("s", planned(slow), LIMITS)
    assert store.counts() == {OUT_OF_TIME: 1}
    store.plan("s", planned(slow), Limits(20.0, 1e9))
    assert store.counts() == {"": 1}


def test_failures_are_tried_again_only_when_asked(store):
    bad = unit("concat-kmeans")
    store.plan("s", planned(bad), LIMITS)
    store.finish(bad.id, Outcome(FAILED, "ValueError: no"), LIMITS)
    assert store.records("s")[0].status == "failed: ValueError: no"
    assert store.claim(owner_name(), 9) == []
    store.retry()
    assert len(store.claim(owner_name(), 9)) == 1


def test_a_change_that_fails_half_way_leaves_nothing(store):
    store.plan("s", planned(unit("concat-kmeans")), LIMITS)
    with pytest.raises(TypeError):
        store.plan("s", [*planned(unit("snfpy")), Planned(unit("snfpy", bad={1}), False)], LIMITS)
    assert store.counts() == {"": 1}


def test_a_file_that_is_no_store_is_refused(tmp_path):
    (tmp_path / "no.db").write_bytes(b"not a database" * 100)
    with pytest.raises(InputError, match="cannot be used as a store"):
        Store(tmp_path / "no.db")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_export_has_a_row_for_every_result(store, tmp_path, kind):
    one, two = unit("concat-kmeans"), unit("snfpy")
    store.plan("s", planned(one, two), LIMITS)
    store.finish(one.id, Outcome(DONE, metrics=ROWS, runs=3, cpu=1.5), LIMITS)
    store.finish(two.id, Outcome(FAILED, "broke"), LIMITS)
    out = tmp_path / f"out.{kind}"
    assert export(store, out) == 2
    if kind == "csv":
        rows = list(csv.DictReader(out.open()))
    else:
        rows = pytest.importorskip("pyarrow.parquet").read_table(out).to_pylist()
    assert float(rows[0]["nmi_max_mean"]) == 0.4 and float(rows[0]["cpu"]) == 1.5
    assert rows[1]["status"] == FAILED and rows[1]["message"] == "broke"
    assert "cores" in rows[0]["machine_description"] and "numpy" in rows[0]["versions"]


def test_export_to_an_unknown_kind_is_refused(store, tmp_path):
    with pytest.raises(InputError, match="no finished unit"):
        export(store, tmp_path / "x.csv")
    done = unit("concat-kmeans")
    store.plan("s", planned(done), LIMITS)
    store.finish(done.id, Outcome(DONE), LIMITS)
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        export(store, tmp_path / "x.xlsx")
