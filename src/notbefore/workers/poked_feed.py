"""The store's feed, looked at when the parent says so and whenever somebody else has written.

Rule 1: what was committed before the parent told of it is read: a look counts for what had been told when it began.
Rule 2: whoever else writes to the store is noticed by the store's own means.
"""

import asyncio
from collections.abc import Callable, Sequence

from notbefore.core.errors import StoreUnavailable
from notbefore.ports import Feed, Stored

AWAY_REST_S = 1.0


class PokedFeed:
    def __init__(self, feed: Feed, seen: Callable[[int], None]) -> None:
        """`seen` is told the number of the newest look that has been taken in."""
        self._feed = feed
        self._seen = seen
        self._told = 0
        self._looking = 0
        self._said = 0
        self._rung = asyncio.Event()

    def poke(self, number: int) -> None:
        self._told = number
        self._rung.set()

    async def changes_after(self, revision: int, limit: int) -> Sequence[Stored]:
        self._looking = self._told
        return await self._feed.changes_after(revision, limit)

    async def looked(self) -> None:
        """All that was read has been applied (Snapshot.on_any_change)."""
        if self._looking > self._said:
            self._said = self._looking
            self._seen(self._said)

    async def wait_for_changes(self) -> None:
        await self._rung.wait()
        self._rung.clear()

    async def watch(self) -> None:
        """Beside the follower, for ever: ring when somebody, not only the parent, has written."""
        while True:
            try:
                await self._feed.wait_for_changes()
            except StoreUnavailable:
                await asyncio.sleep(AWAY_REST_S)
            self._rung.set()
