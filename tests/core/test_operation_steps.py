"""Host maintenance as an operation: its waves, its gate, its ends (SPEC §3.4; core/operation_steps.py)."""

from dataclasses import replace
from uuid import UUID

import pytest
from builders import HOUR, MINUTE, NOON, OPERATOR, approve, cancel, later, maintain, restart
from driven_fleets import DrivenFleet, scopes_of
from fleet_laws import watched
from random_fleets import hosts_in, on_random_fleets, sometimes, with_settings

from notbefore.core.errors import Invalid, LimitReached
from notbefore.core.kinds import EventType, Listening, Status, VmState
from notbefore.core.model import Vm
from notbefore.core.operation import Operation, OperationStatus, ScopedVm, Stage
from notbefore.core.operation_begin import VMS_PER_OPERATION_MAX, begun
from notbefore.core.operation_steps import (
    ASK_AGAIN_MAX_MS,
    ASK_AGAIN_MS,
    WAVE_SLACK_MS,
    Sight,
    answered,
    cancelled,
    look_again_ms,
    step,
    withdrawn,
)

ID = str(UUID(int=6))
NOTICE_MS = 15 * MINUTE * 1000


def vm(name, domain=0, host="h1", **facts):
    return Vm(name, domain, host=host, **facts)


TENANTS = {"a": [vm("a0"), vm("a1", 1), vm("a2", 0, "h2")], "b": [vm("b0", 3), vm("b1", 3)]}


def tenants(**settings_of_all):
    return scopes_of(TENANTS, **settings_of_all)


def operation(scopes, **wishes):
    return begun(Operation(ID, EventType.REBOOT, OPERATOR, NOON.wall_ms, host="h1", **wishes), scopes).operation


def first_wave(scopes, now=NOON, **wishes):
    return step(operation(scopes, **wishes), Sight(scopes, {}), now).operation


def groups(wave):
    return [(one.scope, one.update_domain, one.vms) for one in wave.members]


def stages(one):
    return {member.scope: member.stage for member in one.wave.members}


# -- Beginning


def test_it_is_over_every_running_vm_of_the_host():
    """§3.4: an operation over the scopes that have VMs on the host."""
    scopes = scopes_of(TENANTS | {"c": [vm("c0", host="H1"), vm("c1", host="")]})
    stopped = replace(scopes["b"], vms=(vm("b0", 3, state=VmState.DEALLOCATED), vm("b1", 3)))

    begun_op = operation({**scopes, "b": stopped})

    assert [(one.of.scope, one.of.vm) for one in begun_op.waiting] == [
        ("a", "a0"),
        ("a", "a1"),
        ("b", "b1"),
        ("c", "c0"),
    ]


def test_a_host_without_running_vms_is_refused():
    """There is nothing to do."""
    with pytest.raises(Invalid) as refusal:
        operation(scopes_of({"a": [vm("a0", host="h2")]}))
    assert refusal.value.facts == {"host": "h1"}


def test_an_operation_has_a_limit():
    """A limit on everything."""
    many = scopes_of({f"s{n}": [vm(f"{n}-{m}") for m in range(500)] for n in range(5)})

    with pytest.raises(LimitReached) as refusal:
        operation(many)
    assert refusal.value.facts["limit"] == VMS_PER_OPERATION_MAX


# -- Waves


def test_a_wave_holds_the_first_ready_domain_of_each_scope():
    """§3.4: each wave holds at most one UD per scope."""
    formed = first_wave(tenants())

    assert groups(formed.wave) == [("a", 0, ("a0",)), ("b", 3, ("b0", "b1"))]
    assert [one.of.vm for one in formed.waiting] == ["a1"]
    assert set(stages(formed).values()) == {Stage.ASKED}
    assert not formed.wave.gate_open


