"""Faults of answers, each seen by a plain curl exactly as ordered, and gone after clear (issue 8)."""

import json
import re
import socket

import pytest
from fault_hands import CUT_SHORT, NO_ANSWER, ended, until

from lab import PATH, start_requests

EMPTY = {"DocumentIncarnation": 1, "Events": []}
FOR_EVER = 3600

pytestmark = pytest.mark.part("curl")


def is_ordinary(got):
    assert (got.code, got.status, got.json) == (0, 200, EMPTY), got
    assert got.headers["content-type"] == "application/json; charset=utf-8"
    return True


def connections_open(hands):
    page = hands.lab.control("GET", "/metrics").body.decode()
    return float(re.search(r"^notbefore_metadata_connections (\S+)$", page, re.MULTILINE)[1])


@pytest.mark.parametrize("kind", ["410", "429", "500", "503"])
def test_a_status_is_answered_with_an_error_in_json(hands, kind):
    """That status with a JSON error body; 429 and 503 say when to come again."""
    is_ordinary(hands.curl())
    hands.order(kind)

    for _ in range(2):
        got = hands.curl()
        assert (got.code, got.status) == (0, int(kind))
        assert got.headers["content-type"] == "application/json; charset=utf-8"
        assert got.headers.get("retry-after") == ("1" if kind in ("429", "503") else None)
        assert list(got.json) == ["error"]
    assert hands.clear() == 1
    is_ordinary(hands.curl())


def test_a_struck_approval_is_not_carried_out_and_the_next_one_is(hands):
    """500 on POST only is a classic: reading goes on, the approval has to be sent again."""
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    fault = hands.order("500", on="post", times=1)

    assert hands.curl().json["Events"][0]["EventStatus"] == "Scheduled"
    assert hands.struck(fault) == 0
    assert hands.post(event).status == 500
    assert hands.lab.event(event)["approvals"] == []
    assert hands.post(event).status == 200
    assert hands.lab.event(event)["status"] == "Started"


def test_a_struck_question_does_not_enable_the_service(hands):
    """SPEC §2.5: any 200 or 304 records that a VM asked; what is not carried out does not."""
    hands.lab.declare("quiet", {"name": "a", "addresses": ["127.0.0.9"]})
    hands.order("503", vms=["quiet/a"])

    assert hands.curl(source="127.0.0.9").status == 503
    assert hands.lab.control("GET", "/v1/scopes/quiet").json["vms"][0]["last_asked"] is None
    hands.clear()
    assert hands.curl(source="127.0.0.9").status == 200
    assert hands.lab.control("GET", "/v1/scopes/quiet").json["vms"][0]["last_asked"]


def test_reading_only_is_struck_on_get(hands):
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    hands.order("410", on="get")

    assert hands.curl().status == 410
    assert hands.post(event).status == 200


def test_slow_sends_no_byte_for_so_long_and_then_the_ordinary_answer(hands):
    """Real seconds before the first byte."""
    hands.order("slow", delay_s=0.05)
    is_ordinary(hands.curl())
    hands.clear()

    fault = hands.order("slow", delay_s=FOR_EVER)
    assert hands.given_up(fault).status is None


def test_who_is_made_to_wait_is_answered_when_the_fault_is_cleared(hands):
    """Gone after clear: also for those it has in hand."""
    fault = hands.order("slow", delay_s=FOR_EVER)
    asking = hands.start()
    until(lambda: hands.struck(fault) == 1)
    assert asking.poll() is None

    hands.clear()

    is_ordinary(ended(asking))


def test_a_slow_approval_is_taken_when_its_delay_is_over(hands):
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    hands.order("slow", delay_s=0.05, on="post")

    assert hands.post(event).status == 200
    assert hands.lab.event(event)["status"] == "Started"


def test_who_gives_up_on_a_slow_approval_has_approved_nevertheless(hands):
    """What came whole is taken; and nobody's connection is kept for as long as the delay would be."""
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    fault = hands.order("slow", delay_s=FOR_EVER, on="post")
    body = start_requests(event).encode()
    head = f"POST {PATH}?api-version=2020-07-01 HTTP/1.1\r\nHost: a\r\nMetadata: true\r\nContent-Length: {len(body)}\r\n\r\n"

    with socket.create_connection(hands.lab.metadata) as line:
        line.sendall(head.encode() + body)
        until(lambda: hands.struck(fault) == 1)
    until(lambda: connections_open(hands) == 0)
    assert hands.lab.event(event)["status"] == "Started"


def test_hang_sends_no_byte_until_the_client_leaves(hands):
    """And the server notices that it has left."""
    fault = hands.order("hang")

    got = hands.given_up(fault)

    assert (got.status, got.body) == (None, "")
    until(lambda: connections_open(hands) == 0)


