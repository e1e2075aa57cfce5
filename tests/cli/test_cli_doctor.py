"""doctor: what is wrong with a set-up, found without changing anything."""

import json
import os
import socket
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from cli_runs import Cli

from lab import lab_settings, open_lab
from notbefore import __version__


@pytest.fixture
def running(tmp_path):
    """A healthy server on the real clock."""
    with open_lab(lab_settings(tmp_path / "state", "real", demo=True)) as opened:
        yield opened


@pytest.fixture
def doctor(running, tmp_path):
    return Cli(
        {
            "NOTBEFORE_URL": running.server.control_url,
            "NOTBEFORE_TOKEN": None,
            "NOTBEFORE_TOKEN_FILE": None,
            "NOTBEFORE_STATE": str(tmp_path / "state"),
            "NOTBEFORE_METADATA_LISTENERS": listeners(running.metadata),
            "NOTBEFORE_ENDPOINT": "http://127.0.0.1:1",
            "NOTBEFORE_UTC": None,
        }
    )


def listeners(*addresses):
    """As TOML, for the environment."""
    tables = [f'{{ address = "{host}:{port}" }}' for host, port in addresses]
    return f"[{', '.join(tables)}]"


def found(ran):
    """Findings by what was looked at."""
    return {one["check"]: one for one in ran.json}


def levels(ran):
    return {check: one["level"] for check, one in found(ran).items()}


def test_a_healthy_set_up_has_nothing_wrong(doctor):
    """Every finding is ok, and the exit code is 0."""
    ran = doctor("doctor")

    assert ran.code == 0, ran
    assert ran.lines[-1].endswith(" ok, 0 to look at, 0 wrong.")
    for check in (
        "settings",
        "state directory",
        "token file",
        "server",
        "version",
        "ready",
        "metadata",
        "token",
        "clock",
    ):
        assert any(line.startswith(f"ok    {check}") for line in ran.lines), check
    assert "with role admin" in ran.out


def test_looking_changes_nothing_and_counts_for_no_vm(doctor, running):
    """The metadata listener is asked without the header: that enables nothing."""
    before = running.control("GET", "/v1/scopes").json

    doctor("doctor")

    assert running.control("GET", "/v1/scopes").json == before
    assert before["scopes"][0]["last_asked"] is None


