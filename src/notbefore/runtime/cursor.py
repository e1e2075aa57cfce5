"""How far a target has been told, as a document: history is the outbox, and this is the place in it.

Rule 1: it moves only after the news before it arrived; whoever goes on from it tells some twice and leaves none out.
Rule 2: it carries the name of the node that delivers, for as long as that node lives. That only saves work.
Rule 3: a write of unknown outcome, or one that lost, is read again before anything else is done with it.
Called by: delivery.py.
"""

import json
from dataclasses import dataclass, replace

from notbefore.core.errors import StoreUnavailable
from notbefore.ports import Document, HistoryQuery, OutcomeUnknown, Store, VersionConflict
from notbefore.runtime.retention import KIND as RETENTION
from notbefore.runtime.retention import retired_through

KIND = "notify"
TRIES_MAX = 20


@dataclass(frozen=True, slots=True)
class Place:
    """Told up to the revision `after`; the target knows of records retired up to `announced`."""

    node: str
    after: int
    announced: int


class Cursor:
    def __init__(self, node: str, key: str, store: Store) -> None:
        self._node = node
        self._key = key
        self._store = store
        self._version: int | None = None

    @property
    def is_held(self) -> bool:
        return self._version is not None

    async def ensure(self) -> None:
        """A target that is new begins now. Before anything is served, so that nothing after that is left out."""
        for _ in range(TRIES_MAX):
            if await self._stored():
                return
            newest = await self._store.history(HistoryQuery(limit=1, newest=True))
            begin = max(newest[-1].revision if newest else 0, await self.retired_through())
            try:
                await self._put(Place(self._node, begin, begin), 0)
            except (VersionConflict, OutcomeUnknown):
                continue
            return
        raise StoreUnavailable(f"The target '{self._key}' could not be kept.", "Try again.", {"tries": TRIES_MAX})

    async def taken(self) -> Place:
        """In this node's name, unless a living node has it."""
        stored = await self._stored()
        if stored is None:
            await self.ensure()
            return await self.taken()
        place = place_in(stored)
        if place.node == self._node:
            self._version = stored.version
            return place
        if place.node and self._store.is_alive(place.node):
            return place
        mine = replace(place, node=self._node)
        self._version = await self._put(mine, stored.version)
        return mine

    async def save(self, after: int, announced: int) -> None:
        await self._replace(Place(self._node, after, announced))

    async def release(self, after: int, announced: int) -> None:
        """For another node to take, while this one lives on."""
        await self._replace(Place("", after, announced))
        self._version = None

    def let_go(self) -> None:
        """Nobody knows what the store holds: it has to be read again."""
        self._version = None

    async def retired_through(self) -> int:
        return retired_through(next(iter(await self._store.documents(RETENTION)), None))

    async def _replace(self, place: Place) -> None:
        assert self._version is not None
        self._version = await self._put(place, self._version)

    async def _put(self, place: Place, expected_version: int) -> int:
        body = json.dumps({"node": place.node, "after": place.after, "announced": place.announced}).encode()
        put = await self._store.put_document(KIND, self._key, body, expected_version, None)
        assert put is not None
        return put.version

    async def _stored(self) -> Document | None:
        return next((one for one in await self._store.documents(KIND) if one.key == self._key), None)


def place_in(document: Document) -> Place:
    found = json.loads(document.body)
    return Place(found["node"], found["after"], found["announced"])
