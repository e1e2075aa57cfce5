"""What operations and rollouts wait for, in one sentence for operators of the fleet (issue: explain what waits)."""

from dataclasses import replace

import pytest

from notbefore.core.expected import Expected
from notbefore.core.explain.operation import operation_waits_for
from notbefore.core.explain.rollout import rollout_waits_for, target_waits_for
from notbefore.core.fleet_seen import Fleet
from notbefore.core.kinds import EventType, Listening, Policy, Source, Status, VmState
from notbefore.core.model import Actor, ActorKind, Approval, Event, Recovery, Scope, Vm
from notbefore.core.operation import Member, Operation, OperationStatus, ScopedVm, Stage, Waiting, Wave
from notbefore.core.rollout import Limits, Over, Rollout, RolloutStatus, RolloutWave, Target
from notbefore.core.scope_settings import ScopeSettings
from notbefore.core.times import Moment, iso
from notbefore.core.windows import Window

NOON_MS = 1_772_452_800_000  # a Monday
NOW = Moment(NOON_MS, 0, "boot")
DUE_MS = NOON_MS + 901_000
OPERATOR = Actor(ActorKind.OPERATOR, "ann")
EVENT = "11111111-2222-5333-8444-555555555555"
OTHER = "22222222-2222-5333-8444-555555555555"
ID = "33333333-2222-5333-8444-555555555555"


def scope(name="a", *vms, policy=Policy.ANY, **more):
    settings = ScopeSettings(listening=Listening.ALWAYS, approval={"default": policy})
    return Scope(name, settings=settings, vms=vms or (Vm(f"{name}1", host="h1"), Vm(f"{name}2", host="h1")), **more)


def announced(*vms, approvals=()):
    return Event(
        EVENT, EventType.REBOOT, Source.PLATFORM, vms, NOON_MS, OPERATOR, Status.SCHEDULED, approvals=approvals
    )


def operation(*members, waiting=(), **more):
    wave = Wave(1, NOON_MS, DUE_MS, members) if members else None
    return Operation(ID, EventType.REBOOT, OPERATOR, NOON_MS, "h1", wave=wave, waiting=waiting, **more)


def member(stage, name="a", vms=("a1", "a2"), event=EVENT):
    return Member(name, 0, vms, event, stage=stage)


def waits(asked, *scopes):
    return operation_waits_for(asked, {one.key: one for one in scopes}, NOW)


@pytest.mark.parametrize(
    ("policy", "whom"),
    [(Policy.ANY, "any VM"), (Policy.ALL, "a2"), (Policy.LEADER, "a1")],
)
def test_an_announced_wave_waits_for_those_whose_word_counts_or_its_time(policy, whom):
    """By the scope's own policy; who has spoken is left out."""
    spoken = () if policy is not Policy.ALL else (Approval(Actor(ActorKind.VM, "a1"), NOON_MS),)
    there = scope(policy=policy, events=(announced("a1", "a2", approvals=spoken),))

    sentence = waits(operation(member(Stage.ANNOUNCED)), there)

    assert sentence == f"the approval of {whom} in scope a, or {iso(DUE_MS)}, its common NotBefore"


def test_where_nobody_can_speak_only_the_time_is_waited_for():
    """The deadline always wins."""
    gone = Vm("a1", state=VmState.DEALLOCATED)
    there = scope("a", gone, events=(announced("a1"),))

    assert waits(operation(member(Stage.ANNOUNCED)), there) == f"{iso(DUE_MS)}, its common NotBefore"


@pytest.mark.parametrize(
    ("stages", "sentence"),
    [
        ((Stage.ASKED, Stage.RELEASED), "the word of a that its events are announced"),
        ((Stage.RELEASED, Stage.STARTED), "its gate, which opens now"),
        ((Stage.STARTED, Stage.OVER), "the impact on a1 in scope a and a2 in scope a to be over"),
        ((Stage.OVER, Stage.OVER), "its next step, which is due now"),
    ],
)
def test_each_stage_of_a_wave_has_its_sentence(stages, sentence):
    """What is furthest behind is what is waited for."""
    first, second = member(stages[0]), member(stages[1], "b", ("b1",), OTHER)

    assert waits(operation(first, second), scope()) == sentence


def test_between_waves_it_waits_for_what_hinders_each_scope():
    """From the function that decides; with the time, where time ends it."""
    rest = Recovery(1, NOW.promise(NOON_MS + 60_000))
    asked = operation(
        waiting=(
            Waiting(ScopedVm("a", "a1")),
            Waiting(ScopedVm("b", "b1"), "Scope 'b' cannot take part.", 1, NOON_MS + 1000),
            Waiting(ScopedVm("c", "c1")),
        )
    )

    assert waits(asked, scope(recovery=rest), scope("b")) == (
        f"scope a: update domain 1 rests until {iso(NOON_MS + 60_000)}; "
        f"scope b, which is asked again at {iso(NOON_MS + 1000)}: Scope 'b' cannot take part; "
        "c1 in scope c, which is not there any more"
    )


