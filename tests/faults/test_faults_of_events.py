"""Faults of events: what is shown, what is done, and what history says of it (issue 8, REFERENCE §3.4)."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from itertools import pairwise

import pytest
from fault_hands import Hands

from lab import lab_settings, open_lab

pytestmark = pytest.mark.part("curl")

MINUTE = 60


def now_of(hands):
    return datetime.fromisoformat(hands.lab.control("GET", "/v1/clock").json["now"])


def story(hands, event_id):
    """What history tells of an event, and who did it."""
    records = hands.lab.history(f"event={event_id}")
    return [(change["what"], change["by"]) for record in records for change in record["changes"]]


def seconds_between(event, earlier, later):
    return (datetime.fromisoformat(event[later]) - datetime.fromisoformat(event[earlier])).total_seconds()


def whole(hands):
    """Everything that is under way has happened."""
    hands.lab.advance(0)


# -- skip-scheduled


def test_an_event_is_first_seen_as_started(hands):
    """It is not shown while Scheduled and starts as soon as it comes; the number changes once, when it is shown."""
    before = hands.shown()[1]
    fault = hands.order("skip-scheduled")
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    whole(hands)

    events, number = hands.shown()
    assert [(one["EventId"], one["EventStatus"], one["NotBefore"]) for one in events] == [(event, "Started", "")]
    assert number == before + 1
    assert ("started: approved", f"operator fault skip-scheduled {fault['id']}") in story(hands, event)
    hands.lab.advance(MINUTE)
    assert hands.shown() == ([], before + 2)


def test_an_event_that_cannot_start_yet_is_not_shown_until_it_does(hands):
    """Its wave is not released yet, say: then there is nothing to see, and no new number."""
    hands.lab.declare("other", {"name": "a", "host": "h"}, listening="always")
    hands.lab.declare("mine", {"name": "b", "host": "h", "addresses": ["127.0.0.9"]}, listening="always")
    before = hands.shown("127.0.0.9")
    hands.order("skip-scheduled", vms=["mine/b"])
    reply = hands.lab.control("POST", "/v1/hosts/h/maintenance", {"type": "Freeze"})
    assert reply.status == 202, reply
    whole(hands)

    waiting = hands.lab.control("GET", "/v1/events").json["events"]
    assert [event["status"] for event in waiting] == ["Scheduled"] * 2
    assert hands.shown("127.0.0.9") == before
    for event in waiting:
        hands.lab.control("POST", f"/v1/events/{event['id']}/approve")
    whole(hands)
    events, number = hands.shown("127.0.0.9")
    assert [event["EventStatus"] for event in events] == ["Started"]
    assert number == before[1] + 1


def test_an_event_that_was_there_before_the_fault_is_left_alone(hands):
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    hands.order("skip-scheduled")
    hands.order("cancel", after_s=1)
    hands.order("short-notice", notice_s=1)
    hands.lab.advance(MINUTE)

    assert hands.shown()[0][0]["EventStatus"] == "Scheduled"
    assert hands.lab.event(event)["approvals"] == []


# -- cancel


def test_an_event_is_cancelled_so_long_after_it_came(hands):
    """REFERENCE §3.4: gone after 8 min. On the domain's clock."""
    fault = hands.order("cancel", after_s=8 * MINUTE)
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]

    hands.lab.advance(8 * MINUTE - 1)
    assert hands.shown()[0][0]["EventStatus"] == "Scheduled"
    hands.lab.advance(1)
    assert hands.shown()[0] == []
    assert story(hands, event)[-1] == ("cancelled", f"operator fault cancel {fault['id']}")
    assert seconds_between(hands.lab.event(event), "visible_since", "ended_at") == 8 * MINUTE


def test_an_event_that_has_started_is_not_cancelled(hands):
    """Nor does the clock stop for it."""
    hands.order("cancel")
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    assert hands.post(event).status == 200

    hands.lab.advance(2 * MINUTE)

    assert hands.lab.event(event)["status"] == "Completed"
    assert hands.lab.control("GET", "/v1/clock").json["next_due"] is None


