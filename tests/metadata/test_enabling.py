"""Enabling (SPEC §2.5): who asks gets notice; who does not, gets none."""

import threading

import pytest

from lab import lab_settings, open_lab

HOUR = 3600
VM = {"name": "vm", "addresses": ["127.0.1.1"]}
PEER = {"name": "peer", "addresses": ["127.0.1.2"]}


def scope_of(lab, name="s"):
    return lab.control("GET", f"/v1/scopes/{name}").json


def test_a_scope_nobody_listens_to_gets_no_notice_and_history_says_why(lab):
    """SPEC §2.5: a scope that does not listen gets no notice: the impact starts at once and history says why."""
    lab.declare("s", VM, PEER)

    event = lab.made("s", "vm", "restart")

    assert event["status"] == "Started"
    why = [change["why"] for record in lab.history("scope=s") for change in record["changes"]]
    assert any("nobody listens: no VM of the scope asked within 24 hours" in reason for reason in why)


def test_one_get_by_any_vm_of_the_scope_enables_it(lab):
    """SPEC §2.5: the first request of a VM enables the service [seed]; a scope listens while any of its VMs asked."""
    lab.declare("s", VM, PEER)
    assert scope_of(lab)["listens"] is False

    lab.document("127.0.1.2")
    event = lab.made("s", "vm", "restart")

    assert scope_of(lab)["listens"] is True
    assert event["status"] == "Scheduled"
    now = lab.control("GET", "/v1/clock").json["now"]
    assert event["visible_since"] == now
    assert lab.advance(899)["happened"] == []
    assert lab.advance(1)["happened"][0]["changes"][0]["what"] == "started: notice ended"


def test_a_scope_stops_listening_a_day_after_the_last_question(lab):
    """SPEC §2.5: a scope listens while any of its VMs asked within 24 h [real]."""
    lab.declare("s", VM)
    lab.document("127.0.1.1")

    lab.advance(24 * HOUR)
    assert lab.made("s", "vm", "redeploy")["status"] == "Scheduled"
    lab.advance(1)
    assert lab.made("s", "vm", "restart")["status"] == "Started"


def test_a_304_counts_as_asked(lab):
    """SPEC §2.5: any 200 or 304 to a VM records *last asked* for it."""
    lab.declare("s", VM)

    reply = lab.ask("127.0.1.1", headers={"Metadata": "true", "If-None-Match": "1"})

    assert reply.status == 304
    assert scope_of(lab)["listens"] is True


@pytest.mark.parametrize(
    ("wanted", "status"),
    [({"version": "2000-01-01"}, 400), ({"headers": {}}, 400), ({"method": "POST", "body": "x"}, 400)],
    ids=["bad version", "no header", "bad approval"],
)
def test_a_refused_request_does_not_count(lab, wanted, status):
    """SPEC §2.5: 400, 403 and 429 do not count."""
    lab.declare("s", VM)

    assert lab.ask("127.0.1.1", **wanted).status == status
    assert scope_of(lab)["listens"] is False


@pytest.mark.one_process("each worker counts for itself, and the kernel chooses who is asked")
def test_a_request_over_the_rate_does_not_count(tmp_path):
    """SPEC §2.5: … and 429 do not count."""
    with open_lab(lab_settings(tmp_path / "state", rate_limit_per_s=0.01)) as lab:
        lab.declare("s", VM)
        assert lab.ask("127.0.1.1", method="POST", body="x").status == 400
        assert lab.ask("127.0.1.1").status == 429
        assert scope_of(lab)["listens"] is False


def test_the_first_asked_survives_a_restart(tmp_path):
    """SPEC §2.5: the first *asked* of a scope is committed before its answer."""
    settings = lab_settings(tmp_path / "state")
    with open_lab(settings) as lab:
        lab.declare("s", VM)
        lab.document("127.0.1.1")
    with open_lab(settings) as lab:
        assert scope_of(lab)["listens"] is True


def test_later_ones_are_known_at_once_and_saved_at_most_hourly(tmp_path):
    """SPEC §2.5: later ones at most hourly, in the background; a decision knows them before they are saved."""
    settings = lab_settings(tmp_path / "state")
    with open_lab(settings) as lab:
        lab.declare("s", VM)
        lab.document("127.0.1.1")
        first = scope_of(lab)["last_asked"]
        lab.advance(HOUR - 1)
        lab.document("127.0.1.1")
        later = scope_of(lab)["last_asked"]
        lab.advance(24 * HOUR - 5)

        assert later > first
        assert lab.made("s", "vm", "restart")["status"] == "Scheduled"
    with open_lab(settings) as lab:
        assert scope_of(lab)["last_asked"] == later


def test_after_an_hour_the_next_question_is_saved(tmp_path):
    """SPEC §2.5: later ones at most hourly, in the background."""
    settings = lab_settings(tmp_path / "state")
    with open_lab(settings) as lab:
        lab.declare("s", VM)
        lab.document("127.0.1.1")
        lab.advance(HOUR + 1)
        lab.document("127.0.1.1")
        later = scope_of(lab)["last_asked"]
        lab.advance(0)
    with open_lab(settings) as lab:
        assert scope_of(lab)["last_asked"] == later


def test_a_scheduled_event_keeps_its_notice_when_the_scope_stops_listening(lab):
    """SPEC §2.5: a Scheduled event keeps its notice when the scope stops listening."""
    lab.declare("s", VM)
    lab.document("127.0.1.1")
    lab.advance(24 * HOUR - 60)
    event = lab.made("s", "vm", "restart")

    lab.advance(600)

    assert scope_of(lab)["listens"] is False
    assert lab.event(event["id"])["status"] == "Scheduled"


@pytest.mark.parametrize(("listening", "status"), [("always", "Scheduled"), ("never", "Started")])
def test_listening_is_settable_per_scope(lab, listening, status):
    """SPEC §2.5: setting per scope `listening = auto (default) | always | never`."""
    lab.declare("s", VM, listening=listening)
    if listening == "never":
        lab.document("127.0.1.1")

    assert lab.made("s", "vm", "restart")["status"] == status


def test_the_first_call_can_be_made_slow_and_the_second_is_not(tmp_path):
    """SPEC §2.5: the first-call delay of up to two minutes is an emulation switch (`first_call_delay_s`, default 0)."""
    with open_lab(lab_settings(tmp_path / "state", first_call_delay_s=1.0)) as lab:
        lab.declare("s", VM)

        assert waits(lambda: lab.document("127.0.1.1"), 0.5)
        assert not waits(lambda: lab.document("127.0.1.1"), 0.9)


def waits(call, seconds):
    """Whether a call is still going on after so long."""
    thread = threading.Thread(target=call)
    thread.start()
    thread.join(seconds)
    late = thread.is_alive()
    thread.join()
    return late
