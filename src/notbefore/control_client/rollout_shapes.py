"""Operations, rollouts and plans, typed (rules: shapes.py)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from notbefore.control_client.control_api import Json
from notbefore.control_client.shapes import READ_AS, TEXTS, TIME, Reading, many, perhaps, read_each


@dataclass(frozen=True, slots=True)
class WaveEvent:
    """One scope's event in a wave of an operation."""

    event: str
    scope: str
    update_domain: int = 0
    vms: tuple[str, ...] = field(default=(), metadata=TEXTS)
    stage: str = ""
    ended: str | None = None


@dataclass(frozen=True, slots=True)
class Wave:
    """`not_before` and `gate` are those of the wave that is under way."""

    number: int
    not_before: datetime | None = field(default=None, metadata=TIME)
    gate: str | None = None
    events: tuple[WaveEvent, ...] = field(default=(), metadata=many(WaveEvent))


@dataclass(frozen=True, slots=True)
class ScopedVm:
    """A VM that waits for its wave, or was left out, and why."""

    scope: str
    vm: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """Maintenance of one host, or one wave of a rollout."""

    id: str
    type: str
    status: str
    host: str = ""
    rollout: str = ""
    why: str = ""
    made_at: datetime | None = field(default=None, metadata=TIME)
    made_by: str = ""
    ended_at: datetime | None = field(default=None, metadata=TIME)
    duration_s: int = -1
    description: str = ""
    waves: tuple[Wave, ...] = field(default=(), metadata=many(Wave))
    waiting: tuple[ScopedVm, ...] = field(default=(), metadata=many(ScopedVm))
    left: tuple[ScopedVm, ...] = field(default=(), metadata=many(ScopedVm))
    waits_for: str = ""
    raw: Json = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PlannedWave:
    number: int
    target: str = ""
    visible: datetime | None = field(default=None, metadata=TIME)
    not_before: datetime | None = field(default=None, metadata=TIME)
    ends: datetime | None = field(default=None, metadata=TIME)
    vms: int = 0
    events: tuple[WaveEvent, ...] = field(default=(), metadata=many(WaveEvent))


@dataclass(frozen=True, slots=True)
class Plan:
    """What will happen when nobody approves; `stuck` says what keeps it from its end, if anything."""

    waves: tuple[PlannedWave, ...] = field(default=(), metadata=many(PlannedWave))
    ends: datetime | None = field(default=None, metadata=TIME)
    stuck: str = ""
    raw: Json = field(default_factory=dict, compare=False, repr=False)


WINDOW: Reading = {READ_AS: lambda values: tuple(dict(value) for value in values)}


@dataclass(frozen=True, slots=True)
class Limits:
    """None is no limit. A window is `{"days", "from", "to", "time_zone"}`."""

    max_hosts: int | None = None
    max_scopes: int | None = None
    max_vms: int | None = None
    recovery_s: int = 0
    windows: tuple[Json, ...] = field(default=(), metadata=WINDOW)
    impacts_max: int | None = None
    impacts_per_s: int = 3600
    vm_rest_s: int = 0
    failed_max: int = 0


@dataclass(frozen=True, slots=True)
class TargetInHand:
    """A host or scope that the rollout has begun with; `wave` is None between two."""

    name: str
    wave: int | None = None
    operation: str | None = None
    vms: int = 0
    waiting: int = 0
    touched: int = 0
    failed: int = 0
    skipped: int = 0
    waits_for: str = ""


@dataclass(frozen=True, slots=True)
class TargetDone:
    name: str
    at: datetime | None = field(default=None, metadata=TIME)
    touched: int = 0
    failed: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Used:
    used: int = 0
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Rollout:
    id: str
    type: str
    status: str
    over: str = "hosts"
    why: str = ""
    made_at: datetime | None = field(default=None, metadata=TIME)
    made_by: str = ""
    ended_at: datetime | None = field(default=None, metadata=TIME)
    duration_s: int = -1
    description: str = ""
    limits: Limits = field(default_factory=Limits, metadata=perhaps(Limits))
    targets: int = 0
    waiting: tuple[str, ...] = field(default=(), metadata=TEXTS)
    in_hand: tuple[TargetInHand, ...] = field(default=(), metadata=many(TargetInHand))
    done: tuple[TargetDone, ...] = field(default=(), metadata=many(TargetDone))
    touched: int = 0
    failed: int = 0
    skipped: int = 0
    budget: Mapping[str, Used] = field(default_factory=dict, metadata=read_each(Used))
    waits_for: str = ""
    raw: Json = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BegunRollout:
    """A rollout that was begun, with the plan it was begun with."""

    rollout: Rollout = field(metadata=perhaps(Rollout))
    plan: Plan = field(metadata=perhaps(Plan))
    raw: Json = field(default_factory=dict, compare=False, repr=False)
