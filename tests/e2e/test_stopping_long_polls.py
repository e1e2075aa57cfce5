"""A stop does not wait for those who wait: they are answered at once (SPEC §2.6)."""

import http.client
import re
import signal
import socket
from contextlib import closing

from served import ServerProcess

from lab import PATH

ASK = (
    f"GET {PATH}?api-version=2020-07-01 HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n"
    "If-None-Match: 1\r\nPrefer: wait=60\r\n\r\n"
).encode()


def is_holding(server, count):
    line = http.client.HTTPConnection(*server.control_address, timeout=20)
    with closing(line):
        line.request("GET", "/metrics", headers={"Authorization": f"Bearer {server.token}"})
        page = line.getresponse().read().decode()
    return re.search(rf"^notbefore_metadata_long_polls {count}\.0$", page, re.MULTILINE)


def test_a_stop_answers_the_held_questions_and_is_not_held_up_by_them(tmp_path):
    """Each with a whole answer that says that the connection ends; exit code 0, and nothing to complain of."""
    with ServerProcess(tmp_path / "state", "--demo") as server:
        lines = [socket.create_connection(server.metadata, timeout=20) for _ in range(3)]
        for line in lines:
            line.sendall(ASK)
        assert any(is_holding(server, 3) for _ in range(1000))

        server.process.send_signal(signal.SIGTERM)

        for line in lines:
            with line:
                received = b""
                while part := line.recv(65536):
                    received += part
            assert received.startswith(b"HTTP/1.1 304")
            assert b"connection: close" in received
            assert b"preference-applied" not in received
        assert server.process.wait(20) == 0
    assert "Traceback" not in server.log.read_text()
    assert "ERROR" not in server.log.read_text()