def test_a_cancel_that_is_cleared_in_time_does_not_come(hands):
    hands.order("cancel")
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")
    hands.lab.advance(30)
    hands.clear()
    whole(hands)

    assert hands.lab.control("GET", "/v1/clock").json["next_due"] == event["not_before"]
    hands.lab.advance(15 * MINUTE)
    assert hands.lab.event(event["id"])["status"] == "Completed"


def test_on_a_clock_that_runs_it_comes_at_its_time_as_well(tmp_path):
    """However fast: the clock stops for it, as for whatever is due."""
    with open_lab(lab_settings(tmp_path / "state", clock="rate:86400", demo=True, allow_faults=True)) as lab:
        Hands(lab).order("cancel")
        event = lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
        while lab.event(event)["status"] == "Scheduled":
            pass

        ended = lab.event(event)
        assert (ended["status"], seconds_between(ended, "visible_since", "ended_at")) == ("Cancelled", 60)


# -- short-notice


def test_notice_is_short_and_the_event_starts_at_its_end(hands):
    """The shown NotBefore is so long after it became visible, and it really starts then."""
    began = now_of(hands)
    fault = hands.order("short-notice", notice_s=5 * MINUTE)
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]

    shown = hands.shown()[0][0]
    assert parsedate_to_datetime(shown["NotBefore"]) == began + timedelta(seconds=5 * MINUTE)
    hands.lab.advance(5 * MINUTE - 1)
    assert hands.shown()[0][0]["EventStatus"] == "Scheduled"
    hands.lab.advance(1)
    assert hands.shown()[0][0]["EventStatus"] == "Started"
    assert ("started: approved", f"operator fault short-notice {fault['id']}") in story(hands, event)
    assert began.tzinfo == UTC


def test_a_short_notice_is_never_longer_than_the_true_one(hands):
    hands.order("short-notice", notice_s=3600)
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")

    shown = parsedate_to_datetime(hands.shown()[0][0]["NotBefore"])
    assert shown == datetime.fromisoformat(event["not_before"])


def test_a_spent_fault_goes_on_with_the_event_it_struck(hands):
    """`times` counts events: the second one has its whole notice, the first keeps its short one."""
    fault = hands.order("short-notice", times=1)
    struck = hands.lab.made("demo", "FrontEnd_IN_0", "restart")
    other = hands.lab.made("demo", "FrontEnd_IN_1", "restart")
    assert hands.faults()[0]["spent"] is True

    first, second = hands.shown()[0]
    assert parsedate_to_datetime(first["NotBefore"]) < datetime.fromisoformat(struck["not_before"])
    assert parsedate_to_datetime(second["NotBefore"]) == datetime.fromisoformat(other["not_before"])
    hands.lab.advance(30)
    assert [one["EventStatus"] for one in hands.shown()[0]] == ["Started", "Scheduled"]
    assert hands.struck(fault) == 1


# -- freeze-instead


def test_a_reboot_turns_out_to_be_a_freeze(hands):
    """REFERENCE: a VM scheduled for Reboot may experience a Freeze instead. Shown so from Started on, and carried out."""
    fault = hands.order("freeze-instead")
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    assert [(one["EventType"], one["EventStatus"]) for one in hands.shown()[0]] == [("Reboot", "Scheduled")]

    hands.lab.advance(15 * MINUTE)
    assert [(one["EventType"], one["EventStatus"]) for one in hands.shown()[0]] == [("Freeze", "Started")]
    hands.lab.advance(10)
    ended = hands.lab.event(event)
    assert (ended["status"], seconds_between(ended, "started_at", "ended_at")) == ("Completed", 10)
    assert ended["outcomes"][0]["evidence"] == (
        f"simulated Freeze took 10 s, instead of the Reboot (fault freeze-instead {fault['id']})"
    )


