"""The life of an event (SPEC §3): every row of the table, and every pair that is no row."""

from itertools import product

import pytest
from builders import (
    EVENT,
    NOON,
    after,
    approve,
    cancel,
    carried_out,
    complete,
    maintain,
    only_event,
    reboot_of,
    refused,
    restart,
    running,
    scope_of,
    scope_with,
    tick,
)

from notbefore.core.decide import decide
from notbefore.core.errors import UnknownEvent, WrongStatus
from notbefore.core.kinds import Status
from notbefore.core.lifecycle import TRANSITIONS, Happening, status_after
from notbefore.core.model import Scope, Vm

# The diagram of SPEC §3, arrow by arrow.
ARROWS = {
    (None, "queued"): "Queued",
    (None, "scheduled"): "Scheduled",
    (None, "started: auto-approved"): "Started",
    (None, "started: nobody listens"): "Started",
    (None, "started: no notice"): "Started",
    ("Queued", "scheduled"): "Scheduled",
    ("Queued", "started: auto-approved"): "Started",
    ("Queued", "started: nobody listens"): "Started",
    ("Queued", "cancelled"): "Cancelled",
    ("Scheduled", "started: approved"): "Started",
    ("Scheduled", "started: notice ended"): "Started",
    ("Scheduled", "cancelled"): "Cancelled",
    ("Started", "completed"): "Completed",
    ("Started", "completed: operator's word"): "Completed",
    ("Started", "completed: no VM left"): "Completed",
    ("Started", "failed"): "Failed",
}
NO_ARROWS = sorted(set(product((None, *map(str, Status)), map(str, Happening))) - set(ARROWS), key=str)


@pytest.mark.parametrize(("status", "happening"), ARROWS)
def test_every_arrow_of_the_diagram_is_a_legal_change(status, happening):
    """SPEC §3: the diagram; each arrow is a row of the table."""
    assert status_after(status and Status(status), Happening(happening), EVENT) == ARROWS[status, happening]


@pytest.mark.parametrize(("status", "happening"), NO_ARROWS)
def test_a_pair_without_an_arrow_is_refused_and_names_the_status(status, happening):
    """SPEC §3: forward only. What the diagram does not show cannot happen."""
    with pytest.raises(WrongStatus) as refusal:
        status_after(status and Status(status), Happening(happening), EVENT)

    assert refusal.value.facts == {"event": EVENT, "status": str(status)}
    assert EVENT in refusal.value.message


def test_statuses_only_move_forward():
    """SPEC §3: "Forward only." """
    rank = {None: 0, Status.QUEUED: 1, Status.SCHEDULED: 2, Status.STARTED: 3}

    backwards = [row for row in TRANSITIONS.items() if rank.get(row[1], 4) <= rank.get(row[0][0], 4)]

    assert backwards == []


def queued_scope() -> Scope:
    return after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1)), maintain(update_domains=(0,)), maintain(update_domains=(1,)))


@pytest.mark.parametrize("ask", [complete, approve])
def test_a_queued_event_can_be_neither_completed_nor_approved(ask):
    """SPEC §3: only `its turn` and `cancelled` lead out of Queued."""
    scope = queued_scope()
    (queued,) = scope.events_in(Status.QUEUED)

    refusal = refused(WrongStatus, scope, ask(queued))

    assert refusal.facts == {"event": queued.id, "status": "Queued"}


def test_a_scheduled_event_cannot_be_completed():
    """SPEC §3: an event is over only after it has started."""
    refused(WrongStatus, scope_with(reboot_of("vm-a")), complete(EVENT))


def test_a_started_event_cannot_be_cancelled():
    """SPEC §3.5: may be cancelled while Queued or Scheduled, not after."""
    refused(WrongStatus, scope_with(running(reboot_of("vm-a"))), cancel(EVENT))


@pytest.mark.parametrize("ask", [complete, cancel, approve])
def test_a_completed_event_is_gone_for_every_request(ask):
    """SPEC §2.3: a completed event is simply no longer returned [seed]."""
    event = running(reboot_of("vm-a"))
    scope = carried_out(scope_with(event), event)

    assert scope.events == ()
    refused(UnknownEvent, scope, ask(EVENT))


@pytest.mark.parametrize("ask", [complete, cancel, approve])
def test_a_cancelled_event_is_gone_for_every_request(ask):
    """SPEC §2.3: a cancelled event is simply no longer returned [seed]."""
    scope = after(scope_with(reboot_of("vm-a")), cancel(EVENT))

    assert scope.events == ()
    refused(UnknownEvent, scope, ask(EVENT))


def test_an_event_goes_the_whole_way_under_one_id():
    """SPEC §3 with §2.3: Scheduled, Started, gone; the same id from first sight to removal."""
    scheduled = after(scope_of("vm-a"), restart("vm-a"))
    first_seen = only_event(scheduled)

    started = after(scheduled, approve(first_seen, by="vm-a"))
    gone = decide(carried_out(started, first_seen), tick(), NOON)

    assert (first_seen.status, only_event(started).status) == (Status.SCHEDULED, Status.STARTED)
    assert only_event(started).id == first_seen.id
    assert gone.scope.events == ()
