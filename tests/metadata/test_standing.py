"""Who asks the same again on its connection is answered from what stands; it must never be told what no longer holds.

Each test asks often enough that something stands, changes one thing it depends on, and asks again.
"""

import pytest
from claims import declare_behind_the_api
from polling import held, line_of, metric, question, until
from slow_reader import declare_long, narrow

from lab import lab_settings, open_lab

VM = {"name": "vm", "addresses": ["127.0.1.1"]}
PEER = {"name": "peer", "addresses": ["127.0.1.2"]}
HOUR = 3600


def plain(known=None, **more):
    return question(known, None, **more)


def asked(line, sent):
    line.socket.sendall(sent)
    return line.answer()


def stands(line, sent=None):
    """From the second time on what is told stands; it is told once more from that."""
    sent = sent or plain()
    first, *others = [asked(line, sent) for _ in range(4)]
    assert all(other[::2] == first[::2] for other in others)
    return first


def last_asked(lab, scope="s"):
    return {vm["name"]: vm["last_asked"] for vm in lab.control("GET", f"/v1/scopes/{scope}").json["vms"]}


def test_a_change_of_the_scope_is_told_at_once(lab):
    """SPEC §2.3: the document is what is so now, and so are its tag and a 304."""
    lab.declare("s", VM, PEER)
    with line_of(lab, "127.0.1.1") as line:
        status, headers, body = stands(line)
        assert (status, b'"Events":[]' in body) == (200, True)
        event = lab.made("s", "vm", "restart")["id"]
        lab.document("127.0.1.2")  # somebody of the scope was heard since
        status, newer, body = asked(line, plain())
        assert (status, event.encode() in body) == (200, True)
        assert newer["etag"] != headers["etag"]

        assert stands(line, plain(newer["etag"]))[0] == 304
        lab.control("POST", f"/v1/events/{event}/cancel")
        assert asked(line, plain(newer["etag"]))[0] == 200
        assert event.encode() not in asked(line, plain())[2]


def test_another_version_or_tag_on_the_same_connection_is_another_question(lab):
    """SPEC §2.2: versions may differ between calls of one client."""
    lab.declare("s", VM, listening="always")
    lab.made("s", "vm", "restart")
    with line_of(lab, "127.0.1.1") as line:
        assert b"DurationInSeconds" in stands(line)[2]

        assert b"DurationInSeconds" not in asked(line, plain(version="2017-03-01"))[2]
        assert b"DurationInSeconds" in asked(line, plain())[2]
        assert asked(line, plain(version="1999-01-01"))[0] == 400
        assert stands(line, plain(version="1999-01-01"))[0] == 400


def test_who_is_no_longer_a_vm_is_told_so(lab):
    """SPEC §5: who asks is judged at every question; an address may be another VM's by now."""
    lab.declare("s", VM)
    lab.declare("t", PEER)
    with line_of(lab, "127.0.1.1") as line:
        assert stands(line)[0] == 200
        lab.declare("s", {"name": "vm"})
        assert asked(line, plain())[0] == 403
        assert stands(line)[0] == 403

        lab.declare("t", PEER, {"name": "newcomer", "addresses": ["127.0.1.1"]}, listening="always")
        lab.made("t", "peer", "restart")
        assert b'"peer"' in asked(line, plain())[2]


def test_an_address_that_another_scope_claims_identifies_nobody(lab):
    """SPEC §5: an address claimed by two VMs; the scope that was asked about has not changed."""
    lab.declare("s", VM)
    lab.declare("t", PEER)
    with line_of(lab, "127.0.1.1") as line:
        stands(line)
        declare_behind_the_api(lab, "t", "127.0.1.1")

        assert asked(line, plain())[0] == 403


def test_a_scope_that_is_removed_has_no_document(lab):
    lab.declare("s", VM)
    with line_of(lab, "127.0.1.1") as line:
        assert stands(line)[0] == 200
        assert lab.control("DELETE", "/v1/scopes/s").status in (200, 204)

        assert asked(line, plain())[0] == 403


@pytest.mark.one_process("the rate is each worker's own")
def test_every_question_is_within_the_rate_or_refused(tmp_path):
    """SPEC §2.1: every well-formed request of a known VM counts, on whichever connection."""
    with open_lab(lab_settings(tmp_path, demo=True, rate_limit_per_s=0.001)) as lab, line_of(lab) as line:
        answers = [asked(line, plain()) for _ in range(8)]

        assert [status for status, _, _ in answers] == [200] + [429] * 7
        assert answers[-1][1]["retry-after"] == "1"


