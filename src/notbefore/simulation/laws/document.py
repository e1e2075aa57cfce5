"""The document by SPEC §2.2 and §2.3 alone, written a second time so that the service's can be compared with it.

Rule 1: a content is all that any api-version could show of a scope.
Rule 2: nothing of wire/ is used here.
"""

import json
from datetime import UTC, datetime
from email.utils import formatdate
from typing import NamedTuple

from notbefore.core.kinds import EventType, Status
from notbefore.core.model import Scope

FIRST = "2017-03-01"
# From which api-version on a type is shown; the seeds' three in all.
SHOWN_FROM = {EventType.PREEMPT: "2017-11-01", EventType.TERMINATE: "2019-01-01"}
DESCRIPTION_FROM = "2019-04-01"
SOURCE_FROM = "2019-08-01"
DURATION_FROM = "2020-07-01"


class ShownEvent(NamedTuple):
    id: str
    status: str
    type: EventType
    vms: tuple[str, ...]
    not_before_ms: int | None
    description: str
    source: str
    duration_s: int


class Content(NamedTuple):
    # Whether 2017-03-01 writes a name with an underscore before it.
    underscored: bool
    events: tuple[ShownEvent, ...]


def is_shown(event_type: str, version: str) -> bool:
    """Whether an api-version knows a type of event; later versions know what earlier ones did."""
    return version >= SHOWN_FROM.get(EventType(event_type), FIRST)


def content_of(scope: Scope) -> Content:
    shown = tuple(
        ShownEvent(
            event.id,
            event.status.value,
            event.type,
            event.vms,
            event.not_before_ms if event.status is Status.SCHEDULED else None,
            event.description,
            event.source.value,
            event.duration_s,
        )
        for event in scope.events
        if (event.status is Status.SCHEDULED or event.status is Status.STARTED) and not event.hidden
    )
    return Content(scope.settings.legacy_underscore and any(e.type not in SHOWN_FROM for e in shown), shown)


def written(incarnation: int, content: Content, version: str) -> bytes:
    events = [_event(event, content, version) for event in content.events if is_shown(event.type, version)]
    return f'{{"DocumentIncarnation":{incarnation},"Events":[{",".join(events)}]}}'.encode()


def _event(event: ShownEvent, content: Content, version: str) -> str:
    prefix = "_" if content.underscored and version == FIRST else ""
    fields = {
        "EventId": event.id,
        "EventStatus": event.status,
        "EventType": str(event.type),
        "ResourceType": "VirtualMachine",
        "Resources": [prefix + name for name in event.vms],
        "NotBefore": "" if event.not_before_ms is None else _date(event.not_before_ms, version),
    }
    if version >= DESCRIPTION_FROM:
        fields["Description"] = event.description
    if version >= SOURCE_FROM:
        fields["EventSource"] = event.source
    pairs = [
        f'"{name}":{json.dumps(value, ensure_ascii=False, separators=(",", ":"))}' for name, value in fields.items()
    ]
    if version >= DURATION_FROM:
        pairs.append(f'"DurationInSeconds":{event.duration_s}')
    return f"{{{','.join(pairs)}}}"


def _date(at_ms: int, version: str) -> str:
    at_s = at_ms // 1000
    if version == FIRST:
        return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return formatdate(at_s, usegmt=True)
