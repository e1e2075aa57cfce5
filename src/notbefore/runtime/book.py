"""A book of aggregates that are kept as documents: operations, rollouts. What this process knows of them, and turns.

Rule 1: a turn is one compare-and-set: of a conflict, or a write of unknown outcome, the page is read again and the turn
taken again; a turn that changes nothing writes nothing.
Rule 2: turns of one key take place one after the other in this process; between processes the store decides.
Rule 3: who must act on a change is told of it, whoever made it. Ended ones are kept for a while, the newest of them.
Called by: operations.py, rollouts.py.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar
from zlib import crc32

from notbefore.core.errors import StoreUnavailable
from notbefore.core.history import Change, HistoryRecord
from notbefore.ports import Clock, Document, Encoding, Ids, OutcomeUnknown, Store, Tasks, VersionConflict

TRIES_MAX = 100
LANES = 64
ENDED_KEPT_MAX = 200


class Aggregate(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def made_at_ms(self) -> int: ...

    @property
    def is_over(self) -> bool: ...


Kept = TypeVar("Kept", bound=Aggregate)


@dataclass(frozen=True, slots=True)
class Page(Generic[Kept]):
    value: Kept
    version: int


@dataclass(frozen=True, slots=True)
class Turned(Generic[Kept]):
    """What a turn leads to, and what history is told of it."""

    value: Kept
    changes: tuple[Change, ...] = ()


class Book(Generic[Kept]):
    def __init__(self, kind: str, store: Store, encoding: Encoding[Kept], clock: Clock, tasks: Tasks, ids: Ids) -> None:
        self.kind = kind
        self._store = store
        self._encoding = encoding
        self._clock = clock
        self._ids = ids
        self._lanes = [tasks.lock() for _ in range(LANES)]
        self._pages: dict[str, Page[Kept]] = {}
        self._live: dict[str, Kept] = {}
        self._subscribers: list[Callable[[Kept], None]] = []
        self._revision = 0
        self._log = logging.getLogger(f"notbefore.{kind}")

    def subscribe(self, on_change: Callable[[Kept], None]) -> None:
        self._subscribers.append(on_change)

    def all(self) -> Iterable[Kept]:
        """In the order in which they were made."""
        return sorted((page.value for page in self._pages.values()), key=lambda one: (one.made_at_ms, one.id))

    def live(self) -> list[Kept]:
        return list(self._live.values())

    def get(self, key: str) -> Kept | None:
        page = self._pages.get(key.lower())
        return page.value if page else None

    async def look(self) -> None:
        """Read what was changed since the last look."""
        for document in sorted(await self._store.documents(self.kind, self._revision), key=lambda one: one.revision):
            self._see(document)
            self._revision = max(self._revision, document.revision)

    async def add(self, value: Kept, changes: tuple[Change, ...]) -> Kept:
        """Made once: with an id that is there already, what is there stays."""
        return await self.turn(value.id, lambda there: Turned(there or value, () if there else changes)) or value

    async def turn(self, key: str, change: Callable[[Kept | None], "Turned[Kept] | None"]) -> Kept | None:
        """`change` is given what is there, and says what shall be; None leaves it."""
        key = key.lower()
        async with self._lanes[crc32(key.encode()) % LANES]:
            for _ in range(TRIES_MAX):
                before = self._pages.get(key)
                turned = change(before.value if before else None)
                if turned is None or (before and turned.value == before.value):
                    return before.value if before else None
                try:
                    return await self._put(key, turned, before.version if before else 0)
                except (VersionConflict, OutcomeUnknown):
                    await self.look()
        raise StoreUnavailable(
            f"The {self.kind} '{key}' is being changed by too many at once.", "Try again.", {"tries": TRIES_MAX}
        )

    async def _put(self, key: str, turned: Turned[Kept], version: int) -> Kept:
        record = None
        if turned.changes:
            at_ms = self._clock.now().wall_ms
            record = HistoryRecord("", at_ms, self._ids(), incarnation=0, changes=turned.changes)
        body = self._encoding.encode(turned.value)
        document = await self._store.put_document(self.kind, key, body, version, record)
        assert document is not None
        for change in turned.changes:
            self._log.info("%s: %s", change.what, change.why, extra={self.kind: key})
        self._see(document)
        return turned.value

    def _see(self, document: Document) -> None:
        known = self._pages.get(document.key)
        if known and known.version >= document.version:
            return
        value = self._encoding.decode(document.body)
        self._pages[document.key] = Page(value, document.version)
        self._live.pop(document.key, None)
        if not value.is_over:
            self._live[document.key] = value
        for on_change in self._subscribers:
            on_change(value)

    async def clear_out(self, is_needed: Callable[[Kept], bool] = lambda _: False) -> None:
        """Remove the oldest of those that ended, beyond those that are kept; history keeps what there is to tell."""
        ended = [one for one in self.all() if one.is_over and not is_needed(one)]
        for value in ended[: max(0, len(ended) - ENDED_KEPT_MAX)]:
            page = self._pages.pop(value.id.lower(), None)
            if page is None:
                continue  # another clearing-out of this process has come here first
            try:
                await self._store.put_document(self.kind, value.id.lower(), None, page.version, None)
            except (VersionConflict, OutcomeUnknown):
                continue  # another has removed it
