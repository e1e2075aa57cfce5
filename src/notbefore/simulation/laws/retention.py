"""S11 beyond retention: a record leaves the store only when the sink has it; what is left and what was kept are all.

Rule 1: nothing of a live event is retired.
Rule 2: when the run ends, sink and store together hold every record that was ever committed, the same as it was.
"""

from typing import ClassVar

from notbefore.core.history import HistoryRecord
from notbefore.core.model import Scope
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.steps import Committed, DocumentPut, Ended, HistoryKept, HistoryRetired, Step


class Retention:
    code: ClassVar[str] = "S11"

    def __init__(self) -> None:
        self._committed: list[HistoryRecord] = []
        self._kept: dict[int, HistoryRecord] = {}

    def see(self, step: Step, facts: Facts, /) -> None:
        match step:
            case Committed(record=HistoryRecord() as record) | DocumentPut(record=HistoryRecord() as record):
                self._committed.append(record)
            case HistoryKept():
                for stored in step.records:
                    if self._kept.setdefault(stored.revision, stored.record) != stored.record:
                        raise Violation(self.code, f"the sink has two records of revision {stored.revision}")
            case HistoryRetired():
                self._judge_retired(step, facts)
            case Ended():
                self._judge_whole(facts)
            case _:
                pass

    def _judge_retired(self, step: HistoryRetired, facts: Facts) -> None:
        for stored in step.records:
            if self._kept.get(stored.revision) != stored.record:
                raise Violation(self.code, f"revision {stored.revision} left the store and the sink does not have it")
            scope = facts.scopes[stored.record.scope.casefold()].scope if stored.record.scope else None
            if scope and tells_of_live_event(stored.record, scope):
                raise Violation(self.code, f"revision {stored.revision} left and tells of a live event", scope.key)

    def _judge_whole(self, facts: Facts) -> None:
        left = {stored.revision: stored.record for stored in facts.records}
        whole = [record for _, record in sorted({**self._kept, **left}.items())]
        if whole != self._committed:
            raise Violation(self.code, f"sink and store hold {len(whole)} records of {len(self._committed)}")


def tells_of_live_event(record: HistoryRecord, scope: Scope) -> bool:
    return any(change.event and scope.event(change.event.id) for change in record.changes)
