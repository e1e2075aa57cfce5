"""S7: an approval answered 200 survives kill -9, and reaches the disk before its 200."""

import json
import os
import re
import subprocess
from contextlib import contextmanager

import pytest
from served import ServerProcess

ROUNDS = 100 if os.environ.get("NOTBEFORE_PROOF") == "1" else 8
VMS = [{"name": "a", "addresses": ["127.0.0.1"]}, {"name": "b", "addresses": ["127.0.0.2"]}]


def test_every_approval_answered_200_survives_kill_9(tmp_path):
    """Issue: approve, 200, kill -9, restart: the approvals are there, the incarnation never lower, EventIds unchanged."""
    server = ServerProcess(tmp_path / "state", "--clock", "manual", env={"NOTBEFORE_METADATA_RATE_LIMIT_PER_S": "0"})
    server.start()
    seen_ids = {}
    try:
        for n in range(ROUNDS):
            scope = f"scope-{n}"
            move_addresses_to(server, scope)
            made = server.control("POST", f"/v1/scopes/{scope}/maintenance", {"type": "Reboot"})[1]
            event_id = made["events"][0]["id"]
            incarnations = incarnation_of_each_scope(server)
            status, _ = server.ask("POST", json.dumps({"StartRequests": [{"EventId": event_id.lower()}]}))
            server.kill()
            assert status == 200
            server.start()
            document = server.ask()[1]
            seen_ids[event_id] = scope

            assert [event["EventId"] for event in document["Events"]] == [event_id]
            assert document["DocumentIncarnation"] == incarnations[scope] == 2
            assert incarnation_of_each_scope(server) == incarnations
            for known in seen_ids:
                event = server.control("GET", f"/v1/events/{known}")[1]
                assert [approval["vm"] for approval in event["approvals"]] == ["a"]
                assert event["status"] == "Scheduled"
    finally:
        server.stop()
    assert len(seen_ids) == ROUNDS


def incarnation_of_each_scope(server):
    return {scope["name"]: scope["incarnation"] for scope in server.control("GET", "/v1/scopes")[1]["scopes"]}


def move_addresses_to(server, scope):
    """The two addresses belong to the newest scope, so that the same client speaks for a new scope each round."""
    for known in server.control("GET", "/v1/scopes")[1]["scopes"]:
        bare = [{"name": vm["name"]} for vm in known["vms"]]
        assert put(server, known["name"], bare)[0] == 200
    assert put(server, scope, VMS)[0] == 201


def put(server, scope, vms):
    settings = {"listening": "always", "approval": "all"}
    return server.control("PUT", f"/v1/scopes/{scope}", {"settings": settings, "vms": vms})


@contextmanager
def traced(pid, trace):
    """System calls of a running process and its threads, from when the tracer has hold of it until it ends."""
    watched = "trace=read,recvfrom,recvmsg,write,sendto,sendmsg,writev,fsync,fdatasync"
    argv = ["strace", "-f", "-s", "4096", "-e", watched, "-o", str(trace), "-p", str(pid)]
    tracer = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)
    with tracer:
        assert "attached" in tracer.stderr.readline()
        yield
        tracer.stderr.read()


@pytest.mark.part("strace")
@pytest.mark.one_process("the calls of one process are traced")
def test_between_reading_an_approval_and_sending_its_200_there_is_an_fsync(tmp_path):
    """SPEC §2.4: a 200 is a promise: the approval is on disk (fsync) before it is sent."""
    trace = tmp_path / "trace"
    with ServerProcess(tmp_path / "state", "--clock", "manual", "--demo") as server:
        event = server.control("POST", "/v1/scopes/demo/vms/FrontEnd_IN_0/restart", {})[1]
        with traced(server.process.pid, trace):
            status, _ = server.ask("POST", json.dumps({"StartRequests": [{"EventId": event["id"]}]}))
            server.stop()
        assert status == 200

    lines = trace.read_text().splitlines()
    read_at = next(n for n, line in enumerate(lines) if "StartRequests" in line)
    sent_at = next(n for n, line in enumerate(lines) if n > read_at and "HTTP/1.1 200 OK" in line)
    synced = [line for line in lines[read_at:sent_at] if re.search(r"(fsync|fdatasync)(\(| resumed).*= 0$", line)]
    assert synced, "\n".join(lines[read_at : sent_at + 1])


def test_the_server_stops_cleanly_when_told(tmp_path):
    """DESIGN §4: exit code 0 done."""
    server = ServerProcess(tmp_path / "state", "--demo").start()

    assert server.stop() == 0


def test_a_second_server_on_a_taken_port_fails_with_a_sentence(tmp_path):
    """DESIGN §4: exit code 1 refused, one sentence on stderr, no traceback."""
    with ServerProcess(tmp_path / "one") as one:
        words = ["serve", "--state", str(tmp_path / "two"), "--metadata", f"127.0.0.1:{one.metadata[1]}"]
        from served import PROGRAM

        ran = subprocess.run([PROGRAM, *words, "--control", "127.0.0.1:0"], capture_output=True, text=True, check=False)

    assert ran.returncode == 1
    assert "Cannot listen on" in ran.stderr
    assert "Traceback" not in ran.stderr
