"""Faster than polling (SPEC §2.6): a question that is held until its answer is news."""

import json
import time
from contextlib import ExitStack
from dataclasses import replace

import msgspec
import pytest
from polling import ended, held, line_of, metric, question, until

from lab import PATH, lab_settings, open_lab
from notbefore.core.model import Vm
from notbefore.metadata.preferences import wait_preferred_s
from notbefore.metadata.proxy import signed
from notbefore.ports import Stored

VM = {"name": "vm", "addresses": ["127.0.1.1"]}
PEER = {"name": "peer", "addresses": ["127.0.1.2"]}


def test_two_vms_one_waiting_and_one_not_see_the_same_change(demo):
    """SPEC §2.6: held until the document changes; Issue: two VMs, one long-polling."""
    before = demo.document("127.0.0.2")["DocumentIncarnation"]
    with line_of(demo) as line:
        line.ask(before)
        until(lambda: held(demo) == 1)
        event = demo.made("demo", "FrontEnd_IN_0", "restart")
        status, headers, body = line.answer()

    assert (status, headers["preference-applied"]) == (200, "wait=60")
    assert headers["etag"] == str(before + 1)
    assert [one["EventId"] for one in json.loads(body)["Events"]] == [event["id"]]
    assert json.loads(body) == demo.document("127.0.0.2")


def test_every_change_wakes_in_its_order(demo):
    """SPEC §2.6 over an event's whole life: Scheduled, Started, gone; one answer each, none missed, none twice."""
    seen = []
    with line_of(demo) as line:
        known = demo.document()["DocumentIncarnation"]
        for change in (
            lambda: demo.made("demo", "FrontEnd_IN_0", "restart"),
            lambda: demo.advance(900),
            lambda: demo.advance(60),
        ):
            line.ask(known)
            until(lambda: held(demo) == 1)
            change()
            _, headers, body = line.answer()
            known = headers["etag"]
            seen.append([one["EventStatus"] for one in json.loads(body)["Events"]])

    assert seen == [["Scheduled"], ["Started"], []]
    assert ended(demo, "changed") == 3


def test_a_question_nothing_happens_to_is_answered_304_when_its_time_is_up(demo):
    """SPEC §2.6: … or N seconds pass (then 304), and carries `Preference-Applied: wait=N`."""
    known = demo.document()["DocumentIncarnation"]
    with line_of(demo) as line:
        line.ask(known, "wait=1")
        status, headers, body = line.answer()

    assert (status, headers["preference-applied"], headers["etag"], body) == (304, "wait=1", str(known), b"")
    assert ended(demo, "expired") == 1
    assert held(demo) == 0


def test_the_manual_clock_does_not_end_a_wait(demo):
    """SPEC §4: long polls stay on real time."""
    known = demo.document()["DocumentIncarnation"]
    with line_of(demo) as line:
        line.ask(known)
        until(lambda: held(demo) == 1)
        demo.advance(3600)

        assert held(demo) == 1


def test_a_document_that_has_changed_already_is_answered_at_once(demo):
    """SPEC §2.6: there is nothing to wait for; §6 L3: a watcher that reconnects converges in one answer."""
    known = demo.document()["DocumentIncarnation"]
    event = demo.made("demo", "FrontEnd_IN_0", "restart")
    with line_of(demo) as line:
        line.ask(known)
        status, headers, body = line.answer()

    assert (status, headers["preference-applied"]) == (200, "wait=60")
    assert json.loads(body)["Events"][0]["EventId"] == event["id"]


