"""A program run for a step: in a session of its own, without a shell, and over when its time is.

Rule 1: it is over when the program itself has ended, whatever its children do.
Rule 2: when its time is over its whole group gets TERM, after a margin KILL.
Rule 3: the group is spoken to while its first process is not yet reaped: until then its number is nobody else's.
Rule 4: how it ended is known, or it failed.
Rule 5: a program that ends with 0 and leaves others of its group running has failed, and they are killed. They have a
moment before that, for their own end or to leave for a session of their own.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from notbefore.agent.steps.attempt import Trouble, Until
from notbefore.agent.steps.group import Member, alive_in, still_alive
from notbefore.agent.steps.pipes import Pipes, pipes_of
from notbefore.agent.steps.step import Result

SLICE_S = 0.02
KILL_AFTER_S = 2.0
GONE_AFTER_S = 1.0
# Who reads or writes on as the program ends, say a `tee`, ends well within it.
LEAVE_WITHIN_S = 1.0
# What the service manager tells the agent alone: nobody else should speak in its name.
OF_THE_AGENT = frozenset(
    {"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}
)
if sys.platform == "win32":
    NEW_GROUP = subprocess.CREATE_NEW_PROCESS_GROUP
else:
    NEW_GROUP = 0
    UNREAPED = os.WEXITED | os.WNOHANG | os.WNOWAIT


@dataclass(frozen=True, slots=True)
class Order:
    """What to run. `env` is added to the agent's own variables; `told` is its standard input."""

    argv: tuple[str, ...]
    told: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    kill_group: bool = True
    kill_after_s: float = KILL_AFTER_S
    leave_within_s: float = LEAVE_WITHIN_S

    @property
    def name(self) -> str:
        return Path(self.argv[0]).name


PipesOf = Callable[[subprocess.Popen[bytes], bytes], Pipes]


def ran(order: Order, until: Until, pipes_for: PipesOf = pipes_of) -> Result:
    """Trouble when it could not be started, had to be stopped, ended with anything but 0, or left others behind."""
    process = started(order)
    pipes = pipes_for(process, order.told)
    try:
        stopped = watched(process, order, pipes, until)
        left = left_behind(process, order, pipes, until) if order.kill_group and not stopped else []
        if stopped or order.kill_group:
            signal_group(process, "SIGKILL")
        code = reaped(process, order, pipes)
        output = pipes.drained()
    finally:
        pipes.close()
    if stopped:
        raise Trouble(f"{order.name} was stopped: {stopped}", output)
    if code != 0:
        raise Trouble(f"{order.name} {ending(code)}", output)
    if left:
        raise Trouble(f"{order.name} {ending(code)} {and_left(left)}", output)
    return Result(True, f"{order.name} {ending(code)}", output)


def started(order: Order) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603  the settings say what to run; no shell reads it
            order.argv,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=order.cwd,
            env={**inherited(), **order.env},
            start_new_session=True,
            creationflags=NEW_GROUP,
        )
    except (OSError, ValueError) as error:
        raise Trouble(f"{order.name} could not be started: {reason_of(error, order)}") from None


def inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in OF_THE_AGENT}


def reason_of(error: Exception, order: Order) -> str:
    if order.cwd is not None and not order.cwd.is_dir():
        return f"there is no directory {order.cwd}"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {order.argv[0]}, or what its first line names is not there"
    if isinstance(error, PermissionError):
        return f"{order.argv[0]} may not be executed"
    return (isinstance(error, OSError) and error.strerror) or type(error).__name__


def watched(process: subprocess.Popen[bytes], order: Order, pipes: Pipes, until: Until) -> str:
    """Until it has ended by itself; or why it was asked to, once it has or KILL is due."""
    while not has_ended(process):
        if until.is_over():
            break
        pipes.pump(SLICE_S)
    else:
        return ""
    stopped = until.reason()
    signal_group(process, "SIGTERM")
    ends_s = until.clock.steady_s() + order.kill_after_s
    while not has_ended(process) and until.clock.steady_s() < ends_s:
        pipes.pump(SLICE_S)
    return stopped


def left_behind(process: subprocess.Popen[bytes], order: Order, pipes: Pipes, until: Until) -> list[Member]:
    """Who of the group goes on after the program has ended well, and after a moment still does."""
    if not has_ended_well(process):
        return []
    ends_s = until.clock.steady_s() + min(order.leave_within_s, until.left_s())
    left = alive_in(process.pid)
    while left and until.clock.steady_s() < ends_s:
        pipes.pump(SLICE_S)
        left = still_alive(process.pid, left)
    return left


def and_left(left: list[Member]) -> str:
    others = f" and {len(left) - 1} more" if left[1:] else ""
    return (
        f"and left {left[0]}{others} running, which was killed: "
        "let it wait for what it starts, or set kill_group = false for this step"
    )


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Without reaping it, where that can be told."""
    if sys.platform == "win32":
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, UNREAPED) is not None
    except ChildProcessError:
        return True


def has_ended_well(process: subprocess.Popen[bytes]) -> bool:
    """By itself, with 0, and not yet reaped; never on Windows, which has no groups to look into."""
    if sys.platform == "win32":
        return False
    try:
        end = os.waitid(os.P_PID, process.pid, UNREAPED)
    except ChildProcessError:
        return False
    return end is not None and end.si_code == os.CLD_EXITED and end.si_status == 0


def is_unreaped(process: subprocess.Popen[bytes]) -> bool:
    """Whether it runs, or its end is ours to take; not so when SIGCHLD is ignored."""
    if sys.platform != "win32":
        try:
            os.waitid(os.P_PID, process.pid, UNREAPED)
        except ChildProcessError:
            return False
    return True


def reaped(process: subprocess.Popen[bytes], order: Order, pipes: Pipes) -> int:
    if not is_unreaped(process):
        # Popen would take that for a 0.
        process.poll()
        raise Trouble(f"nobody can tell how {order.name} ended", pipes.drained())
    try:
        return process.wait(GONE_AFTER_S)
    except subprocess.TimeoutExpired:
        raise Trouble(f"{order.name} does not end, even when it is killed", pipes.drained()) from None


def signal_group(process: subprocess.Popen[bytes], name: str) -> None:
    """Windows has neither signals nor an end for a group: a break for it, then the end of the program alone."""
    with suppress(OSError, ValueError):
        if sys.platform == "win32":
            process.send_signal(signal.CTRL_BREAK_EVENT) if name == "SIGTERM" else process.kill()
        elif is_unreaped(process):
            os.killpg(process.pid, getattr(signal, name))


def ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