def test_every_question_is_counted_with_its_status(demo):
    labels = '{method="GET",plane="metadata",route="/metadata/scheduledevents",status="%d"}'
    before = [metric(demo, "notbefore_requests_total", labels % 200)]
    with line_of(demo) as line:
        tag = stands(line)[1]["etag"]
        stands(line, plain(tag))

    assert metric(demo, "notbefore_requests_total", labels % 200) == before[0] + 4
    assert metric(demo, "notbefore_requests_total", labels % 304) == 4


def test_every_question_is_noted_as_asked(lab):
    """SPEC §2.5: any 200 or 304 to a VM records when it asked last, and keeps its scope listening."""
    lab.declare("s", VM, PEER)
    with line_of(lab, "127.0.1.1") as line:
        stands(line)
        before = last_asked(lab)
        lab.advance(60)
        assert asked(line, plain())[0] == 200
        until(lambda: last_asked(lab)["vm"] > before["vm"])
        for _ in range(30):
            lab.advance(HOUR)
            assert asked(line, plain())[0] == 200

        assert last_asked(lab)["peer"] is None
        assert lab.made("s", "vm", "restart")["status"] == "Scheduled"


def test_the_first_question_in_a_day_is_not_told_what_stood_before(lab):
    """SPEC §2.5: it enables the service, committed before its answer."""
    lab.declare("s", VM)
    with line_of(lab, "127.0.1.1") as line:
        stands(line)
        lab.advance(25 * HOUR)
        assert lab.control("GET", "/v1/scopes/s").json["listens"] is False

        assert asked(line, plain())[0] == 200
        assert lab.control("GET", "/v1/scopes/s").json["listens"] is True


def test_what_stood_is_not_told_while_a_question_is_held(lab):
    """What comes behind a held question waits for its answer, though it is known."""
    lab.declare("s", VM, listening="always")
    with line_of(lab, "127.0.1.1") as line:
        tag = stands(line)[1]["etag"]
        line.ask(tag)
        line.socket.sendall(plain())
        event = lab.made("s", "vm", "restart")["id"].encode()

        held_one, behind = line.answer(), line.answer()
        assert ("preference-applied" in held_one[1], event in held_one[2]) == (True, True)
        assert ("preference-applied" in behind[1], event in behind[2]) == (False, True)
        assert event in stands(line)[2]


def test_nor_after_an_answer_that_was_read_slowly(lab):
    """A connection that had to wait for its reader comes back another way."""
    declare_long(lab)
    with line_of(lab, opened=narrow(lab)) as line:
        stands(line)
        lab.maintain("long", "Freeze")
        tag = asked(line, plain())[1]["etag"]
        line.ask(tag)
        until(lambda: held(lab) == 1)
        line.socket.sendall(plain())
        event = lab.made("long", "asking", "restart")["id"].encode()

        held_one, behind = line.answer(), line.answer()
        assert ("preference-applied" in held_one[1], event in held_one[2]) == (True, True)
        assert ("preference-applied" in behind[1], event in behind[2]) == (False, True)


def test_two_that_came_together_are_two_answers(demo):
    """The same question twice in one segment is not the question once."""
    with line_of(demo) as line:
        first = stands(line)
        line.socket.sendall(plain() * 2)
        assert [line.answer()[::2] for _ in range(2)] == [first[::2]] * 2
        for part in (plain()[:20], plain()[20:]):
            line.socket.sendall(part)
        assert line.answer()[::2] == first[::2]
        assert stands(line)[::2] == first[::2]


def test_a_fault_strikes_a_connection_on_which_something_stands(tmp_path):
    """From its order on, and no longer than it is there."""
    with open_lab(lab_settings(tmp_path, demo=True, allow_faults=True)) as lab, line_of(lab) as line:
        stands(line)
        assert lab.control("POST", "/v1/faults", {"kind": "503"}).status in (200, 201)
        assert [asked(line, plain())[0] for _ in range(3)] == [503] * 3

        lab.control("DELETE", "/v1/faults")
        assert stands(line)[0] == 200


def test_other_settings_begin_at_once(tmp_path):
    """A rate that is lowered while serving is that of the next question."""
    with open_lab(lab_settings(tmp_path, demo=True)) as lab, line_of(lab) as line:
        stands(line)

        lab.run(lab.server.reloading.apply_everywhere(lab_settings(tmp_path, demo=True, rate_limit_per_s=0.001)))

        assert [asked(line, plain())[0] for _ in range(8)] == [200] + [429] * 7
