"""Declaring and removing (SPEC §1, DESIGN §5): names, settings, what is kept, and what would hurt a live event."""

from contextlib import suppress
from dataclasses import replace

import pytest
from builders import (
    EVENT,
    NOON,
    OTHER_EVENT,
    SHOP,
    after,
    approve,
    asked,
    carried_out,
    declare,
    host_failed,
    later,
    maintain,
    only_event,
    operate,
    reboot_of,
    refused,
    remove,
    restart,
    running,
    scope_of,
    scope_with,
    spot,
    statuses,
)

from notbefore.core.decide import decide
from notbefore.core.errors import AddressTaken, Invalid, LiveEvent, UnknownScope
from notbefore.core.kinds import Kind, Listening, VmState
from notbefore.core.model import Vm
from notbefore.core.visibility import visible_events


@pytest.mark.parametrize("name", ["FrontEnd_IN_0", "web-1", "x", "n" * 128, "Größe 1", "10.0.0.1", "a%2Fb"])
def test_a_name_is_1_to_128_printable_characters_without_a_slash(name):
    """SPEC §1: "Names are 1 to 128 printable characters without `/`"."""
    assert [vm.name for vm in scope_of(name).vms] == [name]


@pytest.mark.parametrize("name", ["", "n" * 129, "a/b", "a\nb", "a\x00", "tab\there", "\u200b", "\ud800"], ids=ascii)
def test_any_other_name_is_refused(name):
    """SPEC §1: "Names are 1 to 128 printable characters without `/`"."""
    refused(Invalid, None, declare(name))


def test_a_scopes_name_obeys_the_same_rule():
    """SPEC §1: names."""
    refused(Invalid, None, replace(declare("vm-a"), scope="a/b"))


def test_two_names_that_differ_in_letter_case_only_are_one_name():
    """SPEC §1: names are compared case-insensitively [real]."""
    refused(Invalid, None, declare("web-1", "WEB-1"))


def test_only_the_name_of_a_vm_is_required():
    """DESIGN §5: in a VM only `name` is required (update_domain 0, the rest empty)."""
    (vm,) = scope_of("web-1").vms

    assert vm == Vm("web-1", 0, None, "", (), {}, spot=False, state=VmState.RUNNING)


def test_a_scope_is_one_of_four_kinds():
    """SPEC §1: a cloud service, an availability set, a scale set, or a standalone VM [seed, real]."""
    assert {str(kind) for kind in Kind} == {"cloud-service", "availability-set", "scale-set", "standalone"}


def test_all_vms_of_a_scope_see_each_others_events():
    """SPEC §1: scope: the set of VMs that see each other's events; one scope = one document."""
    scope = after(scope_of("vm-a", "vm-b"), restart("vm-a"), operate("freeze", "vm-b"))

    assert [event.vms for event in visible_events(scope)] == [("vm-a",), ("vm-b",)]


def test_an_undeclared_scope_knows_nothing():
    """SPEC §1: a scope is what was declared."""
    assert refused(UnknownScope, None, restart("vm-a")).facts == {"scope": SHOP}


def test_declaring_the_same_again_changes_nothing():
    """DESIGN §5: "PUT replaces the whole and is idempotent."."""
    scope = scope_of("vm-a", "vm-b", recovery_s=5)

    decision = decide(scope, declare("vm-a", "vm-b", recovery_s=5), later(1))

    assert (decision.scope, decision.record, decision.effects) == (scope, None, ())


def test_a_declaration_replaces_the_whole():
    """DESIGN §5: "PUT replaces the whole"."""
    scope = after(scope_of("vm-a", "vm-b", recovery_s=5), declare("vm-b", "vm-c"))

    assert [vm.name for vm in scope.vms] == ["vm-b", "vm-c"]
    assert scope.settings.recovery_s == 0


