"""A graceful stop finishes what it began (SPEC §2.1, DESIGN §4)."""

import signal
import socket
import threading
from contextlib import ExitStack

from served import ServerProcess

from lab import PATH

ASK = f"GET {PATH}?api-version=2020-07-01 HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n\r\n".encode()


def test_a_request_that_was_begun_is_answered_before_the_server_is_gone(tmp_path):
    """Issue: graceful stop that finishes what it began."""
    env = {"NOTBEFORE_METADATA_FIRST_CALL_DELAY_S": "1"}
    with ServerProcess(tmp_path / "state", "--demo", env=env) as server:
        with socket.create_connection(server.metadata, timeout=20) as line:
            line.sendall(ASK)
            told = threading.Timer(0.3, server.process.send_signal, [signal.SIGTERM])
            told.start()
            received = b""
            while part := line.recv(65536):
                received += part
            told.join()
        code = server.process.wait(20)

    assert received.startswith(b"HTTP/1.1 200")
    assert b"connection: close" in received or received.endswith(b'"Events":[]}')
    assert code == 0


def test_idle_connections_do_not_hold_a_stop_up(tmp_path):
    """A kept connection that owes nothing is closed at once. One that never said anything hears of it when it speaks."""
    with ServerProcess(tmp_path / "state", "--demo") as server, ExitStack() as kept:
        held = [kept.enter_context(socket.create_connection(server.metadata, timeout=20)) for _ in range(5)]
        silent = kept.enter_context(socket.create_connection(server.metadata, timeout=20))
        for line in held:
            line.sendall(ASK)
            received = b""
            while not received.endswith(b'"Events":[]}'):
                received += line.recv(65536)
        server.process.send_signal(signal.SIGTERM)

        assert server.process.wait(20) == 0
        assert [line.recv(10) for line in held] == [b""] * 5
        assert said_when_it_spoke(silent) == b""


def said_when_it_spoke(line):
    """The kernel keeps a silent connection for a second before the server sees it: it may have been too short for that."""
    try:
        line.sendall(ASK)
        return line.recv(10)
    except (ConnectionResetError, BrokenPipeError):
        return b""
