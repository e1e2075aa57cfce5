"""S11: history explains every change: when, who, why; and history alone gives the present state.

Rule 1: the records are folded into a replica of each scope, and it equals what is committed, after every commit.
Rule 2: what has no record concerns nobody: who asked, claims, remembered requests, the rest between domains.
Rule 3: a request explains one commit. Only what follows by itself (a deadline, a turn) may come under its id again:
a clock's Tick whose write was in doubt is taken once more, and finds what has become due since.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from notbefore.core.history import Change, HistoryRecord
from notbefore.core.kinds import Kind
from notbefore.core.model import Event, Scope, Vm, name_key
from notbefore.core.scope_settings import ScopeSettings
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Ledger
from notbefore.simulation.steps import Committed, Step

ENDED = frozenset({"Completed", "Cancelled", "Failed"})


@dataclass(slots=True)
class Replica:
    """A scope as history tells it."""

    name: str = ""
    kind: Kind = Kind.STANDALONE
    settings: ScopeSettings = field(default_factory=ScopeSettings)
    vms: dict[str, Vm] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    removed: bool = True
    incarnation: int = 0

    def take(self, record: HistoryRecord) -> None:
        self.incarnation = record.incarnation
        for change in record.changes:
            if change.declaration:
                self.name = record.scope
                self.kind, self.settings = change.declaration.kind, change.declaration.settings
                self.vms = {name_key(vm.name): vm for vm in change.declaration.vms}
                self.removed = change.declaration.removed
            elif change.vm:
                self.vms.pop(name_key(change.vm.name), None)
                if change.what != "vm left":
                    self.vms[name_key(change.vm.name)] = change.vm
            elif change.event and change.event.status in ENDED:
                self.events.pop(change.event.id, None)
            elif change.event:
                self.events[change.event.id] = change.event

    def differs_in(self, scope: Scope, *, vms_too: bool) -> str:
        """What the committed scope has otherwise; empty when nothing."""
        if self.incarnation != scope.incarnation:
            return f"incarnation {scope.incarnation}, told as {self.incarnation}"
        if (self.name, self.kind, self.removed) != (scope.name, scope.kind, scope.removed):
            return "name, kind or removal"
        if self.settings != scope.settings:
            return "settings"
        if vms_too and self.vms != {name_key(vm.name): vm for vm in scope.vms}:
            return "VMs"
        if len(self.events) != len(scope.events):
            return f"{len(scope.events)} events, told as {len(self.events)}"
        return next((f"event {e.id}" for e in scope.events if self.events.get(e.id) != e), "")


class History:
    code: ClassVar[str] = "S11"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        self._replicas: dict[str, Replica] = {}
        self._requests: set[str] = set()

    def see(self, step: Step, _facts: Facts) -> None:
        if not isinstance(step, Committed):
            return
        commit = self._ledger.read(step)
        replica = self._replicas.setdefault(commit.key, Replica())
        if step.record:
            self._judge_record(step, step.record)
            replica.take(step.record)
        vms_too = commit.vms_changed or step.record is not None
        difference = replica.differs_in(step.after, vms_too=vms_too)
        if difference:
            told = [change.what for change in step.record.changes] if step.record else "nothing"
            raise Violation(self.code, f"history tells {told} and does not explain: {difference}", commit.key)

    def _judge_record(self, step: Committed, record: HistoryRecord) -> None:
        key = step.after.key
        if name_key(record.scope) != key or record.at_ms <= 0 or not record.changes:
            raise Violation(self.code, f"a record of '{record.scope}' at {record.at_ms} explains '{key}'", key)
        for change in record.changes:
            if not change.what or not change.why or not change.by.kind:
                raise Violation(self.code, f"'{change.what}' by '{change.by}' says not why: '{change.why}'", key)
        if record.request_id in self._requests and not all(follows_by_itself(step, one) for one in record.changes):
            told = [change.what for change in record.changes]
            raise Violation(self.code, f"request {record.request_id} was taken twice: {told}", key)
        self._requests.add(record.request_id)


def follows_by_itself(step: Committed, change: Change) -> bool:
    """Whether time alone could have brought it: an event that was there has its turn, or starts."""
    was_there = change.event is not None and step.before is not None and step.before.event(change.event.id) is not None
    return was_there and (change.what == "scheduled" or change.what.startswith("started: "))
