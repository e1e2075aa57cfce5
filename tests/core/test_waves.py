"""A scope's part in host maintenance (SPEC §3.4): the operation's event, its gate, and its leaving."""

from dataclasses import replace

import pytest
from builders import (
    EVENT,
    HOUR,
    MINUTE,
    NOON,
    OPERATION,
    OPERATOR,
    OTHER_EVENT,
    SHOP,
    after,
    approve,
    cancel,
    carried_out,
    declare,
    host_failed,
    join,
    later,
    leave,
    made,
    maintain,
    only_event,
    open_gate,
    rebooted,
    refused,
    remove,
    restart,
    scope_of,
    spot,
    stepped,
    terminate,
    tick,
)

from notbefore.core.decide import decide
from notbefore.core.draft import REQUESTS_REMEMBERED
from notbefore.core.effects import StartImpact
from notbefore.core.errors import Hindered, TooEarly, UnknownScope
from notbefore.core.kinds import EventType, Listening, Policy, Source, Status, VmState
from notbefore.core.model import ActorKind, Gate, Vm
from notbefore.core.settle import next_due_ms
from notbefore.core.waves import hindrance_to

DUE = later(15 * MINUTE + 1)


def two_domains(**settings):
    """vm-a and vm-b in update domain 0, vm-c in 1; all on one host."""
    return scope_of(Vm("vm-a", 0, host="h1"), Vm("vm-b", 0, host="h1"), Vm("vm-c", 1, host="h1"), **settings)


def joined(*vms, scope=None, **facts):
    """The scope with the operation's event in it."""
    return after(scope or two_domains(), join(*(vms or ("vm-a", "vm-b")), **facts))


def told(decision):
    return [change.what for change in decision.record.changes] if decision.record else []


# -- Joining


def test_an_operations_event_is_scheduled_at_once_with_the_waves_not_before():
    """§3.4: each wave holds at most one UD per scope, with one common NotBefore."""
    decision = decide(two_domains(), join("vm-a", "vm-b", duration_s=9, description="Host OS", recovery_s=5), NOON)
    event = made(decision)

    assert (event.id, event.status, event.vms) == (EVENT, Status.SCHEDULED, ("vm-a", "vm-b"))
    assert (event.type, event.source, event.update_domain) == (EventType.REBOOT, Source.PLATFORM, 0)
    assert event.not_before_ms == DUE.wall_ms
    assert event.visible_since_ms == NOON.wall_ms
    assert event.gate == Gate(OPERATION, 1)
    assert (event.duration_s, event.description, event.recovery_s, event.made_by) == (9, "Host OS", 5, OPERATOR)
    assert told(decision) == ["scheduled"]
    assert "wave 1" in decision.record.changes[0].why


def test_names_in_any_letter_case_are_the_scopes_own():
    """§1: compared case-insensitively, emitted as declared."""
    assert only_event(joined("VM-A", "Vm-B")).vms == ("vm-a", "vm-b")


def test_an_event_that_was_asked_for_twice_is_one():
    """Rule 3: each message may come twice, under its own request id or another's."""
    scope = joined()

    again = decide(scope, join("vm-a", "vm-b"), later(1))
    assert (again.scope, again.answer.again, again.answer.event_ids) == (scope, True, (EVENT,))

    otherwise = decide(scope, join("vm-a", "vm-b", request_id="another"), later(1))
    assert (otherwise.answer.event_ids, otherwise.effects, otherwise.record) == ((EVENT,), (), None)
    assert otherwise.scope.events == scope.events


def test_an_event_that_ended_does_not_come_a_second_time():
    """S4: ids are never reused; a message that comes late once more finds its request taken."""
    scope = after(joined(), cancel(EVENT))

    assert decide(scope, join("vm-a", "vm-b"), NOON).scope.events == ()


def test_a_message_that_was_too_long_on_its_way_makes_nothing():
    """Rule 2: the event has the wave's NotBefore or there is none; S2."""
    last, too_late = later(1), later(1.001)

    assert only_event(after(two_domains(), join("vm-a"), now=last)).not_before_ms == DUE.wall_ms
    refusal = refused(TooEarly, two_domains(), join("vm-a"), too_late)
    assert refusal.facts["asked"] == "2026-03-02T12:15:01Z"


def test_a_later_not_before_is_taken_as_asked():
    """The longest notice of the wave decides, whatever the scope's own is."""
    asked_ms = later(3 * HOUR).wall_ms

    assert only_event(joined(not_before_ms=asked_ms)).not_before_ms == asked_ms


