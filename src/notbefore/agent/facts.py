"""What has happened, as the journal keeps it: one fact, one line. The state is nothing but facts, folded (life.py).

Rule 1: what is to be done is written before it is done ("began") and after ("ended").
Rule 2: a life is one event from its first sight to the end of its undo; should the same id come again, it is another.
Rule 3: an event is kept as it was shown, and a rule as it was written, so that both are read again by the usual code.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from notbefore.agent.settings import Rule
from notbefore.agent.steps.step import Phase
from notbefore.client import EventView
from notbefore.client.document import parsed_document

RuleReader = Callable[[Mapping[str, Any]], Rule]


@dataclass(frozen=True, slots=True)
class Opened:
    """The agent began; whatever was under way before was cut off."""

    boot: str
    pid: int
    version: str


@dataclass(frozen=True, slots=True)
class Appeared:
    """A rule took an event: a life begins. `notice_s`: how long until NotBefore, None when nobody knows."""

    life: str
    vm: str
    event: EventView
    rule: Rule
    mine: bool
    notice_s: float | None


@dataclass(frozen=True, slots=True)
class Changed:
    """It is shown differently; perhaps it has started."""

    life: str
    event: EventView
    notice_s: float | None


@dataclass(frozen=True, slots=True)
class Ended:
    """It is no longer shown."""

    life: str
    impact_seen: bool


@dataclass(frozen=True, slots=True)
class CameAgain:
    """It is shown again after its end: perhaps an echo of an older answer."""

    life: str
    event: EventView
    notice_s: float | None


@dataclass(frozen=True, slots=True)
class StepBegan:
    life: str
    step: int
    phase: Phase


@dataclass(frozen=True, slots=True)
class StepEnded:
    life: str
    step: int
    phase: Phase
    ok: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class StepSkipped:
    """It counts as failed without having been begun, so there is nothing to undo."""

    life: str
    step: int
    sentence: str


@dataclass(frozen=True, slots=True)
class StepShared:
    """It is in force already, for another life."""

    life: str
    step: int
    other: str


@dataclass(frozen=True, slots=True)
class StepLeft:
    """It stays in force for another life, which will undo it."""

    life: str
    step: int
    other: str


@dataclass(frozen=True, slots=True)
class ApprovalBegan:
    life: str


@dataclass(frozen=True, slots=True)
class ApprovalEnded:
    """`given`: the endpoint has taken it. `gone`: there was nothing left to approve."""

    life: str
    given: bool
    gone: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class Told:
    """The administrator was told of the alarm with this number, as well as it went."""

    life: str
    alarm: int


@dataclass(frozen=True, slots=True)
class Over:
    """The life is over. What is needed to know the event should it come again."""

    life: str
    not_before: str


Fact = (
    Opened
    | Appeared
    | Changed
    | Ended
    | CameAgain
    | StepBegan
    | StepEnded
    | StepSkipped
    | StepShared
    | StepLeft
    | ApprovalBegan
    | ApprovalEnded
    | Told
    | Over
)
KINDS: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Opened,
        Appeared,
        Changed,
        Ended,
        CameAgain,
        StepBegan,
        StepEnded,
        StepSkipped,
        StepShared,
        StepLeft,
        ApprovalBegan,
        ApprovalEnded,
        Told,
        Over,
    )
}


def written(fact: Fact) -> dict[str, Any]:
    """As JSON can hold it."""
    plain = {field.name: getattr(fact, field.name) for field in fields(fact)}
    if "event" in plain:
        plain["event"] = plain["event"].raw
    if "rule" in plain:
        plain["rule"] = plain["rule"].table
    return {"what": type(fact).__name__, **plain}


def read(plain: Mapping[str, Any], rule_of: RuleReader) -> Fact:
    """ValueError when it is no fact that this version knows."""
    values = dict(plain)
    kind = KINDS.get(values.pop("what", ""))
    if kind is None or set(values) != {field.name for field in fields(kind)}:
        raise ValueError("no fact that this version knows")
    if "event" in values:
        values["event"] = event_in(values["event"])
    if "rule" in values:
        values["rule"] = rule_of(values["rule"])
    if "phase" in values:
        values["phase"] = Phase(values["phase"])
    fact: Fact = kind(**values)
    return fact


def event_in(raw: Mapping[str, Any]) -> EventView:
    """An event as it was shown, read as any document is."""
    events = parsed_document(json.dumps({"Events": [raw]}).encode()).events
    if not events:
        raise ValueError("no event")
    return events[0]


def life_named(event_id: str, number: int) -> str:
    """The first life of an event has its id, further ones their number behind it."""
    return event_id.lower() if number == 1 else f"{event_id.lower()}~{number}"


def life_number(life: str) -> int:
    _, _, number = life.partition("~")
    return int(number) if number.isdecimal() else 1


def event_id_of(life: str) -> str:
    return life.partition("~")[0]
