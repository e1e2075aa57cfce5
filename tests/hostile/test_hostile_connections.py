"""One connection, several packets: what a request is never depends on how its bytes were cut, nor on when they came."""

import contextlib
import gc
import json
import socket
import struct

import pytest
from answers_read import Answers, eventually, open_line, read_answers, read_to_the_end
from hostile_case import APPROVAL, APPROVE, CHUNKED, EVENT, GET, LAST, TARGET, chunk, get, length_of, post

from lab import lab_settings, open_lab
from notbefore.metadata.protocol import HEAD_MAX_BYTES, NOT_HTTP, MetadataProtocol

FLOOD_BYTES = 64 * 1024 * 1024


def for_event(target, sent):
    return sent.replace(EVENT, target.event_id.encode())


def test_a_known_request_inside_the_head_of_another_is_not_answered_by_itself(target):
    """SPEC §2.1: HTTP syntax is llhttp's. A request known by its bytes is one only where a request begins."""
    target.lab.raw(GET[:-2] + b"Connection: close\r\n\r\n")
    with open_line(target.address) as line:
        line.sendall(GET)
        answers = read_answers(line, Answers(), 1)
        line.sendall(GET + b"GET /nowhere HTTP/1.1\r\nX: ")
        read_answers(line, answers, 2)
        line.sendall(GET)
        read_answers(line, answers, 3)
        line.sendall(LAST)
        read_to_the_end(line, answers)

    assert answers.statuses == [200, 200, 404, 200]


def test_a_known_request_inside_a_body_is_not_answered(target):
    """A POST whose body looks like a request is never answered as one, in whichever packet it comes."""
    with open_line(target.address) as line:
        line.sendall(GET)
        answers = read_answers(line, Answers(), 1)
        line.sendall(post(length_of(GET + LAST), b""))
        line.sendall(GET)
        line.sendall(LAST)
        read_answers(line, answers, 2)
        line.sendall(LAST)
        read_to_the_end(line, answers)

    assert answers.statuses == [200, 400, 200]


@pytest.mark.parametrize("before", [(GET, GET), (GET, get(target=b"/nowhere")), (GET, GET, get(b""))])
def test_every_request_before_the_garbage_is_answered_before_the_garbage(target, before):
    """SPEC §2.1: each request in its turn; what is no HTTP is refused last, and once."""
    expected = [{GET: 200, get(target=b"/nowhere"): 404, get(b""): 400}[one] for one in before]

    with open_line(target.address) as line:
        line.sendall(b"".join(before) + b"garbage\r\n\r\n")
        answers = read_to_the_end(line, Answers())

    assert answers.statuses == [*expected, 400]
    assert answers.final[-1].body == NOT_HTTP.body


@pytest.mark.parametrize("ahead", [b"", GET, GET + GET], ids=["alone", "behind one", "behind two"])
def test_a_body_that_breaks_off_into_nonsense_is_refused_at_once(target, ahead):
    """SPEC §2.1: 400, close; the sentence says what is wrong, and nobody waits for a body that cannot come."""
    with open_line(target.address) as line:
        line.sendall(for_event(target, ahead + post(CHUNKED, chunk(APPROVAL) + b"nonsense\r\n")))
        line.settimeout(5)
        answers = read_to_the_end(line, Answers())

    assert answers.statuses == [200] * ahead.count(b"GET") + [400]
    assert answers.final[-1].body == NOT_HTTP.body
    assert target.is_untouched()


def test_a_refused_request_whose_body_turns_to_nonsense_has_one_answer(target):
    """Never two answers to one request: it was refused already, so nothing more is said."""
    with open_line(target.address) as line:
        line.sendall(post(CHUNKED, b"", headers=b""))
        answers = read_answers(line, Answers(), 1)
        line.sendall(b"nonsense\r\n" + APPROVE)
        read_to_the_end(line, answers)

    assert answers.statuses == [400]