def test_a_declaration_keeps_events_incarnation_and_asked():
    """SPEC §2.3: the incarnation never goes back; §2.5: *last asked* belongs to the VM."""
    scope = after(scope_of("vm-a", "vm-b", listening=Listening.AUTO), asked("vm-a"), restart("vm-a"))

    redeclared = after(scope, declare("vm-a", "vm-b", "vm-c", listening=Listening.AUTO))

    assert redeclared.events == scope.events
    assert (redeclared.incarnation, redeclared.asked_ms) == (scope.incarnation, scope.asked_ms)


def test_a_vm_keeps_the_state_it_has_come_to_unless_its_state_is_declared():
    """SPEC §3.5: a Preempt leaves the VM deallocated; declaring it again does not start it."""
    scope = after(scope_of(spot("vm-a")), operate("evict", "vm-a"))
    event = only_event(scope)
    scope = carried_out(after(scope, approve(event)), event)

    kept = after(scope, declare("vm-a", recovery_s=1))
    back = after(kept, declare("vm-a", with_state=("vm-a",)))

    assert kept.vm("vm-a").state is VmState.DEALLOCATED
    assert back.vm("vm-a").state is VmState.RUNNING


@pytest.mark.parametrize("event", [reboot_of("vm-a", "vm-b"), running(reboot_of("vm-a", "vm-b"))], ids=["due", "run"])
def test_removing_a_vm_with_a_live_event_is_refused_and_says_which_event(event):
    """DESIGN §5: "Removing a VM or scope with a live event is refused unless forced, and says which event."."""
    refusal = refused(LiveEvent, scope_with(event), declare("vm-a"))

    assert EVENT in refusal.message
    assert refusal.facts == {"scope": SHOP, "vm": "vm-b", "event": EVENT}


def test_removing_a_scope_with_a_live_event_is_refused_and_says_which_event():
    """DESIGN §5: "Removing a VM or scope with a live event is refused unless forced, and says which event."."""
    refusal = refused(LiveEvent, scope_with(reboot_of("vm-a")), remove())

    assert EVENT in refusal.message
    assert refusal.facts == {"scope": SHOP, "event": EVENT}


def test_a_vm_removed_by_force_leaves_its_events():
    """DESIGN §5: unless forced; the other VMs keep theirs, and the document shows the change (SPEC §2.3)."""
    scope = scope_with(reboot_of("vm-a", "vm-b"), reboot_of("vm-b", event_id=OTHER_EVENT))

    decision = decide(scope, declare("vm-a", force=True), NOON)

    assert only_event(decision.scope).vms == ("vm-a",)
    assert decision.scope.incarnation == scope.incarnation + 1
    assert [(change.what, change.event and change.event.id) for change in decision.record.changes] == [
        ("vm left", None),
        ("changed", EVENT),
        ("cancelled", OTHER_EVENT),
        ("declared", None),
    ]


def test_a_vm_removed_by_force_takes_its_running_impact_with_it():
    """DESIGN §5: unless forced; an event without VMs is over, by the operator's word (S10)."""
    scope = after(scope_with(running(reboot_of("vm-a", "vm-b"))), declare("vm-a", force=True))
    assert [pending.effect.vm for pending in scope.pending] == ["vm-a"]

    scope = after(scope, declare("vm-c", force=True))

    assert (scope.events, scope.pending) == ((), ())


def test_a_scope_removed_by_force_is_gone_with_its_events():
    """DESIGN §5: unless forced."""
    scope = scope_with(reboot_of("vm-a"), running(reboot_of("vm-b", event_id=OTHER_EVENT)))

    decision = decide(scope, remove(force=True), NOON)

    assert (decision.scope.removed, decision.scope.vms, decision.scope.events) == (True, (), ())
    assert decision.scope.pending == ()
    refused(UnknownScope, decision.scope, restart("vm-a"))


def test_a_removed_scope_declared_again_keeps_its_incarnation():
    """SPEC §2.3: the incarnation "survives restarts, never goes back"."""
    scope = after(scope_of("vm-a"), restart("vm-a"))

    again = after(scope, remove(force=True), declare("vm-a"), restart("vm-a"))

    assert (scope.incarnation, again.incarnation) == (2, 4)


