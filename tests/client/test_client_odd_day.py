"""The watcher against an endpoint that does everything wrong in turn (issue: must show)."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from odd_day import QUICK, explained_by, watched, watched_async
from odd_server import EVENT, OTHER, OddServer, answer, document, event
from turned_clock import TurnedClock

from notbefore.client import EndpointError, ScheduledEvents
from parts import pythons

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src"


def test_the_watcher_neither_crashes_nor_misses_nor_repeats_and_the_log_explains_each():
    """410 for 30 s, 429, 500, a hang, an empty 200, garbage, a truncated body, an incarnation reset, an unknown type,
    an event that first appears as Started."""
    explained_by(watched)


def test_nor_does_the_async_one():
    """The same plans, carried out by another hand."""
    explained_by(lambda: asyncio.run(watched_async()))


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_it_is_so_under_every_python(version):
    """Issue: Python 3.11, 3.12, 3.13 pass. With nothing but the standard library, and warnings as errors."""
    python = pythons(version)

    ran = subprocess.run(
        [python, "-W", "error", HERE / "odd_day.py"],
        env={**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (ran.stdout, ran.stderr) == (f"an odd day went well under Python {version}\n", "")


def first_changes(count, *acts, **options):
    """The first changes that a watcher of these acts is told, and the questions it asked for them."""
    with OddServer(*acts) as server, ScheduledEvents(server.url, clock=TurnedClock(), **options) as client:
        watching = client.watch()
        told = [(change.kind, change.event.id) for _, change in zip(range(count), watching, strict=False)]
        watching.close()
    return told, server.questions


def test_an_event_that_changes_is_told_with_what_it_was():
    """appeared, changed, started, ended; a field nobody knows is a change too."""
    later = event(NotBefore="Mon, 02 Mar 2026 13:15:00 GMT")
    acts = [
        answer(200, document(n, *events)) for n, events in enumerate(([event()], [later], [later | {"New": 1}], []))
    ]
    with OddServer(*acts) as server, ScheduledEvents(server.url, clock=TurnedClock()) as client:
        changes = [change for _, change in zip(range(4), client.watch(), strict=False)]

    assert [change.kind for change in changes] == ["appeared", "changed", "changed", "ended"]
    assert changes[1].before.not_before.hour == 12
    assert changes[1].event.not_before.hour == 13
    assert changes[2].event.raw["New"] == 1
    assert changes[3].impact_seen is False


def test_events_are_known_in_any_letter_case():
    """SPEC §2.3: ids compare in any case."""
    acts = [answer(200, document(n, event(written))) for n, written in enumerate((EVENT, EVENT.lower()))]

    told, _ = first_changes(3, *acts, answer(200, document(9, event(OTHER))))

    assert told == [("appeared", EVENT), ("changed", EVENT.lower()), ("ended", EVENT.lower())]


def test_a_refusal_of_the_first_question_is_raised():
    """Whoever speaks a wrong version should know at once."""
    with OddServer(answer(400, {"error": "Bad request. api-version is invalid"})) as server:
        watching = ScheduledEvents(server.url, api_version="1999-01-01").watch()
        with pytest.raises(EndpointError, match="api-version is invalid"):
            next(watching)

    assert len(server.questions) == 1


def test_a_later_refusal_ends_no_watch():
    """A program that guards a VM goes on: the service may have moved to where the version is not known yet."""
    refused = answer(400, {"error": "Bad request"})

    told, _ = first_changes(2, answer(200, document(1, event())), refused, answer(200, document(2)))

    assert told == [("appeared", EVENT), ("ended", EVENT)]


def test_an_empty_body_twice_is_believed():
    """Once may be an outage; the real service has said "no events" so [real]."""
    told, questions = first_changes(2, answer(200, document(1, event())), answer(200, b""))

    assert told == [("appeared", EVENT), ("ended", EVENT)]
    assert len(questions) == 3


def test_an_empty_body_is_not_made_two_by_not_modified():
    """It may carry the number of the document it stands for: then 304 says nothing of the events."""
    shown = answer(200, document(3, event()), ETag="3")

    told, questions = first_changes(3, shown, answer(200, b"", ETag="3"), shown, answer(200, document(4, event(OTHER))))

    assert told == [("appeared", EVENT), ("ended", EVENT), ("appeared", OTHER)]
    assert [question.headers.get("if-none-match") for question in questions] == [None, "3", None, "3"]


def test_watching_again_begins_anew():
    """Each watch tells what is there now."""
    with OddServer(answer(200, document(1, event()))) as server, ScheduledEvents(server.url) as client:
        assert [next(client.watch()).kind, next(client.watch()).kind] == ["appeared", "appeared"]


# -- one question a second, or a held one


def test_a_plain_server_is_asked_once_a_second():
    """Issue: a plain server without `Prefer`: falls back to polling by itself."""
    clock = TurnedClock()
    same = answer(304)
    acts = [answer(200, document(1), ETag="1"), same, same, same, answer(200, document(2, event()), ETag="2")]
    with OddServer(*acts) as server, ScheduledEvents(server.url, clock=clock) as client:
        next(client.watch())

    assert clock.slept == [1.0] * 4
    assert [question.headers.get("if-none-match") for question in server.questions] == [None, "1", "1", "1", "1"]
    assert {question.headers.get("prefer") for question in server.questions[1:]} == {"wait=3"}


def test_a_server_that_holds_questions_is_asked_with_a_long_wait_and_at_once():
    """SPEC §2.6: it says `Preference-Applied`; then nobody has to ask every second."""
    clock = TurnedClock()
    held = answer(304, Preference_Applied="wait=3")
    changed = answer(200, document(2, event()), ETag="2", Preference_Applied="wait=50")
    over = answer(200, document(3), ETag="3", Preference_Applied="wait=50")
    with OddServer(answer(200, document(1), ETag="1"), held, changed, over) as server:
        client = ScheduledEvents(server.url, clock=clock)
        told = [change.kind for _, change in zip(range(2), client.watch(), strict=False)]
        client.close()

    assert told == ["appeared", "ended"]
    assert [question.headers.get("prefer") for question in server.questions] == [None, "wait=3", "wait=50", "wait=50"]
    assert clock.slept == [1.0, 1.0]
    assert {question.connection for question in server.questions} == {1}


def test_a_server_that_only_says_it_holds_is_not_asked_without_pause():
    """An answer that is no change is followed by the rest of a second, whatever it says."""
    clock = TurnedClock()
    hasty = answer(304, Preference_Applied="wait=50")
    end = answer(200, document(2, event()), ETag="2")
    with OddServer(answer(200, document(1), ETag="1"), hasty, hasty, hasty, end) as server:
        next(ScheduledEvents(server.url, clock=clock).watch())

    assert clock.slept == [1.0] * 4


@pytest.mark.parametrize("plain", [answer(200, document(2)), answer(200, b"", ETag="2")])
def test_an_endpoint_that_held_and_gives_no_number_any_more_is_asked_once_a_second(plain):
    """Nothing can be held without one: another server took the address, or one that is empty."""
    clock = TurnedClock()
    held = answer(304, Preference_Applied="wait=3")
    end = answer(200, document(4, event()), ETag="4")
    with OddServer(answer(200, document(1), ETag="1"), held, plain, plain, plain, end) as server:
        next(ScheduledEvents(server.url, clock=clock).watch())

    assert clock.slept == [1.0] * 5


def test_the_document_is_asked_for_whole_once_a_minute_and_after_trouble():
    """A service that began anew may use a number again for something else [real]."""
    clock = TurnedClock()
    first = answer(200, document(7), ETag="7")
    minute = answer(304)
    minute.lasts = lambda: clock.steady_s() < 1000 + 61
    acts = [
        first,
        minute,
        answer(200, document(7), ETag="7"),
        answer(503),
        answer(200, document(7, event()), ETag="7"),
    ]
    with OddServer(*acts) as server, ScheduledEvents(server.url, clock=clock) as client:
        assert next(client.watch()).event.id == EVENT

    whole = [n for n, question in enumerate(server.questions) if "if-none-match" not in question.headers]
    assert whole == [0, 61, 63]


def test_without_an_etag_every_answer_is_whole():
    """The first versions and some doubles of the service send none."""
    told, questions = first_changes(2, answer(200, document(1, event())), answer(200, document(1)))

    assert told == [("appeared", EVENT), ("ended", EVENT)]
    assert not any("if-none-match" in question.headers for question in questions)


def test_quick_patience_asks_nobody_to_hold():
    """A wait that does not fit into the time for an answer is not asked for."""
    _, questions = first_changes(
        1, answer(200, document(1), ETag="1"), answer(200, document(2, event())), patience=QUICK
    )

    assert not any("prefer" in question.headers for question in questions)