def test_what_is_no_reboot_is_not_turned_into_a_freeze(hands):
    fault = hands.order("freeze-instead")
    hands.lab.made("demo", "FrontEnd_IN_0", "redeploy")
    hands.lab.advance(10 * MINUTE)

    assert hands.shown()[0][0]["EventType"] == "Redeploy"
    assert hands.struck(fault) == 0


# -- second-impact


def test_an_event_strikes_a_second_time_before_it_is_over(hands):
    """After its impact it stays Started, then a second, shorter impact happens, then it is over; evidence says so."""
    fault = hands.order("second-impact", after_s=100, duration_s=5)
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    assert hands.post(event).status == 200

    hands.lab.advance(30 + 100 + 4)
    assert hands.shown()[0][0]["EventStatus"] == "Started"
    hands.lab.advance(1)
    assert hands.shown()[0] == []
    ended = hands.lab.event(event)
    assert (ended["status"], seconds_between(ended, "started_at", "ended_at")) == ("Completed", 135)
    assert ended["outcomes"][0]["evidence"] == (
        "simulated Reboot took 30 s; 100 s later once more: simulated Reboot took 5 s"
        f" (fault second-impact {fault['id']})"
    )


def test_a_second_impact_that_is_cleared_in_time_does_not_come(hands):
    hands.order("second-impact", after_s=100)
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    assert hands.post(event).status == 200
    hands.lab.advance(60)

    hands.clear()
    whole(hands)

    ended = hands.lab.event(event)
    assert (ended["status"], ended["outcomes"][0]["evidence"]) == ("Completed", "simulated Reboot took 30 s")


# -- together


def test_faults_of_events_go_together(hands):
    """A short notice, a Freeze instead of the Reboot, and a second one."""
    for kind in ("short-notice", "freeze-instead", "second-impact"):
        hands.order(kind)
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    hands.lab.advance(30)
    assert [(one["EventType"], one["EventStatus"]) for one in hands.shown()[0]] == [("Freeze", "Started")]

    hands.lab.advance(10 + 60 + 2)

    evidence = hands.lab.event(event)["outcomes"][0]["evidence"]
    assert evidence.startswith("simulated Freeze took 10 s, instead of the Reboot")
    assert "60 s later once more: simulated Freeze took 2 s" in evidence


def test_a_fault_of_one_vm_strikes_every_event_that_has_it(hands):
    """By any of the event's VMs; all who see the event see it so."""
    hands.order("short-notice", vms=["demo/BackEnd_IN_0"])
    hands.lab.maintain("demo", "Freeze", update_domains=[0])
    hands.lab.made("demo", "FrontEnd_IN_1", "restart")
    hands.lab.advance(30)

    for source in ("127.0.0.1", "127.0.0.2"):
        assert {len(one["Resources"]): one["EventStatus"] for one in hands.shown(source)[0]} == {
            2: "Started",
            1: "Scheduled",
        }


def test_the_number_shown_changes_with_what_is_shown_and_does_not_fall_when_all_is_cleared(hands):
    """SPEC §2.3: the same number always means the same content; never goes back."""
    hands.order("skip-scheduled", vms=["FrontEnd_IN_0"])
    seen = [hands.shown()]
    for step in (
        lambda: hands.lab.made("demo", "FrontEnd_IN_0", "restart"),
        lambda: hands.lab.made("demo", "FrontEnd_IN_1", "restart"),
        lambda: hands.lab.advance(MINUTE),
        lambda: hands.lab.advance(15 * MINUTE),
        hands.clear,
    ):
        step()
        whole(hands)
        seen.append(hands.shown())

    numbers = [number for _, number in seen]
    assert numbers == sorted(numbers)
    for (events, number), (later, next_number) in pairwise(seen[:-1]):
        assert (events == later) == (number == next_number)
