"""What the control API answers with, typed (DESIGN §5).

Rule 1: fields this client does not know are ignored, fields the server does not send have their default: an older
client and a newer server understand each other, and the other way round.
Rule 2: times are datetimes in UTC. Words (status, type, policy) are texts: tomorrow's server may know more of them.
Rule 3: `raw` is what was received; it takes no part in comparing and showing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

from notbefore.control_client.control_api import Json, StrangeAnswer
from notbefore.core.times import SECOND_MS
from notbefore.wire.times import parse_iso

Shape = TypeVar("Shape")
Reading = Mapping[str, Callable[[Any], Any]]
"""How a field is read from JSON, where it is not taken as it is."""
READ_AS = "read_as"


def shaped(kind: type[Shape], raw: object) -> Shape:
    """One thing, from the JSON that describes it."""
    try:
        return cast(Shape, _made(kind, raw))
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as wrong:
        raise StrangeAnswer(
            f"The server's answer is no {kind.__name__} that this client understands ({wrong}).",
            "`notbefore doctor` compares the versions of both.",
        ) from None


def _made(kind: type[Any], raw: Any) -> Any:
    values = {}
    for one in fields(kind):
        if one.name == "raw":
            values["raw"] = raw
        elif one.name in raw:
            values[one.name] = one.metadata.get(READ_AS, _as_it_is)(raw[one.name])
    return kind(**values)


def _as_it_is(value: Any) -> Any:
    return value


def moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromtimestamp(parse_iso(text) / SECOND_MS, UTC)


def _policies(value: Any) -> Mapping[str, str]:
    return dict(value) if isinstance(value, Mapping) else {"default": value}


def many(kind: type[Any]) -> Reading:
    return {READ_AS: lambda values: tuple(_made(kind, value) for value in values)}


def read_each(kind: type[Any]) -> Reading:
    return {READ_AS: lambda values: {name: _made(kind, value) for name, value in values.items()}}


def perhaps(kind: type[Any]) -> Reading:
    return {READ_AS: lambda value: None if value is None else _made(kind, value)}


TIME = {READ_AS: moment}
TEXTS = {READ_AS: tuple}
PERHAPS_TEXTS: Reading = {READ_AS: lambda values: None if values is None else tuple(values)}


@dataclass(frozen=True, slots=True)
class Vm:
    name: str
    update_domain: int = 0
    fault_domain: int | None = None
    host: str = ""
    addresses: tuple[str, ...] = field(default=(), metadata=TEXTS)
    tags: Mapping[str, str] = field(default_factory=dict)
    spot: bool = False
    state: str = "running"
    last_asked: datetime | None = field(default=None, metadata=TIME)


@dataclass(frozen=True, slots=True)
class ScopeSettings:
    listening: str = "auto"
    approval: Mapping[str, str] = field(default_factory=lambda: {"default": "any"}, metadata={READ_AS: _policies})
    auto_approve: tuple[str, ...] = field(default=(), metadata=TEXTS)
    notice_s: Mapping[str, int] = field(default_factory=dict)
    user_events: bool = True
    user_operations_max: int = 10
    recovery_s: int = 0
    legacy_underscore: bool = False
    eviction: str = "deallocate"


@dataclass(frozen=True, slots=True)
class Scope:
    name: str
    kind: str = "standalone"
    incarnation: int = 0
    listens: bool = False
    last_asked: datetime | None = field(default=None, metadata=TIME)
    settings: ScopeSettings = field(default_factory=ScopeSettings, metadata=perhaps(ScopeSettings))
    vms: tuple[Vm, ...] = field(default=(), metadata=many(Vm))
    raw: Json = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Approval:
    at: datetime | None = field(default=None, metadata=TIME)
    by: str = ""
    vm: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    vm: str
    at: datetime | None = field(default=None, metadata=TIME)
    done: bool = False
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    id: str
    scope: str
    type: str
    status: str
    source: str = ""
    vms: tuple[str, ...] = field(default=(), metadata=TEXTS)
    update_domain: int = 0
    not_before: datetime | None = field(default=None, metadata=TIME)
    visible_since: datetime | None = field(default=None, metadata=TIME)
    started_at: datetime | None = field(default=None, metadata=TIME)
    ended_at: datetime | None = field(default=None, metadata=TIME)
    description: str = ""
    duration_s: int = -1
    approvals: tuple[Approval, ...] = field(default=(), metadata=many(Approval))
    outcomes: tuple[Outcome, ...] = field(default=(), metadata=many(Outcome))
    made_by: str = ""
    waiting_for: str = ""
    incarnation: int = 0
    operation: str | None = None
    released_at: datetime | None = field(default=None, metadata=TIME)
    raw: Json = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an event waits: on whom, until when, by which rule, and what would release it."""

    event: Event | None = field(default=None, metadata=perhaps(Event))
    explanation: str = ""
    waiting_for: str = ""
    rule: str = ""
    waits_on: tuple[str, ...] = field(default=(), metadata=TEXTS)
    until: datetime | None = field(default=None, metadata=TIME)
    released_by: tuple[str, ...] = field(default=(), metadata=TEXTS)
    raw: Json = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What a maintenance made: events that are visible or started, and those that wait for their turn."""

    events: tuple[Event, ...] = field(default=(), metadata=many(Event))
    queued: tuple[Event, ...] = field(default=(), metadata=many(Event))
    raw: Json = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NotDone:
    """A scope that could not be told, and why."""

    scope: str
    code: str = ""
    message: str = ""
    raw: Json = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class HostFailure:
    """What a failed host made: the reboots of its VMs. What was not done is done by saying it again."""

    events: tuple[Event, ...] = field(default=(), metadata=many(Event))
    not_done: tuple[NotDone, ...] = field(default=(), metadata=many(NotDone))
    raw: Json = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Change:
    what: str
    why: str = ""
    by: str = ""
    event: Event | None = field(default=None, metadata=perhaps(Event))
    vm: Vm | None = field(default=None, metadata=perhaps(Vm))
    operation: str = ""
    rollout: str = ""


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    revision: int
    at: datetime | None = field(default=None, metadata=TIME)
    scope: str = ""
    incarnation: int = 0
    request_id: str = ""
    changes: tuple[Change, ...] = field(default=(), metadata=many(Change))
    raw: Json = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Records, oldest first; `next` is the `after` of the next question, and `more` that one may be worth it."""

    history: tuple[HistoryRecord, ...] = field(default=(), metadata=many(HistoryRecord))
    next: int = 0
    more: bool = False
    retired_through: int = 0
    raw: Json = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Host:
    name: str
    executor: str = ""
    declared: bool = True
    vms: Mapping[str, int] = field(default_factory=dict)
    """How many VMs of each scope are on it."""
    raw: Json = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is listed. `secret` is there once, when it was just created; it is never shown by repr."""

    name: str
    role: str
    scopes: tuple[str, ...] | None = field(default=None, metadata=PERHAPS_TEXTS)
    created_at: datetime | None = field(default=None, metadata=TIME)
    created_by: str = ""
    expires_at: datetime | None = field(default=None, metadata=TIME)
    expired: bool = False
    secret: str = field(default="", repr=False)
    raw: Json = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that an emulator does wrong; `vms` are `scope/vm`, and none means all."""

    id: str
    kind: str
    vms: tuple[str, ...] = field(default=(), metadata=TEXTS)
    times: int | None = None
    probability: float = 1.0
    seed: int | None = None
    on: str | None = None
    delay_s: float | None = None
    after_s: float | None = None
    notice_s: float | None = None
    duration_s: float | None = None
    struck: int = 0
    spent: bool = False
    raw: Json = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Clock:
    kind: str
    now: datetime = field(metadata=TIME)
    rate: float = 1.0
    paused: bool = False
    next_due: datetime | None = field(default=None, metadata=TIME)
    happened: tuple[HistoryRecord, ...] = field(default=(), metadata=many(HistoryRecord))
    raw: Json = field(default_factory=dict, compare=False, repr=False)
