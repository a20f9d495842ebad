"""Several views at once: same results, threads restored, errors and progress passed on."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mkclust.linalg.threads import blas_threads, in_parallel, one_thread
from mkclust.progress import listening, step


def blas_threads_now():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("at_once", [1, 2, 8])
def test_results_come_in_order(at_once):
    with threadpool_limits(2):
        assert in_parallel(lambda x: x * x, range(10), at_once) == [x * x for x in range(10)]


def test_as_many_workers_as_blas_had_threads_and_no_more():
    meeting = threading.Barrier(2, timeout=10)  # broken unless two are at it together
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == 2
        in_parallel(lambda _: meeting.wait(), range(2), at_once=4)
    with threadpool_limits(1, user_api="blas"):
        workers = in_parallel(lambda _: threading.get_ident(), range(4), at_once=4)
    assert set(workers) == {threading.get_ident()}


def test_blas_has_one_thread_inside_and_its_own_number_after():
    with threadpool_limits(2, user_api="blas"):
        assert in_parallel(lambda _: blas_threads_now(), range(3), at_once=2) == [{1}] * 3
        assert in_parallel(lambda _: blas_threads_now(), [0], at_once=2) == [{1}]  # of one item too
        assert blas_threads_now() == {2}
        with pytest.raises(ZeroDivisionError):
            in_parallel(lambda x: 1 / x, [1, 0], at_once=2)
        assert blas_threads_now() == {2}  # one at a time leaves it alone
        assert in_parallel(lambda _: blas_threads_now(), range(2), at_once=1) == [{2}] * 2


def test_progress_reaches_the_listener_of_the_caller():
    heard = []
    with threadpool_limits(2), listening(heard.append):
        in_parallel(lambda name: step(f"at {name}"), ["a", "b", "c"], at_once=2)
    assert sorted(heard) == ["at a", "at b", "at c"]


def test_overlapping_blocks_of_several_threads_leave_blas_as_it_was():
    entered, leave, left = threading.Event(), threading.Event(), threading.Event()

    def first():
        with one_thread():
            entered.set()
            leave.wait(10)
        left.set()  # the block that was entered first is left first

    def set_threads(number):
        """Set them in a thread that ends: no block of this one is open."""
        thread = threading.Thread(target=threadpool_limits, args=(number, "blas"))
        thread.start()
        thread.join()

    before = max(blas_threads_now())
    set_threads(2)
    expected = blas_threads_now()
    try:
        threading.Thread(target=first).start()
        assert entered.wait(10)
        with one_thread():
            leave.set()
            assert left.wait(10)
            assert blas_threads_now() == {1}
        assert blas_threads_now() == expected
    finally:  # in this thread, which left its block last: calls of others are ignored
        threadpool_limits(before, user_api="blas")
    assert max(blas_threads_now()) == before
