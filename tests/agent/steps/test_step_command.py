"""`command` with real programs: what they are told, and that nothing they do keeps the agent."""

import json
import sys
import threading
from pathlib import Path

import pytest
from step_runs import NOT_BEFORE, Aside, errand_of, is_alive, made, run, until

from notbefore.agent.steps.attempt import Trouble, Until
from notbefore.agent.steps.pipes import PolledPipes, ThreadedPipes
from notbefore.agent.steps.process import Order, ran
from notbefore.agent.steps.step import OUTPUT_MAX, Phase

PYTHON = sys.executable


def python(*lines, **table):
    return made("command", do=[PYTHON, "-c", "\n".join(lines)], **table)


# -- what it is told


def test_a_program_gets_the_event_in_variables_and_as_json_on_standard_input():
    step = python(
        "import json, os, sys",
        "print(json.dumps([{k: v for k, v in os.environ.items() if k.startswith(('EVENT_', 'VM_'))}, json.load(sys.stdin)]))",
    )

    result = run(step, sentence="a Reboot is coming", raw={"EventId": "x", "NotBefore": "soon", "Colour": {"a": 1}})

    assert result.ok, result
    variables, event = json.loads(result.output)
    seconds = int(variables.pop("EVENT_SECONDS_LEFT"))
    assert 0 < seconds < NOT_BEFORE.timestamp()
    assert variables == {
        "EVENT_ID": "602D9444-D2CD-49C7-8624-8643E7171297",
        "EVENT_TYPE": "Reboot",
        "EVENT_STATUS": "Scheduled",
        "EVENT_SOURCE": "Platform",
        "EVENT_NOT_BEFORE": "2036-09-19T18:29:47Z",
        "EVENT_DURATION": "9",
        "EVENT_RESOURCES": "web-1 web-2",
        "EVENT_DESCRIPTION": "Host server is undergoing maintenance.",
        "EVENT_PHASE": "do",
        "EVENT_RULE": "reboots",
        "EVENT_STEP": "drain",
        "EVENT_REASON": "a Reboot is coming",
        "VM_NAME": "web-1",
    }
    assert event == {
        "EventId": "602D9444-D2CD-49C7-8624-8643E7171297",
        "EventStatus": "Scheduled",
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": ["web-1", "web-2"],
        "NotBefore": "2036-09-19T18:29:47Z",
        "Description": "Host server is undergoing maintenance.",
        "EventSource": "Platform",
        "DurationInSeconds": 9,
        "Colour": {"a": 1},
    }


def test_without_a_not_before_there_are_no_seconds_left_to_speak_of():
    """An event whose NotBefore is not known is not treated as due."""
    result = run(python("import os; print(repr(os.environ['EVENT_SECONDS_LEFT']))"), not_before=None)

    assert result.output == "''\n"


@pytest.mark.parametrize("text", ["a\0b\nc", "\ud800", "ä" * 200_000, "$(touch /tmp/x)`id`; exit 3"])
def test_no_text_of_an_event_breaks_a_command(text):
    """It comes from outside: NULs, half characters, any length, and what a shell would take for its own."""
    result = run(python("import os; print(len(os.environ['EVENT_DESCRIPTION']))"), description=text, resources=(text,))

    assert result.ok, result


def test_a_program_that_reads_nothing_is_not_waited_for():
    """More than a pipe holds."""
    assert run(made("command", do=["true"]), raw={"Blob": "x" * 1_000_000}).ok


def test_a_program_gets_all_of_an_event_that_is_longer_than_a_pipe():
    step = python("import sys", "print(len(sys.stdin.read()) > 1_000_000)")

    assert run(step, raw={"Blob": "x" * 1_000_000}).output == "True\n"


def test_env_and_cwd_are_as_the_table_says_and_the_event_wins(tmp_path):
    (tmp_path / "here").mkdir()
    step = python(
        "import os; print(os.getcwd(), os.environ['A'], os.environ['EVENT_TYPE'])",
        env={"A": "b", "EVENT_TYPE": "Nothing"},
        base=tmp_path,
        cwd="here",
    )

    assert run(step).output == f"{tmp_path}/here b Reboot\n"


def test_a_program_cannot_speak_to_the_service_manager_in_the_agents_name(monkeypatch):
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/notify")
    monkeypatch.setenv("KEPT", "yes")

    assert run(python("import os; print(os.environ.get('NOTIFY_SOCKET'), os.environ['KEPT'])")).output == "None yes\n"


def test_a_path_is_relative_to_the_directory_of_agent_toml(tmp_path):
    script = tmp_path / "drain"
    script.write_text("#!/bin/sh\necho drained\n")
    script.chmod(0o755)

    assert run(made("command", base=tmp_path, do=["./drain"])).output == "drained\n"


# -- do, undo, alert


def test_do_undo_and_alert_run_what_they_name():
    step = made("command", do=["echo", "do"], undo=["echo", "undo"])

    assert [run(step, phase).output for phase in Phase] == ["do\n", "undo\n", "do\n"]
    assert step.has_undo()
    assert [step.shown(phase) for phase in Phase] == ["run echo do", "run echo undo", "run echo do"]


def test_without_an_undo_there_is_nothing_to_do():
    step = made("command", do=["false"])

    assert not step.has_undo()
    assert run(step, Phase.UNDO).ok


# -- how it ends


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("raise SystemExit(3)", "ended with exit code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "was ended by SIGSEGV"),
        ("import os, signal; os.kill(os.getpid(), 40)", "was ended by signal 40"),
    ],
)
def test_anything_but_zero_is_a_failure_and_says_which(lines, sentence):
    result = run(python(lines))

    assert not result.ok
    assert result.sentence.endswith(sentence)


