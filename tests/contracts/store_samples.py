"""Scopes, events and records to store, made plainly or with every field filled."""

from notbefore.core.effects import PendingEffect, StartImpact
from notbefore.core.history import Change, Declaration, HistoryRecord
from notbefore.core.kinds import EventType, Eviction, Kind, Listening, Policy, Source, Status, VmState
from notbefore.core.model import Actor, ActorKind, Approval, Event, Gate, Outcome, Recovery, Scope, TakenRequest, Vm
from notbefore.core.operation import Left, Member, Operation, OperationStatus, ScopedVm, Stage, Waiting, Wave
from notbefore.core.rollout import DoneTarget, Hit, Limits, Over, Rollout, RolloutStatus, RolloutWave, Target
from notbefore.core.scope_settings import ScopeSettings
from notbefore.core.times import Moment, Span
from notbefore.core.windows import Window

NOON_MS = 1_474_286_400_000
OPERATOR = Actor(ActorKind.OPERATOR, "ann")
EVENT = "602D9444-D2CD-49C7-8624-8643E7171297"
OTHER_EVENT = "C7061BAC-AFDC-4513-B24B-AA5F13A16123"
OPERATION = "0b9bd4d4-79a5-4c4b-a9f4-6a5a2a1f3a01"
ROLLOUT = "7d4f6d5e-16c6-4e3f-8a50-5a7a5c9f2b02"


def event_with(status: Status | None, event_id: str = EVENT) -> Event:
    return Event(event_id, EventType.REBOOT, Source.USER, ("FrontEnd_IN_0",), NOON_MS, OPERATOR, status)


def record_of(scope: str, *events: Event, request_id: str = "a-request") -> HistoryRecord:
    """A record with one change per event, or one that concerns no event."""
    told = tuple(Change(str(event.status), "because", OPERATOR, event) for event in events)
    return HistoryRecord(scope, NOON_MS, request_id, 1, told or (Change("declared", "because", OPERATOR),))


def rich_event() -> Event:
    return Event(
        id=EVENT,
        type=EventType.REDEPLOY,
        source=Source.PLATFORM,
        vms=("FrontEnd_IN_0", "BackEnd_IN_0"),
        made_at_ms=NOON_MS,
        made_by=OPERATOR,
        status=Status.STARTED,
        update_domain=3,
        description='Host server is "undergoing" maintenance: ľščť 🛠.',
        duration_s=9,
        asked_not_before_ms=NOON_MS + 1,
        notice=Span(Moment(NOON_MS, 77, "a-boot"), NOON_MS + 900_000),
        visible_since_ms=NOON_MS + 2,
        started_at_ms=NOON_MS + 3,
        ended_at_ms=NOON_MS + 4,
        approvals=(Approval(Actor(ActorKind.VM, "FrontEnd_IN_0"), NOON_MS + 5),),
        outcomes=(Outcome("BackEnd_IN_0", NOON_MS + 6, done=True, evidence="it answers"),),
        hidden=True,
        unplanned=True,
        gate=Gate(OPERATION, 2, open=True),
        release=Approval(Actor(ActorKind.VM, "FrontEnd_IN_0"), NOON_MS + 8),
        recovery_s=45,
    )


def rich_vm() -> Vm:
    return Vm(
        name="FrontEnd_IN_0",
        update_domain=3,
        fault_domain=1,
        host="h-1",
        addresses=("10.0.0.4", "fd00::4"),
        tags={"role": "front", "Größe": "XL"},
        spot=True,
        state=VmState.DEALLOCATED,
    )


def rich_settings() -> ScopeSettings:
    return ScopeSettings(
        listening=Listening.ALWAYS,
        approval={"default": Policy.LEADER, EventType.TERMINATE: Policy.ALL},
        auto_approve=("User:Reboot",),
        notice_s={EventType.FREEZE: 1, EventType.TERMINATE: 600},
        user_events=False,
        user_operations_max=3,
        recovery_s=60,
        legacy_underscore=True,
        eviction=Eviction.DELETE,
    )


