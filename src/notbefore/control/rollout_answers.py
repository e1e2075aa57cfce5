"""What the control API answers of operations, rollouts and plans (rules: answers.py)."""

from typing import Any

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from notbefore.control.answers import Time, said, unless_absent
from notbefore.core.kinds import EventType, Status
from notbefore.core.operation import OperationStatus, Stage
from notbefore.core.rollout import Over, RolloutStatus

GATE: dict[str, Any] = {"enum": ["shut", "open", None]}


class WaveEvent(BaseModel):
    """One scope's event in a wave."""

    event: str
    scope: str
    update_domain: int
    vms: list[str]
    stage: Stage = said("How far it is, as the operation has seen it.")
    ended: Status | None = said("How it ended, where it has.")


class OperationWave(BaseModel):
    number: int
    not_before: Time | None = said("Common to its events; null of a wave that is over.")
    gate: str | None = said("Open when all may start; null of a wave that is over.", json_schema_extra=GATE)
    events: list[WaveEvent]


class ScopedVm(BaseModel):
    scope: str
    vm: str
    why: str


class Operation(BaseModel):
    """Maintenance of one host, or one wave of a rollout, over the scopes that have VMs there."""

    id: str
    host: str = said("Empty of a rollout over scopes.")
    rollout: str = said("The rollout that it is a wave of; empty when it is of none.")
    type: EventType
    status: OperationStatus
    why: str = said("Why it was cancelled.")
    made_at: Time
    made_by: str
    ended_at: Time | None
    duration_s: int
    description: str
    waves: list[OperationWave]
    waiting: list[ScopedVm] = said("VMs whose wave is still to come, and what they wait for.")
    left: list[ScopedVm] = said("VMs that it does not touch, and why.")
    waits_for: str = said("One sentence: what has to happen next.")


class Operations(BaseModel):
    operations: list[Operation] = said("In the order in which they were made.")


class PlannedEvent(BaseModel):
    event: str
    scope: str
    update_domain: int
    vms: list[str]


class PlannedWave(BaseModel):
    number: int
    target: str = said("The host or scope.")
    visible: Time
    not_before: Time = said("When it starts; where a scope gets no notice, at once.")
    ends: Time
    vms: int
    events: list[PlannedEvent]


class Plan(BaseModel):
    """What will happen when nobody approves, nothing fails, and nobody does anything else."""

    waves: list[PlannedWave]
    ends: Time | None = said("Null when it does not come to its end.")
    stuck: str = said("What keeps it from its end; empty when nothing does.")


class Planned(BaseModel):
    plan: Plan


class HostMaintenance(BaseModel):
    """One of the two."""

    operation: Operation | SkipJsonSchema[None] = unless_absent("What was made.")
    plan: Plan | SkipJsonSchema[None] = unless_absent("What would happen, where a plan was asked for.")


class Window(BaseModel):
    days: list[str]
    from_: str = Field(alias="from")
    to: str
    time_zone: str


class Limits(BaseModel):
    max_hosts: int | None
    max_scopes: int | None
    max_vms: int | None
    recovery_s: int
    windows: list[Window]
    impacts_max: int | None
    impacts_per_s: int
    vm_rest_s: int
    failed_max: int


class TargetInHand(BaseModel):
    name: str
    wave: int | None = said("Which wave it is in; null between two.")
    operation: str | None
    vms: int = said("In that wave.")
    waiting: int = said("VMs whose wave is still to come.")
    touched: int
    failed: int
    skipped: int
    waits_for: str


class TargetDone(BaseModel):
    name: str
    at: Time
    touched: int
    failed: int
    skipped: int


class Used(BaseModel):
    used: int
    max: int | None = said("Null is no limit.")


class Budget(BaseModel):
    hosts: Used
    scopes: Used
    vms: Used
    impacts: Used


class Rollout(BaseModel):
    """Maintenance of many hosts or scopes, within limits."""

    id: str
    type: EventType
    over: Over
    status: RolloutStatus
    why: str = said("Who paused, resumed or cancelled it, or why it halted.")
    made_at: Time
    made_by: str
    ended_at: Time | None
    duration_s: int
    description: str
    limits: Limits
    targets: int
    waiting: list[str] = said("Targets that nothing was done to yet, in their order.")
    in_hand: list[TargetInHand]
    done: list[TargetDone]
    touched: int = said("VMs on which an impact began.")
    failed: int
    skipped: int = said("VMs that were left out: gone, or their event was cancelled.")
    budget: Budget
    waits_for: str = said("One sentence: what has to happen next.")


class Rollouts(BaseModel):
    rollouts: list[Rollout] = said("In the order in which they were made.")


class BegunRollout(BaseModel):
    """The rollout with its plan; of a plan, the plan alone."""

    rollout: Rollout | SkipJsonSchema[None] = unless_absent("What was begun; not where a plan was asked for.")
    plan: Plan
