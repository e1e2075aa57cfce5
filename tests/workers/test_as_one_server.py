"""With workers it behaves as one server: whoever has an answer finds what it tells wherever it asks next."""

import json

import pytest
from crews import KeptLine, a_line_to_each, answered_by, metrics_of

from lab import lab_settings, open_lab, start_requests

FRESH = 12


@pytest.fixture
def lines(pair):
    with a_line_to_each(pair.metadata, lambda: metrics_of(pair)) as kept:
        yield kept


def shown_everywhere(lab, lines):
    """What every worker shows, on kept connections and on fresh ones; it has to be one document."""
    shown = [line.document() for line in lines] + [lab.document() for _ in range(FRESH)]
    assert all(one == shown[0] for one in shown), shown
    return shown[0]


def test_a_vm_that_approved_sees_it_whichever_worker_it_asks(pair, lines):
    """DESIGN §2, read your own writes: the 200 to a POST is sent when every worker has seen what it changed."""
    for n, line in enumerate(lines * 3):
        event = pair.made("demo", f"{'Front' if n % 2 else 'Back'}End_IN_{n // 2 % 2}", "redeploy")

        assert line.approve(event["id"]) == (200, b"")

        found = {one["EventId"]: one["EventStatus"] for one in shown_everywhere(pair, lines)["Events"]}
        assert found[event["id"].upper()] == "Started"
        pair.advance(3600)


def test_what_an_operator_did_is_seen_by_every_worker(pair, lines):
    """DESIGN §2: scheduled, cancelled, declared: answered when the workers have it."""
    for _ in range(5):
        event = pair.made("demo", "FrontEnd_IN_0", "restart")
        assert [one["EventId"] for one in shown_everywhere(pair, lines)["Events"]] == [event["id"].upper()]

        pair.control("POST", f"/v1/events/{event['id']}/cancel")
        assert shown_everywhere(pair, lines)["Events"] == []

    pair.declare("other", {"name": "web-0", "addresses": ["127.0.9.1"]})
    assert [pair.ask("127.0.9.1").status for _ in range(FRESH)] == [200] * FRESH

    pair.control("DELETE", "/v1/scopes/other")
    assert [pair.ask("127.0.9.1").status for _ in range(FRESH)] == [403] * FRESH


def test_what_the_clock_brought_about_is_seen_by_every_worker(pair, lines):
    """SPEC §4: `advance` settles everything; what came of it is there for all."""
    pair.made("demo", "FrontEnd_IN_0", "restart")

    pair.advance(15 * 60)
    assert [one["EventStatus"] for one in shown_everywhere(pair, lines)["Events"]] == ["Started"]

    pair.advance(3600)
    assert shown_everywhere(pair, lines)["Events"] == []


def test_every_workers_approvals_are_in_history_as_the_vms(pair, lines):
    """S11: when, who, why, whichever worker passed it on."""
    pair.control("PUT", "/v1/scopes/demo", demo_where_all_must_speak(pair))
    event = pair.maintain("demo", "Freeze", update_domains=[0])["events"][0]

    for line, source in zip(lines, ("127.0.0.1", "127.0.0.3"), strict=True):
        del line
        assert pair.approve(event["id"], source=source).status == 200

    approvals = {one["vm"] for one in pair.event(event["id"])["approvals"]}
    assert approvals == {"FrontEnd_IN_0", "BackEnd_IN_0"}


def demo_where_all_must_speak(lab):
    declared = lab.control("GET", "/v1/scopes/demo").json
    return {"kind": declared["kind"], "vms": declared["vms"], "settings": {**declared["settings"], "approval": "all"}}


def test_the_first_question_is_committed_before_its_answer_and_only_once(tmp_path):
    """SPEC §2.5: the first *asked* of a scope is committed before its answer, whichever worker it reaches."""
    with open_lab(lab_settings(tmp_path / "state", workers=2)) as lab:
        lab.declare("s", {"name": "vm", "addresses": ["127.0.1.1"]})

        for _ in range(FRESH):
            assert lab.ask("127.0.1.1").status == 200
            assert enablings(lab) == 1