@pytest.mark.parametrize("moved", [Vm("vm-b", 1), Vm("vm-b", 0, host="elsewhere")], ids=["update domain", "host"])
def test_moving_a_vm_under_its_live_event_is_refused(moved):
    """SPEC §2.3: Resources are all from one update domain [seed]; so no VM is moved out from under its event."""
    refused(LiveEvent, scope_with(reboot_of("vm-a", "vm-b")), declare("vm-a", moved))


def test_even_by_force_resources_stay_in_one_update_domain():
    """SPEC §2.3: "Resources: names; all from **one update domain**" [seed], whatever was forced; S5 stands on it."""
    scope = after(scope_of("vm-a", "vm-b"), maintain())

    with suppress(LiveEvent):  # to refuse it is one way to keep the promise
        scope = after(scope, declare("vm-a", Vm("vm-b", 1), force=True))

    for event in scope.events:
        assert len({scope.vm(name).update_domain for name in event.vms}) == 1


def test_nor_is_a_vm_moved_to_another_update_domain_under_a_host_failure():
    """SPEC §2.3: Resources are all from one update domain [seed], those of a host failure too."""
    scope = after(scope_of(Vm("vm-a", 0, host="h1"), Vm("vm-b", 0, host="h1")), host_failed("h1"))

    refused(LiveEvent, scope, declare(Vm("vm-a", 0, host="h1"), Vm("vm-b", 1, host="h1")))


def test_moving_an_idle_vm_is_no_matter():
    """DESIGN §5: only a live event stands in the way."""
    scope = after(scope_with(reboot_of("vm-a")), declare("vm-a", Vm("vm-b", 3)), declare("vm-a", Vm("vm-b", 4)))

    assert scope.vm("vm-b").update_domain == 4
    assert statuses(scope) == {"vm-a": "Scheduled"}


def test_an_address_claimed_twice_identifies_nobody_and_is_refused():
    """SPEC §5: "PUT refuses what it can see"; IPv4-mapped IPv6 counts as IPv4."""
    taken = declare(Vm("vm-a", addresses=("10.0.0.1",)), Vm("vm-b", addresses=("::ffff:10.0.0.1",)))

    assert refused(AddressTaken, None, taken).facts == {
        "address": "10.0.0.1",
        "vms": ["vm-a", "vm-b"],
        "vm": "vm-b",
        "field": "addresses",
    }


def test_an_address_is_kept_in_one_spelling():
    """SPEC §5: the source address is registered to exactly one VM."""
    (vm,) = scope_of(Vm("vm-a", addresses=("2001:DB8:0::1", "::ffff:10.0.0.1", "10.0.0.1"))).vms

    assert vm.addresses == ("2001:db8::1", "10.0.0.1")


@pytest.mark.parametrize(
    "vms",
    [
        (Vm("vm-a", addresses=("10.0.0",)),),
        (Vm("vm-a", update_domain=-1),),
        (Vm("vm-a", addresses=tuple(f"10.0.0.{n}" for n in range(17))),),
        tuple(Vm(f"vm-{n}") for n in range(1001)),
    ],
    ids=["no address", "negative update domain", "17 addresses", "1001 VMs"],
)
def test_what_cannot_be_is_refused(vms):
    """DESIGN §5 and STYLE 14: a named limit on everything."""
    refused(Invalid, None, declare(*vms))


@pytest.mark.parametrize(
    "settings", [{"recovery_s": -1}, {"recovery_s": 86_401}, {"user_operations_max": -1}, {"user_operations_max": 1001}]
)
def test_a_setting_outside_its_bounds_is_refused(settings):
    """DESIGN §5 and STYLE 14: a named limit on everything."""
    refused(Invalid, scope_of("vm-a"), declare("vm-a", **settings))
