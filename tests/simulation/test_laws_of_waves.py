"""The laws on operations: quiet about what is right, and each broken thing is named (SPEC §3.4)."""

from dataclasses import replace

from law_steps import HOUR, MINUTE, QUARTER, asking, broken, with_event
from wave_steps import ID, OTHER, in_a_wave, member_of, two_tenants, with_member

from notbefore.core.kinds import Status
from notbefore.core.operation import Left, OperationStatus, ScopedVm, Stage
from notbefore.core.operation_steps import answered, joining
from notbefore.core.requests import OpenGate
from notbefore.core.times import Span
from notbefore.simulation.laws.all import all_laws


def opening(member):
    return OpenGate(**asking({"scope": member.scope}), event_id=member.event_id)


# -- What is right


def test_all_laws_are_quiet_about_a_maintenance_as_it_should_be():
    """Rule 1 of a law: it blames what SPEC forbids and nothing else."""
    run = in_a_wave(*all_laws())
    run.approve_all()
    run.drive()
    assert [event.status for event in run.events()] == [Status.SCHEDULED]
    run.approve_all(OTHER)
    run.drive()
    assert [event.status for event in run.events()] == [Status.STARTED]
    run.later(5)
    run.complete_all()
    run.complete_all(OTHER)
    run.drive()
    run.later(QUARTER + 5)
    run.tick()
    run.complete_all()
    run.drive()
    run.end()

    assert run.operation.status is OperationStatus.COMPLETED


def test_all_laws_are_quiet_about_a_maintenance_that_is_cancelled():
    run = in_a_wave(*all_laws())
    run.approve_all()
    run.cancel()
    run.drive()
    run.later(HOUR)
    run.end()

    assert run.operation.status is OperationStatus.CANCELLED
    assert not run.events()


# -- The gate


def test_an_approved_event_waits_until_the_others_of_its_wave_are_released():
    """§3.4: when all of the wave are released the operation opens the gate."""
    run = in_a_wave()
    run.approve_all()
    with broken("§3.4", "was only announced"):
        run.take(opening(member_of(run)))


def test_an_event_that_was_asked_for_and_has_not_come_keeps_the_gate_shut():
    run = two_tenants()
    run.begin()
    run.put(run.stepped().operation, run.stepped().changes)
    run.join(ID, member_of(run))
    run.approve_all()
    with broken("§3.4", "of its wave had not come"):
        run.take(opening(member_of(run)))


def test_the_deadline_wins_whatever_the_others_do():
    """§3.4: due counts as released, so silence stops nothing."""
    run = in_a_wave()
    run.approve_all()
    run.drive()
    run.later(QUARTER + 2)
    run.tick()

    assert [event.status for event in run.events()] == [Status.STARTED]


# -- The wave


def test_the_events_of_a_wave_have_one_not_before():
    """§3.4: with one common NotBefore."""
    run = two_tenants()
    run.begin()
    run.put(run.stepped().operation, run.stepped().changes)
    decision = run.decided(joining(run.operation, run.operation.wave, member_of(run)))
    (event,) = decision.scope.events
    later = Span(event.notice.since, event.notice.until_ms + 1000)
    with broken("§3.4", "and that of its wave"):
        run.commit(with_event(decision.scope, event, notice=later), decision.record)


def test_a_wave_has_one_update_domain_of_a_scope():
    """§3.4: each wave holds at most one UD per scope."""
    run = two_tenants()
    run.begin()
    stepped = run.stepped()
    wave = stepped.operation.wave
    second = replace(wave.members[0], update_domain=1, event_id="B", scope=wave.members[1].scope)
    both = replace(wave, members=(*wave.members, second))
    with broken("§3.4", "holds two update domains of shop"):
        run.put(replace(stepped.operation, wave=both), stepped.changes)


def test_what_a_wave_has_let_go_never_comes():
    """S9: what was taken back before it came never comes."""
    run = two_tenants()
    run.begin()
    run.put(run.stepped().operation, run.stepped().changes)
    member, asked_for = member_of(run), run.operation
    let_go = replace(asked_for, wave=asked_for.wave.without(member.event_id), waiting=())
    run.put(replace(let_go, left=tuple(Left(ScopedVm("shop", vm), "refused") for vm in ("a", "b"))))
    with broken("§3.4", "it came after its wave had let it go"):
        run.take(joining(asked_for, asked_for.wave, member))


def test_an_event_is_what_its_operation_asked_for():
    run = two_tenants()
    run.begin()
    run.put(run.stepped().operation, run.stepped().changes)
    wished = joining(run.operation, run.operation.wave, member_of(run))
    with broken("§3.4", "it is not what its operation asked for"):
        run.take(replace(wished, vms=("b",), update_domain=None, host=None))


# -- The operation's own book


def spoilt(**facts):
    """A wave announced, then kept with something changed."""
    run = in_a_wave()
    run.put(replace(run.operation, **facts))