def test_a_longer_notice_of_the_scope_refuses_the_wave():
    """S2: changed since the wave was formed, the scope's own notice still holds."""
    refused(TooEarly, two_domains(notice_s={EventType.REBOOT: HOUR}), join("vm-a"))


# -- Refusing


def hindered(scope, *vms, now=NOON):
    refusal = refused(Hindered, scope, join(*(vms or ("vm-c",)), not_before_ms=later(10 * HOUR).wall_ms), now)
    assert refusal.facts == {"scope": SHOP, "operation": OPERATION}
    assert refusal.hint
    return refusal.message


def test_another_domains_turn_refuses_the_wave():
    """S5; rule 1: a scope may always refuse, and the operation comes again."""
    assert "update domain 0 has its turn" in hindered(after(two_domains(), maintain(update_domains=(0,))))


def test_a_queue_is_not_overtaken():
    """§3.4: who queues is not overtaken, not even by a domain whose turn it is."""
    scope = after(two_domains(), maintain(vms=("vm-a",)), maintain(vms=("vm-c",)))

    assert "another update domain is queued before it" in hindered(scope, "vm-b")


def test_a_domain_that_rests_refuses_the_next():
    """§3.4: the next UD's event becomes visible only when the former has ended, plus recovery_s."""
    scope = after(two_domains(recovery_s=60), maintain(vms=("vm-a",)))
    event = only_event(scope)
    scope = carried_out(after(scope, approve(event)), event)

    assert "update domain 0 rests" in hindered(scope)
    assert hindrance_to(scope, [scope.vm("vm-c")], EventType.REBOOT, later(10)).until_ms == later(60).wall_ms
    assert "update domain 0 rests" in hindered(scope, now=stepped(60))
    assert only_event(after(scope, join("vm-b"))).vms == ("vm-b",)
    assert decide(scope, join("vm-c", not_before_ms=later(HOUR).wall_ms), later(60)).answer.event_ids


def test_a_vm_that_is_not_running_refuses_the_wave():
    """There is nothing left to act on."""
    scope = scope_of(spot("vm-a"), Vm("vm-b"))
    evicted = replace(scope, vms=(replace(scope.vm("vm-a"), state=VmState.DEALLOCATED), scope.vm("vm-b")))

    assert "not all of the VMs are running" in hindered(evicted, "vm-a", "vm-b")


@pytest.mark.parametrize("moved", [Vm("vm-b", 0, host="h2"), Vm("vm-b", 1, host="h1")])
def test_a_vm_that_moved_refuses_the_wave(moved):
    """[seed]: one event holds VMs of one update domain and host."""
    scope = scope_of(Vm("vm-a", 0, host="h1"), moved)

    assert "no longer of one update domain and host" in hindered(scope, "vm-a", "vm-b")


@pytest.mark.parametrize("asked", [{"host": "h2"}, {"update_domain": 1}])
def test_vms_that_all_moved_refuse_the_wave_of_where_they_were(asked):
    """Maintenance of a host touches what is on it, also when all of an event's VMs have left together."""
    scope = scope_of(Vm("vm-a", 0, host="H1"))

    assert "where they were" in refused(Hindered, scope, join("vm-a", **asked), NOON).message
    assert decide(scope, join("vm-a", host="h1", update_domain=0), NOON).scope.events


def test_a_vm_that_is_gone_refuses_the_wave():
    """The operation asked for what it saw a moment ago."""
    assert "not all of the VMs are where they were" in hindered(two_domains(), "vm-a", "vm-z")


@pytest.mark.parametrize("also", [(), ("vm-a",)])
def test_another_planned_event_on_the_vm_refuses_the_wave(also):
    """A VM is not announced twice for maintenance, whether its event queues, waits or is under way."""
    scope = after(two_domains(), maintain(vms=("vm-b",)))
    event = only_event(scope)

    assert f"event {event.id} is still to come or under way" in hindered(scope, *also, "vm-b")
    assert f"event {event.id} is still to come or under way" in hindered(after(scope, approve(event)), *also, "vm-b")
    queued = after(two_domains(), maintain(vms=("vm-c",)), maintain(vms=("vm-b",)))
    assert "is still to come or under way" in hindered(queued, *also, "vm-b")


