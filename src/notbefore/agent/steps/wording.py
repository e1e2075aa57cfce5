"""An event in words that others take: variables for programs, JSON for programs, a line for people.

Rule 1: text of an event comes from outside. What is no printable character becomes a space, so it ends no line, starts
no header and moves no terminal; what cannot be encoded becomes a question mark; all of it has a limit.
Rule 2: times are ISO 8601 in UTC, whichever api-version the endpoint was asked in.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from notbefore.agent.steps.step import Errand, Phase
from notbefore.client import EventView
from notbefore.client.clock import Clock

# Windows gives all of a variable 32,767 characters, Linux 128 KiB.
VARIABLE_MAX = 16_000
LINE_MAX = 500


def variables_of(errand: Errand, clock: Clock) -> dict[str, str]:
    event = errand.event
    given = {
        "EVENT_ID": event.id,
        "EVENT_TYPE": event.type,
        "EVENT_STATUS": event.status,
        "EVENT_SOURCE": event.source,
        "EVENT_NOT_BEFORE": iso_time(event.not_before),
        "EVENT_SECONDS_LEFT": seconds_left(event, clock),
        "EVENT_DURATION": str(event.duration_s),
        "EVENT_RESOURCES": " ".join(event.resources),
        "EVENT_DESCRIPTION": event.description,
        "EVENT_PHASE": errand.phase,
        "EVENT_RULE": errand.rule,
        "EVENT_STEP": errand.step,
        "EVENT_REASON": errand.sentence,
        "VM_NAME": errand.vm,
    }
    return {name: one_line(value, VARIABLE_MAX) for name, value in given.items()}


def event_json(event: EventView) -> dict[str, Any]:
    """All that the endpoint showed, under its own names; what we read of it as we read it. Nothing for no event."""
    if not event.id:
        return {}
    known = {
        "EventId": event.id,
        "EventStatus": event.status,
        "EventType": event.type,
        "ResourceType": event.raw.get("ResourceType", "VirtualMachine"),
        "Resources": list(event.resources),
        "NotBefore": iso_time(event.not_before),
        "Description": event.description,
        "EventSource": event.source,
        "DurationInSeconds": event.duration_s,
    }
    return {**known, **{key: value for key, value in event.raw.items() if key not in known}}


def errand_json(errand: Errand) -> dict[str, Any]:
    return {
        "phase": str(errand.phase),
        "vm": errand.vm,
        "rule": errand.rule,
        "step": errand.step,
        "reason": errand.sentence,
        "deadline": iso_time(errand.deadline),
        "event": event_json(errand.event) or None,
    }


def encoded(value: Mapping[str, Any]) -> bytes:
    """ASCII, so that half a character from outside breaks nothing."""
    return json.dumps(value, separators=(",", ":")).encode()


def line_of(errand: Errand) -> str:
    """`web-1: Reboot of web-1, web-2 is over: …`: for people. Without an event it is about the agent itself."""
    event = errand.event
    if not event.id:
        return one_line(f"{errand.vm}: {errand.sentence}", LINE_MAX)
    what = f"{event.type or 'an event'} of {', '.join(event.resources) or 'no VM'}"
    when = f", not before {iso_time(event.not_before)}" if event.not_before else ""
    said = {Phase.DO: f"{what} is {event.status or 'there'}{when}", Phase.UNDO: f"{what} is over", Phase.ALERT: what}
    why = f": {errand.sentence}" if errand.sentence else ""
    return one_line(f"{errand.vm}: {said[errand.phase]}{why}", LINE_MAX)


def one_line(text: str, most: int) -> str:
    plain = "".join(one if one.isprintable() else " " for one in text.encode("utf-8", "replace").decode())
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def iso_time(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else ""


def seconds_left(event: EventView, clock: Clock) -> str:
    """Whole seconds until NotBefore; nothing where there is none."""
    return str(max(0, int(event.not_before.timestamp() - clock.wall_s()))) if event.not_before else ""
