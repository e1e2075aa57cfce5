"""A real server process that runs out of files: it says so, waits, and goes on."""

import socket
from contextlib import ExitStack

from answers_read import Answers, eventually, read_to_the_end
from hostile_case import LAST
from served import ServerProcess

FILES = 80
# More than two workers have files for, however the kernel shares them out.
LINES = 240


def test_files_that_run_out_are_a_pause_and_not_an_end(tmp_path):
    """Limits: a server that has no file left for one more connection serves on when others have gone."""
    env = {"NOTBEFORE_METADATA_LIMITS_CONNECTIONS_PER_VM_MAX": str(LINES)}
    inside = ("prlimit", f"--nofile={FILES}:{FILES}")
    with ServerProcess(tmp_path / "state", "--demo", inside=inside, env=env) as server:
        with ExitStack() as lines:
            for _ in range(LINES):
                line = lines.enter_context(socket.create_connection(server.metadata, timeout=20))
                line.sendall(b"GET /")
            assert eventually(lambda: "no more connections can be let in" in server.log.read_text(), within_s=20)

        with socket.create_connection(server.metadata, timeout=20) as line:
            line.sendall(LAST)
            assert read_to_the_end(line, Answers()).statuses == [200]
    assert "Traceback" not in server.log.read_text()
