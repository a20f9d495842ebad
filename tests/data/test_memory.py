"""Work on single views that fits share inside a block."""

import threading
import weakref
from contextvars import copy_context
from itertools import count

from mkclust.data.memory import make_once, shared_views


def test_inside_a_block_a_key_is_made_once():
    calls = count(1)

    def make():
        return [next(calls)]

    with shared_views():
        first = make_once(("a", 1), None, make)
        assert make_once(("a", 1), None, make) is first
        assert make_once(("a", 2), None, make) == [2]
    assert next(calls) == 3


def test_the_owner_of_a_key_lives_as_long_as_the_block():
    class Owner:
        pass

    owner = Owner()
    alive = weakref.ref(owner)
    with shared_views():
        make_once(id(owner), owner, list)
        del owner
        assert alive() is not None
    assert alive() is None


def test_a_second_thread_waits_for_the_first():
    started, proceed, calls = threading.Event(), threading.Event(), []

    def make():
        calls.append(1)
        started.set()
        proceed.wait(5)
        return len(calls)

    def ask():
        found.append(make_once("a", None, make))

    found = []
    with shared_views():
        threads = [threading.Thread(target=copy_context().run, args=(ask,)) for _ in range(2)]
        threads[0].start()
        started.wait(5)
        threads[1].start()
        assert make_once("b", None, list) == []  # another key does not wait
        proceed.set()
        for thread in threads:
            thread.join(5)
    assert found == [1, 1] and calls == [1]
