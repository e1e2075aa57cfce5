"""A day's work with four tokens on a real server, at the loudest; then everything it has written is searched for them."""

import http.client
import json
import os
import socket
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
import typer
from served import PROGRAM, ServerProcess

from notbefore.cli.main import made_app

PIECE = 10
NO_EVENT = "00000000-0000-0000-0000-000000000000"


class LoudServer(ServerProcess):
    """Logs everything it can, and whose stdout is kept to its end."""

    def __init__(self, state, log_format):
        loud = {"NOTBEFORE_LOG_LEVEL": "debug", "NOTBEFORE_LOG_FORMAT": log_format}
        super().__init__(state, "--clock", "manual", "--demo", env=loud)
        self.rest = ""

    def _wait(self):
        self.rest = self.process.stdout.read()
        return super()._wait()


class Day:
    """Requests as different people send them; every answer is kept, but for those that bring a secret."""

    def __init__(self, server):
        self.server = server
        self.answers = []
        self.secrets = {"admin": server.token}
        self.arguments = []

    def ask(self, who, method, path, body=None):
        line = http.client.HTTPConnection(*self.server.control_address, timeout=20)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.secrets.get(who, who)}"}
        try:
            line.request(method, path, None if body is None else json.dumps(body), headers)
            answer = line.getresponse()
            text = answer.read()
            self.answers.append(f"{answer.status} {answer.getheaders()}".encode() + text)
            return answer.status, json.loads(text) if text and text[:1] in b"{[" else text
        finally:
            line.close()

    def create(self, name, **wanted):
        status, made = self.ask("admin", "POST", "/v1/tokens", {"name": name, **wanted})
        assert status == 201, made
        # The one answer that has it.
        kept = self.answers.pop()
        assert kept.count(made["secret"].encode()) == 1
        self.secrets[name] = made["secret"]

    def command(self, who, *words, file=None):
        """The program as a person runs it, with the token in its environment or in a file."""
        url = "http://{}:{}".format(*self.server.control_address)
        given = {"NOTBEFORE_TOKEN_FILE": str(file)} if file else {"NOTBEFORE_TOKEN": self.secrets[who]}
        clean = {name: value for name, value in os.environ.items() if not name.startswith("NOTBEFORE_")}
        with subprocess.Popen(
            [PROGRAM, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**clean, "NOTBEFORE_URL": url, **given},
        ) as process:
            self.arguments.append(Path(f"/proc/{process.pid}/cmdline").read_bytes())
            out, err = process.communicate(timeout=30)
        return process.returncode, out, err

    def raw(self, text):
        with socket.create_connection(self.server.control_address, timeout=20) as line:
            line.sendall(text.encode())
            self.answers.append(b"".join(iter(lambda: line.recv(65536), b"")))


