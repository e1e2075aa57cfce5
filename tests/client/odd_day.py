"""One day of a watcher whose endpoint does everything wrong in turn; told to both clients, under any Python.

Standard library only, and runnable by itself: `PYTHONPATH=src python tests/client/odd_day.py`.
"""

import asyncio
import logging
import sys
from collections.abc import Iterable

from odd_server import EVENT, OTHER, THIRD, Act, OddServer, answer, document, event
from turned_clock import TurnedClock

from notbefore.client import AsyncScheduledEvents, Change, Patience, ScheduledEvents

LAST = "00000000-0000-0000-0000-000000000000"
QUICK = Patience(first_s=2.0, later_s=2.0)
NEW_TYPE = "SpotRebalanceRecommendation"
TOLD = [
    ("appeared", EVENT, False),
    ("appeared", OTHER, False),
    ("started", EVENT, True),
    ("appeared", THIRD, False),
    ("started", THIRD, True),
    ("ended", EVENT, True),
    ("ended", OTHER, False),
    ("ended", THIRD, True),
]
EXPLAINED = [
    "answered 410",
    "answered 429",
    "Asked again in 7.0 to 8.0 s",
    "answered 500",
    "did not answer in time",
    "answers again, after",
    "200 with an empty body: taken as no events",
    "no document of events",
    "cut short",
    "200 with an empty body: asked again before it is believed",
    "the incarnation went back from 5 to 1",
    f"has the type '{NEW_TYPE}'",
    f"{THIRD} was first seen as Started",
]


def odd_acts(clock: TurnedClock) -> list[Act]:
    until_s = clock.steady_s() + 30
    updating = answer(410)
    updating.lasts = lambda: clock.steady_s() < until_s
    first = event(EVENT)
    second = event(OTHER, EventType=NEW_TYPE, Later={"field": 1})
    return [
        updating,
        answer(429, {"error": "Too many requests"}, Retry_After="7"),
        answer(500),
        Act(hangs=True),
        answer(200, b""),
        answer(200, document(5, first)),
        answer(200, "<html>Sign in to the network</html>"),
        Act(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"DocumentIncarnation":6,"Events":[]', closes=True),
        answer(200, b""),
        answer(200, document(5, first)),
        answer(200, document(1, first, second)),
        answer(200, document(1, first, second)),
        answer(200, document(2, event(EVENT, "Started"), second, event(THIRD, "Started"))),
        answer(200, document(2, event(EVENT, "Started"), second, event(THIRD, "Started"))),
        answer(200, document(3)),
        answer(200, document(3)),
        answer(200, document(4, event(LAST))),
    ]


class Kept(logging.Handler):
    """What the log said."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def told(changes: Iterable[Change]) -> list[tuple[str, str, bool]]:
    seen = []
    for change in changes:
        if change.event.id == LAST:
            break
        seen.append((str(change.kind), change.event.id, change.impact_seen))
    return seen


def watched() -> list[tuple[str, str, bool]]:
    clock = TurnedClock()
    with OddServer(*odd_acts(clock)) as server, ScheduledEvents(server.url, patience=QUICK, clock=clock) as client:
        return told(client.watch())


async def watched_async() -> list[tuple[str, str, bool]]:
    clock = TurnedClock()
    with OddServer(*odd_acts(clock)) as server:
        async with AsyncScheduledEvents(server.url, patience=QUICK, clock=clock) as client:
            changes = []
            async for change in client.watch():
                changes.append(change)
                if change.event.id == LAST:
                    return told(changes)
    return []


def explained_by(watch) -> list[str]:
    """Watch, see that nothing is missed or told twice; what the log said."""
    log, kept = logging.getLogger("notbefore.client"), Kept()
    log.addHandler(kept)
    try:
        seen = watch()
    finally:
        log.removeHandler(kept)
    assert seen == TOLD, seen
    missing = [text for text in EXPLAINED if not any(text in line for line in kept.lines)]
    assert not missing, (missing, kept.lines)
    return kept.lines


def main() -> None:
    explained_by(watched)
    explained_by(lambda: asyncio.run(watched_async()))
    sys.stdout.write(f"an odd day went well under Python {sys.version_info.major}.{sys.version_info.minor}\n")


if __name__ == "__main__":
    main()