def test_a_scope_whose_first_domain_cannot_go_now_gives_another():
    """Rule 2 of operation.py: only what can be announced now joins."""
    fleet = DrivenFleet(tenants())
    fleet.take(replace(maintain(vms=("a1",)), scope="a"))

    assert groups(first_wave(fleet.scopes).wave) == [("b", 3, ("b0", "b1"))]
    away = replace(fleet.scopes["a"], events=(), vms=(vm("a0", state=VmState.DEALLOCATED), vm("a1", 1)))
    assert groups(first_wave({"a": away}).wave) == [("a", 1, ("a1",))]


def test_the_common_not_before_is_the_longest_notice_and_a_little_more():
    """Rule 3: as late as the longest notice of the wave asks for, rounded up, and the slack."""
    scopes = tenants()
    scopes["b"] = with_settings(scopes["b"], notice_s={EventType.REBOOT: 3600})

    wave = first_wave(scopes, later(0.25)).wave

    assert wave.not_before_ms == later(HOUR + 1).wall_ms + WAVE_SLACK_MS


def test_a_not_before_that_was_asked_for_is_the_first_waves_only():
    """§3.1: a longer one may be asked for; later waves come when they come."""
    asked_ms = later(5 * HOUR).wall_ms
    fleet = DrivenFleet(tenants())
    key = fleet.maintain("h1", not_before_ms=asked_ms)
    fleet.run_for(1)
    assert fleet.operations[key].wave.not_before_ms == asked_ms

    fleet.run(asked_ms + 30_000)
    assert fleet.operations[key].wave.number == 2
    assert fleet.operations[key].wave.not_before_ms == asked_ms + 30_000 + NOTICE_MS + WAVE_SLACK_MS


def test_an_asked_not_before_shorter_than_the_notice_does_not_shorten_it():
    """S2."""
    assert first_wave(tenants(), not_before_ms=later(1).wall_ms).wave.not_before_ms > later(15 * MINUTE).wall_ms


def test_events_have_ids_of_their_own_and_the_same_for_whoever_drives():
    """runtime rule: what is said twice makes one event."""
    one, other = first_wave(tenants()), first_wave(tenants())

    ids = [member.event_id for member in one.wave.members]
    assert ids == [member.event_id for member in other.wave.members]
    assert len(set(ids)) == 2
    assert one.event_id(1, "A", 0, "H1") == one.event_id(1, "a", 0, "h1") != one.event_id(2, "a", 0, "h1")


def test_the_next_wave_is_formed_when_the_former_is_over():
    """§3.4; must show: first wave's UD ends before the second's event is visible."""
    fleet = watched(DrivenFleet(tenants()))
    key = fleet.maintain("h1")
    fleet.run()

    done = fleet.operations[key]
    assert done.status is OperationStatus.COMPLETED
    assert [(one.wave, one.vms, one.ended) for one in done.done] == [
        (1, ("a0",), Status.COMPLETED),
        (1, ("b0", "b1"), Status.COMPLETED),
        (2, ("a1",), Status.COMPLETED),
    ]
    ended_ms = max(fleet.ended[one.event_id].ended_at_ms for one in done.done[:2])
    assert fleet.ended[done.done[2].event_id].visible_since_ms >= ended_ms
    whats = [change.what for _, key, change in fleet.told if key == ""]
    assert whats == ["wave announced", "wave ended"] * 2 + ["operation completed"]


# -- The gate


def announced(*more, scopes=None, **wishes):
    """The fleet just after the first wave was announced, and its operation's id."""
    fleet = watched(DrivenFleet(scopes or tenants()))
    key = fleet.maintain("h1", **wishes)
    fleet.settle()
    for request in more:
        fleet.take(request)
    fleet.settle()
    return fleet, key


def event_of(fleet, scope):
    (event,) = fleet.scopes[scope].events
    return event


def approving(fleet, scope):
    event = event_of(fleet, scope)
    return replace(approve(event, by=event.vms[0]), scope=scope)


