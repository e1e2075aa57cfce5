"""S4: an EventId is an upper-case GUID, names one event of one scope for ever, and is never used again."""

import re
from typing import ClassVar

from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Ledger
from notbefore.simulation.steps import Committed, Step

GUID = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")


class EventIds:
    code: ClassVar[str] = "S4"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        self._known: dict[str, tuple[object, ...]] = {}
        self._gone: set[str] = set()

    def see(self, step: Step, _facts: Facts) -> None:
        if not isinstance(step, Committed):
            return
        commit = self._ledger.read(step)
        if not commit.moves:
            return
        ids = [event.id for event in step.after.events]
        if len(set(ids)) != len(ids):
            raise Violation(self.code, "an EventId is there twice", commit.key)
        for move in commit.moves:
            event = move.after
            if event is None:
                self._gone.add(move.id)
                continue
            if move.id in self._gone:
                raise Violation(self.code, f"{move.id} is used again", commit.key, move.id)
            fixed = (commit.key, event.type, event.source, event.made_at_ms, event.made_by, event.update_domain)
            known = self._known.setdefault(move.id, fixed)
            if known is fixed and not GUID.fullmatch(move.id):
                raise Violation(self.code, f"{move.id!r} is not an upper-case GUID", commit.key, move.id)
            if known != fixed:
                raise Violation(self.code, f"{move.id} named another event before: {known}", commit.key, move.id)