def test_who_hangs_is_cut_off_when_the_fault_is_cleared(hands):
    """The connection is closed without an answer; what was asked was not carried out."""
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    fault = hands.order("hang", times=1)
    asking = hands.start("-d", json.dumps({"StartRequests": [{"EventId": event}]}))
    until(lambda: hands.struck(fault) == 1)
    assert asking.poll() is None

    assert hands.clear() == 1

    assert ended(asking).code == NO_ANSWER
    assert hands.lab.event(event)["approvals"] == []


def test_a_client_that_hangs_with_others_behind_it_is_let_go_with_them(hands):
    """Several questions on one connection: the first hangs, and those behind it go with the connection."""
    fault = hands.order("hang", times=1)
    head = b"GET /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n\r\n"

    assert hands.lab.raw(head * 3, half_close=True) == b""
    assert hands.struck(fault) == 1
    until(lambda: connections_open(hands) == 0)


def test_cut_body_promises_the_whole_and_sends_half(hands):
    """Head with the whole Content-Length, half of the body, then the connection is cut."""
    hands.order("cut-body")
    whole = json.dumps(EMPTY, separators=(",", ":"))

    for more in ((), ("-H", "If-None-Match: 1")):
        got = hands.curl(*more)
        assert (got.code, got.status) == (CUT_SHORT, 200)
        assert got.headers["content-length"] == str(len(whole))
        assert got.body == whole[: len(whole) // 2]
    hands.clear()
    is_ordinary(hands.curl())


def test_an_answer_without_a_body_is_cut_off_before_it(hands):
    """The approval is recorded and its answer lost: whoever sends it again gets 200."""
    event = hands.lab.made("demo", "FrontEnd_IN_0", "restart")["id"]
    hands.order("cut-body", on="post", times=1)

    assert hands.post(event).code == NO_ANSWER
    assert hands.lab.event(event)["status"] == "Started"
    assert hands.post(event).status == 200


def test_garbage_says_it_is_json_and_is_none(hands):
    hands.order("garbage")

    for more in ((), ("-H", "If-None-Match: 1")):
        got = hands.curl(*more)
        assert (got.code, got.status, got.headers["content-type"]) == (0, 200, "application/json; charset=utf-8")
        assert got.body
        with pytest.raises(json.JSONDecodeError):
            got.json  # noqa: B018  to read it is the point
    hands.clear()
    is_ordinary(hands.curl())


def test_empty_is_200_with_no_body(hands):
    """ "An empty body means no events" is what some clients learnt the hard way."""
    hands.order("empty")

    got = hands.curl()
    assert (got.code, got.status, got.headers["content-length"], got.body) == (0, 200, "0", "")
    hands.clear()
    is_ordinary(hands.curl())


def test_an_answer_that_refuses_is_not_spoilt(hands):
    """What spoils answers spoils those that say the request was done."""
    hands.order("garbage", on="post")

    got = hands.post("11111111-2222-3333-4444-555555555555")

    assert (got.status, list(got.json)) == (400, ["error"])


def test_the_first_question_of_each_vm_waits_and_no_other(hands):
    """REFERENCE: the first call may take up to two minutes; the next ones do not."""
    fault = hands.order("first-call-delay", delay_s=FOR_EVER)

    assert hands.given_up(fault).status is None
    is_ordinary(hands.curl())
    assert hands.given_up(fault, source="127.0.0.2").status is None
    is_ordinary(hands.curl(source="127.0.0.2"))
    assert hands.struck(fault) == 2


def test_the_first_question_waits_as_long_as_it_was_told(hands):
    hands.order("first-call-delay", delay_s=0.05)

    is_ordinary(hands.curl())


@pytest.mark.parametrize(
    ("more", "status"),
    [
        (("-H", "Metadata: false"), 400),
        (("-H", "X-Forwarded-For: 1.2.3.4"), 400),
        (("-X", "PUT"), 405),
        (("--interface", "127.0.0.77"), 403),
    ],
)
def test_a_request_that_is_refused_anyway_is_not_struck(hands, more, status):
    """Only well-formed requests of known VMs are."""
    fault = hands.order("500")

    assert hands.curl(*more).status == status
    assert hands.struck(fault) == 0


def test_neighbours_of_the_events_are_not_struck(hands):
    """The instance metadata, which clients ask who they are, is left alone."""
    hands.order("500")

    reply = hands.lab.ask(path="/metadata/instance", version="2021-02-01")
    assert reply.status == 200


def test_of_two_the_oldest_that_strikes_wins(hands):
    hands.order("410", times=1)
    hands.order("503")

    assert [hands.curl().status for _ in range(3)] == [410, 503, 503]