@pytest.mark.parametrize("other", [restart("vm-a"), terminate("vm-a"), host_failed("h1")])
def test_events_that_are_no_planned_maintenance_hinder_nobody(other):
    """S5 stands aside of Preempt, Terminate, host failures and what users ask for."""
    assert decide(after(two_domains(), other), join("vm-a"), NOON).answer.event_ids == (EVENT,)


def test_a_scope_that_is_gone_is_unknown():
    """A removed scope has no part in anything."""
    refused(UnknownScope, after(two_domains(), remove()), join("vm-a"))
    refused(UnknownScope, after(two_domains(), remove()), leave())


# -- Released, and the gate


def test_an_approved_event_is_released_and_stays_scheduled():
    """§3.4: an event that is approved or due is *released* and stays Scheduled."""
    decision = decide(joined(), approve(EVENT, by="vm-b"), later(5))
    event = only_event(decision.scope)

    assert event.status is Status.SCHEDULED
    assert (event.release.by.name, event.release.at_ms) == ("vm-b", later(5).wall_ms)
    assert decision.effects == ()
    assert told(decision)[-2:] == ["approved", "released"]
    assert "waits for the rest of its wave" in decision.record.changes[-1].why


def test_an_operators_approval_also_only_releases():
    """§3.2: an operator's approval releases under any policy; and released is not started."""
    event = only_event(after(joined(scope=two_domains(approval={"default": Policy.ALL})), approve(EVENT)))

    assert event.status is Status.SCHEDULED
    assert event.release.by == OPERATOR


def test_the_policy_decides_whose_word_releases():
    """§3.2 holds for an operation's event as for any other."""
    scope = after(joined(scope=two_domains(approval={"default": Policy.ALL})), approve(EVENT, by="vm-a"))
    assert only_event(scope).release is None

    assert only_event(after(scope, approve(EVENT, by="vm-b"))).release.by.name == "vm-b"


def test_a_released_event_starts_when_the_gate_opens():
    """§3.4: when all of the wave are released the operation opens the gate and each scope starts its own."""
    decision = decide(after(joined(), approve(EVENT, by="vm-a")), open_gate(), later(9))

    assert told(decision) == ["gate opened", "started: approved"]
    assert decision.record.changes[-1].by.name == "vm-a"
    assert only_event(decision.scope).started_at_ms == later(9).wall_ms
    assert decision.effects == tuple(StartImpact(EVENT, vm, EventType.REBOOT, -1) for vm in ("vm-a", "vm-b"))


def test_an_open_gate_lets_a_later_approval_start_at_once():
    """Messages may come in any order."""
    scope = after(joined(), open_gate())
    assert only_event(scope).status is Status.SCHEDULED

    decision = decide(scope, approve(EVENT, by="vm-a"), later(3))
    assert told(decision)[-2:] == ["approved", "started: approved"]


def test_an_open_gate_alone_starts_nothing():
    """S1: no impact before NotBefore unless approved."""
    decision = decide(joined(), open_gate(), NOON)

    assert told(decision) == ["gate opened"]
    assert decision.effects == ()


def test_due_it_starts_though_the_gate_is_shut_and_nobody_approved():
    """§3.4: due counts as released, so silence stops nothing; L1, L2."""
    scope = joined()
    assert next_due_ms(scope, NOON) == DUE.wall_ms
    assert decide(scope, tick(), later(15 * MINUTE + 0.999)).scope == scope

    assert told(decide(scope, tick(), DUE)) == ["started: notice ended"]


def test_due_it_starts_though_it_was_released_behind_a_shut_gate():
    """§3.2: the deadline always wins."""
    decision = decide(after(joined(), approve(EVENT, by="vm-a")), tick(), DUE)

    assert told(decision) == ["started: notice ended"]
    assert only_event(decision.scope).status is Status.STARTED


def test_the_notice_has_to_pass_on_both_clocks_also_behind_a_gate():
    """§4: a wall clock stepped forward shortens no promise."""
    scope = joined()

    assert decide(scope, tick(), stepped(HOUR)).scope == scope
    assert told(decide(scope, tick(), rebooted(DUE))) == ["started: notice ended"]


def test_what_was_released_stays_released_when_the_policy_changes():
    """A word that counted when it was given is not taken back by a new declaration."""
    scope = after(joined(), approve(EVENT, by="vm-a"))
    vms = scope.vms
    scope = after(scope, declare(*vms, approval={"default": Policy.ALL}))
    assert only_event(scope).release is not None

    assert told(decide(scope, open_gate(), later(5))) == ["gate opened", "started: approved"]


