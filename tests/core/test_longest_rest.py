"""Of two rests that an update domain is owed the longer counts (SPEC §3.4: plus `recovery_s`)."""

from dataclasses import replace

from builders import MINUTE, after, approve, complete, event_on, later, maintain, rebooted, scope_of, stepped

from notbefore.core.model import Vm

TWO = (Vm("vm-a"), Vm("vm-b"))


def rested(scope, *, until):
    return scope.recovery.span.until_ms == until.wall_ms


def owed_then_ended(owed_s, now):
    """A domain that is owed a rest since noon; another event of it ends now, and asks for half a minute."""
    scope = after(scope_of(*TWO, recovery_s=owed_s), maintain(vms=("vm-a",)), maintain(vms=("vm-b",)))
    scope = after(scope, approve(*scope.events))
    scope = after(scope, complete(event_on(scope, "vm-a")))
    shorter = replace(scope, settings=replace(scope.settings, recovery_s=30))
    return after(shorter, complete(event_on(shorter, "vm-b")), now=now)


def test_a_longer_rest_that_is_owed_stays():
    assert rested(owed_then_ended(600, later(10)), until=later(600))


def test_a_rest_that_is_nearly_over_gives_way_to_a_new_one():
    assert rested(owed_then_ended(600, later(595)), until=later(625))


def test_a_wall_clock_set_back_makes_a_rest_no_longer_than_it_was():
    """SPEC §4: what has really elapsed counts; and after another boot never more than was promised."""
    set_back = stepped(-2 * 60 * MINUTE, later(595))
    assert rested(owed_then_ended(600, set_back), until=stepped(30, set_back))

    booted = stepped(-2 * 60 * MINUTE, rebooted(later(595)))
    assert rested(owed_then_ended(20, booted), until=stepped(30, booted))
