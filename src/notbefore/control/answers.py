"""What the control API answers, noun by noun, as its OpenAPI document publishes it.

Rule 1: these describe what shapes.py builds and change no byte of it: answers are not passed through them, so that the
description can never break an answer. Tests hold every real answer against them, field by field.
Rule 2: a field here is a contract (DESIGN §5). Others may be added beside them; none is renamed or taken away.
"""

from typing import Annotated, Any

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from notbefore.core.explain import Rule
from notbefore.core.kinds import EventType, Eviction, Kind, Listening, Policy, Source, Status, VmState
from notbefore.core.tokens import Role
from notbefore.faults.fault import KINDS

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


def said(description: str, **more: Any) -> Any:
    return Field(description=description, **more)


def unless_absent(description: str) -> Any:
    """For a field that is left out when there is nothing to say, rather than null."""
    return Field(default=None, description=description, json_schema_extra=without_default)


def without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


class Approval(BaseModel):
    vm: str | None = said("The VM that approved; null for an operator's word.")
    by: str = said("Who it was, such as `vm web-0` or `operator ann`.")
    at: Time


class Outcome(BaseModel):
    """How the impact ended on one VM."""

    vm: str
    at: Time
    done: bool
    evidence: str = said("What the executor saw, or why it failed.")


class Event(BaseModel):
    """One planned impact on one or more VMs of one scope."""

    id: str = said("A GUID, the same from first sight on, never reused.")
    scope: str
    type: EventType
    status: Status
    source: Source
    vms: list[str] = said("Whom it hits: all of one update domain.")
    update_domain: int
    not_before: Time | None = said("When its notice ends. Of a Queued event: the time that was asked for, or null.")
    visible_since: Time | None
    started_at: Time | None
    ended_at: Time | None
    description: str = said("As VMs see it.")
    duration_s: int = said("Expected length; -1 is unknown.")
    approvals: list[Approval]
    outcomes: list[Outcome]
    made_by: str = said("Such as `operator admin`.")
    waiting_for: str = said("One sentence: what has to happen next. Empty in records of history.")
    incarnation: int = said("Of its scope.")
    operation: str | None = said("The host maintenance that it is of; null when it is of none.")
    released_at: Time | None = said("When it was approved, of an event that waits for the others of its wave.")


class Events(BaseModel):
    events: list[Event]


class Maintained(BaseModel):
    events: list[Event] = said("Those that are visible, or Started, from now on.")
    queued: list[Event] = said("Those that wait for their turn: one update domain at a time.")


class NotDone(BaseModel):
    scope: str
    code: str
    message: str


class HostFailure(BaseModel):
    events: list[Event] = said("All Started: one for each update domain of each scope.")
    not_done: list[NotDone] = said("Scopes that could not be told, and why.")


class Explanation(BaseModel):
    """Why an event waits, or how it ended."""

    event: Event
    explanation: str = said("One paragraph with all of the following, and the reasons.")
    waiting_for: str
    rule: Rule
    waits_on: list[str] = said("Names of VMs, ids of events, `update domain N`, or `the clock`.")
    until: Time | None = said("When it is released by itself, where that is known.")
    released_by: list[str] = said("Ways to release it, each enough by itself; commands stand in backticks.")


class Vm(BaseModel):
    name: str
    update_domain: int
    fault_domain: int | None
    host: str = said("Empty when none is declared.")
    addresses: list[str]
    tags: dict[str, str]
    spot: bool
    state: VmState


class VmAsking(Vm):
    last_asked: Time | None = said("When it last asked for its events.")


class Settings(BaseModel):
    """The values in force, defaults filled in."""

    listening: Listening
    approval: Policy | dict[str, Policy] = said("One policy, or one for each event type with `default` for the rest.")
    auto_approve: list[str] = said("Such as `User:Reboot`: these start at once.")
    notice_s: dict[EventType, int]
    user_events: bool
    user_operations_max: int
    recovery_s: int
    legacy_underscore: bool
    eviction: Eviction


