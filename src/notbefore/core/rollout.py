"""A rollout: maintenance of many hosts or scopes, one after the other, within limits (SPEC §3.4).

Rule 1: a target (a host, or a scope) is taken in hand, and touched wave by wave; each wave is an operation of its own.
Rule 2: what is stored is the cursor: which targets wait, which are in hand and how far, which are done. When the next
wave may go follows from that and from the fleet as it is.
Not here: what follows (rollout_steps.py), which wave fits (rollout_fit.py), the plan beforehand (rollout_plan.py),
storing and driving (runtime/rollouts.py).
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from uuid import UUID, uuid5

from notbefore.core.errors import Invalid
from notbefore.core.kinds import EventType
from notbefore.core.model import Actor
from notbefore.core.operation import ScopedVm
from notbefore.core.scope_settings import RECOVERY_MAX_S
from notbefore.core.windows import WINDOWS_MAX, Window, check_window

TARGETS_MAX = 2000
VM_REST_MAX_S = 90 * 24 * 3600
RATE_MAX_S = 7 * 24 * 3600
WAVES_KNOWN_MAX = 10_000


class Over(StrEnum):
    HOSTS = "hosts"
    SCOPES = "scopes"


class Order(StrEnum):
    """Which target comes first."""

    NAME = "name"
    SMALLEST = "smallest"
    LARGEST = "largest"


class RolloutStatus(StrEnum):
    RUNNING = "Running"
    PAUSED = "Paused"
    HALTED = "Halted"
    CANCELLING = "Cancelling"
    COMPLETED = "Completed"
    CANCELLED = "Cancelled"


ENDED_ROLLOUT = (RolloutStatus.COMPLETED, RolloutStatus.CANCELLED)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a rollout keeps to; None is no limit. `impacts_max` is counted over any `impacts_per_s`."""

    max_hosts: int | None = None
    max_scopes: int | None = None
    max_vms: int | None = None
    recovery_s: int = 0
    windows: tuple[Window, ...] = ()
    impacts_max: int | None = None
    impacts_per_s: int = 3600
    vm_rest_s: int = 0
    failed_max: int = 0


@dataclass(frozen=True, slots=True)
class RolloutWave:
    """The wave a target is in: its operation, and the VMs that were given to it.

    `announced_by_ms`: announced later than that, it would not be over before its window closes.
    """

    number: int
    operation: str
    vms: tuple[ScopedVm, ...]
    hosts: tuple[str, ...]
    begun_at_ms: int
    announced_by_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A host or scope in hand."""

    name: str
    waiting: tuple[ScopedVm, ...]
    wave: RolloutWave | None = None
    touched: int = 0
    failed: int = 0
    skipped: int = 0
    refused: int = 0
    not_until_ms: int = 0


@dataclass(frozen=True, slots=True)
class DoneTarget:
    name: str
    at_ms: int
    touched: int
    failed: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Hit:
    """Impacts that count against the rate: from their announcement until so long after they began."""

    operation: str
    vms: int
    started_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Rollout:
    id: str
    type: EventType
    over: Over
    made_by: Actor
    made_at_ms: int
    limits: Limits = Limits()
    description: str = ""
    duration_s: int = -1
    status: RolloutStatus = RolloutStatus.RUNNING
    why: str = ""
    stopped_by: Actor | None = None
    waiting: tuple[str, ...] = ()
    in_hand: tuple[Target, ...] = ()
    done: tuple[DoneTarget, ...] = ()
    hits: tuple[Hit, ...] = ()
    waves_begun: int = 0
    # Failures up to here were known when somebody said to go on.
    forgiven: int = 0
    ended_at_ms: int | None = None

    @property
    def is_over(self) -> bool:
        return self.status in ENDED_ROLLOUT

    @property
    def targets(self) -> int:
        return len(self.waiting) + len(self.in_hand) + len(self.done)

    @property
    def results(self) -> tuple[Target | DoneTarget, ...]:
        return (*self.in_hand, *self.done)

    @property
    def touched(self) -> int:
        return sum(one.touched for one in self.results)

    @property
    def failed(self) -> int:
        return sum(one.failed for one in self.results)

    @property
    def skipped(self) -> int:
        return sum(one.skipped for one in self.results)

    def operation_id(self, wave: int) -> str:
        """The same for whoever drives the rollout: a wave that is begun twice is one operation."""
        return str(uuid5(UUID(self.id), f"wave {wave}"))


@lru_cache(maxsize=8)
def waves_of(rollout_id: str) -> frozenset[str]:
    """The ids of its operations, of those that are long forgotten too: history tells of them all."""
    try:
        namespace = UUID(rollout_id)
    except ValueError:
        return frozenset()
    return frozenset(str(uuid5(namespace, f"wave {number}")) for number in range(1, WAVES_KNOWN_MAX + 1))


def check_limits(limits: Limits) -> None:
    for name in ("max_hosts", "max_scopes", "max_vms", "impacts_max"):
        number = getattr(limits, name)
        if number is not None and number < 1:
            raise Invalid(f"{name} is at least 1, not {number}.", "Leave it out for no limit.", {"field": name})
    for name, least, most in (
        ("recovery_s", 0, RECOVERY_MAX_S),
        ("impacts_per_s", 1, RATE_MAX_S),
        ("vm_rest_s", 0, VM_REST_MAX_S),
        ("failed_max", 0, 1_000_000),
    ):
        number = getattr(limits, name)
        if not least <= number <= most:
            raise Invalid(f"{name} is {least} to {most}, not {number}.", facts={"field": name})
    if len(limits.windows) > WINDOWS_MAX:
        raise Invalid(f"A rollout has at most {WINDOWS_MAX} windows.", facts={"field": "windows"})
    for window in limits.windows:
        check_window(window)
