"""History as data: one record per turn, one entry per change, each with when, who, what and why (S11).

Rule 1: a record is committed together with the change it explains.
Rule 2: an entry carries the whole event (or VM, or declaration) as it is afterwards, so that history alone
gives the present state, and an ended event can still be shown.
Not here: where it is kept (stores/), how it is worded for people (the `why` is already a sentence).
"""

from dataclasses import dataclass

from notbefore.core.kinds import Kind
from notbefore.core.model import Actor, Event, Vm
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


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    scope: str
    at_ms: int
    request_id: str
    incarnation: int
    changes: tuple[Change, ...]
