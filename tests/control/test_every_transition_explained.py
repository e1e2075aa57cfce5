"""S11: history explains every change: when, who, why. Each row of the lifecycle, made to happen by real requests."""

import pytest

from lab import lab_settings, open_lab
from notbefore.core.kinds import ENDED, Status
from notbefore.core.lifecycle import TRANSITIONS, Happening

A = {"name": "a"}
B = {"name": "b", "update_domain": 1}
TWO_DOMAINS = (A, B)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Freezes fail, so that they can be given up; everything else succeeds."""
    executor = {"simulate": {"failure_rate": {"Freeze": 1}}}
    with open_lab(lab_settings(tmp_path_factory.mktemp("world") / "state", executor=executor)) as lab:
        yield lab


def act(lab, event_id, action):
    reply = lab.control("POST", f"/v1/events/{event_id}/{action}")
    assert reply.status == 200, reply


def maintained(lab, scope, vms=TWO_DOMAINS, **settings):
    """The event of the first domain, and the queued one of the second."""
    lab.declare(scope, *vms, **{"listening": "always", **settings})
    answer = lab.maintain(scope, "Reboot")
    return answer["events"][0]["id"], answer["queued"][0]["id"]


def restarted(lab, scope, *vms, **settings):
    lab.declare(scope, *(vms or (A,)), **{"listening": "always", **settings})
    return lab.made(scope, "a", "restart")["id"]


def queued(lab, scope):
    return maintained(lab, scope)[1]


def scheduled(lab, scope):
    return restarted(lab, scope)


def auto_approved(lab, scope):
    return restarted(lab, scope, auto_approve=["User:Reboot"])


def not_listened(lab, scope):
    return restarted(lab, scope, listening="never")


def no_notice(lab, scope):
    return restarted(lab, scope, user_events=False)


def had_its_turn(lab, scope, **settings):
    first, second = maintained(lab, scope, **settings)
    if lab.event(first)["status"] == "Scheduled":
        act(lab, first, "cancel")
    else:
        act(lab, first, "complete")
    return second


def had_its_turn_auto_approved(lab, scope):
    return had_its_turn(lab, scope, auto_approve=["Platform:Reboot"])


def had_its_turn_not_listened(lab, scope):
    return had_its_turn(lab, scope, listening="never")


def cancelled_in_the_queue(lab, scope):
    event_id = maintained(lab, scope)[1]
    act(lab, event_id, "cancel")
    return event_id


def approved(lab, scope):
    """By a VM, as a VM."""
    event_id = restarted(lab, scope, {**A, "addresses": ["127.0.0.1"]})
    assert lab.approve(event_id).status == 200
    return event_id


def due(lab, scope):
    event_id = restarted(lab, scope)
    lab.advance(15 * 60)
    return event_id


def cancelled(lab, scope):
    event_id = restarted(lab, scope)
    act(lab, event_id, "cancel")
    return event_id


def finished(lab, scope):
    event_id = auto_approved(lab, scope)
    lab.advance(60)
    return event_id


def declared_complete(lab, scope):
    event_id = auto_approved(lab, scope)
    act(lab, event_id, "complete")
    return event_id


def vm_gone(lab, scope):
    event_id = auto_approved(lab, scope)
    lab.declare(scope, "c", force=True, listening="always")
    return event_id


def given_up(lab, scope):
    lab.declare(scope, A, listening="never")
    event_id = lab.made(scope, "a", "freeze")["id"]
    lab.advance(3600)
    return event_id


# The row, how it is made to happen, and whose doing it is.
STORIES = {
    (None, Happening.QUEUED): (queued, "operator admin"),
    (None, Happening.SCHEDULED): (scheduled, "operator admin"),
    (None, Happening.AUTO_APPROVED): (auto_approved, "operator admin"),
    (None, Happening.NOT_LISTENED): (not_listened, "operator admin"),
    (None, Happening.NO_NOTICE): (no_notice, "operator admin"),
    (Status.QUEUED, Happening.SCHEDULED): (had_its_turn, "operator admin"),
    (Status.QUEUED, Happening.AUTO_APPROVED): (had_its_turn_auto_approved, "operator admin"),
    (Status.QUEUED, Happening.NOT_LISTENED): (had_its_turn_not_listened, "operator admin"),
    (Status.QUEUED, Happening.CANCELLED): (cancelled_in_the_queue, "operator admin"),
    (Status.SCHEDULED, Happening.APPROVED): (approved, "vm a"),
    (Status.SCHEDULED, Happening.DUE): (due, "clock"),
    (Status.SCHEDULED, Happening.CANCELLED): (cancelled, "operator admin"),
    (Status.STARTED, Happening.FINISHED): (finished, "executor simulate"),
    (Status.STARTED, Happening.DECLARED_COMPLETE): (declared_complete, "operator admin"),
    (Status.STARTED, Happening.VM_GONE): (vm_gone, "operator admin"),
    (Status.STARTED, Happening.GIVEN_UP): (given_up, "executor simulate"),
}


def test_every_row_of_the_lifecycle_has_its_story():
    """A new row needs one too."""
    assert STORIES.keys() == TRANSITIONS.keys()


@pytest.mark.parametrize("row", STORIES, ids=lambda row: f"{row[0] or 'nothing'} {row[1]}".replace(" ", "-"))
def test_history_explains_the_transition(world, row):
    """S11: when, who, what, why, with the incarnation; and the event as it was afterwards."""
    before, happening = row
    story, who = STORIES[row]
    scope = f"{before or 'nothing'}-{happening}".replace(" ", "-").replace(":", "")
    world.declare(scope)
    world.advance(1)
    began = world.control("GET", "/v1/clock").json["now"]

    event_id = story(world, scope)

    records = world.history(f"event={event_id}&after=0")
    told = [
        (record, change)
        for record in records
        for change in record["changes"]
        if change["event"] and change["event"]["id"] == event_id
    ]
    record, change = next(one for one in told if one[1]["what"] == happening)
    statuses = [None, *(one["event"]["status"] for _, one in told)]
    assert statuses[told.index((record, change))] == before
    assert change["event"]["status"] == TRANSITIONS[row]
    assert change["by"] == who
    assert len(change["why"]) > len("because")
    assert began <= record["at"] <= world.control("GET", "/v1/clock").json["now"]
    assert record["incarnation"] >= 1
    assert record["request_id"]


@pytest.mark.parametrize(
    ("row", "status"),
    [(row, after) for row, after in TRANSITIONS.items() if after in ENDED],
    ids=lambda one: str(one[1] if isinstance(one, tuple) else one).replace(" ", "-"),
)
def test_an_ended_event_can_still_be_read_whole(world, row, status):
    """Issue: every transition explained, completed and cancelled events included."""
    scope = f"ended-{row[0]}-{row[1]}".replace(" ", "-").replace(":", "").replace("'", "")
    event_id = STORIES[row][0](world, scope)

    event = world.event(event_id.lower())

    assert (event["id"], event["status"], event["scope"]) == (event_id, status, scope)
    assert event["ended_at"]
    # It is in the list of those that ended, and not in the list of those that live.
    path = f"/v1/events?scope={scope}"
    assert event_id in [one["id"] for one in world.control("GET", f"{path}&status={status}").json["events"]]
    assert event_id not in [one["id"] for one in world.control("GET", path).json["events"]]
    # The record that ended it has the same event.
    last = world.history(f"event={event_id}")[-1]
    told = [change["event"] for change in last["changes"] if change["event"] and change["event"]["id"] == event_id][-1]
    moving = {"waiting_for", "incarnation"}
    assert {k: v for k, v in told.items() if k not in moving} == {
        k: v for k, v in event.items() if k not in moving and k in told
    }
