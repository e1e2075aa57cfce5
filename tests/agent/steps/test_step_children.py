"""Programs that start others: nothing of theirs stays unless that was wanted, and what stays is no success."""

import os
import re
import signal
import sys
import threading

import pytest
from step_runs import LONG_S, Aside, is_alive, made, run, until

from notbefore.agent.steps.attempt import Trouble, Until
from notbefore.agent.steps.group import Member, alive_in, member_in, still_alive
from notbefore.agent.steps.pipes import pipes_of
from notbefore.agent.steps.process import Order, has_ended, left_behind, ran, signal_group, started

PYTHON = sys.executable
# Its end is not waited for: the program ends when its child has begun with what it is there for.
FORKING = (
    "import os, pathlib, sys, time",
    "file, how = sys.argv[1:]",
    "has_begun, begins = os.pipe()",
    "program = os.getpid()",
    "if child := os.fork():",
    "    pathlib.Path(file).write_text(str(child))",
    "    os.read(has_begun, 1)",
    "    os._exit(0)",
    "if how == 'leaves': os.setsid()",
    "if how == 'is silent': [os.close(fd) for fd in (0, 1, 2)]",
    "os.write(begins, b'!')",
    "while how != 'ends' or os.getppid() == program: time.sleep(0.01)",
)


@pytest.fixture
def forking(tmp_path):
    """What to run, and the child once it was run; ended with the test."""
    file = tmp_path / "child"
    yield lambda how: (PYTHON, "-c", "\n".join(FORKING), str(file), how), lambda: int(file.read_text())
    if file.exists() and is_alive(child := int(file.read_text())):
        os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("how", ["stays", "is silent"])
def test_a_program_that_leaves_a_child_behind_has_failed_and_the_child_is_killed(forking, how):
    """Forks a child that stays, with or without an end of our pipe in its hands: no success."""
    argv, child = forking

    result = Aside(made("command", do=list(argv(how)))).result()

    assert not result.ok
    assert re.search(
        rf"ended with exit code 0 and left python\S* \({child()}\) running, which was killed", result.sentence
    )
    assert "kill_group = false" in result.sentence
    until(lambda: not is_alive(child()))


@pytest.mark.parametrize(("kill_group", "how"), [(False, "stays"), (True, "leaves")])
def test_a_child_that_may_stay_goes_on_and_keeps_nobody(forking, kill_group, how):
    """Because the table says so, or because it has a session of its own, as daemons have."""
    argv, child = forking

    result = Aside(made("command", do=list(argv(how)), kill_group=kill_group)).result()

    assert result.ok, result
    assert is_alive(child())


def test_a_child_that_ends_a_moment_after_the_program_is_no_failure(forking):
    """It notices by its parent's end that there is nothing left to do, as whoever reads its output would."""
    argv, child = forking

    result = ran(Order(argv("ends"), leave_within_s=LONG_S), Until(LONG_S, threading.Event()))

    assert result.ok
    assert not is_alive(child())


def test_what_a_pipeline_prints_to_the_last_is_kept():
    """Nobody waits for a process substitution; it prints when the shell has ended."""
    order = Order(
        ("bash", "-c", "exec > >(while read -r line; do echo got $line; done; echo end); echo one"),
        leave_within_s=LONG_S,
    )

    assert ran(order, Until(LONG_S, threading.Event())).output == "got one\nend\n"


def test_no_moment_is_longer_than_the_time_that_is_left(forking):
    """The budget is kept: with an hour for it, what is left is told at once when the run is cut off."""
    argv, child = forking
    order = Order(argv("stays"), leave_within_s=3600)
    cut_off = threading.Event()
    process = started(order)
    pipes = pipes_of(process, b"")
    until(lambda: has_ended(process))

    cut_off.set()
    left = left_behind(process, order, pipes, Until(LONG_S, cut_off))

    signal_group(process, "SIGKILL")
    process.wait()
    pipes.close()
    assert [member.pid for member in left] == [child()]


def test_a_program_that_fails_is_told_by_its_code_whatever_it_leaves():
    result = run(made("command", do=["sh", "-c", "sleep 1000 & exit 3"]))

    assert result.sentence == "sh ended with exit code 3"


def test_a_script_is_held_to_the_same(tmp_path):
    script = tmp_path / "onReboot"
    script.write_text("#!/bin/sh\nsleep 1000 &\necho $!\n")
    script.chmod(0o755)
    tmp_path.chmod(0o700)

    killed, kept = (run(made("scripts", directory=str(tmp_path), kill_group=wanted)) for wanted in (True, False))

    os.kill(int(kept.output), signal.SIGKILL)
    assert killed.sentence.startswith("onReboot ended with exit code 0 and left ")
    assert f"({killed.output.strip()}) running" in killed.sentence
    assert kept.ok


def test_one_that_does_not_hear_term_is_killed_with_its_children(tmp_path):
    """TERM to the group, then KILL after a margin."""
    pids = tmp_path / "pids"
    lines = (
        "import os, pathlib, signal, time",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "child = os.fork()",
        f"if child: pathlib.Path({str(pids)!r}).write_text(f'{{os.getpid()}} {{child}}')",
        "time.sleep(1000)",
    )
    cut_off = threading.Event()

    def cut_off_when_begun():
        until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        cut_off.set()

    threading.Thread(target=cut_off_when_begun, daemon=True).start()
    with pytest.raises(Trouble, match="was stopped: it was cut off"):
        ran(Order((PYTHON, "-c", "\n".join(lines)), kill_after_s=0.2), Until(LONG_S, cut_off))

    until(lambda: not any(map(is_alive, pids.read_text().split())))


# -- who is alive in a group


@pytest.mark.parametrize(
    ("stat", "member"),
    [
        ("7 (sleep) S 1 5 5 0", Member(7, "sleep")),
        ("7 (sleep) T 1 5 5 0", Member(7, "sleep")),
        ("7 (sleep) Z 1 5 5 0", None),
        ("7 (sleep) X 1 5 5 0", None),
        ("7 (sleep) S 1 6 5 0", None),
        ("7 (a) Z 1 6 (\n) S 1 5 5 0", Member(7, "a) Z 1 6 ( ")),
    ],
)
def test_a_member_is_who_is_of_the_group_and_has_not_ended(stat, member):
    """A name may have anything in it, and puts no second line into the log."""
    assert member_in(stat, 5) == member


def test_a_member_is_called_what_it_is_by_now():
    """A shell's child bears the shell's name until it becomes another program."""
    seen = [Member(os.getpid(), "before")]

    assert still_alive(os.getpgrp(), seen) == [one for one in alive_in(os.getpgrp()) if one.pid == os.getpid()]


def test_where_nothing_can_be_seen_nobody_is_found(tmp_path):
    """No /proc; or that of another PID namespace, whose numbers are others'."""
    other = tmp_path / "proc"
    (other / "7").mkdir(parents=True)
    (other / "7" / "stat").write_text("7 (sleep) S 1 5 5 0")

    assert alive_in(5, tmp_path / "none") == []
    (other / "self").symlink_to("99999999")
    assert alive_in(5, other) == []
    (other / "self").unlink()
    (other / "self").symlink_to(str(os.getpid()))
    assert alive_in(5, other) == [Member(7, "sleep")]
