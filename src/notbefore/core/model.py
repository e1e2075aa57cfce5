"""The nouns of the system: VMs, events, scopes.

Rule 1: every value is frozen and compares by content; `Scope` is the unit that is stored and versioned.
Rule 2: times are milliseconds since the epoch, UTC.
Rule 3: names are emitted as declared and compared through `name_key`.
Not here: what may change (lifecycle.py, decide.py), who sees what (visibility.py), JSON (wire/, stores/).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from notbefore.core.effects import PendingEffect
from notbefore.core.kinds import EventType, Kind, Source, Status, VmState
from notbefore.core.scope_settings import ScopeSettings
from notbefore.core.times import Moment, Span
from notbefore.core.values import replace


class ActorKind(StrEnum):
    VM = "vm"
    OPERATOR = "operator"
    CLOCK = "clock"
    EXECUTOR = "executor"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who caused a change; stands in history beside every change."""

    kind: ActorKind
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".rstrip()


THE_CLOCK = Actor(ActorKind.CLOCK)
THE_SERVICE = Actor(ActorKind.SERVICE)


@dataclass(frozen=True, slots=True)
class Vm:
    name: str
    update_domain: int = 0
    fault_domain: int | None = None
    host: str = ""
    addresses: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    spot: bool = False
    state: VmState = VmState.RUNNING


@dataclass(frozen=True, slots=True)
class Approval:
    """A VM's word that it is ready, or an operator's."""

    by: Actor
    at_ms: int


@dataclass(frozen=True, slots=True)
class Gate:
    """What an approved event of an operation waits behind until every other event of its wave may start too."""

    operation: str
    wave: int
    open: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the impact on one VM: done with evidence, or given up with the last reason."""

    vm: str
    at_ms: int
    done: bool
    evidence: str


@dataclass(frozen=True, slots=True)
class Event:
    """One planned impact on one or more VMs of one scope, all of one update domain [seed]."""

    id: str
    type: EventType
    source: Source
    vms: tuple[str, ...]
    made_at_ms: int
    made_by: Actor
    status: Status | None = None
    update_domain: int = 0
    description: str = ""
    duration_s: int = -1
    asked_not_before_ms: int | None = None
    notice: Span | None = None
    visible_since_ms: int | None = None
    started_at_ms: int | None = None
    ended_at_ms: int | None = None
    approvals: tuple[Approval, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    hidden: bool = False
    unplanned: bool = False
    # Of an operation's events: the gate, the approval that released the event, and the rest its domain takes after it.
    gate: Gate | None = None
    release: Approval | None = None
    recovery_s: int = 0

    @property
    def not_before_ms(self) -> int | None:
        return self.notice.until_ms if self.notice else self.asked_not_before_ms

    def has_vm(self, name: str) -> bool:
        return name_key(name) in map(name_key, self.vms)

    def is_over(self) -> bool:
        """Every VM is accounted for."""
        return {name_key(o.vm) for o in self.outcomes} >= set(map(name_key, self.vms))


@dataclass(frozen=True, slots=True)
class TakenRequest:
    """A request that changed the scope, kept so that a write of unknown outcome can be judged."""

    request_id: str
    event_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recovery:
    """The rest a scope takes after one update domain before the next one's turn."""

    update_domain: int
    span: Span


@dataclass(frozen=True, slots=True)
class Scope:
    """The VMs that see each other's events: one document, one consistency unit."""

    name: str
    kind: Kind = Kind.STANDALONE
    settings: ScopeSettings = field(default_factory=ScopeSettings)
    vms: tuple[Vm, ...] = ()
    events: tuple[Event, ...] = ()
    # Starts at 1: known clients send `If-None-Match: 0` first and mean "I have nothing" [real].
    incarnation: int = 1
    asked_ms: Mapping[str, int] = field(default_factory=dict)
    # When an impact last began on a VM.
    hit_ms: Mapping[str, int] = field(default_factory=dict)
    pending: tuple[PendingEffect, ...] = ()
    recovery: Recovery | None = None
    taken: tuple[TakenRequest, ...] = ()
    removed: bool = False

    @property
    def key(self) -> str:
        return name_key(self.name)

    def vm(self, name: str) -> Vm | None:
        return next((vm for vm in self.vms if name_key(vm.name) == name_key(name)), None)

    def event(self, event_id: str) -> Event | None:
        return next((event for event in self.events if event.id == event_id.upper()), None)

    def events_in(self, *statuses: Status) -> tuple[Event, ...]:
        return tuple(event for event in self.events if event.status in statuses)

    def live_events_of(self, vm_name: str) -> tuple[Event, ...]:
        return tuple(event for event in self.events if event.has_vm(vm_name))

    def with_event(self, event: Event) -> "Scope":
        """The same scope with this event in its place, or behind the others when it is new."""
        if self.event(event.id) is None:
            return replace(self, events=(*self.events, event))
        return replace(self, events=tuple(event if e.id == event.id else e for e in self.events))

    def without_event(self, event_id: str) -> "Scope":
        return replace(
            self,
            events=tuple(e for e in self.events if e.id != event_id),
            pending=tuple(p for p in self.pending if p.effect.event_id != event_id),
        )


def with_asked(scope: Scope, asked_ms: Mapping[str, int]) -> Scope:
    """The scope knowing when its VMs last asked, as far as they are its VMs."""
    known = {name_key(vm.name) for vm in scope.vms}
    newer = {vm: at for vm, at in asked_ms.items() if vm in known and at > scope.asked_ms.get(vm, 0)}
    return replace(scope, asked_ms={**scope.asked_ms, **newer}) if newer else scope


def name_key(name: str) -> str:
    """Names compare in any letter case [real]. A name that is its own key is not copied: there may be a million."""
    key = name.casefold()
    return name if key == name else key


def is_on(vm: Vm, host: str) -> bool:
    """Whether the VM runs on that host. A VM whose host nobody knows is on none."""
    return bool(vm.host) and name_key(vm.host) == name_key(host)


def names_of(vms: Iterable[Vm]) -> tuple[str, ...]:
    return tuple(vm.name for vm in vms)


__all__ = [
    "THE_CLOCK",
    "THE_SERVICE",
    "Actor",
    "ActorKind",
    "Approval",
    "Event",
    "EventType",
    "Gate",
    "Kind",
    "Moment",
    "Outcome",
    "Recovery",
    "Scope",
    "ScopeSettings",
    "Source",
    "Span",
    "Status",
    "TakenRequest",
    "Vm",
    "VmState",
    "is_on",
    "name_key",
    "names_of",
    "with_asked",
]
