"""History as data: one record per turn, one entry per change, each with when, who, what and why (S11).

Rule 1: a record is committed together with the change it explains.
Rule 2: an entry carries the whole event (or VM, or declaration) as it is afterwards, so that history alone
gives the present state, and an ended event can still be shown.
Rule 3: who looks for something finds a record when one of its changes fits everything asked for.
Not here: where it is kept (stores/), how it is worded for people (the `why` is already a sentence).
"""

from dataclasses import dataclass

from notbefore.core.kinds import Kind
from notbefore.core.model import Actor, ActorKind, Event, Vm, name_key
from notbefore.core.rollout import waves_of
from notbefore.core.scope_settings import ScopeSettings


@dataclass(frozen=True, slots=True)
class Declaration:
    """What an operator declared a scope to be; absent VMs and settings are gone."""

    kind: Kind
    settings: ScopeSettings
    vms: tuple[Vm, ...]
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    what: str
    why: str
    by: Actor
    event: Event | None = None
    declaration: Declaration | None = None
    vm: Vm | None = None
    # Of which host maintenance and which rollout it is, where it is of one.
    operation: str = ""
    rollout: str = ""


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    scope: str
    at_ms: int
    request_id: str
    incarnation: int
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Sought:
    """What somebody looks for in the changes of a record. Words compare in any letter case.

    `what` is a whole word of history or its beginning up to the colon; `by` a kind (`clock`), a name, or both. What
    became of an operation's events is of the operation, and what its operations did is of a rollout.
    """

    event_id: str | None = None
    vm: str | None = None
    by: str | None = None
    what: str | None = None
    operation: str | None = None
    rollout: str | None = None

    @property
    def is_anything(self) -> bool:
        """Whether every record fits; that of an event alone is the store's to find."""
        return all(one is None for one in (self.vm, self.by, self.what, self.operation, self.rollout))

    def fits(self, record: HistoryRecord) -> bool:
        return self.is_anything or any(self._fits(change) for change in record.changes)

    def _fits(self, change: Change) -> bool:
        return (
            (self.event_id is None or (change.event is not None and change.event.id == self.event_id.upper()))
            and (self.vm is None or concerns_vm(change, self.vm))
            and (self.by is None or name_key(self.by) in names_for(change.by))
            and (self.what is None or name_key(self.what) in words_for(change.what))
            and (self.operation is None or self.operation.lower() == operation_of(change))
            and (self.rollout is None or is_of_rollout(change, self.rollout.lower()))
        )


def operation_of(change: Change) -> str:
    """Which host maintenance the change is of; none is the empty word."""
    gate = change.event.gate if change.event else None
    return change.operation or (gate.operation if gate else "")


def is_of_rollout(change: Change, rollout: str) -> bool:
    return change.rollout == rollout or operation_of(change) in waves_of(rollout)


def concerns_vm(change: Change, vm: str) -> bool:
    """The VM spoke, was hit by the event, changed or left, or stands in what was declared."""
    key = name_key(vm)
    declared = change.declaration.vms if change.declaration else ()
    return (
        (change.by.kind is ActorKind.VM and name_key(change.by.name) == key)
        or (change.event is not None and change.event.has_vm(vm))
        or (change.vm is not None and name_key(change.vm.name) == key)
        or any(name_key(one.name) == key for one in declared)
    )


def names_for(by: Actor) -> tuple[str, ...]:
    return name_key(str(by)), name_key(by.name) or str(by.kind), str(by.kind)


def words_for(what: str) -> tuple[str, ...]:
    return name_key(what), name_key(what.partition(":")[0])
