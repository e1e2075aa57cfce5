"""Faults of documents: what is shown is old, counted anew, or in other letter case; seen by a plain curl (issue 8)."""

import pytest
from fault_hands import Hands

from lab import lab_settings, open_lab

pytestmark = pytest.mark.part("curl")


def ids(events):
    return [event["EventId"] for event in events]


def test_stale_shows_the_document_as_it_was_when_the_fault_was_set(hands):
    """Document and ETag, whatever happens meanwhile; If-None-Match goes by what is shown."""
    first = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    hands.order("stale")
    second = hands.lab.made("demo", "FrontEnd_IN_1", "restart")["id"]
    hands.lab.control("POST", f"/v1/events/{first}/approve")

    events, number = hands.shown()
    assert (ids(events), events[0]["EventStatus"], number) == ([first], "Scheduled", 2)
    assert hands.curl("-H", "If-None-Match: 2").status == 304
    assert hands.curl("-H", "If-None-Match: 4").status == 200
    hands.clear()
    events, number = hands.shown()
    assert (ids(events), events[0]["EventStatus"], number) == ([first, second], "Started", 4)


def test_stale_is_kept_for_each_scope(hands):
    hands.lab.declare("other", {"name": "a", "addresses": ["127.0.0.9"]}, listening="always")
    hands.lab.made("other", "a", "restart")
    hands.order("stale")
    hands.lab.made("demo", "FrontEnd_IN_0", "restart")
    hands.lab.declare("later", {"name": "b", "addresses": ["127.0.0.10"]}, listening="always")
    event = hands.lab.made("later", "b", "restart")["id"]

    assert hands.shown()[0] == []
    assert len(hands.shown("127.0.0.9")[0]) == 1
    assert ids(hands.shown("127.0.0.10")[0]) == [event]  # there was nothing of it to keep


def test_numbers_start_at_one_again_and_go_up_from_there(hands):
    """ETag and If-None-Match too."""
    for vm in ("FrontEnd_IN_0", "FrontEnd_IN_1"):
        hands.lab.made("demo", vm, "restart")
    assert hands.shown()[1] == 3
    hands.order("incarnation-reset")

    assert hands.shown()[1] == 1
    assert hands.curl("-H", "If-None-Match: 1").status == 304
    assert hands.curl("-H", "If-None-Match: 3").status == 200
    hands.lab.made("demo", "BackEnd_IN_0", "restart")
    assert hands.shown()[1] == 2
    hands.clear()
    assert hands.shown()[1] == 4


def test_names_come_in_the_other_letter_case(hands):
    """SPEC §1: names compare in any letter case [real]; whoever compares them otherwise finds out."""
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    hands.order("letter-case")

    events, number = hands.shown()
    assert (ids(events), events[0]["Resources"], number) == ([event], ["fRONTeND_in_0"], 2)
    hands.clear()
    assert hands.shown() == ([{**events[0], "Resources": ["FrontEnd_IN_0"]}], 2)


def test_faults_of_documents_go_together_and_with_those_of_answers(hands):
    """A slow answer with an old document, names in other letter case and numbers anew."""
    hands.lab.made("demo", "FrontEnd_IN_0", "restart")
    for kind in ("stale", "incarnation-reset", "letter-case"):
        hands.order(kind)
    hands.order("slow", delay_s=0.01)
    hands.lab.made("demo", "FrontEnd_IN_1", "restart")

    events, number = hands.shown()
    assert ([event["Resources"] for event in events], number) == ([["fRONTeND_in_0"]], 1)


def test_a_fault_of_documents_counts_the_answers_it_strikes(hands):
    fault = hands.order("incarnation-reset", times=2)
    hands.lab.made("demo", "FrontEnd_IN_0", "restart")
    hands.lab.made("demo", "FrontEnd_IN_1", "restart")

    assert [hands.shown()[1] for _ in range(3)] == [3, 3, 3]
    assert hands.struck(fault) == 2


def test_a_document_fault_of_one_vm_is_not_seen_by_another(hands):
    hands.lab.made("demo", "FrontEnd_IN_0", "restart")
    hands.order("letter-case", vms=["frontend_in_0"])

    assert hands.shown()[0][0]["Resources"] == ["fRONTeND_in_0"]
    assert hands.shown("127.0.0.2")[0][0]["Resources"] == ["FrontEnd_IN_0"]


def test_after_a_restart_faults_are_gone(tmp_path):
    """In memory alone; what was done stays."""
    with open_lab(lab_settings(tmp_path / "state", demo=True, allow_faults=True)) as lab:
        hands = Hands(lab)
        hands.order("skip-scheduled")
        event = lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
        lab.advance(0)
    with open_lab(lab_settings(tmp_path / "state", demo=True, allow_faults=True)) as lab:
        assert Hands(lab).faults() == []
        assert lab.event(event)["status"] == "Started"
        assert Hands(lab).shown()[1] == 3
