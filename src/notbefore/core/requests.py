"""What can be asked of a scope. Imperatives; each carries who asks and a request id.

Rule 1: ids arrive with the request. The n-th event a request makes is named after the request id, so a
request that is taken twice (a write of unknown outcome) names the same events both times.
Rule 2: a request says nothing about time but what its maker asked for; `now` comes beside it.
Not here: what follows (decide.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID, uuid5

from notbefore.core.kinds import EventType, Kind
from notbefore.core.model import THE_CLOCK, Actor, Vm
from notbefore.core.scope_settings import ScopeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`node`: whose turn it is. It carries out what starts in it, so that a start and its claim are one commit; empty
    leaves that to a ClaimEffect.
    """

    scope: str
    request_id: str
    by: Actor
    node: str = ""

    def nth_event_id(self, n: int) -> str:
        """GUIDs are upper case, as the real service shows them [real]."""
        return str(uuid5(UUID(self.request_id), str(n))).upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareScope(Request):
    """These are the VMs and settings from now on; what is left out is gone."""

    kind: Kind
    settings: ScopeSettings
    vms: tuple[Vm, ...]
    # A VM keeps the state it has come to (deallocated, say) unless its state is declared too.
    with_state: frozenset[str] = frozenset()
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveScope(Request):
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OperateVm(Request):
    """restart, redeploy, freeze, evict or terminate one VM: one event."""

    operation: str
    vm: str
    not_before_ms: int | None = None
    duration_s: int | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintain(Request):
    """Platform maintenance of named VMs, update domains or hosts; of the whole scope when none is named."""

    type: EventType
    vms: tuple[str, ...] = ()
    update_domains: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    not_before_ms: int | None = None
    duration_s: int | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinWave(Request):
    """An operation asks for its event in this scope: now, with the wave's NotBefore, behind the wave's gate."""

    event_id: str
    operation: str
    wave: int
    type: EventType
    vms: tuple[str, ...]
    not_before_ms: int
    duration_s: int
    description: str
    recovery_s: int = 0
    # Where the operation saw the VMs: it is for those that are there still; None is wherever they are.
    update_domain: int | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenGate(Request):
    """Every event of the wave is released: this one may start."""

    event_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveWave(Request):
    """An operation takes its event back, whether it has come yet or not; one that has started stays.

    `keeps`: one that has come stays, started or not; only what has not come never comes.
    """

    event_id: str
    joined_by: str
    why: str
    keeps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FailHost(Request):
    """A host is gone: its VMs of this scope are rebooting now, without notice."""

    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveEvents(Request):
    """A VM of the scope, or an operator, says these events may start."""

    event_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelEvent(Request):
    event_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteEvent(Request):
    """An operator's word that the impact is over."""

    event_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick(Request):
    """Time has passed: start what is due, let the next update domain have its turn."""

    by: Actor = THE_CLOCK


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteAsked(Request):
    """VMs of the scope asked for their events at these times."""

    asked_ms: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimEffect(Request):
    """A node takes the next attempt of an effect, so that no other node carries it out."""

    event_id: str
    vm: str
    seen_attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactFinished(Request):
    event_id: str
    vm: str
    attempt: int
    evidence: str
    new_host: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactFailed(Request):
    event_id: str
    vm: str
    attempt: int
    reason: str
