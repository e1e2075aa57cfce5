"""Blocking work on a thread of its own, given up when the run is over; and tries that are repeated meanwhile.

Rule 1: who waits here is free within a moment of the limit or the cut-off, whatever the work hangs in.
Rule 2: the thread never keeps the program from ending.
Rule 3: what may pass is tried again after a pause, twice as long each time, while the limit leaves room for it.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from notbefore.agent.steps.attempt import Trouble, Until

LOOK_S = 0.02
PAUSE_FIRST_S = 0.25
PAUSE_MAX_S = 10.0

T = TypeVar("T")


class ComeBack(Exception):
    """It may go well another time; perhaps it was said when."""

    def __init__(self, sentence: str, after_s: float = 0.0) -> None:
        super().__init__(sentence)
        self.after_s = after_s


class _Work(Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self.is_done = threading.Event()
        self._results: list[T] = []
        self._error: Exception | None = None

    def __call__(self) -> None:
        try:
            self._results.append(self._work())
        except Exception as error:  # noqa: BLE001  whatever it is, it is the asker's
            self._error = error
        self.is_done.set()

    def outcome(self) -> T:
        if self._error is not None:
            raise self._error
        return self._results[0]


def done_aside(work: Callable[[], T], until: Until, break_off: Callable[[], None]) -> T:
    """What the work returns or raises; Trouble when the run is over before."""
    held = _Work(work)
    threading.Thread(target=held, name="step", daemon=True).start()
    while not held.is_done.wait(LOOK_S):
        if until.is_over():
            reason = until.reason()
            break_off()
            raise Trouble(f"no answer yet when {reason}")
    return held.outcome()


def tried(work: Callable[[], T], until: Until) -> T:
    """Trouble when it fails for good, or there is no time for another try."""
    pause_s = PAUSE_FIRST_S
    while True:
        try:
            return work()
        except ComeBack as trouble:
            wait_s = max(pause_s * (0.5 + until.clock.chance() / 2), trouble.after_s)
            if wait_s >= until.left_s():
                raise Trouble(f"{trouble}; there is no time for another try") from None
            last = trouble
        until.wait(wait_s)
        if until.is_over():
            raise Trouble(f"{last}; then {until.reason()}")
        pause_s = min(pause_s * 2, PAUSE_MAX_S)
