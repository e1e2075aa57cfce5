"""How a run is held to its promise: never raises, ends in time.

Rule 1: a kind says what went wrong by `Trouble`, in a sentence for people; anything else that is raised is a failed
run as well, told by its type alone, because its text may hold what nobody should read.
Rule 2: who waits, waits through `Until`, which knows the limit and hears the cut-off.
"""

import threading
from abc import ABC, abstractmethod

from notbefore.agent.steps.step import Errand, Phase, Result
from notbefore.client.clock import Clock, SystemClock

LIMIT_MAX_S = 7 * 24 * 3600.0


class Trouble(Exception):
    """Why a run failed. `output` is what was printed meanwhile."""

    def __init__(self, sentence: str, output: str = "") -> None:
        super().__init__(sentence)
        self.output = output


class Until:
    """When a run has to be over: at its limit, or when it is cut off."""

    def __init__(self, limit_s: float, cut_off: threading.Event, clock: Clock | None = None) -> None:
        # What is no number is less than nothing: no time at all.
        self.limit_s = min(limit_s, LIMIT_MAX_S) if limit_s > 0 else 0.0
        self.clock = clock or SystemClock()
        self._cut_off = cut_off
        self._ends_s = self.clock.steady_s() + self.limit_s

    def left_s(self) -> float:
        return 0.0 if self._cut_off.is_set() else max(0.0, self._ends_s - self.clock.steady_s())

    def is_over(self) -> bool:
        return self.left_s() <= 0

    def wait(self, seconds: float) -> None:
        """So long at most; less when it is over before."""
        self._cut_off.wait(min(seconds, self.left_s()))

    def reason(self) -> str:
        return "it was cut off" if self._cut_off.is_set() else f"its time of {self.limit_s:.3g} s was over"


class Attempt(ABC):
    """A step whose kind only has to try."""

    kind: str

    def run(self, errand: Errand, limit_s: float, cut_off: threading.Event) -> Result:
        until = Until(limit_s, cut_off)
        if until.is_over():
            return Result(False, f"not begun: {until.reason()}")
        try:
            return self.attempt(errand, until)
        except Trouble as trouble:
            return Result(False, str(trouble), trouble.output)
        except Exception as error:  # noqa: BLE001  Rule 1: whatever it is, the agent goes on
            return Result(False, f"the step broke: {type(error).__name__}")

    @abstractmethod
    def attempt(self, errand: Errand, until: Until) -> Result:
        """Trouble when it failed."""

    def has_undo(self) -> bool:
        return True


def refuse_alerts(errand: Errand) -> None:
    if errand.phase == Phase.ALERT:
        raise Trouble("a step of this kind tells nobody: alerts need command, webhook, mail, log or notify")