@pytest.mark.parametrize(
    ("known", "wait", "status"),
    [
        pytest.param(None, "wait=60", 200, id="no incarnation"),
        pytest.param("*", "wait=60", 304, id="any incarnation"),
        pytest.param(1, None, 304, id="no preference"),
        pytest.param(1, "respond-async", 304, id="another preference"),
        pytest.param(1, "wait=soon", 304, id="no number"),
        pytest.param(1, "wait=-1", 304, id="less than nothing"),
    ],
)
def test_who_does_not_ask_to_wait_for_something_is_answered_at_once(shared_demo, known, wait, status):
    """SPEC §2.6: without `If-None-Match` the answer is immediate; a plain client never sees it."""
    with line_of(shared_demo) as line:
        line.ask(known, wait)
        got, headers, _ = line.answer()

    assert got == status
    assert "preference-applied" not in headers


def test_a_wait_of_nothing_is_over_at_once(shared_demo):
    """RFC 7240: wait=0 is a wait like any other."""
    with line_of(shared_demo) as line:
        line.ask(1, "wait=0")
        status, headers, _ = line.answer()

    assert (status, headers["preference-applied"]) == (304, "wait=0")


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (["wait=5"], 5),
        (["WAIT=5"], 5),
        (["respond-async, wait=5"], 5),
        (["return=minimal; foo=bar , wait = 5 ; x"], 5),
        (["respond-async", "wait=5"], 5),
        (['wait="5"'], 5),
        (['foo="a, wait=9", wait=5'], 5),
        (['foo="a\\", wait=9", wait=5'], 5),
        (["wait=5, wait=9"], 5),
        (["wait=060"], 60),
        (["wait=61"], 60),
        (["wait=" + "9" * 9000], 60),
        (["wait=0"], 0),
        (["wait=x, wait=5"], None),
        (["wait"], None),
        (["wait="], None),
        (['wait=""'], None),
        (["wait=1.5"], None),
        (["wait=+5"], None),
        (["wait=\N{SUPERSCRIPT TWO}"], None),
        (["await=5"], None),
        (["foo; wait=5"], None),
        (['foo="never closed, wait=5'], None),
        (["", ",,"], None),
        ([], None),
    ],
)
def test_the_preference_is_read_as_rfc_7240_writes_it(given, seconds):
    """SPEC §2.6 (RFC 7240, N ≤ 60): a list over several headers, quoted values, parameters; the first counts; more is 60."""
    assert wait_preferred_s(one.encode("latin-1") for one in given) == seconds


def test_the_wait_that_is_given_is_told(demo):
    """SPEC §2.6: N ≤ 60; a longer one is cut to that, and the answer says so."""
    demo.made("demo", "FrontEnd_IN_0", "restart")
    with line_of(demo) as line:
        line.ask(1, 'foo="a, wait=3", WAIT="3600"; x=y')
        _, headers, _ = line.answer()

    assert headers["preference-applied"] == "wait=60"


def test_the_first_question_enables_the_scope_and_is_held(lab):
    """SPEC §2.5: the first *asked* of a scope is committed before its answer; §2.6 holds for it as for any other."""
    lab.declare("s", VM, PEER)
    with line_of(lab, "127.0.1.1") as line:
        line.ask(1)
        until(lambda: held(lab) == 1)
        assert lab.control("GET", "/v1/scopes/s").json["listens"] is True

        assert lab.made("s", "peer", "restart")["status"] == "Scheduled"
        assert line.answer()[0] == 200


def test_a_held_question_counts_once_against_the_rate(tmp_path):
    """SPEC §2.1: every well-formed request counts, and no answer does."""
    with open_lab(lab_settings(tmp_path / "state", demo=True, rate_limit_per_s=1)) as lab, line_of(lab) as line:
        known = lab.document("127.0.0.2")["DocumentIncarnation"]
        line.ask(known, "wait=2")
        assert line.answer()[0] == 304
        line.ask(known, "wait=1")
        assert line.answer()[0] == 304
        line.ask(known, "wait=1")
        assert line.answer()[0] == 304


def test_who_asks_too_often_is_not_held(tmp_path):
    """SPEC §2.1: the first broken rule answers; 429 at once."""
    with open_lab(lab_settings(tmp_path / "state", demo=True, rate_limit_per_s=1)) as lab, line_of(lab) as line:
        line.socket.sendall(question(1, None) * 3 + question(1))
        statuses = [line.answer()[0] for _ in range(4)]

    assert statuses[-1] == 429