def rich_scope() -> Scope:
    impact = StartImpact(EVENT, "FrontEnd_IN_0", EventType.REDEPLOY, 9)
    return Scope(
        name="Web Straße/1",
        kind=Kind.SCALE_SET,
        settings=rich_settings(),
        vms=(rich_vm(),),
        events=(rich_event(), event_with(None, OTHER_EVENT)),
        incarnation=12,
        asked_ms={"frontend_in_0": NOON_MS},
        hit_ms={"frontend_in_0": NOON_MS + 3},
        pending=(PendingEffect(impact, NOON_MS, attempt=2, claimed_by="node-a", failures=1, retry_at_ms=NOON_MS + 7),),
        recovery=Recovery(2, Span(Moment(NOON_MS, 5, "a-boot"), NOON_MS + 60_000)),
        taken=(TakenRequest("a-request", (EVENT,)), TakenRequest("another", ())),
        removed=True,
    )


def rich_record() -> HistoryRecord:
    declaration = Declaration(Kind.SCALE_SET, rich_settings(), (rich_vm(),), removed=True)
    change = Change("redeclared", "because", OPERATOR, rich_event(), declaration, rich_vm(), OPERATION, ROLLOUT)
    return HistoryRecord("Web Straße/1", NOON_MS, "a-request", 12, (change, change))


def rich_member() -> Member:
    return Member(
        scope="Web Straße/1",
        update_domain=3,
        vms=("FrontEnd_IN_0", "BackEnd_IN_0"),
        event_id=EVENT,
        wave=2,
        host="rack-1",
        stage=Stage.OVER,
        refused=1,
        ended=Status.FAILED,
        failed_vms=("BackEnd_IN_0",),
        started_at_ms=NOON_MS + 3,
    )


def rich_operation() -> Operation:
    of = ScopedVm("Web Straße/1", "FrontEnd_IN_0")
    return Operation(
        id=OPERATION,
        type=EventType.REDEPLOY,
        made_by=OPERATOR,
        made_at_ms=NOON_MS,
        host="H-1",
        rollout=ROLLOUT,
        description='Host server is "undergoing" maintenance: ľščť 🛠.',
        duration_s=9,
        recovery_s=45,
        not_before_ms=NOON_MS + 1,
        announced_by_ms=NOON_MS + 2,
        once=True,
        status=OperationStatus.CANCELLING,
        why="cancelled by operator ann",
        cancelled_by=OPERATOR,
        waiting=(Waiting(of, "update domain 1 has its turn", 2, NOON_MS + 4_000),),
        wave=Wave(2, NOON_MS, NOON_MS + 900_000, (rich_member(),), gate_open=True),
        waves_formed=2,
        done=(rich_member(),),
        left=(Left(of, "it is not running"),),
        ended_at_ms=NOON_MS + 5,
    )


def rich_rollout() -> Rollout:
    of = ScopedVm("Web Straße/1", "FrontEnd_IN_0")
    window = Window(("Sat", "Sun"), 22 * 60, 4 * 60, "Europe/Prague")
    wave = RolloutWave(3, OPERATION, (of,), ("h-1",), NOON_MS, NOON_MS + 2)
    return Rollout(
        id=ROLLOUT,
        type=EventType.FREEZE,
        over=Over.SCOPES,
        made_by=OPERATOR,
        made_at_ms=NOON_MS,
        limits=Limits(4, 3, 2, 60, (window,), 10, 900, 7_200, 1),
        description="a host OS rollout",
        duration_s=9,
        status=RolloutStatus.HALTED,
        why="2 impacts failed, and at most 1 may",
        stopped_by=OPERATOR,
        waiting=("db", "Cache"),
        in_hand=(Target("Web Straße/1", (of,), wave, 1, 2, 3, 4, NOON_MS + 6),),
        done=(DoneTarget("old", NOON_MS, 5, 6, 7),),
        hits=(Hit(OPERATION, 2, NOON_MS + 3),),
        waves_begun=3,
        forgiven=2,
        ended_at_ms=NOON_MS + 7,
    )
