"""Watches events while faults are at work: each that becomes Scheduled or Started is one that a fault may strike.

Rule 1: only what becomes so after the fault was set, and is visible, is struck.
Rule 2: in this order: who is struck, what is shown, what is done about it; all within the change itself, so that
nobody sees an event before its fault does.
"""

from collections.abc import Iterator

from notbefore.core.kinds import Status
from notbefore.core.model import Event, Scope
from notbefore.core.visibility import VISIBLE, is_visible
from notbefore.faults.book import FaultBook
from notbefore.faults.documents import Documents
from notbefore.faults.hand import Hand
from notbefore.runtime.snapshot import Snapshot


class EventWatch:
    def __init__(self, book: FaultBook, snapshot: Snapshot, documents: Documents, hand: Hand) -> None:
        self._book = book
        self._snapshot = snapshot
        self._documents = documents
        self._hand = hand
        self._seen: dict[str, Scope] = {}
        book.follow(self._book_changed)
        snapshot.subscribe(self._scope_changed)

    def _book_changed(self) -> None:
        if not self._book.at_work:
            self._seen = {}
            self._documents.forget()
            return
        for scope in self._snapshot.scopes():
            self._seen.setdefault(scope.key, scope)
            self._documents.see(self._seen[scope.key])
        self._documents.keep()

    def _scope_changed(self, scope: Scope) -> None:
        if not self._book.at_work:
            return
        before, self._seen[scope.key] = self._seen.get(scope.key), scope
        statuses = statuses_of(before)
        struck = [
            (event, fault)
            for event, became in became_visible(scope, statuses)
            for fault in self._book.strikes_event(scope.name, event, became)
        ]
        if before is not None:
            for event_id in statuses.keys() - statuses_of(scope).keys():
                self._book.over(event_id)
        if self._book.at_work:
            self._documents.see(scope)
        for event, fault in struck:
            self._hand.take_up(scope, event, fault)
        for event_id, status in statuses.items():
            if status is Status.SCHEDULED:
                self._hand.look_again(event_id)


def statuses_of(scope: Scope | None) -> dict[str, Status | None]:
    return {event.id: event.status for event in scope.events} if scope else {}


def became_visible(scope: Scope, before: dict[str, Status | None]) -> Iterator[tuple[Event, Status]]:
    """Events that are now in a status which they were not in before, with that status."""
    for event in scope.events:
        if event.status in VISIBLE and event.status is not before.get(event.id) and is_visible(event):
            yield event, event.status