def test_a_stranger_is_not_held(shared_demo):
    """SPEC §5: else 403, at once."""
    with line_of(shared_demo, "127.9.9.9") as line:
        line.ask(1)

        assert line.answer()[0] == 403


# -- who it is by the time it is answered


def test_a_vm_that_lost_its_address_gets_no_document(lab):
    """SPEC §5, S8: a VM sees its own scope's events, nothing else; so it is identified again when it is answered."""
    lab.declare("s", VM, PEER, listening="always")
    with line_of(lab, "127.0.1.1") as line:
        line.ask(1)
        until(lambda: held(lab) == 1)
        lab.declare("s", {"name": "vm"}, PEER, listening="always")
        status, headers, body = line.answer()

    assert status == 403
    assert "preference-applied" not in headers
    assert b"Events" not in body


@pytest.mark.one_process("it is moved in the memory of this process")
def test_a_vm_that_moved_gets_the_document_of_where_it_is(lab):
    """S8: and the numbers of its former scope mean nothing there."""
    lab.declare("s", VM, PEER, listening="always")
    lab.declare("t", {"name": "other"}, listening="always")
    with line_of(lab, "127.0.1.1") as line:
        line.ask(1)
        until(lambda: held(lab) == 1)
        lab.run(move(lab))
        status, _, body = line.answer()

    assert status == 200
    assert json.loads(body) == {"DocumentIncarnation": 1, "Events": []}
    assert held(lab) == 0


async def move(lab):
    """From one scope to the other, both changes there before anybody looks."""
    snapshot = lab.server.node.snapshot
    for name, vms in (("s", ()), ("t", (Vm("vm", addresses=("127.0.1.1",)),))):
        view = snapshot.view(name)
        snapshot.apply(Stored(replace(view.scope, vms=vms), view.version + 1, 0))


def test_a_removed_scope_ends_the_wait(lab):
    """SPEC §5: a VM that is not declared is nobody."""
    lab.declare("s", VM, listening="always")
    with line_of(lab, "127.0.1.1") as line:
        line.ask(1)
        until(lambda: held(lab) == 1)
        lab.control("DELETE", "/v1/scopes/s")

        assert line.answer()[0] == 403


def test_a_change_that_shows_nothing_wakes_nobody(lab):
    """SPEC §2.6: held until the document changes; the incarnation says whether it did."""
    lab.declare("s", VM, listening="always")
    with line_of(lab, "127.0.1.1") as line:
        line.ask(1, "wait=1")
        until(lambda: held(lab) == 1)
        lab.declare("s", VM, PEER, listening="always", recovery_s=5)
        status, _, _ = line.answer()

    assert status == 304
    assert ended(lab, "expired") == 1


# -- connections


def test_the_connection_goes_on_after_a_held_question(demo):
    """SPEC §2.1: keep-alive works; plain and patient questions in turn, on one connection."""
    with line_of(demo) as line:
        for wait in ("wait=1", None, "wait=1", None, None):
            line.ask(1, wait)
            status, headers, _ = line.answer()
            assert status == 304
            assert ("preference-applied" in headers) is (wait is not None)
            assert "connection" not in headers


@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
def test_connection_close_is_honoured_after_the_wait(demo, version):
    """SPEC §2.1: `Connection: close` is honoured and echoed."""
    with line_of(demo) as line:
        line.socket.sendall(question(1, "wait=1", extra=b"Connection: close\r\n").replace(b"HTTP/1.1", version))
        _, headers, _ = line.answer()

        assert headers["connection"] == "close"
        assert line.is_ended()