@pytest.mark.parametrize(
    "unfinished",
    [
        pytest.param(post(CHUNKED, chunk(APPROVAL)), id="no last chunk"),
        pytest.param(post(CHUNKED, chunk(APPROVAL) + b"0\r\n"), id="half a last chunk"),
        pytest.param(post(b"Content-Length: 500\r\n", APPROVAL), id="a length never reached"),
    ],
)
@pytest.mark.parametrize("how", [socket.SHUT_WR, socket.SHUT_RDWR], ids=["half closed", "closed"])
def test_an_approval_that_was_not_sent_to_its_end_approves_nothing(target, unfinished, how):
    """RFC 9112 §8: a message that ends early is incomplete. Who did not finish asking has not asked."""
    with open_line(target.address) as line:
        line.sendall(for_event(target, unfinished))
        line.shutdown(how)
        answers = read_to_the_end(line, Answers()) if how == socket.SHUT_WR else Answers()

    assert answers.statuses in ([], [400])
    assert target.is_untouched()


@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        pytest.param(get(b"Metadata: true\r\nX: new\r\n"), [200], id="a new question"),
        pytest.param(APPROVE, [200], id="an approval"),
        pytest.param(APPROVE + GET + get(b""), [200, 200, 400], id="three requests"),
        pytest.param(APPROVE + GET[:20], [200], id="one request and a half"),
        pytest.param(APPROVE + b"garbage\r\n", [200, 400], id="an approval and garbage"),
    ],
)
def test_who_stops_sending_still_gets_the_answers_to_what_was_asked_whole(own_target, sent, statuses):
    """RFC 9112 §9.6: a connection may be closed on one side. An approval that is taken is answered."""
    with open_line(own_target.address) as line:
        line.sendall(for_event(own_target, sent))
        line.shutdown(socket.SHUT_WR)
        answers = read_to_the_end(line, Answers())

    assert answers.statuses == statuses


def test_trailers_say_nothing_about_this_request_or_the_next(own_target):
    """SPEC §2.1: a request is judged by its head; headers that come after the body are no headers."""
    forged = b"0\r\nX-Forwarded-For: 1\r\nX-Notbefore-Vm: v1 x/y 1 z\r\nMetadata: true\r\n\r\n"
    with open_line(own_target.address) as line:
        line.sendall(post(CHUNKED, chunk(b"{}") + forged, headers=b"") + GET)
        unmarked = read_to_the_end(line, Answers())
    with open_line(own_target.address) as line:
        line.sendall(for_event(own_target, post(CHUNKED, chunk(APPROVAL) + forged)) + get(b"") + LAST)
        marked = read_to_the_end(line, Answers())

    assert unmarked.statuses == [400]
    assert marked.statuses == [200, 400, 200]
    assert own_target.is_approved()


