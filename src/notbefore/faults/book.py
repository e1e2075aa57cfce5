"""The book of faults: those that are set, whom they strike, and how often they did.

Rule 1: in memory alone: faults are gone with the server.
Rule 2: chance is drawn from the fault's own seed, once for each question or event that concerns it: the same seed and
the same order give the same strikes.
Rule 3: a fault whose times are used up is spent: it stays listed and strikes nobody any more, but goes on with the
events it has struck until they are over. `at_work` says whether there is anything at all to look for.
Rule 4: clearing ends a fault at once, whatever it is in the midst of.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random

from notbefore.core.errors import LimitReached, UnknownFault
from notbefore.core.kinds import Status
from notbefore.core.model import Event, name_key
from notbefore.faults.fault import Edge, Fault, On, Order, checked_kind

FAULTS_MAX = 100
SEED_BITS = 31

log = logging.getLogger("notbefore.faults")


@dataclass(slots=True)
class Entry:
    """A fault with what it remembers."""

    fault: Fault
    chance: Random
    asked: set[str] = field(default_factory=set)
    tell: dict[object, Callable[[], None]] = field(default_factory=dict)


class FaultBook:
    def __init__(self, fresh_bits: Callable[[int], int]) -> None:
        self._fresh_bits = fresh_bits
        self._entries: dict[str, Entry] = {}
        self._at_events: dict[str, tuple[str, ...]] = {}
        self._numbers = count(1)
        self._followers: list[Callable[[], None]] = []
        self.at_work = False

    # -- Set and cleared

    def add(self, order: Order, full_names: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Fault:
        """`full_names` finds the VMs, as `scope/vm`, or refuses."""
        kind = checked_kind(order)
        if len(self._entries) >= FAULTS_MAX:
            raise LimitReached(f"There are {FAULTS_MAX} faults already.", "Clear some first.", {"limit": FAULTS_MAX})
        vms = full_names(order.vms)
        seed = order.seed
        if seed is None and order.probability is not None:
            seed = self._fresh_bits(SEED_BITS)
        fault = Fault(
            id=f"f{next(self._numbers)}",
            kind=kind,
            vms=vms,
            times=order.times,
            probability=1.0 if order.probability is None else float(order.probability),
            seed=seed,
            on=On(order.on or On.ANY),
            options={**kind.options, **order.given()},
        )
        self._entries[fault.id] = Entry(fault, Random(seed))  # noqa: S311  the seed is there to repeat it
        log.warning("%s is set: %s", fault.name, kind.says, extra={"vms": ", ".join(vms) or "all"})
        self._changed()
        return fault

    def all(self) -> tuple[Fault, ...]:
        """The oldest first."""
        return tuple(entry.fault for entry in self._entries.values())

    def clear(self, kind: str | None = None) -> int:
        """All of them, or those of a kind; how many there were."""
        ids = [one.id for one in self.all() if kind in (None, one.kind.name)]
        self._drop(ids)
        return len(ids)

    def clear_one(self, fault_id: str) -> None:
        if fault_id not in self._entries:
            raise UnknownFault(fault_id)
        self._drop([fault_id])

    def follow(self, take: Callable[[], None]) -> None:
        """Be told whenever a fault was set or cleared, and when the last one at work has done its work."""
        self._followers.append(take)

    def is_set(self, fault: Fault) -> bool:
        return fault.id in self._entries

    @contextmanager
    def told_when_cleared(self, fault: Fault, tell: Callable[[], None]) -> Iterator[None]:
        entry, key = self._entries.get(fault.id), object()
        if entry is None:
            tell()
            yield
            return
        entry.tell[key] = tell
        try:
            yield
        finally:
            entry.tell.pop(key, None)

    # -- Who is struck

    def strikes_request(self, scope: str, vm: str, method: str) -> Fault | None:
        """Of the faults of answers the oldest that strikes this request."""
        for entry in self._ready(Edge.ANSWER):
            fault = entry.fault
            concerned = fault.concerns(scope, (vm,)) and fault.on in (On.ANY, method.lower())
            if concerned and self._is_its_turn(entry, scope, vm) and self._strikes(entry):
                return entry.fault
        return None

    def strikes_document(self, scope: str, vm: str) -> tuple[Fault, ...]:
        """Every fault of documents that strikes this answer, the oldest first."""
        concerned = [entry for entry in self._ready(Edge.DOCUMENT) if entry.fault.concerns(scope, (vm,))]
        return tuple(entry.fault for entry in concerned if self._strikes(entry))

    def strikes_event(self, scope: str, event: Event, became: Status) -> tuple[Fault, ...]:
        """The faults that strike an event which has just become this; they go on with it until it is over."""
        struck = []
        for entry in self._ready(Edge.EVENT):
            kind = entry.fault.kind
            fits = kind.becomes is became and event.type in kind.types and entry.fault.concerns(scope, event.vms)
            if fits and self._strikes(entry, event.id):
                struck.append(entry.fault)
        return tuple(struck)

    def working_on(self, event_id: str) -> tuple[Fault, ...]:
        return tuple(self._entries[one].fault for one in self._at_events.get(event_id, ()))

    def over(self, event_id: str) -> None:
        """The event is no more."""
        if self._at_events.pop(event_id, None):
            self._look()

    # -- Below

    def _ready(self, edge: Edge) -> list[Entry]:
        return [one for one in self._entries.values() if one.fault.kind.edge is edge and not one.fault.spent]

    def _is_its_turn(self, entry: Entry, scope: str, vm: str) -> bool:
        """The first call of a VM is its first whether or not chance lets the fault strike it."""
        if entry.fault.kind.name != "first-call-delay":
            return True
        key = name_key(f"{scope}/{vm}")
        is_first = key not in entry.asked
        entry.asked.add(key)
        return is_first

    def _strikes(self, entry: Entry, event_id: str = "") -> bool:
        fault = entry.fault
        if fault.probability < 1.0 and entry.chance.random() >= fault.probability:
            return False
        entry.fault = replace(fault, struck=fault.struck + 1)
        if event_id:
            self._at_events[event_id] = (*self._at_events.get(event_id, ()), fault.id)
        if entry.fault.spent:
            self._look()
        return True

    def _drop(self, ids: list[str]) -> None:
        dropped = [self._entries.pop(one) for one in ids]
        if not dropped:
            return
        working = {event: tuple(one for one in of if one in self._entries) for event, of in self._at_events.items()}
        self._at_events = {event: of for event, of in working.items() if of}
        for entry in dropped:
            log.warning("%s is cleared", entry.fault.name, extra={"struck": entry.fault.struck})
            for tell in list(entry.tell.values()):
                tell()
        self._changed()

    def _look(self) -> None:
        """Somebody may have been the last."""
        if self.at_work and not self._is_at_work():
            self._changed()

    def _changed(self) -> None:
        self.at_work = self._is_at_work()
        for take in self._followers:
            take()

    def _is_at_work(self) -> bool:
        return bool(self._at_events) or any(not one.fault.spent for one in self._entries.values())