def test_what_comes_behind_a_held_question_waits_its_turn(demo):
    """HTTP/1.1: answers come in the order of the questions."""
    with line_of(demo) as line:
        line.socket.sendall(question(1) + question(None, None) + question(2))
        until(lambda: held(demo) == 1)
        demo.made("demo", "FrontEnd_IN_0", "restart")
        first, second = line.answer(), line.answer()
        until(lambda: held(demo) == 1)
        demo.advance(900)
        third = line.answer()

    assert [one[0] for one in (first, second, third)] == [200, 200, 200]
    assert first[2] == second[2]
    assert json.loads(third[2])["Events"][0]["EventStatus"] == "Started"


def test_what_is_sent_later_behind_a_held_question_waits_too(demo):
    """The same when it comes while the first is already held."""
    with line_of(demo) as line:
        line.ask(1)
        until(lambda: held(demo) == 1)
        line.ask(None, None)
        demo.made("demo", "FrontEnd_IN_0", "restart")

        assert [line.answer()[1].get("preference-applied") for _ in range(2)] == ["wait=60", None]


def test_no_http_behind_a_held_question_ends_the_wait(demo):
    """SPEC §2.1: a refusal is sent after the answers that are owed."""
    with line_of(demo) as line:
        line.ask(1)
        until(lambda: held(demo) == 1)
        line.socket.sendall(b"nonsense\r\n\r\n")

        assert [line.answer()[0] for _ in range(2)] == [304, 400]


def test_a_client_that_goes_away_frees_everything_at_once(demo):
    """SPEC §2.1: a half-open client costs a bounded amount; one that is gone costs nothing."""
    with line_of(demo) as line, line_of(demo) as queueing:
        line.ask(1)
        queueing.socket.sendall(question(1) + question(1, None) * 5)
        until(lambda: held(demo) == 2)
        assert metric(demo, "notbefore_metadata_connections") == 2

    until(lambda: held(demo) == 0)
    until(lambda: metric(demo, "notbefore_metadata_connections") == 0)
    assert ended(demo, "changed") == ended(demo, "expired") == 0


def test_who_only_stops_sending_is_answered_at_once(demo):
    """It cannot be told from one that is gone: so it is answered, and the connection ends."""
    with line_of(demo) as line:
        line.ask(1)
        until(lambda: held(demo) == 1)
        line.socket.shutdown(1)
        status, headers, _ = line.answer()

        assert (status, headers["connection"]) == (304, "close")
        assert "preference-applied" not in headers
        assert line.is_ended()
    assert ended(demo, "released") == 1


def test_waiting_is_not_idling(tmp_path):
    """SPEC §2.1: a slow client is cut off; one that is made to wait is not slow."""
    limits = {"idle_timeout_s": 0.1, "head_timeout_s": 0.1, "body_timeout_s": 0.1}
    with open_lab(lab_settings(tmp_path / "state", demo=True, limits=limits)) as lab, line_of(lab) as line:
        line.ask(1, "wait=3")

        assert line.answer()[0] == 304


@pytest.mark.one_process("the cap counts in each worker")
def test_over_the_cap_a_question_is_answered_as_if_it_had_not_asked_to_wait(tmp_path):
    """Limits on every queue: at once, without Preference-Applied; and it recovers."""
    settings = lab_settings(tmp_path / "state", demo=True, limits={"long_polls_max": 1})
    with open_lab(settings) as lab, line_of(lab) as line, line_of(lab) as late:
        line.ask(1)
        until(lambda: held(lab) == 1)
        late.ask(1)
        status, headers, _ = late.answer()
        assert status == 304
        assert "preference-applied" not in headers
        assert metric(lab, "notbefore_metadata_long_polls_refused_total") == 1

        line.socket.close()
        until(lambda: held(lab) == 0)
        late.ask(1, "wait=1")
        assert late.answer()[1]["preference-applied"] == "wait=1"


def test_a_question_with_a_body_is_not_held(demo):
    """A preference is a wish (RFC 7240): nothing is held whose end has not come."""
    with line_of(demo) as line:
        line.socket.sendall(question(1, extra=b"Content-Length: 2\r\n") + b"{}")
        status, headers, _ = line.answer()

    assert status == 304
    assert "preference-applied" not in headers