def a_days_work(day, tmp_path):
    day.create("watcher", role="viewer")
    day.create("shift", role="operator", scopes=["demo"])
    day.create("boss", role="admin", expires_in_s=3600)
    # -- reading, being too small for it, being kept out
    for who in ("watcher", "shift", "boss", "admin"):
        for path in ("scopes", "events", "history", "clock", "hosts", "tokens", "scopes/nowhere", f"events/{NO_EVENT}"):
            day.ask(who, "GET", f"/v1/{path}")
        day.ask(who, "GET", "/metrics")
        day.ask(who, "GET", "/v1/nothing/here")
    assert day.ask("watcher", "POST", "/v1/scopes/demo/vms/FrontEnd_IN_0/restart", {})[0] == 403
    assert day.ask("shift", "PUT", "/v1/scopes/other", {"vms": []})[0] == 403
    assert day.ask("shift", "POST", "/v1/clock", {"to_next": True})[0] == 403
    # -- work
    status, made = day.ask("shift", "POST", "/v1/scopes/demo/vms/FrontEnd_IN_0/restart", {})
    assert status == 202
    assert day.ask("shift", "POST", f"/v1/events/{made['id']}/approve")[0] == 200
    assert day.ask("boss", "PUT", "/v1/scopes/shop", {"vms": [{"name": "web-1"}]})[0] == 201
    assert day.ask("boss", "POST", "/v1/clock", {"advance_s": 60})[0] == 200
    # -- mistakes: bodies, methods, heads, a secret in a name's place
    assert day.ask("boss", "PUT", "/v1/scopes/shop", {"nonsense": 1})[0] == 400
    assert day.ask("boss", "POST", "/v1/tokens", {"name": day.secrets["shift"], "role": "viewer"})[0] == 400
    assert day.ask("boss", "POST", "/v1/tokens", {"name": day.secrets["admin"], "role": "viewer"})[0] == 400
    assert day.ask("boss", "DELETE", f"/v1/tokens/{day.secrets['shift']}")[0] == 400
    assert day.ask("boss", "PATCH", "/v1/scopes")[0] == 405
    for head in ("GET /v1/scopes HTTP/9.9", "BREW /v1/scopes HTTP/1.1", "GET /v1/scopes HTTP/1.1\r\nbad header"):
        day.raw(f"{head}\r\nAuthorization: Bearer {day.secrets['boss']}\r\nConnection: close\r\n\r\n")
    # -- wrong tokens, nearly right ones, other schemes
    for wrong in (f"{day.secrets['boss']}x", day.secrets["shift"][:-1], day.secrets["admin"].swapcase()):
        assert day.ask(wrong, "GET", "/v1/scopes")[0] == 401
    for scheme in ("Basic", "Bearer", ""):
        half = day.secrets["watcher"][: 20 if scheme == "Bearer" else None]
        day.raw(f"GET /v1/scopes HTTP/1.1\r\nHost: x\r\nAuthorization: {scheme} {half}\r\nConnection: close\r\n\r\n")
    # -- the command line: the secret alone on stdout, so that a file holds it and nothing else
    code, out, err = day.command("boss", "token", "create", "by-hand", "--role", "viewer", "--expires", "90d")
    assert code == 0, err
    assert len(out.splitlines()) == 1
    assert out.strip() not in err
    day.secrets["by-hand"] = out.strip()
    file = tmp_path / "by-hand.token"
    file.write_text(out)
    assert day.command(None, "scopes", file=file)[0] == 0
    code, _, err = day.command(None, "restart", "FrontEnd_IN_1", file=file)
    assert (code, "role operator" in err) == (1, True)
    assert day.command("boss", "token", "list")[0] == 0
    # -- the end of the day
    assert day.command("boss", "token", "revoke", "shift")[0] == 0
    assert day.ask("shift", "GET", "/v1/scopes")[0] == 401
    assert day.ask("admin", "GET", "/v1/history?after=0&limit=1000")[0] == 200


def pieces_of(secret):
    """Every run of ten characters: also a part of a secret is too much."""
    return [secret[at : at + PIECE] for at in range(len(secret) - PIECE + 1)]


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_token_appears_in_logs_history_errors_files_or_process_arguments(tmp_path, log_format):
    """The issue's own words; nor does its digest, but in the store, where it is kept."""
    state = tmp_path / "state"
    with LoudServer(state, log_format) as server:
        day = Day(server)
        a_days_work(day, tmp_path)
        day.arguments.append(Path(f"/proc/{server.process.pid}/cmdline").read_bytes())
        day.arguments.append(Path(f"/proc/{server.process.pid}/environ").read_bytes())
    files = {file: file.read_bytes() for file in state.rglob("*") if file.is_file() and file.name != "admin.token"}
    written = {
        "log": server.log.read_bytes(),
        "stdout": (server.banner + server.rest).encode(),
        "answers": b"\n".join(day.answers),
        "arguments": b"\n".join(day.arguments),
        **{str(file): content for file, content in files.items() if not file.name.startswith("notbefore.db")},
    }
    stores = {str(file): content for file, content in files.items() if file.name.startswith("notbefore.db")}

    assert stores
    assert len(day.secrets) == 5
    assert written["log"].count(b"wrong token") >= 5
    for name, secret in day.secrets.items():
        digest = sha256(secret.encode()).hexdigest().encode()
        for where, content in {**written, **stores}.items():
            assert not [piece for piece in pieces_of(secret) if piece.encode() in content], f"{name} in {where}"
        for where, content in written.items():
            assert digest not in content, f"digest of {name} in {where}"
        if name in ("watcher", "boss", "by-hand"):
            assert any(digest in content for content in stores.values()), name


def options_below(command):
    yield from (option for parameter in command.params for option in parameter.opts)
    for inner in getattr(command, "commands", {}).values():
        yield from options_below(inner)


def test_no_command_takes_a_secret_as_an_argument():
    """Arguments are there for every user of the machine to read; the environment and files are not."""
    options = set(options_below(typer.main.get_command(made_app())))

    assert {"--role", "--expires"} <= options
    assert not {option for option in options if any(word in option for word in ("token", "secret", "password", "key"))}
