"""What changed between two documents, for a watcher: appeared, changed, started, ended.

Rule 1: events are known by id, in any letter case. The incarnation decides nothing: it can go back [real].
Rule 2: an event first seen as Started has appeared and started: both are told, in that order.
Rule 3: one document tells one change of an event, rule 2 aside. A start says all that changed with it.
Rule 4: endings are told first: what is over makes room for what comes.
Rule 5: an empty body while events are known is believed when it comes twice: an outage must not look like an end.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from notbefore.client.document import SCHEDULED, STARTED, Document, EventView
from notbefore.client.endpoint import log
from notbefore.core.kinds import EventType

KNOWN_TYPES = frozenset(map(str, EventType))
KNOWN_STATUSES = frozenset((SCHEDULED, STARTED))


class ChangeKind(StrEnum):
    APPEARED = "appeared"
    CHANGED = "changed"
    STARTED = "started"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to an event. When it ended, `event` is how it was last shown.

    `before`: how it was shown before, if it was. `impact_seen`: whether it was ever seen as Started; an
    event that ended without was cancelled, or ran between two answers.
    """

    kind: ChangeKind
    event: EventView
    before: EventView | None = None
    impact_seen: bool = False


class Seen:
    """What a watcher has been told so far."""

    def __init__(self) -> None:
        self._events: dict[str, EventView] = {}
        self._started: set[str] = set()
        self._incarnation: int | None = None
        self._was_empty = False

    def changes_in(self, document: Document) -> list[Change]:
        if self._doubts(document):
            return []
        self._note_incarnation(document)
        shown = {event.id.lower(): event for event in document.events}
        changes = [self._ended(key) for key in list(self._events) if key not in shown]
        for key, event in shown.items():
            changes += self._changes_of(key, event)
        return changes

    def _doubts(self, document: Document) -> bool:
        is_empty = not document.raw.strip()
        doubted = is_empty and bool(self._events) and not self._was_empty
        self._was_empty = is_empty
        if is_empty:
            log.warning(
                "200 with an empty body: %s", "asked again before it is believed" if doubted else "taken as no events"
            )
        return doubted

    def _changes_of(self, key: str, event: EventView) -> Iterator[Change]:
        before, self._events[key] = self._events.get(key), event
        starts = event.is_started and key not in self._started
        if starts:
            self._started.add(key)
        if before is None:
            _note_oddities(event)
            yield Change(ChangeKind.APPEARED, event)
        if starts:
            yield Change(ChangeKind.STARTED, event, before, impact_seen=True)
        elif before is not None and before.raw != event.raw:
            yield Change(ChangeKind.CHANGED, event, before, key in self._started)

    def _ended(self, key: str) -> Change:
        event, impact_seen = self._events.pop(key), key in self._started
        self._started.discard(key)
        return Change(ChangeKind.ENDED, event, event, impact_seen)

    def _note_incarnation(self, document: Document) -> None:
        before, now = self._incarnation, document.incarnation
        if before is not None and now is not None and now < before:
            log.warning(
                "the incarnation went back from %d to %d: the service began anew; events are compared", before, now
            )
        self._incarnation = now


def _note_oddities(event: EventView) -> None:
    if event.type not in KNOWN_TYPES:
        log.warning("event %s has the type %.40r, which this version does not know; passed on", event.id, event.type)
    if event.status not in KNOWN_STATUSES:
        log.warning("event %s has the status %.40r, which this version does not know", event.id, event.status)
    if event.is_started:
        log.warning("event %s was first seen as Started: there was no notice, or it was missed", event.id)