@pytest.mark.parametrize("method", ["HEAD", "PUT", "POST"])
def test_other_methods_know_no_waiting(shared_demo, method):
    """SPEC §2.6 is about GET."""
    headers = {"Metadata": "true", "Prefer": "wait=60", "If-None-Match": "1"}

    reply = shared_demo.ask(method=method, headers=headers)

    assert reply.status == (400 if method == "POST" else 405)
    assert "preference-applied" not in reply.headers


def test_a_proxys_word_is_good_for_the_whole_wait(tmp_path):
    """SPEC §5 (2): ±60 s when it is given; the VM it was given for must still be there at the end."""
    key = bytes(range(16))
    settings = lab_settings(tmp_path / "state", demo=True, trusted_proxy_key=[key.hex()])
    with open_lab(settings) as lab, line_of(lab, "127.9.9.9") as line:
        word = signed("demo", "FrontEnd_IN_0", int(time.time()) - 59, key)  # noqa: TID251  a proxy has a clock of its own
        line.ask(1, "wait=3", extra=f"X-Notbefore-Vm: {word}\r\n".encode())

        assert line.answer()[0] == 304


def test_a_listener_of_one_vm_holds_for_that_vm(tmp_path):
    """SPEC §5 (1)."""
    listeners = ("127.0.0.1:0", {"address": "127.0.0.1:0", "vm": "demo/BackEnd_IN_0"})
    with open_lab(lab_settings(tmp_path / "state", demo=True, listeners=listeners)) as lab:
        host, _, port = lab.server.metadata_urls[1].removeprefix("http://").partition(":")
        with line_of(lab, "127.9.9.9", (host, int(port))) as line:
            line.ask(1)
            until(lambda: held(lab) == 1)
            lab.made("demo", "FrontEnd_IN_0", "restart")

            assert line.answer()[0] == 200


def test_many_are_woken_by_one_change_each_with_the_same_document(tmp_path):
    """SPEC §2.6, more of them than one batch."""
    limits = {"connections_per_vm_max": 1000}
    with open_lab(lab_settings(tmp_path / "state", demo=True, limits=limits)) as lab, ExitStack() as opened:
        lines = [opened.enter_context(line_of(lab)) for _ in range(300)]
        for line in lines:
            line.ask(1)
        until(lambda: held(lab) == 300)
        lab.made("demo", "FrontEnd_IN_0", "restart")
        bodies = {line.answer()[2] for line in lines}

        assert bodies == {lab.ask().body}
        assert ended(lab, "changed") == 300


def test_a_change_by_another_server_on_the_same_store_wakes(tmp_path):
    """DESIGN §2: other nodes follow; who waits here hears of what was done there."""
    settings = lab_settings(tmp_path / "one", "real", demo=True)
    beside = lab_settings(tmp_path / "two", "real")
    beside = msgspec.structs.replace(
        beside, store=msgspec.structs.replace(beside.store, url=f"sqlite:{settings.store_path}")
    )
    with open_lab(settings) as here, open_lab(beside) as there, line_of(here) as line:
        line.ask(1)
        until(lambda: held(here) == 1)
        event = there.made("demo", "FrontEnd_IN_0", "restart")
        status, _, body = line.answer()

    assert status == 200
    assert json.loads(body)["Events"][0]["EventId"] == event["id"]


def test_requests_are_counted_when_they_are_answered(demo):
    """Metrics: a held question has no status yet."""
    row = f'{{method="GET",plane="metadata",route="{PATH}",status="304"}}'
    before = metric(demo, "notbefore_requests_total", row)
    with line_of(demo) as line:
        line.ask(1, "wait=1")
        until(lambda: held(demo) == 1)
        assert metric(demo, "notbefore_requests_total", row) == before
        line.answer()

    assert metric(demo, "notbefore_requests_total", row) == before + 1
