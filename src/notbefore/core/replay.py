"""Replaying: history from its beginning, folded into the state it leads to.

Rule 1: what a change carries is how the thing is afterwards, so the last word on each thing is its present state.
Rule 2: an event that ended and a VM that left are gone; a scope that was removed has neither.
Rule 3: the fold looks at keys and at whether something is over, never inside: it works on core values as on the JSON
that the control API shows of them.
Rule 4: a record told twice (an archive after a crash, beside the store) counts once: revisions only rise.
Not here: claims, *asked* and recovery, which history does not tell; comparing (cli/replaying.py, the simulator).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from notbefore.core.history import Change, HistoryRecord
from notbefore.core.kinds import ENDED
from notbefore.core.model import name_key

VM_LEFT = "vm left"


@dataclass(frozen=True, slots=True)
class RetoldChange:
    """One change, as far as the present state comes of it."""

    what: str
    event_id: str | None = None
    event: Any = None
    event_over: bool = False
    vm_name: str | None = None
    vm: Any = None
    declaration: Any = None
    declared_vms: tuple[tuple[str, Any], ...] = ()
    removed: bool = False


@dataclass(frozen=True, slots=True)
class RetoldRecord:
    revision: int
    scope: str
    incarnation: int
    changes: tuple[RetoldChange, ...]


@dataclass(slots=True)
class ReplayedScope:
    """A scope as history leaves it: its last declaration, and what became of its VMs and events since."""

    name: str
    incarnation: int = 0
    declaration: Any = None
    vms: dict[str, Any] = field(default_factory=dict)
    events: dict[str, Any] = field(default_factory=dict)
    removed: bool = False

    @property
    def is_there(self) -> bool:
        return self.declaration is not None and not self.removed


class Replay:
    """The fold: records in, in order; the scopes they lead to."""

    def __init__(self) -> None:
        self.scopes: dict[str, ReplayedScope] = {}
        self.revision = 0

    def tell(self, record: RetoldRecord) -> None:
        if record.revision <= self.revision:
            return
        self.revision = record.revision
        if not record.scope:
            # The fleet's own: hosts, tokens. They are no part of any scope.
            return
        scope = self.scopes.setdefault(name_key(record.scope), ReplayedScope(record.scope))
        scope.name, scope.incarnation = record.scope, record.incarnation
        for change in record.changes:
            take(scope, change)

    def tell_all(self, records: Iterable[RetoldRecord]) -> None:
        for record in records:
            self.tell(record)


def take(scope: ReplayedScope, change: RetoldChange) -> None:
    if change.declaration is not None:
        scope.declaration, scope.removed = change.declaration, change.removed
        scope.vms = {name_key(name): vm for name, vm in change.declared_vms}
    if change.vm_name is not None and change.what == VM_LEFT:
        scope.vms.pop(name_key(change.vm_name), None)
    elif change.vm_name is not None:
        scope.vms[name_key(change.vm_name)] = change.vm
    if change.event_id is not None and change.event_over:
        scope.events.pop(change.event_id, None)
    elif change.event_id is not None:
        scope.events[change.event_id] = change.event


def retold(revision: int, record: HistoryRecord) -> RetoldRecord:
    """A record of the core, for the fold."""
    return RetoldRecord(revision, record.scope, record.incarnation, tuple(map(_retold, record.changes)))


def _retold(change: Change) -> RetoldChange:
    event, declared = change.event, change.declaration
    return RetoldChange(
        what=change.what,
        event_id=event.id if event else None,
        event=event,
        event_over=event is not None and event.status in ENDED,
        vm_name=change.vm.name if change.vm else None,
        vm=change.vm,
        declaration=declared,
        declared_vms=tuple((vm.name, vm) for vm in declared.vms) if declared else (),
        removed=declared is not None and declared.removed,
    )
