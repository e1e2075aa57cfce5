"""The document as a client reads it: tolerantly (SPEC §2.3; REFERENCE §1, §2.2, §11).

Rule 1: what this version does not know passes through: fields in `raw`, types and statuses as the words they are.
Rule 2: an empty body is a document without events [real]; JSON without `Events` is no document.
Rule 3: an entry without an EventId cannot be spoken of, so it is left out, and logged.
Rule 4: a NotBefore that is no date is None, never "due now".
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from notbefore.client.endpoint import log
from notbefore.client.names import same_vm
from notbefore.core.times import SECOND_MS
from notbefore.wire.times import parse_iso

SCHEDULED = "Scheduled"
STARTED = "Started"
UNKNOWN_DURATION = -1


@dataclass(frozen=True, slots=True)
class EventView:
    """One event as the endpoint shows it. `not_before` is None once it has started; `raw` is all that was shown."""

    id: str
    status: str
    type: str
    resources: tuple[str, ...]
    not_before: datetime | None
    description: str = ""
    source: str = ""
    duration_s: int = UNKNOWN_DURATION
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_started(self) -> bool:
        return self.status.lower() == STARTED.lower()

    def is_mine(self, vm: str) -> bool:
        """Whether it concerns the VM of this name: in any letter case, or its scale-set hostname."""
        return any(same_vm(vm, resource) for resource in self.resources)


@dataclass(frozen=True, slots=True)
class Document:
    """What the endpoint said. `incarnation` is None where it said none; compare it for inequality only."""

    incarnation: int | None
    events: tuple[EventView, ...]
    raw: str

    def event(self, event_id: str) -> EventView | None:
        return next((event for event in self.events if event.id.lower() == event_id.lower()), None)


def parsed_document(body: bytes) -> Document:
    """ValueError when it is no document of events."""
    text = body.decode()
    if not text.strip():
        return Document(None, (), text)
    try:
        whole = json.loads(text)
    except RecursionError:
        raise ValueError("too deep") from None
    if not isinstance(whole, dict) or not isinstance(whole.get("Events"), list):
        raise ValueError("no Events")  # noqa: TRY004  what came is wrong, not who passed it
    return Document(_integer(whole.get("DocumentIncarnation")), tuple(_events(whole["Events"])), text)


def _events(entries: Iterable[Any]) -> Iterable[EventView]:
    known: set[str] = set()
    for entry in entries:
        event_id = entry.get("EventId") if isinstance(entry, dict) else None
        if not isinstance(event_id, str) or not event_id or event_id.lower() in known:
            log.warning("left out an entry of Events without an EventId of its own: %.200r", entry)
            continue
        known.add(event_id.lower())
        yield _event_view(event_id, entry)


def _event_view(event_id: str, entry: Mapping[str, Any]) -> EventView:
    return EventView(
        id=event_id,
        status=_text(entry.get("EventStatus")),
        type=_text(entry.get("EventType")),
        resources=_names(entry.get("Resources")),
        not_before=moment(entry.get("NotBefore"), event_id),
        description=_text(entry.get("Description")),
        source=_text(entry.get("EventSource")),
        duration_s=_duration(entry.get("DurationInSeconds")),
        raw=entry,
    )


def moment(written: Any, event_id: str = "") -> datetime | None:
    """ISO 8601 in 2017-03-01 [seed], RFC 1123 from then on [real], empty once started [real].

    The day of the week is not looked at: documented examples have wrong ones [real].
    """
    if not isinstance(written, str) or not written.strip():
        return None
    try:
        return datetime.fromtimestamp(parse_iso(written.strip()) / SECOND_MS, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    from email.utils import parsedate_to_datetime  # noqa: PLC0415  it comes with HTTP, when there is a document

    try:
        at = parsedate_to_datetime(written)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        log.warning("NotBefore of event %s is no date: %.80r; taken as not known", event_id or "?", written)
        return None


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(map(_text, value)) if isinstance(value, list) else ()


def _integer(value: Any) -> int | None:
    """A number, or one in a string, as the first samples had it [seed]."""
    if isinstance(value, bool):
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _duration(value: Any) -> int:
    number = _integer(value)
    return UNKNOWN_DURATION if number is None else number
