"""Connections (SPEC §2.1): keep-alive, close, early refusals, clients that never finish."""

import json
import socket

import pytest

from lab import PATH
from notbefore.metadata import protocol

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


@pytest.fixture
def impatient():
    """The cut-off shortened to what a test can wait for; a limit is a named constant for this reason too."""
    kept = protocol.HEAD_MAX_S
    protocol.HEAD_MAX_S = 0.2
    yield
    protocol.HEAD_MAX_S = kept


@pytest.mark.parametrize("sent", [b"", b"GET /metadata", ASK], ids=["silent", "half a line", "half a head"])
def test_a_slow_or_half_open_client_is_cut_off(impatient, demo, sent):
    """SPEC §2.1: a slow or half-open client costs a bounded amount of memory and is cut off."""
    assert demo.raw(sent) == b""
