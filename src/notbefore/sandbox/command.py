"""The command of a sandbox: run to its end, with the signals that are meant for it, and its exit code passed on.

Rule 1: what the terminal sends (Ctrl-C) reaches the command by itself; what is sent to us is passed on.
Rule 2: it ends with us, however we end. What it leaves running ends before we do, unless we are killed.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from notbefore.core.errors import Invalid
from notbefore.sandbox.kernel import adopt_orphans
from notbefore.sandbox.leftovers import children, end_all, reap

PASSED_ON = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
)
LISTENED_TO = frozenset((*PASSED_ON, signal.SIGCHLD))
BY_SIGNAL = 128


def refuse_no_program(error: OSError, program: str) -> Invalid:
    return Invalid(f"Cannot run {program!r}: {error.strerror}.", "Give a program and its words after `--`.")


class Signals:
    """Signals wait until they are looked at, from before the first child is started: none is lost, none kills us."""

    def __enter__(self) -> Self:
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, LISTENED_TO)
        return self

    def __exit__(self, *_: object) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def as_before(self) -> None:
        """For a child, which would inherit that they are held back."""
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def next(self) -> "signal.struct_siginfo":
        return signal.sigwaitinfo(LISTENED_TO)


def run_to_end(words: Sequence[str], env: Mapping[str, str], signals: Signals, prepare: Callable[[], None]) -> int:
    """`prepare` is called in the child, before it becomes the command."""

    def in_child() -> None:
        prepare()
        signals.as_before()

    adopt_orphans()
    there_before = children()
    try:
        process = subprocess.Popen(words, env=env, preexec_fn=in_child)  # noqa: PLW1509, S603  one thread; the user's own command
    except OSError as error:
        raise refuse_no_program(error, words[0]) from None
    while (code := process.poll()) is None:
        came = signals.next()
        pass_on(came, process.pid)
        if came.si_signo == signal.SIGCHLD:
            reap(but={*there_before, process.pid})
    end_all(there_before, LISTENED_TO)
    return code if code >= 0 else BY_SIGNAL - code


def pass_on(came: "signal.struct_siginfo", pid: int) -> None:
    sent_by_a_process = came.si_code <= 0
    if came.si_signo != signal.SIGCHLD and sent_by_a_process:
        os.kill(pid, came.si_signo)


def wait_for_the_end(signals: Signals) -> int:
    """Without a command a sandbox lasts until it is told to end."""
    while signals.next().si_signo not in {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}:
        pass
    return 0
