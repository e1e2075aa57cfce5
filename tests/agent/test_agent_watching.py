"""The watching thread: looks and troubles, and that nothing ends it (issue 9: the faults of the client issue)."""

import queue
from itertools import islice

import pytest
from odd_server import EVENT, OddServer, answer, document, event
from turned_clock import TurnedClock

from notbefore.agent.watching import LOOKS_MAX, Look, Named, Trouble, Watcher, Watching

WITHIN_S = 30
ME = answer(body={"compute": {"name": "web-1"}})


def looks_at(server, count, *, knows_events=False):
    with Watcher(server.url, vm="web-1", clock=TurnedClock()) as watcher:
        return list(islice(watcher.looks(lambda: knows_events), count))


def kinds(look):
    return [change.kind for change in look.changes]


def test_each_good_answer_is_a_look_and_the_first_says_so():
    """A restarted agent has to know when it has seen everything, also when there is nothing."""
    with OddServer(answer(body=document(1)), answer(body=document(2, event())), answer(body=document(3))) as server:
        empty, appeared, ended = looks_at(server, 3)

    assert empty == Look((), is_first=True)
    assert (kinds(appeared), appeared.is_first) == (["appeared"], False)
    assert (kinds(ended), ended.is_first) == (["ended"], False)


@pytest.mark.parametrize(
    "trouble",
    [
        answer(500),
        answer(429, Retry_After="1"),
        answer(404),
        answer(403),
        answer(body="<html>"),
        answer(body={"error": "x"}),
    ],
)
def test_trouble_is_no_end_of_an_event(trouble):
    """An error body must not look like "no events"."""
    good = answer(body=document(1, event()))
    with OddServer(good, trouble, good) as server:
        first, told, again = looks_at(server, 3)

    assert kinds(first) == ["appeared"]
    assert isinstance(told, Trouble)
    assert again == Look(())


def test_an_answer_without_a_body_ends_what_is_known_only_when_it_comes_twice():
    """At the beginning of a watch too: one bad answer after a reboot must not undo everything."""
    with OddServer(answer(body=b""), answer(body=document(1, event()))) as server:
        (doubted,) = looks_at(server, 1, knows_events=True)
    with OddServer(answer(body=b"")) as server:
        (believed,) = looks_at(server, 1, knows_events=True)
        asked = len(server.questions)

    assert kinds(doubted) == ["appeared"]
    assert believed == Look((), is_first=True)
    assert asked == 2


def watched(server, seen):
    return Watching(Watcher(server.url, clock=TurnedClock()), seen.put, lambda: False, again_s=0.001)


def test_it_goes_on_although_the_endpoint_refuses_it_at_first():
    """Never dies: an EndpointError is told, and the watch begins again; told once while it is the same."""
    seen = queue.Queue()
    unknown = answer(403, body={"error": "who are you?"})
    with OddServer(unknown, unknown, unknown, ME, unknown, answer(body=document(1, event()))) as server:
        watching = watched(server, seen)
        watching.start()
        told = [seen.get(timeout=WITHIN_S) for _ in range(6)]
        watching.stop()

    assert [type(one) for one in told] == [Trouble, Named, Trouble, Named, Trouble, Look]
    assert "does not say who this VM is" in told[0].why
    assert "answered 403: who are you?" in told[2].why
    assert told[4] == Trouble("")
    assert told[5].changes[0].event.id == EVENT


def test_a_slow_loop_is_waited_for():
    """A limit on every queue: only so many looks wait to be taken."""
    seen = queue.Queue()
    flips = [answer(body=document(n, *([event()] if n % 2 else []))) for n in range(1, 3 * LOOKS_MAX)]
    with OddServer(ME, *flips) as server:
        watching = watched(server, seen)
        watching.start()
        assert seen.get(timeout=WITHIN_S) == Named("web-1")
        looks = [seen.get(timeout=WITHIN_S) for _ in range(LOOKS_MAX)]
        with pytest.raises(queue.Empty):
            seen.get_nowait()
        watching.taken()
        looks.append(seen.get(timeout=WITHIN_S))
        watching.stop()

    assert len(looks) == LOOKS_MAX + 1
