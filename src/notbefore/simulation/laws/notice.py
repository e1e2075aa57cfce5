"""S2: NotBefore - visible-since is at least the notice, and a promise once made is not moved (SPEC §2.3, §3.1).

Rule 1: the notice is that of the settings in force when the event becomes visible.
Rule 2: what was told first stands for as long as the event is Scheduled, whoever writes the scope.
Not here: whether the promise is kept (starts.py, liveness.py).
"""

from typing import ClassVar

from notbefore.core.kinds import Status
from notbefore.core.model import Event
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Ledger, Move
from notbefore.simulation.steps import Committed, Step

SECOND_MS = 1000


class Notice:
    code: ClassVar[str] = "S2"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        self._promised: dict[str, tuple[int | None, int | None]] = {}

    def see(self, step: Step, _facts: Facts) -> None:
        if isinstance(step, Committed):
            for move in self._ledger.read(step).moves:
                self._judge(step, move)

    def _judge(self, step: Committed, move: Move) -> None:
        event = move.after
        if event is None:
            self._promised.pop(move.id, None)
            return
        if move.becomes_visible:
            self._judge_promise(step, event)
            self._promised[event.id] = (event.not_before_ms, event.visible_since_ms)
        elif event.status is Status.SCHEDULED and (
            (event.not_before_ms, event.visible_since_ms) != self._promised.get(event.id)
        ):
            raise self._broken("its NotBefore or visible-since was moved while it was Scheduled", step, event)

    def _judge_promise(self, step: Committed, event: Event) -> None:
        if step.record is None:
            raise self._broken("it became Scheduled and history does not say when", step, event)
        at_ms, not_before_ms = step.record.at_ms, event.not_before_ms
        if not_before_ms is None or not_before_ms % SECOND_MS:
            raise self._broken(f"its NotBefore {not_before_ms} is not on a whole second", step, event)
        if event.visible_since_ms != at_ms:
            raise self._broken(
                f"it became visible at {at_ms} and says that it was at {event.visible_since_ms}", step, event
            )
        notice_s = step.after.settings.notice_for(event.type)
        if not_before_ms - at_ms < notice_s * SECOND_MS:
            raise self._broken(
                f"a {event.type} got {not_before_ms - at_ms} ms of notice instead of {notice_s} s", step, event
            )

    def _broken(self, sentence: str, step: Committed, event: Event) -> Violation:
        return Violation(self.code, f"{event.id}: {sentence}", step.after.key, event.id)