def test_a_policy_that_changes_may_release_what_waited_for_more_voices():
    """The policy at the time is what counts until it is released."""
    scope = after(joined(scope=two_domains(approval={"default": Policy.ALL})), approve(EVENT, by="vm-a"))

    assert told(decide(scope, declare(*scope.vms), NOON)) == ["declared", "released"]


def test_an_auto_approved_event_starts_at_once_with_no_gate_to_pass():
    """§3.2: auto-approve: the event appears as Started at once."""
    decision = decide(two_domains(auto_approve=("Platform:Reboot",)), join("vm-a"), NOON)

    assert told(decision) == ["started: auto-approved"]
    assert made(decision).status is Status.STARTED


def test_where_nobody_listens_it_starts_at_once():
    """§2.5: a scope that does not listen gets no notice; history says why."""
    decision = decide(two_domains(listening=Listening.NEVER), join("vm-a"), NOON)

    assert told(decision) == ["started: nobody listens"]
    assert "nobody listens" in decision.record.changes[0].why


@pytest.mark.parametrize("scope", [two_domains(), joined()])
def test_a_gate_that_is_not_there_is_opened_without_effect(scope):
    """The event is gone, or has started, or another's: there is nothing to open."""
    assert decide(scope, open_gate(OTHER_EVENT), NOON).scope == scope


def test_opening_twice_is_opening_once():
    """Rule 3."""
    scope = after(joined(), open_gate())

    assert decide(scope, open_gate(), later(1)).scope == scope
    started = after(scope, approve(EVENT))
    assert decide(started, open_gate(), later(1)).scope == started


def test_an_event_of_no_operation_has_no_gate():
    """§3.2: any other approved event starts at once, also beside an operation's."""
    scope = after(joined("vm-a"), maintain(vms=("vm-b",)))
    beside = next(event for event in scope.events if event.id != EVENT)
    assert beside.gate is None

    assert after(scope, approve(beside)).event(beside.id).status is Status.STARTED


# -- What VMs see


def test_releasing_and_opening_the_gate_are_invisible_to_vms():
    """Issue: other tenants hold yours in Scheduled, invisible to VMs. S3: the incarnation counts visible changes."""
    scope = joined()
    assert scope.incarnation == two_domains().incarnation + 1

    released = after(scope, approve(EVENT, by="vm-a"))
    assert released.incarnation == scope.incarnation
    assert after(scope, open_gate()).incarnation == scope.incarnation
    assert after(released, open_gate()).incarnation == scope.incarnation + 1


def test_a_wave_that_does_not_come_or_was_taken_back_before_is_invisible():
    """S3: no other change."""
    assert after(two_domains(), leave()).incarnation == two_domains().incarnation


# -- Leaving


def test_a_scheduled_event_that_leaves_is_cancelled_with_the_operations_reason():
    """Issue: cancel as a whole. §3.5: while Scheduled, not after."""
    decision = decide(after(joined(), approve(EVENT, by="vm-a")), leave(why="host is needed"), later(4))
    (change,) = decision.record.changes

    assert (change.what, change.why, change.by) == ("cancelled", "host is needed", OPERATOR)
    assert (change.event.status, change.event.ended_at_ms) == (Status.CANCELLED, later(4).wall_ms)
    assert decision.scope.events == ()


def test_a_started_event_stays_when_it_is_taken_back():
    """§3.5: not after it has started."""
    scope = after(joined(), tick(), now=DUE)

    assert decide(scope, leave(), DUE).scope == scope


def test_what_was_taken_back_before_it_came_never_comes():
    """Rule 3; S9."""
    scope = after(two_domains(), leave())
    decision = decide(scope, join("vm-a"), NOON)

    assert decision.scope == scope
    assert (decision.answer.event_ids, decision.answer.again) == ((), True)
    assert decide(scope, leave(), NOON).scope == scope


def test_what_is_remembered_of_the_taken_back_is_limited():
    """A limit on everything."""
    scope = two_domains()
    for n in range(REQUESTS_REMEMBERED + 10):
        scope = after(scope, leave(f"{n}"))

    assert len(scope.taken) == REQUESTS_REMEMBERED


def test_taking_back_after_the_end_leaves_nothing_behind():
    """The join is among the requests taken: no second mark is needed."""
    scope = after(joined(), cancel(EVENT))

    assert decide(scope, leave(), NOON).scope == scope


