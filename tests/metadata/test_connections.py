"""Connections (SPEC §2.1): keep-alive, close, early refusals, clients that never finish."""

import json
import re
import socket
from contextlib import ExitStack

import pytest

from lab import PATH, lab_settings, open_lab

ASK = f"GET {PATH}?api-version=2020-07-01 HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n".encode()


def read_answer(line):
    """One whole answer with a Content-Length."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += line.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = next((int(h.split(b":")[1]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length")), 0)
    while len(body) < length:
        body += line.recv(65536)
    return head, body


def test_a_connection_is_kept_for_the_next_request(demo):
    """SPEC §2.1: keep-alive works."""
    with socket.create_connection(demo.metadata, timeout=10) as line:
        for _ in range(3):
            line.sendall(ASK + b"\r\n")
            head, _ = read_answer(line)

            assert head.startswith(b"HTTP/1.1 200")
            assert b"connection: close" not in head


def test_connection_close_is_honoured_and_echoed(demo):
    """SPEC §2.1: `Connection: close` is honoured and echoed."""
    received = demo.raw(ASK + b"Connection: close\r\n\r\n")

    assert received.startswith(b"HTTP/1.1 200")
    assert b"\r\nconnection: close\r\n" in received


def test_an_early_refusal_is_seen_although_the_body_is_still_coming(demo):
    """SPEC §2.1: after an early refusal the rest is read and dropped before closing, so that the client sees the answer."""
    body = b"x" * 500_000
    head = f"POST {PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    received = demo.raw(head + body)

    assert received.startswith(b"HTTP/1.1 400")
    assert b"Required metadata header not specified" in received


@pytest.mark.parametrize(("source", "status"), [("127.0.0.1", b"200"), ("127.9.9.9", b"403")], ids=["known", "unknown"])
def test_what_the_head_decides_is_told_although_the_body_never_comes(demo, source, status):
    """SPEC §2.1: the client sees the answer; also when the end of what it sends is noticed before the answer is made."""
    for _ in range(30):
        received = demo.raw(ASK + b"Content-Length: 3\r\n\r\n", source, half_close=True)

        assert received.startswith(b"HTTP/1.1 " + status)


def test_an_approval_that_is_cut_short_is_told_so_and_changes_nothing(demo):
    """SPEC §2.4: all or nothing; who has stopped sending in the middle may still read what that came to."""
    event_id = demo.made("demo", "FrontEnd_IN_0", "restart")["id"]
    body = json.dumps({"StartRequests": [{"EventId": event_id}]})
    head = ASK.replace(b"GET", b"POST") + f"Content-Length: {len(body) + 1}\r\n\r\n".encode()

    received = demo.raw(head + body.encode(), half_close=True)

    assert received.startswith(b"HTTP/1.1 400")
    assert b"The connection ended before the body did" in received
    assert demo.document()["Events"][0]["EventStatus"] == "Scheduled"


def test_a_refused_head_is_answered_although_more_is_coming(demo):
    """SPEC §2.1: the same holds when what comes is no HTTP at all."""
    received = demo.raw(b"nonsense\r\n" * 50_000)

    assert received.startswith(b"HTTP/1.1 400")
    assert json.loads(received.partition(b"\r\n\r\n")[2])["error"]


def test_a_client_that_sends_more_than_a_mebibyte_after_a_refusal_is_cut_off(demo):
    """SPEC §2.1: … read and dropped (≤ 1 MiB, ≤ 2 s) before closing."""
    head = f"POST {PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: 900000000\r\n\r\n".encode()
    with (
        socket.create_connection(demo.metadata, timeout=20) as line,
        pytest.raises((BrokenPipeError, ConnectionResetError)),
    ):
        line.sendall(head)
        for _ in range(10_000):
            line.sendall(b"x" * 65536)


def test_expect_100_continue_is_answered_before_the_body(demo):
    """PARTS: the C# client sends `Expect: 100-continue` and waits for the word."""
    event = demo.made("demo", "FrontEnd_IN_0", "restart")
    body = json.dumps({"StartRequests": [{"EventId": event["id"]}]}).encode()
    head = ASK.replace(b"GET", b"POST") + f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n".encode()
    with socket.create_connection(demo.metadata, timeout=10) as line:
        line.sendall(head)
        interim = line.recv(1000)
        line.sendall(body)
        final, _ = read_answer(line)

    assert interim == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert final.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("sent", [b"", b"GET /metadata", ASK], ids=["silent", "half a line", "half a head"])
def test_a_slow_or_half_open_client_is_cut_off(tmp_path, sent):
    """SPEC §2.1: a slow or half-open client costs a bounded amount of memory and is cut off."""
    with open_lab(lab_settings(tmp_path, demo=True, limits={"head_timeout_s": 0.2})) as lab:
        assert lab.raw(sent) == b""


def test_a_connection_kept_for_nothing_is_ended(tmp_path):
    """SPEC §2.1: keep-alive works, and ends."""
    with open_lab(lab_settings(tmp_path, demo=True, limits={"idle_timeout_s": 0.2})) as lab:
        for _ in range(3):
            assert lab.raw(ASK + b"\r\n").startswith(b"HTTP/1.1 200")


def test_a_body_that_never_comes_is_refused(tmp_path):
    """SPEC §2.1: a slow client … is cut off, with a sentence where one can still be said."""
    head = ASK.replace(b"GET", b"POST") + b"Content-Length: 10\r\n\r\n{"
    with open_lab(lab_settings(tmp_path, demo=True, limits={"body_timeout_s": 0.2})) as lab:
        assert b"did not arrive in time" in lab.raw(head)


