"""What runs beside the loop: steps, approvals and alerts, each in a thread of its own, so many at most.

Rule 1: a thread does one thing, and brings back what came of it; whatever goes wrong is a result.
Rule 2: whoever asks has written down that it begins.
Rule 3: threads do not keep the process from ending: what they leave behind the journal knows.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from notbefore.agent.settings import StepRule
from notbefore.agent.steps.step import Errand, Phase, Result
from notbefore.client import EndpointError

AT_ONCE = 8
ALERTS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class StepDone:
    life: str
    step: int
    phase: Phase
    result: Result


@dataclass(frozen=True, slots=True)
class ApprovalDone:
    life: str
    given: bool
    gone: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class AlertDone:
    """`alarm` is its number in the life; -1 when it is about the agent itself."""

    life: str
    alarm: int
    results: tuple[Result, ...]


Done = StepDone | ApprovalDone | AlertDone


class Approver(Protocol):
    def approve(self, *event_ids: str) -> tuple[str, ...]: ...


class Hands:
    def __init__(self, put: Callable[[Done], None], service: Approver) -> None:
        self._put = put
        self._service = service
        self._cut_offs: dict[str, threading.Event] = {}
        self._approving: set[str] = set()
        self._telling: set[tuple[str, int]] = set()

    @property
    def is_idle(self) -> bool:
        return not self._cut_offs and not self._approving and not self._telling

    @property
    def has_room(self) -> bool:
        return len(self._cut_offs) < AT_ONCE

    def run_step(self, life: str, n: int, step: StepRule, errand: Errand, limit_s: float) -> None:
        cut_off = self._cut_offs[life] = threading.Event()

        def work() -> None:
            self._put(StepDone(life, n, errand.phase, ran(step, errand, limit_s, cut_off)))

        _begin(work, f"step {step.name}")

    def cut_off(self, life: str) -> bool:
        """End the step of this life; whether that is news."""
        event = self._cut_offs.get(life)
        if event is None or event.is_set():
            return False
        event.set()
        return True

    def cut_all_off(self) -> None:
        for event in self._cut_offs.values():
            event.set()

    def was_cut_off(self, life: str) -> bool:
        event = self._cut_offs.get(life)
        return event is not None and event.is_set()

    def approve(self, life: str, event_id: str) -> None:
        self._approving.add(life)

        def work() -> None:
            self._put(_approved(self._service, life, event_id))

        _begin(work, "approval")

    def tell(self, life: str, alarm: int, alerts: tuple[StepRule, ...], errand: Errand) -> bool:
        """Run every alert; whether it was begun."""
        if (life, alarm) in self._telling or len(self._telling) >= ALERTS_AT_ONCE:
            return False
        self._telling.add((life, alarm))

        def work() -> None:
            never = threading.Event()
            self._put(AlertDone(life, alarm, tuple(ran(one, errand, one.limit_s, never) for one in alerts)))

        _begin(work, "alert")
        return True

    def take_back(self, done: Done) -> None:
        """The loop has heard of it: the hand is free."""
        if isinstance(done, StepDone):
            self._cut_offs.pop(done.life, None)
        elif isinstance(done, ApprovalDone):
            self._approving.discard(done.life)
        else:
            self._telling.discard((done.life, done.alarm))


def ran(step: StepRule, errand: Errand, limit_s: float, cut_off: threading.Event) -> Result:
    try:
        return step.step.run(errand, limit_s, cut_off)
    except Exception as error:  # noqa: BLE001  rule 1
        return Result(ok=False, sentence=f"the step itself went wrong ({type(error).__name__}: {error})")


def _approved(service: Approver, life: str, event_id: str) -> ApprovalDone:
    try:
        given = service.approve(event_id)
    except EndpointError as error:
        return ApprovalDone(life, given=False, gone=False, sentence=error.message)
    except Exception as error:  # noqa: BLE001  rule 1
        return ApprovalDone(life, given=False, gone=False, sentence=f"{type(error).__name__}: {error}")
    return ApprovalDone(life, given=bool(given), gone=not given, sentence="the endpoint has taken it")


def _begin(work: Callable[[], None], name: str) -> None:
    threading.Thread(target=work, name=name, daemon=True).start()