def test_a_program_that_is_not_there_or_not_executable_is_a_sentence(tmp_path):
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "lost").write_text("#!/nowhere/python\n")
    (tmp_path / "lost").chmod(0o755)
    (tmp_path / "noise").write_bytes(b"\x7fELFxxxx")
    (tmp_path / "noise").chmod(0o755)
    said = {
        name: run(made("command", base=tmp_path, do=[name])) for name in ("./plain", "./lost", "./noise", "no-such")
    }

    assert not any(result.ok for result in said.values())
    assert "may not be executed" in said["./plain"].sentence
    assert "first line names" in said["./lost"].sentence
    assert "Exec format error" in said["./noise"].sentence
    assert "there is no program no-such" in said["no-such"].sentence
    assert "no directory" in run(made("command", do=["true"], cwd="/nowhere")).sentence


def test_problems_name_what_is_missing_before_it_is_needed(tmp_path):
    """`check`: each command exists."""
    (tmp_path / "plain").write_text("")
    step = made("command", base=tmp_path, do=["./plain"], undo=["no-such"], cwd="nowhere")

    assert step.problems() == [
        f"{tmp_path}/plain is not an executable file",
        "there is no program no-such on PATH",
        f"there is no directory {tmp_path}/nowhere",
    ]
    assert made("command", do=["true"]).problems() == []
    assert made("command", do=["true"], env={"PATH": "/nowhere"}).problems() == ["there is no program true on PATH"]


@pytest.mark.parametrize("pipes_for", [PolledPipes, ThreadedPipes])
def test_the_end_of_a_long_output_is_kept_and_the_rest_blocks_nobody(pipes_for):
    """Prints a megabyte."""
    order = Order(
        (PYTHON, "-c", "import sys; print('x' * 1_000_000, flush=True); sys.stderr.write('the end\\n')"), b"told"
    )

    result = ran(order, Until(60, threading.Event()), pipes_for)

    assert result.ok
    assert result.output.startswith("[…]\n")
    assert result.output.endswith("the end\n")
    assert len(result.output) == OUTPUT_MAX


def test_what_is_printed_moves_no_terminal():
    result = run(python(r"import sys; sys.stdout.buffer.write(b'a\x1b[2Jb\x00\xff\n')"))

    assert result.output == "a [2Jb �\n"


# -- its time


@pytest.mark.parametrize("pipes_for", [PolledPipes, ThreadedPipes])
def test_a_program_that_hangs_is_stopped_when_its_time_is_over(pipes_for):
    order = Order((PYTHON, "-c", "import time\ntime.sleep(1000)"))

    with pytest.raises(Trouble, match="was stopped: its time of 1 s was over"):
        ran(order, Until(1, threading.Event()), pipes_for)


def test_a_run_that_is_cut_off_ends_and_says_so_with_what_was_printed(tmp_path):
    pid_file = tmp_path / "pid"
    aside = Aside(
        python(
            "import os, pathlib, time",
            "print('waiting', flush=True)",
            f"pathlib.Path({str(pid_file)!r}).write_text(str(os.getpid()))",
            "time.sleep(1000)",
        )
    )
    pid = int(until(lambda: pid_file.exists() and pid_file.read_text()))

    aside.cut_off.set()
    result = aside.result()

    assert not result.ok
    assert result.sentence.endswith("was stopped: it was cut off")
    assert result.output == "waiting\n"
    assert not is_alive(pid)


def test_one_that_ends_well_only_after_its_time_has_failed():
    """TERM heard, exit code 0: too late all the same."""
    result = run(
        python("import signal, sys, time", "signal.signal(15, lambda *_: sys.exit(0))", "time.sleep(1000)"), limit_s=1
    )

    assert not result.ok


def test_without_time_nothing_is_begun(tmp_path):
    """Fail-closed: neither with no time left nor once it is cut off."""
    step = made("command", do=["touch", str(tmp_path / "begun")])
    is_cut_off = threading.Event()
    is_cut_off.set()

    said = [run(step, limit_s=limit_s).sentence for limit_s in (0, -1, float("nan"))]

    assert said == ["not begun: its time of 0 s was over"] * 3
    assert run(step, cut_off=is_cut_off).sentence == "not begun: it was cut off"
    assert not (tmp_path / "begun").exists()


# -- what is left


def test_runs_leave_no_open_files_behind():
    """In a program of its own, where nobody else opens any."""
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from step_runs import made, run\n"
        "steps = [made('command', do=['true']), made('command', do=['no-such'])]\n"
        "counts = [[run(step).ok for step in steps] and len(os.listdir('/proc/self/fd')) for _ in range(5)]\n"
        "print(len(set(counts)))"
    )
    asked = made("command", do=[PYTHON, "-c", script, str(Path(__file__).parent)])

    assert run(asked).output == "1\n"


def test_an_end_that_nobody_can_tell_is_a_failure():
    """When SIGCHLD is ignored the kernel takes the end of children, and a 3 would pass for a 0."""
    script = (
        "import signal, sys; sys.path.insert(0, sys.argv[1])\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "from step_runs import made, run\n"
        "print(run(made('command', do=['true'])))"
    )
    asked = made("command", do=[PYTHON, "-c", script, str(Path(__file__).parent)])

    assert "ok=False, sentence='nobody can tell how true ended'" in run(asked).output


def test_an_errand_keeps_its_shape():
    """The interface between the agent and its steps."""
    assert errand_of().phase == "do"
    assert [str(phase) for phase in Phase] == ["do", "undo", "alert"]
