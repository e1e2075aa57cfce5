"""The door of the data plane: what is answered as it comes in, what is not, and what must not stop it (issue 10)."""

import gc
import socket
import struct
from contextlib import ExitStack

import pytest
from polling import held, line_of, metric, question, until
from slow_reader import long_document, narrow
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from lab import PATH, lab_settings, open_lab
from notbefore.event_loop import MOMENTS_MAX
from notbefore.metadata.fast_path import FastPath
from notbefore.metadata.protocol import MetadataProtocol

ASK = f"GET {PATH}?api-version=2020-07-01 HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n".encode()
LAST = ASK + b"Connection: close\r\n\r\n"
KEPT = ASK + b"\r\n"
AT_ONCE = struct.pack("ii", 1, 0)


def whole_answer(line):
    received = b""
    while part := line.recv(1024):
        received += part
    return received


def answered(lab):
    labels = '{method="GET",plane="metadata",route="/metadata/scheduledevents",status="200"}'
    return metric(lab, "notbefore_requests_total", labels)


@pytest.mark.one_process("caps count in each worker")
def test_a_known_question_that_ends_its_connection_takes_no_place(tmp_path):
    """It is answered at the door; only who stays is counted against the caps."""
    with open_lab(lab_settings(tmp_path, demo=True, limits={"connections_per_vm_max": 1})) as lab:
        assert lab.raw(LAST).startswith(b"HTTP/1.1 200")
        with socket.create_connection(lab.metadata, timeout=10) as stays:
            stays.sendall(KEPT)
            assert stays.recv(65536).startswith(b"HTTP/1.1 200")

            assert lab.raw(LAST).startswith(b"HTTP/1.1 200")
            assert lab.raw(KEPT).startswith(b"HTTP/1.1 503")


def make_known(lab):
    """The question that leaves its connection open; its own is gone, and counted no more."""
    with socket.create_connection(lab.metadata, timeout=10) as line:
        line.sendall(KEPT)
        assert line.recv(65536).startswith(b"HTTP/1.1 200")
    until(lambda: metric(lab, "notbefore_metadata_connections") == 0)


def test_the_door_tells_nobody_what_is_not_theirs(demo):
    """S8: a request that is known from one VM is still judged by who sends it."""
    assert demo.raw(LAST).startswith(b"HTTP/1.1 200")

    assert demo.raw(LAST, source="127.9.9.9").startswith(b"HTTP/1.1 403")


def test_what_is_answered_at_the_door_is_counted_as_elsewhere(demo):
    """The same numbers, whoever answered."""
    before = answered(demo)
    for _ in range(5):
        demo.raw(LAST)

    assert answered(demo) == before + 5
    assert metric(demo, "notbefore_metadata_connections") == 0


def test_a_long_answer_to_a_slow_reader_is_whole_at_the_door(tmp_path):
    """Short writes: what the socket does not take at once is sent in order, and then the connection ends."""
    with open_lab(lab_settings(tmp_path)) as lab:
        long_document(lab)
        answers = set()
        for _ in range(3):
            with narrow(lab) as line:
                line.sendall(LAST)
                answers.add(whole_answer(line).partition(b"\r\n\r\n")[2])

    (body,) = answers
    assert len(body) > 100_000
    assert body.endswith(b"}]}")


def test_long_answers_on_one_connection_come_in_order_and_whole(tmp_path):
    """The same on a connection that is kept, which ends when the last is read."""
    with open_lab(lab_settings(tmp_path)) as lab:
        long_document(lab)
        with narrow(lab) as line:
            for _ in range(3):
                line.sendall(KEPT)
            line.shutdown(socket.SHUT_WR)
            received = whole_answer(line)

    assert received.count(b"HTTP/1.1 200 OK") == 3
    assert received.count(b'"DocumentIncarnation":') == 3
    assert received.endswith(b"}]}")


def test_clients_that_reset_their_connection_leave_nothing(demo):
    """At any moment: before the question, with it, after it."""
    demo.raw(LAST)
    for n in range(60):
        line = socket.create_connection(demo.metadata, timeout=10)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        line.sendall((b"GET", LAST, KEPT, KEPT * 5, question(1))[n % 5])
        line.close()

    assert demo.raw(LAST).startswith(b"HTTP/1.1 200")
    until(lambda: metric(demo, "notbefore_metadata_connections") == 0)
    assert held(demo) == 0


def test_who_ends_a_connection_in_which_nothing_was_said_is_let_go(demo):
    """An end is all that comes: there is nothing to answer."""
    with socket.create_connection(demo.metadata, timeout=10) as line:
        line.shutdown(socket.SHUT_WR)

        assert line.recv(100) == b""


def test_a_held_question_keeps_nothing_of_the_parser(demo):
    """Ten thousand that wait must weigh little: the connection goes back to the fast path meanwhile."""
    with line_of(demo) as one, line_of(demo) as other:
        for line in (one, other):
            line.ask(1)
        until(lambda: held(demo) == 2)

        protocols = [made for made in gc.get_objects() if isinstance(made, MetadataProtocol) and made.transport]
        # What other connections left behind may still be there; its line has ended.
        assert [made for made in protocols if not made.transport.is_closing()] == []
        demo.made("demo", "FrontEnd_IN_0", "restart")
        assert [line.answer()[0] for line in (one, other)] == [200, 200]