def test_a_cancelled_operation_waits_for_what_has_started():
    """And for its events to be gone before that."""
    cancelling = {"status": OperationStatus.CANCELLING}

    assert waits(operation(member(Stage.ANNOUNCED), **cancelling)) == "its events to be withdrawn"
    assert (
        waits(operation(member(Stage.STARTED, vms=("a1",)), **cancelling)) == "the impact on a1 in scope a to be over"
    )
    assert waits(operation(status=OperationStatus.CANCELLED)) == "nothing: it is over"


# -- rollouts


def rollout(*in_hand, waiting=(), limits=None, **more):
    limits = limits or Limits(max_hosts=1)
    return Rollout(
        ID, EventType.REBOOT, Over.HOSTS, OPERATOR, NOON_MS, limits, waiting=waiting, in_hand=in_hand, **more
    )


def fleet(*scopes, operations=()):
    return Fleet(
        {one.key: one for one in scopes}, {one.id: one for one in operations}, Expected({EventType.REBOOT: 30})
    )


def in_wave(name, wave_operation):
    vms = (ScopedVm("a", "a1"),)
    return Target(name, (), RolloutWave(1, wave_operation.id, vms, (name,), NOON_MS))


def test_the_wave_under_way_and_what_keeps_the_next_stand_in_one_sentence():
    """Lanes, and the budget."""
    under_way = operation(member(Stage.STARTED, vms=("a1",)))
    asked = rollout(in_wave("h1", under_way), waiting=("h2",))

    assert rollout_waits_for(asked, fleet(scope(), operations=[under_way]), NOW) == (
        "h1: the impact on a1 in scope a to be over; h2: the budget: max_hosts 1"
    )


@pytest.mark.parametrize(
    ("limits", "more", "sentence"),
    [
        (Limits(windows=(Window(("Tue",), 60, 120),)), {}, "its window, which opens at 2026-03-03T01:00:00Z"),
        (Limits(windows=(Window(("Mon",), 720, 725),)), {}, "no window is open for the 931 s that a wave needs"),
        (Limits(vm_rest_s=60), {"hit_ms": {"a1": NOON_MS, "a2": NOON_MS}}, "a VM was hit too short a time ago"),
        (Limits(), {"recovery": Recovery(1, NOW.promise(NOON_MS + 9000))}, "scope a: update domain 1 rests"),
        (Limits(), {}, "its next wave, which is due now"),
    ],
)
def test_what_keeps_a_target_is_said_by_what_decides(limits, more, sentence):
    """Windows, rests, other domains; or nothing does."""
    asked = rollout(waiting=("h1",), limits=limits)

    said = rollout_waits_for(asked, fleet(scope(**more)), NOW)

    assert said.removeprefix("h1: ") == sentence
    target = Target("h1", (ScopedVm("a", "a1"), ScopedVm("a", "a2")))
    assert (
        target_waits_for(replace(asked, waiting=(), in_hand=(target,)), target, fleet(scope(**more)), NOW) == sentence
    )


def test_a_rollout_that_stands_still_waits_for_an_operators_word():
    """Paused and halted ones say why, and which commands there are."""
    target = Target("h1", (ScopedVm("a", "a1"),))
    halted = rollout(target, status=RolloutStatus.HALTED, why="2 impacts failed")

    assert rollout_waits_for(halted, fleet(scope()), NOW) == (
        f"`notbefore rollouts resume {ID}` or `notbefore rollouts cancel {ID}`: 2 impacts failed"
    )
    assert target_waits_for(halted, target, fleet(scope()), NOW) == "the rollout, which is Halted"
    assert rollout_waits_for(replace(halted, status=RolloutStatus.COMPLETED), fleet(), NOW) == "nothing: it is over"


def test_a_target_whose_wave_is_over_waits_for_the_next_full_second():
    """Up to then the wave counts, so that nothing depends on what else happens at that moment."""
    over = replace(operation(), status=OperationStatus.COMPLETED, ended_at_ms=NOON_MS)
    target = Target("h1", (ScopedVm("a", "a2"),), RolloutWave(1, ID, (ScopedVm("a", "a1"),), ("h1",), NOON_MS))
    asked = Rollout(OTHER, EventType.REBOOT, Over.HOSTS, OPERATOR, NOON_MS, in_hand=(target,))

    assert target_waits_for(asked, target, fleet(scope(), operations=[over]), NOW) == (
        "the next full second, from which on its wave no longer counts"
    )