@pytest.mark.parametrize(
    ("opening", "piece"),
    [
        pytest.param(b"0\r\n", b"X-Trailer: " + b"a" * 1000 + b"\r\n", id="trailers"),
        pytest.param(b"0\r\nX-Trailer: ", b"a" * 65536, id="one trailer"),
        pytest.param(b"1;", b"a" * 65536, id="a chunk extension"),
    ],
)
def test_a_body_that_is_all_packaging_is_cut_off(target, opening, piece):
    """A limit on everything: what a chunked body carries besides the body is bounded too, in bytes and not only in time."""
    block = piece * (1 + 1024 * 1024 // len(piece))
    sent = 0
    with open_line(target.address) as line, pytest.raises(ConnectionError):
        line.sendall(post(CHUNKED, opening))
        while sent < FLOOD_BYTES:
            line.sendall(block)
            sent += len(block)


@pytest.mark.parametrize("varied", [False, True], ids=["known requests", "ever new requests"])
def test_a_client_that_never_reads_is_cut_off(tmp_path, varied):
    """SPEC §2.1: a slow or half-open client … is cut off, also one whose answers cannot be sent: its place is free again."""
    limits = {"connections_per_vm_max": 1, "idle_timeout_s": 0.4, "head_timeout_s": 0.4}
    with open_lab(lab_settings(tmp_path, limits=limits)) as lab:
        make_a_long_document(lab)
        with narrow_line(lab.metadata) as line:
            with pytest.raises((TimeoutError, ConnectionError)):
                for n in range(20_000):
                    line.sendall(get(b"Metadata: true\r\nX: %d\r\n" % n) if varied else GET)

            assert eventually(lambda: status_of(lab) == 200, within_s=10)


def make_a_long_document(lab):
    """Some 70 kB, so that a few answers fill every buffer on the way."""
    others = [f"{n:0>120}" for n in range(500)]
    lab.declare("long", {"name": "asking", "addresses": ["127.0.0.1"]}, *others, listening="always")
    lab.maintain("long", "Freeze")


def narrow_line(address):
    """Through which little goes before somebody reads."""
    line = socket.socket()
    for which in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        line.setsockopt(socket.SOL_SOCKET, which, 4096)
    line.settimeout(0.3)
    line.connect(address)
    return line


def status_of(lab):
    """At the cap the refusal may be overtaken by the reset."""
    with contextlib.suppress(ConnectionError):
        return lab.ask().status


def test_a_client_that_goes_away_with_answers_owed_leaves_no_trace(own_target, caplog):
    """A log line is a decision: that clients go away is none."""
    for n in range(50):
        with open_line(own_target.address) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            line.sendall(for_event(own_target, get(b"Metadata: true\r\nX: %d\r\n" % n) + APPROVE * 20 + GET * 20))

    assert own_target.lab.ask().status == 200
    assert caplog.records == []


def test_nothing_is_kept_of_a_connection_that_was_reset(own_target):
    """A limit on everything: what a connection cost is given back when it ends, however it ends, not a minute later."""
    for n in range(50):
        with open_line(own_target.address) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            line.sendall(get(b"Metadata: true\r\nX: %d\r\n" % n))
            read_answers(line, Answers(), 1)

    assert eventually(lambda: connections_kept() < 5, within_s=5)


def connections_kept():
    gc.collect()
    return sum(isinstance(one, MetadataProtocol) for one in gc.get_objects())


def test_a_head_may_come_byte_by_byte(own_target):
    """How TCP cuts a request is nobody's choice: byte by byte it means what it means whole."""
    with open_line(own_target.address) as line:
        for byte in for_event(own_target, APPROVE + LAST):
            line.sendall(bytes([byte]))
        answers = read_to_the_end(line, Answers())

    assert answers.statuses == [200, 200]
    assert own_target.is_approved()


@pytest.mark.parametrize("seam", [0, 10, 1000])
def test_a_head_is_not_longer_than_its_limit_behind_another_request(target, seam):
    """SPEC §2.1: oversized head (16 KiB): 431, also when it begins in the packet of another request."""
    long = get(b"Metadata: true\r\nX: " + b"a" * HEAD_MAX_BYTES + b"\r\n")
    with open_line(target.address) as line:
        line.sendall(GET + long[:seam])
        answers = read_answers(line, Answers(), 1)
        line.sendall(long[seam:])
        read_to_the_end(line, answers)

    assert answers.statuses == [200, 431]


def test_the_body_of_an_upgrade_nobody_offers_is_not_a_request(target):
    """An upgrade nobody offers ends the connection: what follows it, in its packet or the next, is not read as HTTP."""
    upgrade = b"Connection: upgrade\r\nUpgrade: x\r\n"
    with open_line(target.address) as line:
        line.sendall(post(upgrade + length_of(APPROVE), b""))
        line.sendall(for_event(target, APPROVE))
        answers = read_to_the_end(line, Answers())

    assert answers.statuses == [400]
    assert target.is_untouched()


def test_every_refusal_is_one_line_of_json(target):
    """SPEC §2.1: every error is JSON `{"error": "…"}` in one line a person can act on."""
    for sent in (b"\x00\r\n\r\n", b"GET " + TARGET + b" HTTP/9.9\r\n\r\n", get(b""), post(b"", b"")[:-2] + b"\n"):
        with open_line(target.address) as line:
            line.sendall(sent)
            line.shutdown(socket.SHUT_WR)
            [answer] = read_to_the_end(line, Answers()).final

        assert b"\n" not in answer.body
        assert json.loads(answer.body)["error"]
