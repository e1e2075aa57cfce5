"""The document a VM gets: a scope's visible events as one api-version writes them (SPEC §2.3).

Rule 1: compact JSON, keys in the order real answers have.
Rule 2: the same scope and version always give the same bytes.
"""

import json
from functools import lru_cache
from typing import Any

from notbefore.core.kinds import Status
from notbefore.core.model import Event, Scope
from notbefore.core.visibility import visible_events
from notbefore.wire.api_versions import ApiVersion
from notbefore.wire.times import iso, rfc1123


def render_document(scope: Scope, version: ApiVersion) -> bytes:
    if not scope.events:
        return empty_document(scope.incarnation)
    document = {
        "DocumentIncarnation": scope.incarnation,
        "Events": [_event(scope, event, version) for event in visible_events(scope) if event.type in version.types],
    }
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


@lru_cache(1024)  # most scopes have nothing scheduled, and share what says so
def empty_document(incarnation: int) -> bytes:
    """The same in every version."""
    return b'{"DocumentIncarnation":%d,"Events":[]}' % incarnation


def _event(scope: Scope, event: Event, version: ApiVersion) -> dict[str, Any]:
    # The preview put an underscore before the names of IaaS VMs [real].
    prefix = "_" if version.legacy_names and scope.settings.legacy_underscore else ""
    shown: dict[str, Any] = {
        "EventId": event.id,
        "EventStatus": str(event.status),
        "EventType": str(event.type),
        "ResourceType": "VirtualMachine",
        "Resources": [prefix + vm for vm in event.vms],
        "NotBefore": _not_before(event, version),
    }
    if version.description:
        shown["Description"] = event.description
    if version.event_source:
        shown["EventSource"] = str(event.source)
    if version.duration:
        shown["DurationInSeconds"] = event.duration_s
    return shown


def _not_before(event: Event, version: ApiVersion) -> str:
    """Empty once Started; the key stays [real]."""
    if event.status is not Status.SCHEDULED or event.not_before_ms is None:
        return ""
    return iso(event.not_before_ms) if version.iso_dates else rfc1123(event.not_before_ms)