class Scope(BaseModel):
    """VMs that see each other's events."""

    name: str
    kind: Kind
    incarnation: int = said("The number in its document: rises with every visible change.")
    listens: bool = said("Whether it would get notice now.")
    last_asked: Time | None = said("When one of its VMs last asked.")
    settings: Settings
    vms: list[VmAsking]


class Scopes(BaseModel):
    scopes: list[Scope]


class Host(BaseModel):
    name: str
    executor: str
    declared: bool = said("Whether it is declared, or VMs merely name it.")
    vms: dict[str, int] = said("How many VMs of which scope are on it.")


class Hosts(BaseModel):
    hosts: list[Host]


class Declaration(BaseModel):
    kind: Kind
    settings: Settings
    vms: list[Vm]
    removed: bool


class Change(BaseModel):
    what: str = said("Such as `started: approved`.")
    why: str
    by: str = said("A VM, a token, the clock, an executor or the service.")
    event: Event | None = said("As it was afterwards.")
    declaration: Declaration | SkipJsonSchema[None] = unless_absent("What was declared, where that is the change.")
    vm: Vm | SkipJsonSchema[None] = unless_absent("The VM that changed, where that is the change.")
    operation: str | SkipJsonSchema[None] = unless_absent("Which operation changed, where that is the change.")
    rollout: str | SkipJsonSchema[None] = unless_absent("Which rollout changed, or the operation is of.")


class Record(BaseModel):
    """One decision, committed together with what it changed."""

    revision: int = said("Its place; rises, with gaps.")
    at: Time
    scope: str = said("Empty when it concerns none, as of hosts and tokens.")
    incarnation: int = said("The scope's, afterwards.")
    request_id: str
    changes: list[Change]


class History(BaseModel):
    history: list[Record] = said("Oldest first.")
    next: int = said("Where to go on: everything up to this revision was looked at.")
    more: bool = said("Whether there may be others beyond.")
    retired_through: int = said("Records up to this revision may have been retired.")


class Clock(BaseModel):
    kind: str = said("What `serve` was started with.", json_schema_extra={"enum": ["real", "manual", "rate"]})
    now: Time
    rate: float = said("How many seconds pass in a real one, while it runs; 1 for the real clock.")
    paused: bool = said("Whether it stands until it is turned.")
    next_due: Time | None = said("When the next thing falls due on an emulator's clock.")


class TurnedClock(Clock):
    happened: list[Record] = said("What came of it, in order.")


class Token(BaseModel):
    name: str
    role: Role
    scopes: list[str] | None = said("Those it is limited to; null is the whole fleet.")
    created_at: Time
    created_by: str
    expires_at: Time | None
    expired: bool


class NewToken(Token):
    secret: str = said("What to send as `Bearer`. No other answer has it.")


class Tokens(BaseModel):
    tokens: list[Token]


class Fault(BaseModel):
    id: str
    kind: str = said("What goes wrong.", json_schema_extra={"enum": list(KINDS)})
    vms: list[str] = said("As `scope/vm`; none: all.")
    times: int | None = said("How often it strikes; null: until it is cleared.")
    probability: float
    seed: int | None = said("What chance is drawn from; null where there is none.")
    on: str | None = said("Which requests it strikes; null for kinds that strike no requests.")
    delay_s: float | None = said("Null where the kind takes none; so with the other seconds.")
    after_s: float | None
    notice_s: float | None
    duration_s: float | None
    struck: int = said("How many answers or events it has struck.")
    spent: bool = said("Whether it has struck as often as it may.")


class Faults(BaseModel):
    faults: list[Fault] = said("The oldest first.")


class ClearedFaults(BaseModel):
    cleared: int = said("How many there were.")


class Health(BaseModel):
    status: str


class Refused(BaseModel):
    """Why a request was refused: a code for programs, a sentence, what to do next, and the facts."""

    code: str
    message: str
    hint: str
    facts: dict[str, Any]


class Error(BaseModel):
    """The one shape of every error."""

    error: Refused
