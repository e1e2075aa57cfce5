"""Faults of the program as people start it: allowed by a flag or a setting, in a sandbox too; and it stops with clients in hand."""

import json
import signal
import socket

import pytest
from sandboxes import sandbox
from served import PROGRAM, ServerProcess

from lab import PATH

ASK = f"GET {PATH}?api-version=2020-07-01 HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n\r\n".encode()
STRUCK = {"hang": ("127.0.0.1", "FrontEnd_IN_0"), "slow": ("127.0.0.2", "FrontEnd_IN_1")}


def struck_in_all(server):
    return sum(one["struck"] for one in server.control("GET", "/v1/faults")[1]["faults"])


def test_a_server_with_a_hanging_client_stops(tmp_path):
    """Whoever hangs is cut off, whoever was made to wait is answered; exit code 0, and nothing to complain of."""
    with ServerProcess(tmp_path / "state", "--demo", "--allow-faults") as server:
        lines = {}
        for kind, (source, vm) in STRUCK.items():
            options = {"delay_s": 3600} if kind == "slow" else {}
            assert server.control("POST", "/v1/faults", {"kind": kind, "vms": [vm], **options})[0] == 201
            lines[kind] = socket.create_connection(server.metadata, timeout=20, source_address=(source, 0))
            lines[kind].sendall(ASK)
        while struck_in_all(server) < 2:
            pass

        server.process.send_signal(signal.SIGTERM)

        received = {kind: line.recv(65536) for kind, line in lines.items()}
        assert received["hang"] == b""
        assert received["slow"].startswith(b"HTTP/1.1 200")
        assert server.process.wait(20) == 0
        for line in lines.values():
            line.close()
    assert "Traceback" not in server.log.read_text()
    assert "ERROR" not in server.log.read_text()


@pytest.mark.parametrize(
    ("words", "env", "status"),
    [
        ((), {}, 409),
        (("--allow-faults",), {}, 201),
        ((), {"NOTBEFORE_ALLOW_FAULTS": "true"}, 201),
    ],
)
def test_faults_are_allowed_by_flag_or_setting_and_never_by_themselves(tmp_path, words, env, status):
    """`serve --allow-faults`, or `allow_faults = true`."""
    with ServerProcess(tmp_path / "state", "--demo", *words, env=env) as server:
        assert server.control("POST", "/v1/faults", {"kind": "500"})[0] == status
        assert server.ask()[0] == (500 if status == 201 else 200)
        assert ("faults    allowed" in server.banner) == (status == 201)


@pytest.mark.part("curl")
def test_a_sandbox_can_have_faults_too():
    """`sandbox --allow-faults`: ordered from inside, seen by curl."""
    line = (
        f"{PROGRAM} fault add 503 --times 1 >&2; "
        'for n in 1 2; do curl -s -o /dev/null -w "%{http_code} " -H Metadata:true '
        f'"$NOTBEFORE_ENDPOINT_WEB_0{PATH}?api-version=2020-07-01"; done; {PROGRAM} fault list --json'
    )

    ran = sandbox("--port-per-vm", "--allow-faults", "--", "bash", "-c", line)

    first, second, listed = ran.stdout.split(" ", 2)
    assert (first, second) == ("503", "200")
    assert [(one["kind"], one["spent"]) for one in json.loads(listed)] == [("503", True)]
    assert "Fault f1 is set: 503 for all VMs, once." in ran.stderr