@pytest.mark.one_process("caps count in each worker")
def test_connections_of_one_vm_are_capped_and_the_others_are_served(tmp_path):
    """Issue: a cap on connections per VM and in all; at the cap new ones are refused and it recovers."""
    with open_lab(lab_settings(tmp_path, demo=True, limits={"connections_per_vm_max": 3, "connections_max": 5})) as lab:
        with ExitStack() as held:
            for source in ("127.0.0.1",) * 3:
                begun(lab, source, held)
            assert is_refused(lab, "127.0.0.1")
            assert [lab.ask("127.0.0.2").status for _ in range(3)] == [200, 200, 200]
            for source in ("127.0.0.2",) * 2:
                begun(lab, source, held)
            assert eventually(lambda: is_refused(lab, "127.0.0.3"))

        assert eventually(lambda: lab.ask().status == 200)


def begun(lab, source, held):
    """A connection that has something to say: until then it is the kernel's, and not counted."""
    line = held.enter_context(socket.create_connection(lab.metadata, source_address=(source, 0)))
    line.sendall(b"GET /")


def is_refused(lab, source):
    """A connection over the cap is answered 503 and closed; one that had sent already may see it as a reset."""
    try:
        return lab.raw(b"GET /", source).startswith(b"HTTP/1.1 503")
    except ConnectionResetError:
        return True


def eventually(holds):
    """The server sees a closed connection a moment later; it is asked until it has."""
    for _ in range(1000):
        try:
            if holds():
                return True
        except ConnectionError:
            continue
    return False


def test_pipelined_requests_are_answered_in_order(demo):
    """Issue: pipelining."""
    bad = b"GET /nowhere HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n\r\n"
    good = ASK + b"\r\n"
    last = ASK + b"Connection: close\r\n\r\n"

    received = demo.raw(good + bad + good + bad + last)

    statuses = re.findall(rb"HTTP/1\.1 (\d+)", received)
    assert statuses == [b"200", b"404", b"200", b"404", b"200"]


def test_garbage_behind_a_good_request_is_refused_after_its_answer(demo):
    """SPEC §2.1: the first broken rule answers, each request in its turn."""
    received = demo.raw(ASK + b"\r\n" + b"garbage\r\n\r\n")

    statuses = re.findall(rb"HTTP/1\.1 (\d+)", received)
    assert statuses == [b"200", b"400"]


@pytest.mark.parametrize("extra", [b"", b"Connection: Keep-Alive\r\n"])
def test_http_1_0_is_answered_and_closed(demo, extra):
    """Issue: HTTP/1.0."""
    received = demo.raw(ASK.replace(b"HTTP/1.1", b"HTTP/1.0") + extra + b"\r\n")

    assert received.startswith(b"HTTP/1.1 200")
    assert b"\r\nconnection: close\r\n" in received


def test_an_absolute_form_target_is_understood(demo):
    """Issue: absolute-form targets."""
    received = demo.raw(ASK.replace(b"GET /", b"GET http://169.254.169.254/") + b"Connection: close\r\n\r\n")

    assert received.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "query", [b"api%2Dversion=2020-07-01", b"api-version=2020%2d07-01", b"api-version=2020-07-01&x=a+b"]
)
def test_percent_encoding_and_plus_in_queries_are_understood(demo, query):
    """Issue: percent-encoding and `+` in queries."""
    received = demo.raw(ASK.replace(b"api-version=2020-07-01", query) + b"Connection: close\r\n\r\n")

    assert received.startswith(b"HTTP/1.1 200")


def test_an_upgrade_nobody_offers_is_answered_as_if_it_were_not_asked(demo):
    """RFC 9110: a server may ignore an Upgrade; it must not be confused by one."""
    received = demo.raw(ASK + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\nmore")

    assert received.startswith(b"HTTP/1.1 200")


def test_a_chunked_approval_is_taken(demo):
    """Issue: chunked POST bodies."""
    event = demo.made("demo", "FrontEnd_IN_0", "restart")
    body = json.dumps({"StartRequests": [{"EventId": event["id"]}]}).encode()
    chunks = b"".join(b"%x\r\n%b\r\n" % (1, body[n : n + 1]) for n in range(len(body)))
    head = ASK.replace(b"GET", b"POST") + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"

    assert demo.raw(head + chunks + b"0\r\n\r\n").startswith(b"HTTP/1.1 200")
    assert demo.event(event["id"])["status"] == "Started"


def test_a_client_that_does_not_read_is_not_read_from(demo):
    """Limits on every queue: answers that nobody reads, and requests that nobody waited for, do not pile up."""
    with socket.create_connection(demo.metadata, timeout=1) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sent = 0
        with pytest.raises((TimeoutError, ConnectionError)):
            for _ in range(1_000_000):
                sent += line.send((ASK + b"\r\n") * 100)

    assert sent < 64 * 1024 * 1024


def test_more_than_64_requests_without_waiting_are_refused_after_the_answers_owed(demo):
    """Issue: pipelining, with a limit on every queue."""
    demo.ask()
    received = demo.raw((ASK + b"\r\n") * 200)

    statuses = re.findall(rb"HTTP/1\.1 (\d+)", received)
    assert set(statuses[:-1]) == {b"200"}
    assert statuses[-1] == b"400"
    assert 1 < len(statuses) <= 70
    assert b"without waiting for an answer" in received