def test_what_is_only_barred_stays_when_it_has_come_and_never_comes_when_it_has_not():
    """`keeps`: a refusal that one driver saw holds once the event can no longer come by another's word."""
    barring = replace(leave(), keeps=True)
    scope = joined()
    come = decide(scope, barring, NOON)
    assert (come.scope, come.answer.event_ids) == (scope, (EVENT,))

    barred = decide(two_domains(), barring, NOON)
    assert barred.answer.event_ids == ()
    assert decide(barred.scope, join("vm-a"), NOON).scope == barred.scope


def test_the_answer_tells_whether_the_event_has_come_whatever_became_of_it():
    """Also when it is over, as long as its request is remembered."""
    over = after(joined(), cancel(EVENT))

    assert decide(over, leave(), NOON).answer.event_ids == (EVENT,)
    assert decide(joined(), leave(), NOON).answer.event_ids == (EVENT,)
    assert decide(two_domains(), leave(), NOON).answer.event_ids == ()


# -- Cancelled alone, VMs that leave, rest


def test_an_operations_event_can_be_cancelled_alone():
    """§3.4: a cancelled event leaves the wave."""
    decision = decide(after(joined(), approve(EVENT, by="vm-a")), cancel(EVENT), NOON)

    assert told(decision) == ["cancelled"]
    assert decision.record.changes[0].event.gate == Gate(OPERATION, 1)


def test_a_vm_that_is_removed_leaves_the_event_and_the_last_one_ends_it():
    """§3.5: the operation learns that from history."""
    scope = joined()
    scope = after(scope, declare(scope.vm("vm-a"), scope.vm("vm-c"), force=True))
    assert only_event(scope).vms == ("vm-a",)

    decision = decide(scope, declare(scope.vm("vm-c"), force=True), NOON)
    assert decision.scope.events == ()
    assert "cancelled" in told(decision)


def test_a_vm_that_leaves_may_release_what_waited_for_its_word():
    """§3.2 `all`: every impacted VM, and it is none any more."""
    scope = after(joined(scope=two_domains(approval={"default": Policy.ALL})), approve(EVENT, by="vm-a"))
    scope = after(scope, declare(scope.vm("vm-a"), scope.vm("vm-c"), force=True, approval={"default": Policy.ALL}))

    assert only_event(scope).release.by.kind is ActorKind.VM


@pytest.mark.parametrize(("of_scope", "of_event", "rests_s"), [(60, 0, 60), (0, 90, 90), (60, 90, 90), (120, 90, 120)])
def test_the_longer_rest_counts(of_scope, of_event, rests_s):
    """§3.4: plus recovery_s, the scope's own or the operation's, whichever is longer."""
    scope = after(joined(scope=two_domains(recovery_s=of_scope), recovery_s=of_event), approve(EVENT), open_gate())
    scope = carried_out(scope, only_event(scope))

    assert scope.recovery.update_domain == 0
    assert scope.recovery.span.until_ms == later(rests_s).wall_ms


def test_without_any_recovery_the_next_domain_may_follow_at_once():
    """0 is no rest."""
    scope = after(joined(), approve(EVENT), open_gate())
    scope = carried_out(scope, only_event(scope))

    assert scope.recovery is None
    assert decide(scope, join("vm-c", event_id=OTHER_EVENT), NOON).answer.event_ids == (OTHER_EVENT,)


def test_when_an_impact_began_on_a_vm_is_remembered_and_forgotten_with_it():
    """Issue: do not hit the same VM again within z."""
    scope = after(joined("vm-a"), approve(EVENT))
    assert scope.hit_ms == {}
    scope = after(scope, open_gate(), now=later(7))
    assert scope.hit_ms == {"vm-a": later(7).wall_ms}

    scope = after(scope, declare(scope.vm("vm-b"), force=True))
    assert scope.hit_ms == {}


def test_any_impact_counts_as_a_hit():
    """A user's restart is one, and so is a host failure."""
    scope = after(two_domains(), restart("VM-A"), host_failed("h1"), now=later(3))

    assert scope.hit_ms == dict.fromkeys(("vm-a", "vm-b", "vm-c"), later(3).wall_ms)


def test_evidence_ends_an_operations_event_as_any_other():
    """S10."""
    scope = after(joined("vm-a"), approve(EVENT), open_gate())
    scope = carried_out(scope, only_event(scope))

    assert scope.events == ()
    assert decide(scope, join("vm-a"), NOON).answer.again
