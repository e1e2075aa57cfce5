"""Looking for something in history: which records fit (`Sought`)."""

import pytest
from builders import EVENT, NOON, OTHER_EVENT, approve, declare, later, reboot_of, restart, scope_of, scope_with, tick

from notbefore.core.decide import decide
from notbefore.core.history import Sought

APPROVED = decide(scope_with(reboot_of("vm-a", "vm-b")), approve(EVENT, by="vm-b"), NOON).record
DUE = decide(scope_with(reboot_of("vm-a")), tick(), later(15 * 60)).record
DECLARED = decide(None, declare("vm-a"), NOON).record
RESTARTED = decide(scope_of("vm-a"), restart("vm-a"), NOON).record


@pytest.mark.parametrize(
    ("sought", "record"),
    [
        (Sought(), DECLARED),
        (Sought(by="operator ops"), RESTARTED),
        (Sought(by="OPS"), RESTARTED),
        (Sought(by="operator"), RESTARTED),
        (Sought(by="clock"), DUE),
        (Sought(by="vm-B"), APPROVED),
        (Sought(what="started"), DUE),
        (Sought(what="Started: Notice ended"), DUE),
        (Sought(what="approved"), APPROVED),
        (Sought(vm="VM-A"), APPROVED),
        (Sought(vm="vm-a"), DECLARED),
        (Sought(event_id=EVENT.lower(), what="started", by="vm-b"), APPROVED),
    ],
)
def test_a_record_fits_in_any_letter_case(sought, record):
    """Names and words compare in any letter case."""
    assert sought.fits(record)


@pytest.mark.parametrize(
    ("sought", "record"),
    [
        (Sought(by="ann"), RESTARTED),
        (Sought(by="vm"), DUE),
        (Sought(what="start"), DUE),
        (Sought(what="started: approved"), DUE),
        (Sought(vm="vm-c"), APPROVED),
        (Sought(event_id=OTHER_EVENT, what="started"), DUE),
    ],
)
def test_what_is_not_in_a_record_is_not_found_in_it(sought, record):
    """A word counts whole."""
    assert not sought.fits(record)


def test_everything_asked_for_has_to_fit_one_and_the_same_change():
    """vm-b approved and vm-b's word started it; the clock did neither."""
    assert Sought(what="approved", by="vm-b", vm="vm-a").fits(APPROVED)
    assert not Sought(what="approved", by="clock").fits(APPROVED)