def test_one_tenants_approval_releases_and_waits_for_the_other():
    """Must show: A approves, its event stays Scheduled; B approves; both start."""
    fleet, key = announced()
    fleet.take(approving(fleet, "a"))
    fleet.settle()
    assert stages(fleet.operations[key]) == {"a": Stage.RELEASED, "b": Stage.ANNOUNCED}
    assert event_of(fleet, "a").status is Status.SCHEDULED

    fleet.take(approving(fleet, "b"))
    fleet.settle()
    assert event_of(fleet, "a").status is event_of(fleet, "b").status is Status.STARTED
    assert "gate opened" in [change.what for _, scope, change in fleet.told if scope == ""]


def test_the_gate_stays_shut_while_one_is_asked_and_has_not_answered():
    """Rule 2."""
    fleet, key = announced()
    wave = fleet.operations[key].wave
    fleet.take(approving(fleet, "a"))
    fleet.take(approving(fleet, "b"))
    asked_again = replace(fleet.operations[key], wave=wave.with_member(replace(wave.members[1], stage=Stage.ASKED)))
    sight = fleet.sight(asked_again)
    unheard = Sight(sight.scopes, {wave.members[0].event_id: sight.events[wave.members[0].event_id]})

    assert not step(asked_again, unheard, fleet.now).operation.wave.gate_open
    assert step(asked_again, sight, fleet.now).operation.wave.gate_open


@pytest.mark.parametrize("how", ["cancelled", "started", "not listening"])
def test_one_that_is_over_or_started_keeps_nobody_waiting(how):
    """§3.4: a cancelled event leaves the wave; one that got no notice has started."""
    scopes = tenants()
    if how == "not listening":
        scopes["b"] = with_settings(scopes["b"], listening=Listening.NEVER)
    fleet, _ = announced(scopes=scopes)
    if how == "cancelled":
        fleet.take(replace(cancel(event_of(fleet, "b")), scope="b"))
    if how == "started":
        fleet.take(replace(maintain(vms=("b0",)), scope="b"))
        fleet.scopes["b"] = replace(fleet.scopes["b"], settings=replace(fleet.scopes["b"].settings))
        fleet.take(approving(fleet, "b"))
    fleet.take(approving(fleet, "a"))
    fleet.settle()

    assert event_of(fleet, "a").status is Status.STARTED


def test_no_gate_is_opened_where_nobody_waits_behind_it():
    """All started, or all over: there is nothing to open."""
    fleet, key = announced(scopes=tenants(listening=Listening.NEVER))

    assert not fleet.operations[key].wave.gate_open
    assert "gate opened" not in [change.what for _, _, change in fleet.told]


def test_silence_of_all_ends_at_the_common_not_before():
    """§3.4: due counts as released, so silence stops nothing."""
    fleet, key = announced()
    due_ms = fleet.operations[key].wave.not_before_ms
    fleet.run(due_ms - 1)
    assert fleet.starts() == []

    fleet.run(due_ms)
    assert [(at_ms, scope) for at_ms, scope, _ in fleet.starts()] == [(due_ms, "a"), (due_ms, "b")]


# -- Seeing


def test_a_stale_sight_never_moves_a_stage_backwards():
    """Rule 1: forward only, also when somebody looks at an older state."""
    fleet, key = announced()
    old = fleet.sight(fleet.operations[key])
    fleet.take(approving(fleet, "a"))
    fleet.settle()
    newer = fleet.operations[key]

    assert step(newer, old, fleet.now).operation == newer
    fleet.run(newer.wave.not_before_ms)
    started = fleet.operations[key]
    assert set(stages(started).values()) == {Stage.STARTED}
    assert step(started, old, fleet.now).operation == started


def test_seeing_the_same_twice_changes_nothing():
    """Rule 1."""
    fleet, key = announced()
    sight = fleet.sight(fleet.operations[key])
    once = step(fleet.operations[key], sight, fleet.now)

    assert step(once.operation, sight, later(1)) == replace(once, changes=())


