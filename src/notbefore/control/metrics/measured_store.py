"""A store with a watch beside it: how long each operation took, what failed, what was committed.

Rule 1: it passes everything on as it is; a caller cannot tell it from the store behind it.
Rule 2: a wait for changes ends after a second at the latest, which the port allows, so that the follower looks: a
store that hangs shows as a snapshot growing old, while a quiet one does not.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from notbefore.control.metrics.happenings import count_record
from notbefore.control.metrics.meters import Meters
from notbefore.control.metrics.visible import Visible
from notbefore.core.errors import StoreUnavailable
from notbefore.core.history import HistoryRecord
from notbefore.core.model import Scope
from notbefore.ports import (
    Clock,
    Document,
    HistoryQuery,
    OutcomeUnknown,
    Store,
    Stored,
    StoredRecord,
    VersionConflict,
)

# What is said of the age of what is shown is as old as this, where nothing changes; each look costs an idle server.
LOOK_AT_LEAST_EVERY_S = 5.0
ERRORS: Mapping[type[Exception], str] = {
    VersionConflict: "conflict",
    OutcomeUnknown: "unknown",
    StoreUnavailable: "away",
}


class MeasuredStore:
    def __init__(self, store: Store, clock: Clock, meters: Meters) -> None:
        self._store = store
        self._clock = clock
        self._meters = meters
        self._followed_s = clock.steady_s()
        self.visible = Visible(store, clock, meters)

    def unfollowed_s(self) -> float:
        """How long ago the feed was last read to its end or a step further."""
        return self._clock.steady_s() - self._followed_s

    async def load(self, key: str) -> Stored | None:
        with self._timed("load"):
            return await self._store.load(key)

    async def commit(self, scope: Scope, expected_version: int, record: HistoryRecord | None) -> Stored:
        self.visible.hand_over(scope)
        try:
            with self._timed("commit"):
                stored = await self._store.commit(scope, expected_version, record)
        except BaseException:
            self.visible.not_committed(scope)
            raise
        self.visible.committed(stored)
        count_record(self._meters, record)
        return stored

    async def documents(self, kind: str, after: int = 0) -> Sequence[Document]:
        with self._timed("documents"):
            return await self._store.documents(kind, after)

    async def put_document(
        self, kind: str, key: str, body: bytes | None, expected_version: int, record: HistoryRecord | None
    ) -> Document | None:
        with self._timed("put_document"):
            document = await self._store.put_document(kind, key, body, expected_version, record)
        count_record(self._meters, record)
        return document

    async def changes_after(self, revision: int, limit: int) -> Sequence[Stored]:
        self.visible.look()
        with self._timed("changes"):
            changes = await self._store.changes_after(revision, limit)
        self._followed_s = self._clock.steady_s()
        self.visible.brought(changes)
        return changes

    async def wait_for_changes(self) -> None:
        await self.visible.time_sample()
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_AT_LEAST_EVERY_S):
                await self._store.wait_for_changes()

    async def history(self, query: HistoryQuery) -> Sequence[StoredRecord]:
        with self._timed("history"):
            return await self._store.history(query)

    async def retire(self, revisions: Sequence[int]) -> None:
        with self._timed("retire"):
            await self._store.retire(revisions)

    def is_alive(self, node: str) -> bool:
        return self._store.is_alive(node)

    async def close(self) -> None:
        await self._store.close()

    @contextmanager
    def _timed(self, operation: str) -> Iterator[None]:
        began_s = self._clock.steady_s()
        try:
            yield
        except Exception as failed:
            for kind, error in ERRORS.items():
                if isinstance(failed, kind):
                    self._meters.store_errors.labels(operation, error).inc()
            raise
        finally:
            self._meters.store.labels(operation).observe(self._clock.steady_s() - began_s)
