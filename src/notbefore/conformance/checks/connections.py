"""Connections: kept, closed when asked, and never closed before the answer is read (SPEC §2.1)."""

from notbefore.conformance import expect
from notbefore.conformance.check import Chapter
from notbefore.conformance.exchange import METADATA, received, request_bytes
from notbefore.conformance.subject import Subject

DROPPED = 256 * 1024
TOO_MANY = 429

chapter = Chapter("2.1")


@chapter.check("`Connection: close` is honoured and echoed")
def close_is_echoed(subject: Subject) -> None:
    closing = (*METADATA, ("Connection", "close"))
    sent = request_bytes("GET", subject.target, subject.endpoint.authority, closing, None)
    subject.get()
    with subject.endpoint.connected() as line:
        line.sendall(sent)
        answer = received(line, "GET")
        expect.equal((answer.header("Connection") or "").lower(), "close", "Connection in the answer")
        expect.true(line.recv(1) == b"", "the connection stays open after Connection: close")


@chapter.check("keep-alive works")
def connection_is_kept(subject: Subject) -> None:
    sent = request_bytes("GET", subject.target, subject.endpoint.authority, METADATA, None)
    with subject.endpoint.connected() as line:
        for place in ("first", "second"):
            line.sendall(sent)
            answer = received(line, "GET")
            # Whoever is too fast is told so on the same connection, which is what counts here.
            expect.true(answer.status in {200, TOO_MANY}, f"the {place} request of a connection: {answer}")


@chapter.check("After an early refusal the rest of the request is read and dropped, so that the client sees the answer")
def refusal_is_seen_by_who_still_sends(subject: Subject) -> None:
    answer = subject.post(b" " * DROPPED, headers=())
    expect.status(answer, 400, "a POST without the header, with a long body")
