"""The feed of one SQLite file: what changed, and when to look again; for those who only read.

Rule 1: a follower is no node: it takes no lock, writes nothing and migrates nothing.
Used by: store.py, and by processes that follow a store which another one of theirs writes.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from notbefore.ports import Stored
from notbefore.sockets import next_beat_s
from notbefore.stores.sqlite.connection import ConnectionThread, connect_for_reading
from notbefore.stores.sqlite.log_watch import LogWatch
from notbefore.stores.sqlite.reading import data_version, scopes_after

# How late another process's commit may be noticed; other workers follow within it (DESIGN §2).
POLL_S: Final = 0.05
OWN_MAX: Final = 1024


class SqliteFollower:
    def __init__(self, reader: ConnectionThread, noticed: int) -> None:
        self._reader = reader
        self._log = LogWatch(reader.path)
        self._noticed = noticed
        self._look_again_s = 0.0
        self._timer: asyncio.TimerHandle
        # By revision, what this process committed itself since it last looked.
        self._own: dict[int, Stored] = {}

    @classmethod
    async def open(cls, path: Path) -> Self:
        """On a store that is there, in the form that this program writes."""
        reader = await ConnectionThread.start("reader", path, connect_for_reading)
        return cls(reader, await reader.run(data_version))

    def knows(self, own: Stored) -> None:
        """It need not be read again. Of many, the first are: it costs time, not truth."""
        if len(self._own) < OWN_MAX:
            self._own[own.revision] = own

    async def changes_after(self, revision: int, limit: int) -> Sequence[Stored]:
        own, self._own = self._own, {}
        found = await self._reader.run(lambda connection: scopes_after(connection, revision, limit, own))
        seen = found[-1].revision if found else revision
        self._own |= {number: stored for number, stored in own.items() if number > seen}
        return found

    async def wait_for_changes(self) -> None:
        """For one follower: a commit between its last look and this call is noticed too.

        However many there are, it looks no more often than so: most are this process's own, which it knows already.
        """
        version = self._noticed
        while version == self._noticed:
            await self._log_may_have_changed()
            version = await self._reader.run(data_version)
        self._noticed = version

    async def _log_may_have_changed(self) -> None:
        """Looked at by a timer alone: to wake a task for each look would be most of what an idle server does."""
        loop = asyncio.get_running_loop()
        seen = loop.create_future()
        self._timer = loop.call_at(self._look_again_s, self._look, loop, seen)
        try:
            await seen
        finally:
            self._timer.cancel()

    def _look(self, loop: asyncio.AbstractEventLoop, seen: "asyncio.Future[None]") -> None:
        # On the same beat as the servers' ticks, so that an idle process is woken less often.
        self._look_again_s = next_beat_s(loop.time(), POLL_S)
        if not self._log.may_have_changed():
            self._timer = loop.call_at(self._look_again_s, self._look, loop, seen)
        elif not seen.done():
            seen.set_result(None)

    async def close(self) -> None:
        await self._reader.close()
