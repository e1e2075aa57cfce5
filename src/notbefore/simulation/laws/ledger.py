"""What was committed, read once for all laws: which events moved, and what each incarnation showed.

Rule 1: a commit is compared with the one before it, event by event; a law looks at what moved and at nothing else.
Rule 2: what a document shows is SPEC §2.3's list of facts, taken from the events; the bytes are document.py's matter.
Not here: judging.
"""

from typing import NamedTuple

from notbefore.core.history import Change
from notbefore.core.kinds import Status
from notbefore.core.model import Event, Scope, name_key
from notbefore.simulation.laws.askers import Askers
from notbefore.simulation.laws.document import Content, content_of
from notbefore.simulation.steps import Committed


class Move(NamedTuple):
    """One event that a commit made, changed or ended, with history's words on it."""

    id: str
    before: Event | None
    after: Event | None
    told: tuple[Change, ...]

    @property
    def was(self) -> Status | None:
        return self.before.status if self.before else None

    @property
    def becomes_visible(self) -> bool:
        """Scheduled by this commit; perhaps Started in the same breath."""
        return any(change.what == "scheduled" for change in self.told) or (
            self.after is not None and self.after.status is Status.SCHEDULED and self.was is not Status.SCHEDULED
        )

    @property
    def starts(self) -> bool:
        return self.after is not None and self.after.status is Status.STARTED and self.was is not Status.STARTED


class Commit(NamedTuple):
    key: str
    moves: tuple[Move, ...]
    vms_changed: bool
    content: Content


class Ledger:
    def __init__(self) -> None:
        self._step: Committed | None = None
        self._commit: Commit | None = None
        self._contents: dict[str, Content] = {}
        # What an incarnation of a scope showed when it was first committed.
        self.shown: dict[tuple[str, int], Content] = {}
        # Since when each incarnation of a scope is there, oldest first.
        self.risen: dict[str, list[tuple[int, int]]] = {}
        # Every event that a scope ever had.
        self.scope_of_event: dict[str, str] = {}
        self.askers = Askers()

    def read(self, step: Committed) -> Commit:
        if step is not self._step or self._commit is None:
            self._commit = self._read(step)
            self._step = step
        return self._commit

    def _read(self, step: Committed) -> Commit:
        key = step.after.key
        moves = moves_of(step)
        content = self._contents.get(key)
        renamed = step.before is None or (
            step.before.settings.legacy_underscore is not step.after.settings.legacy_underscore
        )
        if content is None or moves or renamed:
            content = self._contents[key] = content_of(step.after)
        self.shown.setdefault((key, step.after.incarnation), content)
        risen = self.risen.setdefault(key, [])
        if not risen or risen[-1][1] != step.after.incarnation:
            risen.append((step.at_us, step.after.incarnation))
        for move in moves:
            self.scope_of_event.setdefault(move.id, key)
        vms_changed = step.before is None or step.before.vms != step.after.vms
        if vms_changed:
            self.askers.note(step)
        return Commit(key, moves, vms_changed, content)


def moves_of(step: Committed) -> tuple[Move, ...]:
    left = {event.id: event for event in step.before.events} if step.before else {}
    changed: list[tuple[str, Event | None, Event | None]] = []
    for event in step.after.events:
        before = left.pop(event.id, None)
        if before is None or before != event:
            changed.append((event.id, before, event))
    changed += [(event_id, event, None) for event_id, event in left.items()]
    if not changed:
        return ()
    changes = step.record.changes if step.record else ()
    return tuple(
        Move(event_id, before, after, tuple(c for c in changes if c.event is not None and c.event.id == event_id))
        for event_id, before, after in changed
    )


def vm_keys(scope: Scope) -> set[str]:
    return {name_key(vm.name) for vm in scope.vms}