@pytest.mark.one_process("what is looked for is in this process")
def test_who_asks_once_and_is_gone_in_a_moment_was_never_watched(demo):
    """And it leaves nothing behind."""
    make_known(demo)

    async def come_and_gone():
        lookout = demo.loop.lookout
        before = len(lookout._watched)
        with socket.create_connection(demo.metadata, timeout=10) as line:
            line.sendall(KEPT)
            while not lookout.moments:
                lookout.serve()
            answer = line.recv(65536)
            watched = len(lookout._watched) - before
        lookout.end_moments()
        return answer, watched

    answer, watched = demo.run(come_and_gone())

    assert answer.startswith(b"HTTP/1.1 200")
    assert watched == 0
    until(lambda: metric(demo, "notbefore_metadata_connections") == 0)


def test_who_stays_is_answered_again_however_soon_it_asks(demo):
    """Also what is not known, and what comes before anybody has looked for it again."""
    event_id = demo.made("demo", "FrontEnd_IN_0", "restart")["id"]
    body = f'{{"StartRequests": [{{"EventId": "{event_id}"}}]}}'.encode()
    approval = ASK.replace(b"GET", b"POST") + b"Content-Length: %d\r\n\r\n" % len(body) + body
    make_known(demo)
    for asked, status in ((KEPT, b"200"), (ASK + b"x-of-its-own: 1\r\n\r\n", b"200"), (approval, b"200")):
        with socket.create_connection(demo.metadata, timeout=10) as line:
            line.sendall(KEPT)
            assert b'"Events":[{' in line.recv(65536)
            line.sendall(asked)

            assert line.recv(65536).startswith(b"HTTP/1.1 " + status)


@pytest.mark.one_process("caps count in each worker")
def test_who_is_waited_for_takes_a_place(tmp_path):
    """A cap is a cap, however fast they come."""
    with open_lab(lab_settings(tmp_path, demo=True, limits={"connections_per_vm_max": 2})) as lab, ExitStack() as held:
        make_known(lab)
        told = []
        for _ in range(4):
            line = held.enter_context(socket.create_connection(lab.metadata, timeout=10))
            line.sendall(KEPT)
            told.append(line.recv(65536)[:12])

    assert told == [b"HTTP/1.1 200", b"HTTP/1.1 200", b"HTTP/1.1 503", b"HTTP/1.1 503"]


def test_more_than_can_be_waited_for_at_once_are_all_answered_twice(tmp_path):
    """Who finds no moment left is watched at once."""
    limits = {"connections_per_vm_max": MOMENTS_MAX * 3}
    with open_lab(lab_settings(tmp_path, demo=True, limits=limits)) as lab, ExitStack() as held:
        make_known(lab)
        address = lab.metadata
        lines = [held.enter_context(socket.create_connection(address, timeout=10)) for _ in range(MOMENTS_MAX * 2)]
        for _ in range(2):
            for line in lines:
                line.sendall(KEPT)
            assert {line.recv(65536)[:12] for line in lines} == {b"HTTP/1.1 200"}


@pytest.mark.one_process("what is looked for is in this process")
@pytest.mark.parametrize("how", ["shutdown", "abort"])
def test_a_request_that_was_read_is_answered_although_the_server_stops_before_it_is_parsed(demo, how):
    """What has to be parsed is put off for a moment; it is not lost when that is the last one. A broken line is."""
    unknown = ASK + b"x-ms-client-request-id: once\r\n\r\n"

    async def read_and_stopped():
        line = socket.create_connection(demo.metadata, timeout=10)
        line.sendall(unknown)
        demo.loop.lookout.serve()
        connections = [made for made in gc.get_objects() if isinstance(made, FastPath)]
        (connection,) = (one for one in connections if getattr(one, "_unknown", b"") == unknown)
        getattr(connection, how)()
        return line

    with demo.run(read_and_stopped()) as line:
        answer = whole_answer(line)

    assert answer[:12] == (b"HTTP/1.1 200" if how == "shutdown" else b"")
    assert metric(demo, "notbefore_metadata_connections") == 0


@pytest.mark.one_process("what is looked for is in this process")
def test_a_request_that_had_to_be_parsed_leaves_nothing_for_the_collector(demo):
    """Clients that send an id of their own with every request would else keep Python's collector busy."""
    gc.collect()
    before = sum(isinstance(made, RequestResponseCycle) for made in gc.get_objects())
    gc.disable()
    try:
        with socket.create_connection(demo.metadata, timeout=10) as line:
            for n in range(20):
                line.sendall(ASK + b"x-ms-client-request-id: %d\r\n\r\n" % n)
                assert line.recv(65536).startswith(b"HTTP/1.1 200")
            after = sum(isinstance(made, RequestResponseCycle) for made in gc.get_objects())
    finally:
        gc.enable()

    assert after <= before + 1