def enablings(lab):
    return sum("listens from now on" in json.dumps(one) for one in lab.history("scope=s&limit=1000"))


def test_a_day_later_by_the_manual_clock_every_worker_enables_anew(tmp_path):
    """SPEC §4: the manual clock moves enabling; workers judge by their parent's clock."""
    with open_lab(lab_settings(tmp_path / "state", workers=2)) as lab:
        lab.declare("s", {"name": "vm", "addresses": ["127.0.1.1"]})
        for day in range(1, 5):
            for _ in range(FRESH // 2):
                assert lab.ask("127.0.1.1").status == 200
            assert enablings(lab) == day
            lab.advance(25 * 3600)


def test_what_workers_heard_decides_whether_there_is_notice(tmp_path):
    """SPEC §2.5: a scope listens while any of its VMs asked within 24 h; the last question went to some worker."""
    with open_lab(lab_settings(tmp_path / "state", workers=2)) as lab:
        lab.declare("s", {"name": "vm", "addresses": ["127.0.1.1"]})
        lab.document("127.0.1.1")
        lab.advance(23 * 3600)
        lab.document("127.0.1.1")
        lab.advance(23 * 3600)

        assert lab.made("s", "vm", "restart")["status"] == "Scheduled"


def test_a_vm_sees_its_own_scope_and_a_stranger_nothing_in_every_worker(pair):
    """S8; SPEC §5."""
    pair.declare("other", {"name": "web-0", "addresses": ["127.0.9.1"]}, listening="always")
    event = pair.made("other", "web-0", "restart")
    with a_line_to_each(pair.metadata, lambda: metrics_of(pair), source="127.0.9.1") as theirs:
        assert all(line.document()["Events"][0]["EventId"] == event["id"].upper() for line in theirs)
    with a_line_to_each(pair.metadata, lambda: metrics_of(pair)) as ours:
        for line in ours:
            assert line.document()["Events"] == []
            assert line.approve(event["id"])[0] == 400
    with a_line_to_each(pair.metadata, lambda: metrics_of(pair), source="127.0.9.9") as nobodys:
        assert [line.ask()[0] for line in nobodys] == [403, 403]


def test_the_metrics_are_those_of_all_workers(pair):
    """One server, one number: what any worker answered is counted when the page is asked for."""
    for n in range(1, FRESH):
        pair.document()
        assert sum(answered_by(metrics_of(pair)).values()) == n


def test_answers_are_the_same_bytes_as_those_of_one_process(tmp_path):
    """Issue: refusals pass through the parent and come out as they would without workers."""
    unknown = start_requests("11111111-2222-3333-4444-555555555555")
    odd = start_requests("\ud800")
    asked = [
        {"method": "POST", "body": body}
        for body in (unknown, odd, "{", "[]", "{}", '{"StartRequests": []}', '{"StartRequests": 3}', "x" * 70_000)
    ]
    asked += [{}, {"version": "2017-03-01"}, {"version": "latest"}, {"headers": {}}, {"method": "PUT"}]
    asked += [{"source": "127.0.9.9"}, {"source": "127.0.9.9", "method": "POST", "body": unknown}, {"path": "/x"}]
    asked += [{"path": "/metadata/instance", "version": "2021-02-01"}, {"path": "/metadata/versions", "query": ""}]
    answers = []
    for workers in (1, 2):
        with open_lab(lab_settings(tmp_path / str(workers), demo=True, workers=workers)) as lab:
            replies = [[lab.ask(**one) for one in asked] for _ in range(4)]
        answers.append([[without_date(reply) for reply in row] for row in replies])

    assert answers[0] == answers[1]


def without_date(reply):
    return reply.status, {name: value for name, value in reply.headers.items() if name != "date"}, reply.body


def test_a_worker_takes_what_was_kept_open_through_a_change_of_settings(pair, lines):
    """A connection belongs to a worker for good, and is not dropped when something changes elsewhere."""
    third = KeptLine(pair.metadata)
    pair.declare("more", "vm")
    assert {line.ask()[0] for line in (*lines, third)} == {200}
    third.close()