def test_stages_and_statuses_go_forward():
    run = in_a_wave()
    event_id = member_of(run).event_id
    with broken("§3.4", "went back from announced to asked"):
        run.put(with_member(run.operation, event_id, stage=Stage.ASKED))
    with broken("§3.4", "it went from Running to Cancelled"):
        spoilt(status=OperationStatus.CANCELLED)


def test_no_vm_is_lost():
    with broken("§3.4", "a VM was lost or is in two places"):
        spoilt(waiting=())


def test_what_is_said_of_an_event_is_true():
    for stage in (Stage.RELEASED, Stage.STARTED, Stage.OVER):
        run = in_a_wave()
        with broken("§3.4", f"is said to be {stage}"):
            run.put(with_member(run.operation, member_of(run).event_id, stage=stage))


def test_an_announced_event_is_not_let_go():
    run = in_a_wave()
    without = run.operation.wave.without(member_of(run).event_id)
    left = (Left(ScopedVm("shop", "a"), "forgotten"),)
    with broken("§3.4", "was announced and is forgotten"):
        run.put(replace(run.operation, wave=without, left=left))


def test_an_event_that_has_come_is_not_taken_for_refused():
    """S9: what is said to have been refused never comes; a refusal of one process may be of an older state."""
    run = two_tenants()
    run.begin()
    run.put(run.stepped().operation, run.stepped().changes)
    asked_for, member = run.operation, member_of(run)
    run.take(joining(asked_for, asked_for.wave, member))
    with broken("S9", "its wave let it go, and it had come"):
        run.put(answered(asked_for, member.event_id, "not now", run.moment("one")))


def test_a_vm_is_left_for_a_reason_that_is_true():
    run = in_a_wave()
    left = (Left(ScopedVm("shop", "b"), "it is not there any more"),)
    with broken("§3.4", "and that is not so"):
        run.put(replace(run.operation, waiting=(), left=left))


def test_a_status_that_changes_stands_in_history():
    """S11."""
    run = in_a_wave()
    with broken("S11", "became Cancelling and history does not say why"):
        run.put(replace(run.operation, status=OperationStatus.CANCELLING))
    run = two_tenants()
    with broken("S11", "became Running and history does not say why"):
        run.put(run.wished())


def test_an_operation_is_removed_only_when_it_has_ended():
    run = in_a_wave()
    with broken("§3.4", "removed before it had ended"):
        run.remove(run.operation)


def test_a_rollouts_operation_is_a_wave_that_it_has_said():
    """A server that was killed begins a wave under the same id."""
    run = two_tenants()
    with broken("§3.4", "has not said that it is one of its waves"):
        run.put(run.wished(rollout=ID))


# -- L2


def test_what_is_asked_for_is_answered():
    run = two_tenants()
    run.begin()
    run.put(run.stepped().operation, run.stepped().changes)
    run.later(9)
    run.tick()
    run.later(2)
    with broken("L2", "asked for and not answered"):
        run.tick()


def test_the_gate_is_opened_when_all_are_released():
    run = in_a_wave()
    run.approve_all()
    run.approve_all(OTHER)
    run.later(11)
    with broken("L2", "every event of its wave is released"):
        run.tick()


def test_a_wave_that_is_over_ends():
    run = in_a_wave()
    run.approve_all()
    run.approve_all(OTHER)
    run.drive()
    run.complete_all()
    run.complete_all(OTHER)
    run.later(11)
    with broken("L2", "all of its wave are over"):
        run.tick()


def test_a_cancelled_operation_takes_its_events_back_within_seconds():
    """S9: none of its events that had not started by then starts."""
    run = in_a_wave()
    run.cancel()
    run.later(11)
    with broken("S9", "is still Scheduled"):
        run.tick()


def test_nobody_is_blamed_who_is_in_trouble_or_was_stepped():
    run = in_a_wave()
    run.cancel()
    run.trouble("one", began=True)
    run.later(8)
    run.step_clock(-HOUR, "two")
    run.later(9)
    run.tick()


def second_domain_waits():
    run = in_a_wave()
    run.approve_all()
    run.approve_all(OTHER)
    run.drive()
    run.complete_all()
    run.complete_all(OTHER)
    stepped = run.stepped()
    waits = replace(stepped.operation, wave=None, waves_formed=1, done=run.stepped().operation.done)
    back = replace(run.operation, wave=None).waiting
    run.put(replace(waits, waiting=back), stepped.changes)
    return run


def test_an_operation_goes_on_when_nothing_is_in_its_way():
    """No deadlock whatever the mix of update domains."""
    run = second_domain_waits()
    run.later(14 * MINUTE)
    run.tick()
    run.later(20 * MINUTE)
    with broken("L2", "shop/b waits for nothing"):
        run.tick()


def test_every_operation_has_ended_when_the_run_ends():
    run = second_domain_waits()
    run.later(5)
    with broken("L2", "still Running when the run ended"):
        run.end()
