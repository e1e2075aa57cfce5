"""Retention: records of history that are old enough, and tell of no live event, leave the store.

Rule 1: kept first, deleted then: a record leaves only after the sink has it on disk. A crash between the two keeps it
twice; nothing loses it.
Rule 2: from the oldest on, in batches, up to the first record that is too young; days go by the domain's clock.
Rule 3: one node does it while it lives. That only saves work: deleting is idempotent, and each batch is first marked
by a compare-and-set, which a second node would lose.
Rule 4: while store or sink is away nothing is deleted, and it is tried again.
Not here: how long, and where to (settings), what is shown of it (control/history.py).
"""

import json
import logging
from collections.abc import Sequence

from notbefore.core.errors import SinkUnavailable, StoreUnavailable
from notbefore.core.history import HistoryRecord
from notbefore.core.times import HOUR_MS
from notbefore.ports import (
    Clock,
    Document,
    HistoryQuery,
    HistorySink,
    OutcomeUnknown,
    Store,
    StoredRecord,
    Tasks,
    VersionConflict,
)
from notbefore.runtime.snapshot import Snapshot

KIND = "retention"
KEY = "history"
BATCH = 200
DAY_MS = 24 * HOUR_MS
# Looked again at least so often: the records of an event may go as soon as it has ended.
LOOK_AGAIN_MS = DAY_MS
REST_MS = HOUR_MS

log = logging.getLogger("notbefore.retention")


class Retention:
    def __init__(
        self,
        name: str,
        store: Store,
        sink: HistorySink,
        snapshot: Snapshot,
        clock: Clock,
        tasks: Tasks,
        keep_ms: int,
    ) -> None:
        self._name = name
        self._store = store
        self._sink = sink
        self._snapshot = snapshot
        self._clock = clock
        self._bell = tasks.signal()
        self._keep_ms = keep_ms

    async def run(self) -> None:
        due_ms = self._clock.now().wall_ms
        while True:
            now_ms = self._clock.now().wall_ms
            if now_ms >= due_ms:
                due_ms = await self.look(now_ms)
            await self._clock.wait(due_ms, self._bell)

    async def look(self, now_ms: int) -> int:
        """Retire what is ripe; when to look again."""
        try:
            mine = None if self._snapshot.store_away else await self._taken_over()
            if mine is not None:
                return max(now_ms + REST_MS, min(await self._retire(mine, now_ms), now_ms + LOOK_AGAIN_MS))
        except (StoreUnavailable, SinkUnavailable) as away:
            log.warning("old history stays for now: %s", away.message)
        except (VersionConflict, OutcomeUnknown):
            log.info("another node retires history just now")
        return now_ms + REST_MS

    async def _taken_over(self) -> Document | None:
        """The mark in this node's name, or None while the node that has it lives."""
        found = next(iter(await self._store.documents(KIND)), None)
        holder = json.loads(found.body)["node"] if found else ""
        if found and holder == self._name:
            return found
        if holder and self._store.is_alive(holder):
            return None
        return await self._marked(found, retired_through(found))

    async def _retire(self, mark: Document, now_ms: int) -> int:
        before_ms, after = now_ms - self._keep_ms, 0
        while page := await self._store.history(HistoryQuery(after=after, limit=BATCH)):
            old = old_ones(page, before_ms)
            ripe = [stored for stored in old if not self._tells_of_live_event(stored.record)]
            if ripe:
                mark = await self._retire_batch(mark, ripe)
            if len(old) < len(page):
                return page[len(old)].record.at_ms + self._keep_ms
            after = page[-1].revision
        return now_ms + self._keep_ms

    async def _retire_batch(self, mark: Document, ripe: Sequence[StoredRecord]) -> Document:
        await self._sink.keep(ripe)
        last = ripe[-1].revision
        # Marked before they go, so that a gap is never unannounced.
        mark = await self._marked(mark, max(last, retired_through(mark)))
        await self._store.retire([stored.revision for stored in ripe])
        log.info("history retired", extra={"records": len(ripe), "up_to_revision": last})
        return mark

    async def _marked(self, before: Document | None, through: int) -> Document:
        body = json.dumps({"node": self._name, "through": through}).encode()
        marked = await self._store.put_document(KIND, KEY, body, before.version if before else 0, None)
        assert marked is not None
        return marked

    def _tells_of_live_event(self, record: HistoryRecord) -> bool:
        return any(change.event and self._snapshot.event(change.event.id) for change in record.changes)


def old_ones(page: Sequence[StoredRecord], before_ms: int) -> Sequence[StoredRecord]:
    """From the first on; a wall clock that was set back does not bring a younger one out of order."""
    for n, stored in enumerate(page):
        if stored.record.at_ms > before_ms:
            return page[:n]
    return page


def retired_through(mark: Document | None) -> int:
    """Up to here records may have been retired; everything after it is there."""
    return int(json.loads(mark.body)["through"]) if mark else 0