def test_a_look_that_was_missed_is_made_up_for_by_the_next():
    """Rule 1: from asked to over in one look, with what is known of it."""
    fleet, key = announced()
    asleep = fleet.operations[key]
    fleet.run(asleep.wave.not_before_ms + 30_000)

    woken = step(asleep, fleet.sight(asleep), fleet.now).operation
    assert [(one.stage, one.ended, one.started_at_ms) for one in woken.done] == [
        (Stage.OVER, Status.COMPLETED, asleep.wave.not_before_ms)
    ] * 2


def test_failed_impacts_are_remembered_and_make_the_operation_failed():
    """§3.5."""
    fleet = watched(DrivenFleet(tenants()))
    fleet.fails = lambda name: name == "b1"
    key = fleet.maintain("h1")
    fleet.run()

    done = fleet.operations[key]
    assert done.status is OperationStatus.FAILED
    assert [one.failed_vms for one in done.done] == [(), ("b1",), ()]
    assert set(fleet.times_touched().values()) == {0, 1}


# -- Refused


def test_a_refused_member_waits_with_growing_pauses():
    """waves.py: the operation comes again in a later wave."""
    one, waits = first_wave(tenants()), []
    for refused in range(9):
        member = replace(one.wave.members[1], refused=refused)
        asked = replace(one, wave=one.wave.with_member(member))
        back = answered(asked, member.event_id, "no turn", NOON)
        assert [(w.of.vm, w.why, w.refused) for w in back.waiting[1:]] == [
            (name, "no turn", refused + 1) for name in ("b0", "b1")
        ]
        assert groups(back.wave) == [("a", 0, ("a0",))]
        waits.append(back.waiting[1].not_until_ms - NOON.wall_ms)

    assert waits == [min(ASK_AGAIN_MS * 2**n, ASK_AGAIN_MAX_MS) for n in range(9)]


def test_a_refused_vm_is_asked_for_again_when_its_pause_is_over():
    """And not before; its refusals are counted on."""
    scopes = {"b": tenants()["b"]}
    one = first_wave(scopes)
    back = answered(one, one.wave.members[0].event_id, "no turn", NOON)
    sight = Sight(scopes, {})

    waiting = step(back, sight, later(0.999)).operation
    assert waiting.wave is None
    assert look_again_ms(waiting, sight, later(0.999)) == later(1).wall_ms
    formed = step(waiting, sight, later(1)).operation
    assert (formed.wave.number, formed.wave.members[0].refused) == (2, 1)
    assert formed.wave.members[0].event_id != one.wave.members[0].event_id


def test_a_pause_that_a_clock_set_back_would_make_long_is_over():
    """times.py: short waits that are no promises."""
    scopes = {"b": tenants()["b"]}
    one = first_wave(scopes)
    back = answered(one, one.wave.members[0].event_id, "no turn", NOON)

    assert step(back, Sight(scopes, {}), later(-HOUR)).operation.wave is not None


def test_an_answer_counts_once_and_only_for_what_is_asked():
    """Answers may come twice, late, or for another wave."""
    one = first_wave(tenants())
    event_id = one.wave.members[0].event_id
    announced_one = answered(one, event_id, "", NOON)

    assert announced_one.wave.members[0].stage is Stage.ANNOUNCED
    assert answered(announced_one, event_id, "no turn", NOON) == announced_one
    assert answered(one, "a stranger", "no turn", NOON) == one
    assert answered(operation(tenants()), event_id, "", NOON) == operation(tenants())


def test_a_wave_that_everybody_refused_is_over_and_the_operation_goes_on():
    """Nothing is done, and nothing is lost."""
    scopes = {"b": tenants()["b"]}
    one = first_wave(scopes)
    one = answered(one, one.wave.members[0].event_id, "no turn", NOON)
    stepped = step(one, Sight(scopes, {}), NOON)

    assert (stepped.operation.wave, stepped.operation.done, stepped.changes) == (None, (), ())
    assert len(stepped.operation.waiting) == 2
    assert step(stepped.operation, Sight(scopes, {}), later(1)).operation.wave.number == 2


