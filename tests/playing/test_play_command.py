"""`notbefore play`: what it prints, how it ends, and an agent beside it."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from small_plays import FLEET

from notbefore.cli.main import run
from notbefore.client import ScheduledEvents
from notbefore.scenarios.library import names, text_of

PROGRAM = str(Path(sys.executable).with_name("notbefore"))
# Started from a background job, a process ignores Ctrl-C, unless it says otherwise.
INTERRUPTIBLE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from notbefore.cli.main import main; main()"
)
PATIENCE_S = 60
# A loopback address that no other process of these tests uses, so that its ports are free.
OWN_ADDRESS = f"127.{100 + os.getpid() // 64_000 % 100}.{os.getpid() // 250 % 256}.{os.getpid() % 250 + 1}"


@pytest.fixture
def file(tmp_path):
    """A scenario file with these lines."""

    def write(*lines):
        path = tmp_path / "mine.txt"
        path.write_text(FLEET + "\n".join(lines))
        return str(path)

    return write


@pytest.fixture
def play(capfd):
    """The command in this process: exit code, stdout, stderr."""

    def ran(*words):
        code = run(["play", *words])
        return code, *capfd.readouterr()

    return ran


def test_the_built_in_scenarios_are_listed_with_their_sentence(play):
    code, out, err = play("--list")

    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == ["NAME", *names()]
    assert "called off" in out
    listed = json.loads(play("--list", "--json")[1])
    assert [one["name"] for one in listed] == names()
    assert set(listed[0]) == {"name", "title", "about"}


def test_a_file_is_shown_as_it_is(play):
    assert play("--show", "scale-in") == (0, text_of("scale-in"), "")


def test_each_line_is_printed_with_its_time_and_whether_it_was_met(play):
    code, out, err = play("cancelled-maintenance")

    assert (code, err) == (0, "")
    assert out.startswith("Cancelled maintenance: Maintenance is announced")
    assert "web-0 is at http://127.0.0.1:" in out
    assert "\n       8m           operator cancels maintenance\n" in out
    assert "\n       8m    -      Freeze of web-0 cancelled (operator admin): cancelled by operator admin\n" in out
    assert "\n      15m  met      web-0 sees nothing\n" in out
    assert out.endswith("\n9 expectations: all met.\n")


def test_what_is_not_met_ends_with_exit_code_1(play, file):
    lines = ("at 0s  operator restarts web-0", "web-0 sees nothing", "web-0 is running", "operator evicts web-0")
    code, out, _ = play(file(*lines))

    assert code == 1
    assert "\n       0s  NOT MET  web-0 sees nothing\n                    seen: Reboot Scheduled of web-0, not" in out
    assert "\n       0s  NOT MET  operator evicts web-0\n                    refused: " in out
    assert out.endswith("\n2 expectations: 1 not met; 1 step went otherwise.\n")


def test_json_has_everything_that_was_told(play, file):
    code, out, err = play("--json", file("at 0s  operator restarts web-0", "web-0 sees nothing"))

    told = json.loads(out)
    assert code == 1
    assert "web-1 is at " in err
    assert set(told) == {"scenario", "title", "about", "endpoints", "met", "not_met", "lines"}
    assert set(told["endpoints"]) == {"web-0", "web-1", "teller-0", "teller-1"}
    assert (told["met"], told["not_met"]) == (False, 1)
    step, happened, expectation, *_ = told["lines"]
    assert (step["kind"], step["line"], step["met"], step["at_s"]) == ("step", 11, True, 0)
    assert (happened["kind"], happened["line"], happened["met"]) == ("happened", None, None)
    assert (expectation["kind"], expectation["line"], expectation["met"]) == ("expectation", 12, False)
    assert expectation["seen"].startswith("Reboot Scheduled of web-0")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Say which scenario"),
        (("live-migraton",), "Perhaps live-migration is meant."),
        (("--show", "live-migraton"), "Perhaps live-migration is meant."),
        (("live-migration", "--rate", "0"), "--rate"),
        (("live-migration", "--rate", "nan"), "--rate"),
        (("live-migration", "--metadata", "here"), "'here' is not an address to listen on."),
        (("live-migration", "--metadata", "127.0.0.1:65535"), "There are no 2 ports from 65535 on."),
    ],
)
def test_what_cannot_be_played_is_wrong_usage(play, words, said):
    """DESIGN §4: exit code 2, one sentence on stderr."""
    code, out, err = play(*words)

    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_a_broken_file_is_named_with_its_line_and_nothing_is_played(play, file):
    code, out, err = play(path := file("at 0s", "web-0 sees Nap"))

    assert (code, out) == (2, "")
    assert err.startswith(f"{path}, line 12: expected Freeze, Reboot")


def test_vms_are_served_from_the_given_port_on(play, file):
    """--metadata: where the first VM is served; further VMs on the next ports."""
    code, out, _ = play(file("at 0s  web-0 asks"), "--metadata", f"{OWN_ADDRESS}:8254")

    assert code == 0
    for place, vm in enumerate(("web-0", "web-1", "teller-0", "teller-1")):
        assert f"{vm} is at http://{OWN_ADDRESS}:{8254 + place}\n" in out


def test_a_port_that_is_taken_is_said(play, file):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, err = play(file("at 0s  web-0 asks"), "--metadata", f"127.0.0.1:{taken.getsockname()[1]}")

    assert code == 1
    assert "Cannot listen on 127.0.0.1:" in err


def test_the_program_plays_a_scenario_from_end_to_end(tmp_path):
    """As people run it: it leaves nothing behind."""
    env = {**os.environ, "TMPDIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    ran = subprocess.run(
        [PROGRAM, "play", "scale-in"], env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.endswith(" all met.\n")
    assert list(tmp_path.iterdir()) == []


def test_an_agent_beside_it_approves_while_the_clock_runs(file):
    """--metadata, --rate and --no-expect: an agent that approves changes what comes. Ctrl-C ends it."""
    path = file("at 0s  operator restarts web-0, not before 7d", "at 30d  web-0 sees nothing")
    words = [
        sys.executable,
        "-c",
        INTERRUPTIBLE,
        "play",
        path,
        "--metadata",
        "127.0.0.1:0",
        "--rate",
        "60",
        "--no-expect",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            endpoint = line_with(process, "web-0 is at ").split()[-1]
            line_with(process, " scheduled ")
            with ScheduledEvents(endpoint) as agent:
                agent.approve(*(event.id for event in agent.document().events))
            assert "approved by vm web-0" in line_with(process, "Reboot of web-0 started: approved")
            assert "took 30 s" in line_with(process, "impact done")
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()

    assert (process.returncode, err) == (130, "")


def line_with(process, part):
    """Read what it prints until a line has this."""
    for line in process.stdout:
        if part in line:
            return line.strip()
    raise AssertionError(f"it never said {part!r}: {process.stderr.read()}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_end_it_leaves_nothing_behind(file, tmp_path, number):
    """Its state is temporary, however it ends."""
    words = ["play", file("at 0s", "operator maintains Freeze of web-0", "at 1h"), "--rate", "1"]
    kept = tmp_path / "kept"
    kept.mkdir()
    playing = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *words],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(kept)},
    )  # fmt: skip
    with playing:
        said = [playing.stdout.readline()]
        while "maintains" not in said[-1]:
            said.append(playing.stdout.readline())
        assert list(kept.iterdir()) != []
        playing.send_signal(number)
        playing.communicate(timeout=PATIENCE_S)

    assert playing.returncode == 130
    assert list(kept.iterdir()) == []
