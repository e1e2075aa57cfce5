"""How the CLI fails: exit codes, one sentence and a hint, never a traceback, never the token (DESIGN §4)."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from cli_fakes import EVENT, event
from cli_runs import PROGRAM, ended

from notbefore import __version__
from notbefore.cli.main import made_app

INTERRUPTIBLE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from notbefore.cli.main import main; main()"
)
HEAVY = {"fastapi", "starlette", "uvicorn", "msgspec", "uvloop", "notbefore.wiring", "notbefore.settings", "rich"}
COMMANDS = [
    *("serve", "apply", "clock", "scopes", "vms", "events", "history", "ask", "maintain", "store", "token", "simulate"),
    *("restart", "redeploy", "freeze", "evict", "terminate", "approve", "cancel", "complete"),
    *("explain", "hosts", "host-failed", "doctor", "operations", "rollouts", "sandbox", "conformance"),
    *("agent", "fault", "play", "record", "replay"),
]


@pytest.fixture
def closed_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield unused.getsockname()[1]


def test_a_server_that_is_not_there_is_said_with_what_to_do(cli, closed_port):
    """The sentence names the address, the reason and the way out."""
    url = f"http://127.0.0.1:{closed_port}"

    sentence = cli("events", NOTBEFORE_URL=url).is_refused_with()

    assert sentence == (
        f"No notbefore server answers at {url} (connection refused). "
        "Start one with `notbefore serve --demo`, or set NOTBEFORE_URL."
    )


def test_the_token_is_read_from_the_state_directory(cli, server, tmp_path):
    """DESIGN §4: NOTBEFORE_TOKEN, else `<state>/admin.token`; state by flag, environment, or the default places."""
    server.answers("GET", "/v1/events", {"events": []})
    for place in ("flag", "env", "xdg/notbefore", "home/.local/state/notbefore"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "admin.token").write_text(f"token-of-{place}\n")
    nowhere = {"NOTBEFORE_TOKEN": None, "NOTBEFORE_STATE": None}

    cli("--state", str(tmp_path / "flag"), "events", **nowhere)
    cli("events", **{**nowhere, "NOTBEFORE_STATE": str(tmp_path / "env")})
    cli("events", **nowhere, XDG_STATE_HOME=str(tmp_path / "xdg"))
    cli("events", **nowhere, XDG_STATE_HOME="")

    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == [
        "Bearer token-of-flag",
        "Bearer token-of-env",
        "Bearer token-of-xdg/notbefore",
        "Bearer token-of-home/.local/state/notbefore",
    ]


def test_a_missing_token_is_said_with_its_place(cli, server, tmp_path):
    """A sentence and a hint, before anything is sent."""
    cli("events", NOTBEFORE_TOKEN=None).is_refused_with(str(tmp_path / "state" / "admin.token"), "hint: ")

    assert server.requests == []


@pytest.mark.parametrize("secret", ["two\nlines-of-secret", "secret-ü", "secret-\x07", " "])
def test_a_token_that_cannot_be_sent_is_refused_without_showing_it(cli, server, tmp_path, secret):
    """The token is never printed, least of all by the library that refuses to send it."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "admin.token").write_text(secret)

    for env in ({"NOTBEFORE_TOKEN": None}, {"NOTBEFORE_TOKEN": secret}):
        ran = cli("events", NOTBEFORE_DEBUG="1", **env)
        ran.is_refused_with("one line with a token")
        assert "secret" not in ran.out + ran.err


def test_a_refused_token_is_not_shown(cli, server):
    """The server's refusal is; the token is not."""
    server.refuses("GET", "/v1/events", "unauthorized", "The control API needs a valid token.", status=401)

    ran = cli("events", NOTBEFORE_TOKEN="wrong-secret")

    ran.is_refused_with("needs a valid token")
    assert "wrong-secret" not in ran.out + ran.err


@pytest.mark.parametrize("url", ["127.0.0.1:8255", "ftp://127.0.0.1", "http://", "http://127.0.0.1:port"])
def test_an_address_that_is_none_is_said_by_its_variable(cli, url):
    """Said as what it is, not as a server that does not answer."""
    cli("events", NOTBEFORE_URL=url).is_refused_with(f"NOTBEFORE_URL is {url!r}")


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, b"<html>hello</html>"), (404, b"Not Found"), (500, b'{"error":"x"}'), (302, b""), (200, b"3")],
)
def test_somebody_else_at_the_address_is_recognised(cli, server, status, body):
    """Another program's answer is not taken for ours, and a redirect is not followed."""
    server.answers("GET", "/v1/events", body, status=status, Location=f"{server.url}/v1/scopes")

    cli("events").is_refused_with(server.url, "not the control API of notbefore", "hint: ")
    assert len(server.requests) == 1