def test_vms_that_left_are_not_touched_and_named_with_the_reason():
    """They are no longer what the operation is about."""
    one = operation(tenants())
    a = replace(tenants()["a"], vms=(vm("a0", 0, "h7"), vm("a1", 1, state=VmState.DEALLOCATED)))
    stepped = step(one, Sight({"a": a}, {}), NOON).operation

    assert [(left.of.vm, left.why) for left in stepped.left] == [
        ("a0", "it is on h7 now"),
        ("a1", "it is not running"),
        ("b0", "it is not there any more"),
        ("b1", "it is not there any more"),
    ]
    assert stepped.status is OperationStatus.COMPLETED
    removed = replace(tenants()["a"], removed=True)
    assert len(step(one, Sight({"a": removed}, {}), NOON).operation.left) == 4


# -- Once


def test_a_once_operation_ends_with_what_is_left():
    """Whoever made it asks again."""
    fleet = watched(DrivenFleet(tenants()))
    key = fleet.maintain("h1", once=True)
    fleet.run()

    done = fleet.operations[key]
    assert done.status is OperationStatus.COMPLETED
    assert [left.of for left in done.left] == [ScopedVm("a", "a1")]
    assert done.waves_formed == 1


def test_a_once_operation_that_can_take_nothing_ends_at_once():
    """It does not wait for a turn."""
    fleet = DrivenFleet({"b": tenants()["b"]})
    fleet.take(replace(maintain(), scope="b"))
    key = fleet.maintain("h1", once=True)
    fleet.settle()

    assert fleet.operations[key].status is OperationStatus.COMPLETED
    assert len(fleet.operations[key].left) == 2


# -- Cancelling


def stage_of_cancelling(stage):
    fleet = watched(DrivenFleet(tenants()))
    key = fleet.maintain("h1")
    if stage == "asked":
        fleet.operations[key] = step(fleet.operations[key], fleet.sight(fleet.operations[key]), fleet.now).operation
    elif stage != "waiting":
        fleet.settle()
    if stage in ("released", "open"):
        fleet.take(approving(fleet, "a"))
        fleet.settle()
    if stage == "started":
        fleet.run_for(15 * MINUTE + 2)
    if stage == "between":
        fleet.run_for(15 * MINUTE + 31)
    return fleet, key


@pytest.mark.parametrize("stage", ["waiting", "asked", "announced", "released", "started", "between"])
def test_cancelled_in_any_stage_nothing_more_starts_and_it_ends(stage):
    """Issue: cancel as a whole. §3.5: while Queued or Scheduled, not after."""
    fleet, key = stage_of_cancelling(stage)
    before = len(fleet.starts())
    fleet.cancel(key, "host is needed")
    fleet.run()

    done = fleet.operations[key]
    assert done.status is OperationStatus.CANCELLED
    assert (done.why, done.cancelled_by, done.wave, done.waiting) == ("host is needed", OPERATOR, None, ())
    assert len(fleet.starts()) == before
    assert fleet.events() == []
    assert sum(len(one.vms) for one in done.done) + len(done.left) == 4
    assert all(left.why == "host is needed" for left in done.left)


def test_cancelling_is_said_once_and_an_ended_one_stays_as_it_is():
    """A second word changes nothing."""
    cancelling = cancelled(operation(tenants()), OPERATOR, "first")

    assert [change.what for change in cancelling.changes] == ["operation cancelling"]
    assert cancelling.changes[0].by == OPERATOR
    assert cancelled(cancelling.operation, OPERATOR, "second") == replace(cancelling, changes=())


def test_a_cancelled_operation_opens_no_gate_and_forms_no_wave():
    """What it wants is that nothing starts."""
    fleet, key = announced()
    fleet.take(approving(fleet, "a"))
    fleet.take(approving(fleet, "b"))
    one = cancelled(fleet.operations[key], OPERATOR, "stop").operation

    stepped = step(one, fleet.sight(one), fleet.now).operation
    assert set(stages(stepped).values()) == {Stage.RELEASED}
    assert not stepped.wave.gate_open


