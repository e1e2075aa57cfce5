"""History (SPEC S11): every change explained, when, who and why, in one record per turn."""

from builders import (
    EVENT,
    MINUTE,
    NOON,
    OPERATOR,
    OTHER_EVENT,
    after,
    approve,
    cancel,
    carried_out,
    claim,
    complete,
    declare,
    finished,
    later,
    maintain,
    only_event,
    reboot_of,
    remove,
    restart,
    running,
    scope_of,
    scope_with,
    terminate,
    tick,
)

from notbefore.core.decide import decide
from notbefore.core.history import Declaration
from notbefore.core.kinds import Status
from notbefore.core.model import THE_CLOCK, Actor, ActorKind, Vm


def test_a_record_says_when_which_scope_which_request_and_which_incarnation():
    """SPEC S11: "history explains every change: when, who, why"."""
    ask = restart("vm-a")

    record = decide(scope_of("vm-a"), ask, later(7)).record

    assert (record.scope, record.at_ms, record.request_id, record.incarnation) == (
        "shop",
        later(7).wall_ms,
        ask.request_id,
        2,
    )


def test_a_change_says_who_and_why():
    """SPEC S11: who, why."""
    (change,) = decide(scope_of("vm-a"), restart("vm-a"), NOON).record.changes

    assert (change.what, change.by) == ("scheduled", OPERATOR)
    assert change.why == "restart asked for by operator ops"


def test_a_change_carries_the_whole_event_as_it_is_afterwards():
    """SPEC S11: history alone gives the present state."""
    decision = decide(scope_of("vm-a"), restart("vm-a"), NOON)

    assert decision.record.changes[0].event == only_event(decision.scope)


def test_an_ended_event_can_still_be_read_in_history():
    """SPEC §3: Completed, Cancelled and Failed exist in history."""
    change = decide(scope_with(reboot_of("vm-a")), cancel(EVENT), later(MINUTE)).record.changes[0]

    assert (change.event.id, change.event.status) == (EVENT, Status.CANCELLED)
    assert change.event.ended_at_ms == later(MINUTE).wall_ms


def test_an_approval_and_the_start_it_caused_are_two_changes_by_the_vm():
    """SPEC S11: the approval, and the start because of it."""
    vm = Actor(ActorKind.VM, "vm-b")

    changes = decide(scope_with(reboot_of("vm-a", "vm-b")), approve(EVENT, by="vm-b"), NOON).record.changes

    told = [(change.what, change.by, change.why) for change in changes if change.what != "enabled"]
    assert told == [("approved", vm, "approved by vm vm-b"), ("started: approved", vm, "approved by vm vm-b")]


def test_a_start_by_the_deadline_is_the_clocks_doing():
    """SPEC S11: who: nobody but the clock."""
    (change,) = decide(scope_with(reboot_of("vm-a")), tick(), later(15 * MINUTE)).record.changes

    assert (change.what, change.by) == ("started: notice ended", THE_CLOCK)


def test_an_operators_word_is_called_that():
    """SPEC S10 and S11: completed by an operator's word is told apart from completed by evidence."""
    (change,) = decide(scope_with(running(reboot_of("vm-a"))), complete(EVENT), NOON).record.changes

    assert (change.what, change.why) == ("completed: operator's word", "declared complete by operator ops")


def test_one_turn_is_one_record_however_much_follows():
    """DESIGN §2: "one record per turn"."""
    scope = scope_with(reboot_of("vm-a"), reboot_of("vm-b", event_id=OTHER_EVENT))

    changes = decide(scope, tick(), later(15 * MINUTE)).record.changes

    assert [(change.what, change.event.id) for change in changes] == [
        ("started: notice ended", EVENT),
        ("started: notice ended", OTHER_EVENT),
    ]


def test_a_turn_that_changes_nothing_leaves_no_record():
    """SPEC S11: history explains changes; there is none."""
    assert decide(scope_with(reboot_of("vm-a")), tick(), later(MINUTE)).record is None


def test_a_queued_event_is_told_when_it_queues_and_when_its_turn_comes():
    """SPEC §3: `Queued` exists in history and the control API."""
    made = decide(scope_of(Vm("vm-a", 0), Vm("vm-b", 1)), maintain(), NOON)
    turn = decide(made.scope, cancel(made.scope.events[0]), NOON)

    assert [(change.what, change.event.vms) for change in made.record.changes] == [
        ("scheduled", ("vm-a",)),
        ("queued", ("vm-b",)),
    ]
    assert [(change.what, change.why) for change in turn.record.changes] == [
        ("cancelled", "cancelled by operator ops"),
        ("scheduled", "update domain 1 has its turn"),
    ]


def test_a_declaration_stands_whole_in_history():
    """SPEC S11: what was declared, by whom."""
    ask = declare("vm-a", recovery_s=9)

    (change,) = decide(None, ask, NOON).record.changes

    assert (change.what, change.by) == ("declared", OPERATOR)
    assert change.declaration == Declaration(ask.kind, ask.settings, ask.vms)


def test_a_removal_stands_in_history_with_every_vm_that_left():
    """SPEC S11: every change."""
    changes = decide(scope_of("vm-a", "vm-b"), remove(), NOON).record.changes

    assert [change.what for change in changes] == ["vm left", "vm left", "removed"]
    assert [change.vm.name for change in changes[:2]] == ["vm-a", "vm-b"]
    assert changes[2].declaration.removed


def test_an_event_ended_because_its_vm_was_deleted_is_not_put_down_to_an_operator():
    """SPEC S10 and S11: history tells who and why; no operator spoke when the executor reported the deletion."""
    scope = after(scope_of("vm-a"), restart("vm-a"), terminate("vm-a"))
    scope = after(scope, approve(*scope.events))
    delete = scope.events[1]

    changes = decide(after(scope, claim(delete, "vm-a")), finished(delete, "vm-a"), NOON).record.changes

    assert carried_out(scope, delete).events == ()
    assert "completed: operator's word" not in [change.what for change in changes]