def test_a_server_that_is_not_there_fails(doctor, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        ran = doctor("doctor", "--json", NOTBEFORE_URL=f"http://127.0.0.1:{unused.getsockname()[1]}")

    assert ran.code == 1
    assert levels(ran)["server"] == "fail"
    assert "connection refused" in found(ran)["server"]["says"]
    assert found(ran)["server"]["do"]


def test_a_port_that_somebody_else_has_is_said_with_whom(doctor):
    """Port taken by whom."""

    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(404)

        def log_message(self, *_):
            """Nobody reads it."""

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        thread = Thread(target=other.serve_forever, args=(0.01,))
        thread.start()
        where = other.server_address
        env = {"NOTBEFORE_URL": f"http://127.0.0.1:{where[1]}", "NOTBEFORE_METADATA_LISTENERS": listeners(where)}
        ran = doctor("doctor", "--json", **env)
        other.shutdown()
        thread.join()

    for check in ("server", f"metadata 127.0.0.1:{where[1]}"):
        assert levels(ran)[check] == "fail"
        assert f"(pid {os.getpid()})" in found(ran)[check]["says"]


def test_a_token_that_is_not_taken_fails_and_is_not_shown(doctor):
    ran = doctor("doctor", "--json", NOTBEFORE_TOKEN="wrong-secret")

    assert levels(ran)["token"] == "fail"
    assert "wrong-secret" not in ran.out + ran.err


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_the_role_of_a_token_is_told(doctor, running, role):
    made = running.control("POST", "/v1/tokens", {"name": "somebody", "role": role}).json

    ran = doctor("doctor", "--json", NOTBEFORE_TOKEN=made["secret"])

    assert found(ran)["token"]["says"] == f"It is valid, with role {role}."
    assert ran.code == 0


def test_the_limits_of_an_admins_token_are_told(doctor, running):
    wanted = {"name": "somebody", "role": "admin", "scopes": ["demo"]}
    made = running.control("POST", "/v1/tokens", wanted).json

    ran = doctor("doctor", "--json", NOTBEFORE_TOKEN=made["secret"])

    assert "limited to demo" in found(ran)["token"]["says"]
    assert ran.code == 0


@pytest.mark.parametrize(("mode", "level"), [(0o600, "ok"), (0o640, "fail"), (0o644, "fail")])
def test_a_token_that_others_may_read_fails(doctor, tmp_path, mode, level):
    (tmp_path / "state" / "admin.token").chmod(mode)

    assert levels(doctor("doctor", "--json"))["token file"] == level


@pytest.mark.parametrize(("mode", "level"), [(0o700, "ok"), (0o755, "warn"), (0o777, "fail")])
def test_a_state_directory_that_others_may_use_is_said(doctor, tmp_path, mode, level):
    (tmp_path / "state").chmod(mode)

    assert levels(doctor("doctor", "--json"))["state directory"] == level


def test_settings_that_cannot_be_used_fail_with_their_line(doctor, tmp_path):
    file = tmp_path / "notbefore.toml"
    file.write_text("[metadata]\nrate_limit = 3\n")

    ran = doctor("doctor", "--config", str(file), "--json")

    assert levels(ran)["settings"] == "fail"
    assert "notbefore.toml, line 2" in found(ran)["settings"]["says"]


def test_only_loopback_is_asked_unless_it_is_named(doctor):
    """Never the link-local address, never another machine, without --probe."""
    env = {"NOTBEFORE_METADATA_LISTENERS": listeners(("169.254.169.254", 80), ("10.255.255.1", 80), ("127.0.0.1", 0))}

    ran = doctor("doctor", "--json", **env)

    said = {check: one["says"] for check, one in found(ran).items() if check.startswith("metadata ")}
    assert len(said) == 3
    assert all(says.startswith("Not asked: ") for says in said.values())


def test_a_control_url_on_the_link_local_address_is_not_asked(doctor):
    ran = doctor("doctor", "--json", NOTBEFORE_URL="http://169.254.169.254")

    assert levels(ran)["server"] == "fail"
    assert "Not asked" in found(ran)["server"]["says"]


def test_a_named_address_is_asked(doctor, running):
    """--probe ADDRESS."""
    address = f"127.0.0.1:{running.metadata[1]}"
    ran = doctor("doctor", "--probe", address, "--probe", "127.0.0.1:1", "--probe", "nowhere", "--json")

    assert levels(ran)[f"probe {address}"] == "ok"
    assert levels(ran)["probe 127.0.0.1:1"] == "fail"
    assert levels(ran)["probe nowhere"] == "fail"


def test_vms_without_addresses_and_scopes_nobody_listens_in_are_to_look_at(doctor, running):
    running.declare("shop", {"name": "web-1", "addresses": ["10.0.0.1"]}, "web-2")

    ran = doctor("doctor", "--json")

    assert ran.code == 0
    assert levels(ran)["addresses"] == levels(ran)["listening"] == "warn"
    assert "shop/web-2" in found(ran)["addresses"]["says"]
    assert "shop" in found(ran)["listening"]["says"]


def test_what_only_an_old_or_a_broken_server_would_say_is_found(cli, server):
    """Addresses claimed twice, executors nobody knows, another version, another time, a store that is away."""
    one = {"name": "vm", "addresses": ["10.0.0.1"]}
    server.answers("GET", "/healthz", {"status": "ok"})
    server.answers("GET", "/readyz", {"status": "store away"}, status=503)
    server.answers("GET", "/openapi.json", {"info": {"version": "0.0.1"}})
    server.answers("GET", "/v1/tokens", {"tokens": []})
    server.answers("GET", "/v1/clock", {"kind": "real", "now": "2020-01-01T00:00:00Z"})
    server.answers("GET", "/v1/scopes", {"scopes": [{"name": name, "vms": [one]} for name in ("a", "b")]})
    server.answers("GET", "/v1/hosts", {"hosts": [{"name": "h", "executor": "magic"}]})

    ran = cli("doctor", "--json")

    says = {check: one["says"] for check, one in found(ran).items()}
    assert ran.code == 1
    assert levels(ran)["version"] == "warn"
    assert f"0.0.1, this command line {__version__}" in says["version"]
    for check in ("ready", "clock", "addresses", "executors"):
        assert levels(ran)[check] == "fail", check
    assert "a/vm, b/vm" in says["addresses"]
    assert "h (magic)" in says["executors"]


def test_every_finding_says_what_to_do_unless_it_is_ok(doctor):
    ran = doctor("doctor", "--json", NOTBEFORE_TOKEN="wrong", NOTBEFORE_METADATA_LISTENERS=listeners(("127.0.0.1", 1)))

    assert all(one["do"] for one in ran.json if one["level"] != "ok")
    assert json.loads(ran.out)[0].keys() == {"check", "level", "says", "do"}
