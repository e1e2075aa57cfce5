"""An operation: one maintenance over the VMs of several scopes, in waves (SPEC §3.4).

Rule 1: a wave holds at most one update domain of each scope, and one common NotBefore. The next is formed when the
former is over.
Rule 2: only what can be announced now joins a wave. So a wave waits for nothing but time and impacts, and operations
that share scopes cannot wait for each other.
Rule 3: what an operation wants of scopes stands in it as data (`Member.stage`, `Wave.gate_open`, its status); whoever
drives it says that to the scopes as often as needed.
Not here: what follows from what is seen (operation_steps.py), the scope's part (waves.py), storing and driving
(runtime/operations.py).
"""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID, uuid5

from notbefore.core.kinds import EventType, Status
from notbefore.core.model import Actor, name_key
from notbefore.core.values import replace


class OperationStatus(StrEnum):
    RUNNING = "Running"
    CANCELLING = "Cancelling"
    COMPLETED = "Completed"
    FAILED = "Failed"
    CANCELLED = "Cancelled"


ENDED_OPERATION = (OperationStatus.COMPLETED, OperationStatus.FAILED, OperationStatus.CANCELLED)


class Stage(StrEnum):
    """How far one event of a wave is, as the operation has seen it."""

    ASKED = "asked"
    ANNOUNCED = "announced"
    RELEASED = "released"
    STARTED = "started"
    OVER = "over"


def in_vms(number: int) -> str:
    return f"{number} {'VM' if number == 1 else 'VMs'}"


@dataclass(frozen=True, slots=True)
class ScopedVm:
    """A VM by its scope's name and its own."""

    scope: str
    vm: str

    @property
    def key(self) -> tuple[str, str]:
        return name_key(self.scope), name_key(self.vm)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A VM whose wave is still to come; the rest is set when its scope has refused it."""

    of: ScopedVm
    why: str = ""
    refused: int = 0
    not_until_ms: int = 0


@dataclass(frozen=True, slots=True)
class Left:
    """A VM that the operation does not touch, and why."""

    of: ScopedVm
    why: str


@dataclass(frozen=True, slots=True)
class Member:
    """One scope's event in a wave: VMs of one update domain and host."""

    scope: str
    update_domain: int
    vms: tuple[str, ...]
    event_id: str
    wave: int = 1
    host: str = ""
    stage: Stage = Stage.ASKED
    refused: int = 0
    ended: Status | None = None
    failed_vms: tuple[str, ...] = ()
    started_at_ms: int | None = None

    @property
    def scoped_vms(self) -> tuple[ScopedVm, ...]:
        return tuple(ScopedVm(self.scope, vm) for vm in self.vms)


@dataclass(frozen=True, slots=True)
class Wave:
    number: int
    formed_at_ms: int
    not_before_ms: int
    members: tuple[Member, ...]
    gate_open: bool = False

    def with_member(self, changed: Member) -> "Wave":
        members = tuple(changed if one.event_id == changed.event_id else one for one in self.members)
        return replace(self, members=members)

    def without(self, event_id: str) -> "Wave":
        return replace(self, members=tuple(one for one in self.members if one.event_id != event_id))


@dataclass(frozen=True, slots=True)
class Operation:
    """`once`: what cannot be announced in its first wave is left, for whoever made the operation to ask again.

    `announced_by_ms`: a wave that is formed later than that is none: nobody knows how long its server was away.
    """

    id: str
    type: EventType
    made_by: Actor
    made_at_ms: int
    host: str = ""
    rollout: str = ""
    description: str = ""
    duration_s: int = -1
    recovery_s: int = 0
    not_before_ms: int | None = None
    announced_by_ms: int | None = None
    once: bool = False
    status: OperationStatus = OperationStatus.RUNNING
    why: str = ""
    cancelled_by: Actor | None = None
    waiting: tuple[Waiting, ...] = ()
    wave: Wave | None = None
    waves_formed: int = 0
    done: tuple[Member, ...] = ()
    left: tuple[Left, ...] = ()
    ended_at_ms: int | None = None

    @property
    def is_over(self) -> bool:
        return self.status in ENDED_OPERATION

    def event_id(self, wave: int, scope: str, update_domain: int, host: str) -> str:
        """The same for whoever drives the operation: what is said twice makes one event."""
        return str(uuid5(UUID(self.id), f"{wave}/{name_key(scope)}/{update_domain}/{name_key(host)}")).upper()

    def join_id(self, event_id: str) -> str:
        """The request id under which a scope takes the event in."""
        return str(uuid5(UUID(self.id), f"join {event_id}"))

    def members(self) -> tuple[Member, ...]:
        """Every event there was or is, in the order of the waves."""
        return (*self.done, *(self.wave.members if self.wave else ()))

    def scopes(self) -> set[str]:
        """The keys of the scopes whose changes concern it now."""
        there = [one.of.scope for one in self.waiting] + [one.scope for one in (self.wave.members if self.wave else ())]
        return set(map(name_key, there))
