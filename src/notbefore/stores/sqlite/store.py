"""The `Store` port on one SQLite file.

Rule 1: turns (load, commit) share one thread and connection, followers and historians another: a long look
into history delays no commit.
Rule 2: what is asked after `close` is refused in a sentence.
Not here: what the statements are (reading.py, writing.py), how the file is made (database_file.py).
"""

import asyncio
import os
import sqlite3
from collections.abc import Sequence
from contextlib import AsyncExitStack
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Self

from notbefore.core.history import HistoryRecord
from notbefore.core.model import Scope
from notbefore.ports import Document, HistoryQuery, Stored, StoredRecord
from notbefore.stores.sqlite.connection import ConnectionThread, connect_for_reading
from notbefore.stores.sqlite.database_file import open_for_writing
from notbefore.stores.sqlite.documents import change_alone, change_of
from notbefore.stores.sqlite.follower import SqliteFollower
from notbefore.stores.sqlite.groups import CommitGroups
from notbefore.stores.sqlite.migrate import MIGRATIONS
from notbefore.stores.sqlite.nodes import Nodes
from notbefore.stores.sqlite.reading import data_version, documents_of, records_matching, scope_under
from notbefore.stores.sqlite.retiring import retire_alone
from notbefore.stores.sqlite.verify import refuse_damaged_aggregates
from notbefore.stores.sqlite.writing import commit_of


class SqliteStore:
    def __init__(
        self, writer: ConnectionThread, reader: ConnectionThread, nodes: Nodes, noticed: int, opened: AsyncExitStack
    ) -> None:
        self._writer = writer
        self._groups = CommitGroups(writer)
        self._reader = reader
        self._nodes = nodes
        self._feed = SqliteFollower(reader, noticed)
        self._opened = opened

    @classmethod
    async def open(cls, path: Path, node: str, migrations: Traversable = MIGRATIONS) -> Self:
        """The store in this file, made when there is none, with `node` among those that work on it."""
        # By whatever links it is named, one file has one directory of nodes, wherever the program goes.
        path = Path(await asyncio.to_thread(os.path.realpath, path))

        def connected(path: Path) -> sqlite3.Connection:
            return open_for_writing(path, migrations)

        async with AsyncExitStack() as opened:
            writer = await ConnectionThread.start("writer", path, connected)
            opened.push_async_callback(writer.close)
            reader = await ConnectionThread.start("reader", path, connect_for_reading)
            opened.push_async_callback(reader.close)
            nodes = Nodes(path, node)
            opened.push_async_callback(writer.run, lambda _: nodes.leave())
            await writer.run(lambda _: nodes.register())
            await reader.run(lambda connection: refuse_damaged_aggregates(connection, path))
            noticed = await reader.run(data_version)
            return cls(writer, reader, nodes, noticed, opened.pop_all())

    async def load(self, key: str) -> Stored | None:
        return await self._writer.run(lambda connection: scope_under(connection, key))

    async def commit(self, scope: Scope, expected_version: int, record: HistoryRecord | None) -> Stored:
        stored = await self._groups.commit(commit_of(scope, expected_version, record))
        self._feed.knows(stored)
        return stored

    async def documents(self, kind: str, after: int = 0) -> Sequence[Document]:
        return await self._reader.run(lambda connection: documents_of(connection, kind, after))

    async def put_document(
        self, kind: str, key: str, body: bytes | None, expected_version: int, record: HistoryRecord | None
    ) -> Document | None:
        change = change_of(kind, key, body, expected_version, record)
        return await self._writer.run(lambda connection: change_alone(connection, change))

    async def changes_after(self, revision: int, limit: int) -> Sequence[Stored]:
        return await self._feed.changes_after(revision, limit)

    async def wait_for_changes(self) -> None:
        await self._feed.wait_for_changes()

    async def history(self, query: HistoryQuery) -> Sequence[StoredRecord]:
        return await self._reader.run(lambda connection: records_matching(connection, query))

    async def retire(self, revisions: Sequence[int]) -> None:
        await self._writer.run(lambda connection: retire_alone(connection, revisions))

    def is_alive(self, node: str) -> bool:
        return self._nodes.is_alive(node)

    async def close(self) -> None:
        """Closing twice is closing once."""
        await self._opened.aclose()
