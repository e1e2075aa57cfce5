"""The hand of faults: does to events what an operator could, by ordinary requests, at its time on the domain's clock.

Rule 1: it asks like anybody: history says so, by an actor that names the fault. What was done stays done.
Rule 2: one task of the tree for each act, so that a manual clock stops at its time and waits until it is done.
Rule 3: it leaves an event alone that is no longer Scheduled, and so does a fault that was cleared.
"""

import logging

from notbefore.core.errors import Refusal, StoreUnavailable
from notbefore.core.kinds import Status
from notbefore.core.model import Actor, ActorKind, Event, Scope
from notbefore.core.requests import ApproveEvents, CancelEvent, Request
from notbefore.core.times import SECOND_MS
from notbefore.faults.book import FaultBook
from notbefore.faults.documents import short_not_before_ms
from notbefore.faults.fault import Fault
from notbefore.ports import Signal, Tasks
from notbefore.runtime.node import Node

ACTS_MAX = 10_000
RETRY_STORE_S = 1.0

log = logging.getLogger("notbefore.faults")


class Hand:
    def __init__(self, book: FaultBook, node: Node, tasks: Tasks) -> None:
        self._book = book
        self._node = node
        self._tasks = tasks
        self._bells: dict[tuple[str, str], Signal] = {}

    def take_up(self, scope: Scope, event: Event, fault: Fault) -> None:
        """An event was struck: see to it when its time comes, if this is one of the hand's."""
        due_ms = due_ms_of(event, fault)
        if due_ms is None:
            return
        if len(self._bells) >= ACTS_MAX:
            log.warning("%s leaves an event alone: too many wait already", fault.name, extra={"event_id": event.id})
            return
        bell = self._bells[event.id, fault.id] = self._tasks.signal()
        self._tasks.spawn(f"{fault.name} {event.id}", self._act(scope.name, event.id, fault, due_ms, bell))

    def look_again(self, event_id: str) -> None:
        """The event has moved on, perhaps."""
        for fault in self._book.working_on(event_id):
            if bell := self._bells.get((event_id, fault.id)):
                bell.ring()

    async def _act(self, scope: str, event_id: str, fault: Fault, due_ms: int, bell: Signal) -> None:
        clock = self._node.clock
        with self._book.told_when_cleared(fault, bell.ring):
            while self._is_wanted(event_id, fault) and clock.now().wall_ms < due_ms:
                await clock.wait(due_ms, bell)
        self._bells.pop((event_id, fault.id), None)
        while self._is_wanted(event_id, fault):
            try:
                await self._node.turns.take(self._request(scope, event_id, fault))
            except StoreUnavailable as away:
                log.warning("%s will try again: %s", fault.name, away.message, extra={"event_id": event_id})
                await clock.rest(RETRY_STORE_S)
            except Refusal as refusal:
                log.info("%s came too late: %s", fault.name, refusal.message, extra={"event_id": event_id})
                return
            else:
                return

    def _is_wanted(self, event_id: str, fault: Fault) -> bool:
        found = self._node.snapshot.event(event_id)
        return self._book.is_set(fault) and found is not None and found[1].status is Status.SCHEDULED

    def _request(self, scope: str, event_id: str, fault: Fault) -> Request:
        by = Actor(ActorKind.OPERATOR, fault.name)
        if fault.kind.name == "cancel":
            return CancelEvent(scope=scope, request_id=self._node.ids(), by=by, event_id=event_id)
        return ApproveEvents(scope=scope, request_id=self._node.ids(), by=by, event_ids=(event_id,))


def due_ms_of(event: Event, fault: Fault) -> int | None:
    """When the hand acts on it; None when this fault leaves it alone."""
    since_ms = event.visible_since_ms or 0
    match fault.kind.name:
        case "skip-scheduled":
            return since_ms
        case "cancel":
            return since_ms + round(fault.seconds("after_s") * SECOND_MS)
        case "short-notice":
            return short_not_before_ms(event, fault)
    return None