def test_proxies_are_ignored(cli, server, closed_port):
    """The server is asked itself, whatever the environment says about proxies."""
    server.answers("GET", "/v1/events", {"events": []})
    proxy = f"http://127.0.0.1:{closed_port}"

    assert cli("events", http_proxy=proxy, HTTP_PROXY=proxy, all_proxy=proxy, no_proxy="").code == 0


def test_a_refusal_of_the_server_is_its_sentence_and_its_hint(cli, server):
    """Exit code 1, the sentence on stderr, the hint as a second line, nothing on stdout."""
    server.refuses("GET", "/v1/scopes/x", "unknown_scope", "There is no scope 'x'.", "Look at them.", status=404)

    ran = cli("vms", "--scope", "x", "--json")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "There is no scope 'x'.\nhint: Look at them.\n"


def test_a_refusal_cannot_move_the_cursor(cli, server):
    """The sentence is the server's text; on the terminal it is one line and nothing else."""
    server.refuses("GET", "/v1/events", "invalid", "a\x1b[2J\nb", "c\nd")

    assert cli("events").err == "a [2J b\nhint: c d\n"


def test_what_nobody_expected_is_still_one_sentence(cli, server):
    """No traceback ever reaches a user; NOTBEFORE_DEBUG=1 asks for it."""
    server.answers("GET", "/v1/events", {"events": 3})

    cli("events").is_refused_with("notbefore itself went wrong", "NOTBEFORE_DEBUG=1")
    assert "Traceback" in cli("events", NOTBEFORE_DEBUG="1").err


@pytest.mark.parametrize(
    "args", [("restert",), ("--nonsense",), ("events", "--nonsense"), ("events", "extra"), ("approve",), ("clock", "x")]
)
def test_wrong_usage_is_exit_code_2_and_points_to_the_help(cli, args):
    """DESIGN §4: 2 wrong usage."""
    cli(*args).is_wrong_usage_of("hint: `notbefore", "--help` shows how.")


def test_without_arguments_it_shows_its_help(cli):
    """Exit code 2: nothing was asked for."""
    ran = cli()

    assert ran.code == 2
    assert "Usage: notbefore" in ran.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_teaches_by_example(cli, command):
    """`--help` has a summary, a paragraph and an example that names the command."""
    ran = cli(command, "--help")

    assert ran.code == 0
    assert f"Example: notbefore {command}" in ran.out


def test_there_are_exactly_these_commands(cli):
    """DESIGN §4: no command is a stub."""
    app = made_app()

    named = [command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands]
    groups = [group.typer_instance.info.name for group in app.registered_groups]
    assert sorted([*named, *groups]) == sorted(COMMANDS)


def test_the_version_is_printed_by_the_program_itself(cli):
    """`notbefore --version`, as a process."""
    ran = cli.apart(PROGRAM, "--version")

    assert (ran.code, ran.out, ran.err) == (0, f"notbefore {__version__}\n", "")


def test_client_commands_import_nothing_of_the_server(cli, server):
    """They start fast: what only `serve` needs is imported by `serve`, and rich only for a terminal."""
    server.answers("GET", "/v1/events", {"events": [event()]})
    script = f"import sys; from notbefore.cli.main import run; run(['events']); print({HEAVY} & sys.modules.keys())"

    ran = cli.apart(sys.executable, "-c", script)

    assert (ran.lines[-1], ran.err) == ("set()", "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_under_the_output_is_said_in_a_sentence(unbuffered):
    """Exit code 1, not the interpreter's own 120; and no traceback."""
    with Path("/dev/full").open("wb") as full:
        command = [PROGRAM, "--help"]
        env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=env)

    assert (ran.returncode, ran.stderr) == (1, "What there is to print cannot be written: no space is left there.\n")


@pytest.mark.parametrize("args", [("events",), ("events", "--json"), ("--help",), ("--version",)])
def test_a_reader_that_went_away_is_no_error(cli, server, args):
    """`notbefore … | head` ends quietly with 0."""
    server.answers("GET", "/v1/events", {"events": [event()] * 500})
    reading, writing = os.pipe()
    os.close(reading)

    with os.fdopen(writing, "wb") as pipe:
        command = [PROGRAM, *args]
        ran = subprocess.run(command, env=cli.whole_env(), stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)

    assert (ran.returncode, ran.stderr) == (0, "")


def test_ctrl_c_ends_it_quietly_with_130(cli, server):
    """Whoever waits may stop waiting; the event goes on."""
    server.answers("POST", "/v1/scopes/shop/vms/web-1/restart", event(), status=202)
    server.answers("GET", f"/v1/events/{EVENT}", event())

    with cli.process(sys.executable, "-c", INTERRUPTIBLE, "restart", "shop/web-1", "--wait") as process:
        server.wait_for("GET", f"/v1/events/{EVENT}")
        process.send_signal(signal.SIGINT)
        ran = ended(process)

    assert (ran.code, ran.err) == (130, "")
