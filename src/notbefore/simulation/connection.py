"""A process's way to the disk: takes its time, and in trouble loses, delays, repeats or hides what happened.

Rule 1: what it tells is never wrong: a commit it reports is there, a conflict it reports may only cost another turn.
Rule 2: a write whose outcome is unknown may be there, never come, or come later.
Implements: ports.Store. One per process.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeVar

from notbefore.core.errors import StoreUnavailable
from notbefore.core.history import HistoryRecord
from notbefore.core.model import Scope
from notbefore.ports import Document, HistoryQuery, OutcomeUnknown, Stored, StoredRecord, VersionConflict
from notbefore.simulation.disk import Disk, Put, Write
from notbefore.simulation.scheduler import MS_US, SECOND_US, Scheduler, Wake
from notbefore.simulation.trouble import Trouble

QUICK_US = (200, 3 * MS_US)
SLOW_US = (100 * MS_US, 4 * SECOND_US)
LATE_US = (1 * MS_US, 8 * SECOND_US)
FEED_US = (1 * MS_US, 50 * MS_US)
UNKNOWN_AFTER_US = 2 * SECOND_US
T = TypeVar("T")


class Connection:
    def __init__(
        self,
        process: str,
        disk: Disk,
        scheduler: Scheduler,
        chance: Random,
        is_alive: Callable[[str], bool],
        crash: Callable[[], None],
    ) -> None:
        self._process = process
        self._disk = disk
        self._scheduler = scheduler
        self._chance = chance
        self._crash = crash
        self._troubles: Mapping[Trouble, int] = {}
        self._something_new = False
        self._follower: Wake | None = None
        self.is_alive = is_alive
        disk.follow(self.on_commit)

    def suffer(self, troubles: Mapping[Trouble, int]) -> None:
        """The troubles of the moment; one that has just begun also breaks a wait that is under way."""
        self._troubles = troubles
        if Trouble.STORE_AWAY in troubles and self._follower:
            self._follower.set()

    async def load(self, key: str) -> Stored | None:
        await self._travel()
        self._fail_now_and_then()
        stored = self._disk.scopes.get(key)
        await self._travel()
        return stored

    async def commit(self, scope: Scope, expected_version: int, record: HistoryRecord | None) -> Stored:
        write = Write(scope, expected_version, record, self._process, self._scheduler.now_us)
        return await self._written(lambda: self._disk.take(write))

    async def documents(self, kind: str, after: int = 0) -> Sequence[Document]:
        await self._travel()
        self._fail_now_and_then()
        found = self._disk.documents_after(kind, after)
        if found:
            # Nothing is soon told; and it is asked for often.
            await self._travel()
        return found

    async def put_document(
        self, kind: str, key: str, body: bytes | None, expected_version: int, record: HistoryRecord | None
    ) -> Document | None:
        put = Put(kind, key, body, expected_version, record, self._process)
        return await self._written(lambda: self._disk.put(put))

    async def retire(self, revisions: Sequence[int]) -> None:
        await self._written(lambda: self._disk.retire(revisions, self._process))

    async def _written(self, write: Callable[[], T]) -> T:
        """One write with all that can befall it on its way there and back."""
        if self._strikes(Trouble.CRASH_BEFORE_COMMIT):
            await self._die()
        await self._travel()
        if self._strikes(Trouble.CONFLICTS):
            raise VersionConflict
        await self._maybe_lose(write)
        written = write()
        if self._strikes(Trouble.CRASH_AFTER_COMMIT):
            await self._die()
        if self._strikes(Trouble.UNKNOWN_WRITTEN):
            await self._scheduler.sleep(self._chance.randrange(UNKNOWN_AFTER_US))
            raise OutcomeUnknown
        await self._pause()
        return written

    async def changes_after(self, revision: int, limit: int) -> Sequence[Stored]:
        await self._travel()
        self._fail_now_and_then()
        changes = self._disk.changes_after(revision, limit)
        await self._travel()
        return changes

    async def wait_for_changes(self) -> None:
        if not self._something_new and Trouble.STORE_AWAY not in self._troubles:
            self._follower = Wake(self._scheduler)
            await self._follower
            self._follower = None
        self._refuse_when_away()
        self._something_new = False

    async def history(self, query: HistoryQuery) -> Sequence[StoredRecord]:
        await self._travel()
        found = self._disk.history(query)
        await self._travel()
        return found

    async def close(self) -> None:
        self._disk.unfollow(self.on_commit)

    async def _maybe_lose(self, write: Callable[[], object]) -> None:
        """Two ways in which a write's outcome stays unknown: it never comes, or it comes when nobody waits for it."""
        if self._strikes(Trouble.UNKNOWN_LOST):
            await self._scheduler.sleep(self._chance.randrange(UNKNOWN_AFTER_US))
            raise OutcomeUnknown
        if self._strikes(Trouble.UNKNOWN_LATE):
            self._scheduler.after(self._chance.randrange(*LATE_US), lambda: self._arrive_late(write))
            await self._scheduler.sleep(self._chance.randrange(UNKNOWN_AFTER_US))
            raise OutcomeUnknown

    def _arrive_late(self, write: Callable[[], object]) -> None:
        try:
            write()
        except VersionConflict:
            return

    async def _travel(self) -> None:
        self._refuse_when_away()
        await self._pause()
        self._refuse_when_away()

    async def _pause(self) -> None:
        slow = Trouble.SLOW_STORE in self._troubles and self._chance.random() < 0.5
        await self._scheduler.sleep(self._chance.randrange(*(SLOW_US if slow else QUICK_US)))

    async def _die(self) -> None:
        self._crash()
        await Wake(self._scheduler)

    def _strikes(self, trouble: Trouble) -> bool:
        return trouble in self._troubles and self._chance.random() < 0.5

    def _refuse_when_away(self) -> None:
        if Trouble.STORE_AWAY in self._troubles:
            raise StoreUnavailable("The connection to the store is lost.", "Try again.")

    def _fail_now_and_then(self) -> None:
        if self._strikes(Trouble.READS_FAIL):
            raise StoreUnavailable("The store did not answer in time.", "Try again.")

    def on_commit(self) -> None:
        self._scheduler.after(self._chance.randrange(*FEED_US), self._hear)

    def _hear(self) -> None:
        self._something_new = True
        if self._follower:
            self._follower.set()