def test_what_was_withdrawn_before_it_came_is_left():
    """And what has come is not withdrawn this way."""
    one = cancelled(first_wave(tenants()), OPERATOR, "stop").operation
    event_id = one.wave.members[1].event_id
    without = withdrawn(one, event_id)

    assert [(left.of.vm, left.why) for left in without.left] == [("b0", "stop"), ("b1", "stop")]
    assert withdrawn(without, event_id) == without
    arrived = answered(one, event_id, "", NOON)
    assert withdrawn(arrived, event_id) == arrived


# -- When to look again


def test_time_alone_lets_it_go_on_after_a_rest():
    """§3.4: plus recovery_s."""
    fleet = watched(DrivenFleet(tenants(recovery_s=120)))
    key = fleet.maintain("h1")
    fleet.run_for(15 * MINUTE + 31)
    one = fleet.operations[key]

    assert one.wave is None
    assert look_again_ms(one, fleet.sight(one), fleet.now) == fleet.at_ms + 120_000
    fleet.run()
    assert fleet.operations[key].status is OperationStatus.COMPLETED


def test_while_a_wave_is_under_way_or_nothing_waits_only_others_let_it_go_on():
    """None: a change of one of its scopes wakes it."""
    scopes = tenants()
    formed = first_wave(scopes)

    assert look_again_ms(formed, Sight(scopes, {}), NOON) is None
    assert look_again_ms(replace(operation(scopes), waiting=()), Sight(scopes, {}), NOON) is None
    busy = DrivenFleet({"b": scopes["b"]})
    busy.take(replace(maintain(), scope="b"))
    held = step(operation(busy.scopes), Sight(busy.scopes, {}), NOON).operation
    assert look_again_ms(held, Sight(busy.scopes, {}), NOON) is None


# -- Any fleet, any order


@on_random_fleets(examples=60, in_proof=3000)
def test_operations_over_any_hosts_end_and_touch_every_vm_once(case):
    """Issue: no deadlock whatever the mix of UDs; S5 and the gate hold at every moment, whoever looks when."""
    scopes, dice = case
    fleet = watched(DrivenFleet(scopes, dice))
    fleet.stale = 0.3
    fleet.approved_after_ms = sometimes(dice, 1200, dice.choice([0.0, 0.5, 1.0]))
    for number, host in enumerate(hosts_in(scopes), start=1):
        fleet.maintain(host, number=number, recovery_s=dice.choice([0, 0, 45]))
    fleet.run()

    assert {one.status for one in fleet.operations.values()} == {OperationStatus.COMPLETED}
    assert set(fleet.times_touched().values()) == {1}
    assert fleet.events() == []


@on_random_fleets(examples=60, in_proof=3000)
def test_beside_maintenance_restarts_and_cancels_operations_still_end(case):
    """No VM more than once by operations, none that was cancelled (S9), and nothing waits for ever."""
    scopes, dice = case
    fleet = watched(DrivenFleet(scopes, dice))
    fleet.stale = 0.3
    fleet.approved_after_ms = sometimes(dice, 1200, 0.5)
    fleet.cancelled_after_ms = sometimes(dice, 1200, 0.2)
    for number, host in enumerate(hosts_in(scopes), start=1):
        fleet.maintain(host, number=number)
        for key, scope in scopes.items():
            if dice.random() < 0.5:
                other = maintain() if dice.random() < 0.5 else restart(dice.choice(scope.vms).name)
                fleet.take(replace(other, scope=key))
        fleet.run_for(dice.randrange(2000))
    fleet.cancel(dice.choice(sorted(fleet.operations)))
    fleet.run()

    assert all(one.is_over for one in fleet.operations.values())
    by_operation = [vm for _, key, event in fleet.starts() if event.gate for vm in event.vms]
    assert len(by_operation) == len(set(by_operation))
    begun_ids = {event.id for _, _, event in fleet.starts()}
    assert begun_ids.isdisjoint(event_id for event_id, event in fleet.ended.items() if event.status is Status.CANCELLED)
