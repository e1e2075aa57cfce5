"""What a command leaves running behind it, in the background or as a daemon: it ends with the sandbox.

Rule 1: whose parent has ended becomes a child of this process (`adopt_orphans`), so that nobody is lost from sight.
Rule 2: they are asked to end, and made to when they do not, or when we are told to hurry. The wait is bounded.
Rule 3: what was there before the command (the server) is left alone.
"""

import os
import signal
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from notbefore.client.clock import SystemClock

ASKED_S = 5.0
MADE_TO_S = 5.0
HURRY = frozenset((signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT))
_STATE, _PARENT = 0, 1


def children() -> frozenset[int]:
    """Of this process, those included that have ended and were not waited for."""
    return frozenset(pid for pid, _ in _children())


def reap(but: Collection[int]) -> None:
    """See to those that have ended by themselves: nobody else waits for them."""
    for pid, state in list(_children()):
        if state == "Z" and pid not in but:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def end_all(but: Collection[int], woken_by: frozenset[signal.Signals]) -> None:
    """`woken_by` are signals that are held back, SIGCHLD among them."""
    clock = SystemClock()
    asked: set[int] = set()
    made_from_s = clock.steady_s() + ASKED_S
    while (left := _living(but)) and (now_s := clock.steady_s()) < made_from_s + MADE_TO_S:
        is_asked = now_s < made_from_s
        _tell(left - asked if is_asked else left, signal.SIGTERM if is_asked else signal.SIGKILL)
        asked |= left
        until_s = made_from_s if is_asked else made_from_s + MADE_TO_S
        came = signal.sigtimedwait(woken_by, max(0.0, until_s - clock.steady_s()))
        if is_asked and came and came.si_signo in HURRY:
            made_from_s = now_s


def _living(but: Collection[int]) -> frozenset[int]:
    reap(but)
    return children() - frozenset(but)


def _tell(pids: Collection[int], number: signal.Signals) -> None:
    for pid in pids:
        # One that just ended, or that has become another user's, is none of ours.
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _children() -> Iterator[tuple[int, str]]:
    """With the letter of its state."""
    own = str(os.getpid())
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # Its name comes first, in brackets, and may have anything in it.
            fields = file.read_text(errors="replace").rpartition(")")[2].split()
            if fields[_PARENT] == own:
                yield int(file.parent.name), fields[_STATE]
