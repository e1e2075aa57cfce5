"""A connection to the database, on the one thread that may touch it.

Rule 1: transactions are explicit; `transaction` takes the write lock at its start, so that nothing is decided
on what another writer is about to change.
Rule 2: `ConnectionThread.run` is the only way from the event loop to SQLite, and does one thing at a time.
Not here: what is read and written (reading.py, writing.py), making the file (database_file.py).
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self, TypeVar

from notbefore.core.errors import StoreUnavailable
from notbefore.stores.sqlite.errands import ErrandThread
from notbefore.stores.sqlite.failures import told_as_refusals

# How long to wait for another process's transaction; each takes about a millisecond.
BUSY_TIMEOUT_MS: Final = 5000

T = TypeVar("T")


def connect(path: Path) -> sqlite3.Connection:
    """A connection that begins no transaction by itself."""
    return prepared(sqlite3.connect(path, isolation_level=None))


def connect_existing(path: Path) -> sqlite3.Connection:
    """The same, to a database that must be there already."""
    return prepared(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", isolation_level=None, uri=True))


def prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    # A damaged name must come as far as its row's checksum, which tells where it stands.
    connection.text_factory = lambda name: name.decode(errors="replace")
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    return connection


def connect_for_reading(path: Path) -> sqlite3.Connection:
    connection = connect(path)
    connection.execute("PRAGMA query_only = ON")
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing: durable when the block has ended, untouched when it raised."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        os.sched_yield()  # to write it out is the longest part (writing.py, rule 3)
        connection.execute("COMMIT")
    except BaseException:
        # After a full disk or an I/O error SQLite has already rolled back by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class ConnectionThread:
    def __init__(self, name: str, path: Path) -> None:
        self.path = path
        self._thread = ErrandThread(f"notbefore-store-{name}")
        self._connection: sqlite3.Connection | None = None

    @classmethod
    async def start(cls, name: str, path: Path, connected: Callable[[Path], sqlite3.Connection]) -> Self:
        started = cls(name, path)
        try:
            started._connection = await started._on_thread(lambda: connected(path))
        except BaseException:
            started._thread.end()
            raise
        return started

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` returns. When the caller is cancelled, work that has begun still runs to its end."""
        connection = self._connection
        if connection is None:
            raise StoreUnavailable("The store is closed.", "It was closed by this program; open it again.")
        return await self._on_thread(lambda: work(connection))

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # Whatever was promised is on disk already, so a failing end has nothing to tell.
            with suppress(StoreUnavailable):
                await self._on_thread(connection.close)
            self._thread.end_idle()

    async def _on_thread(self, work: Callable[[], T]) -> T:
        def told() -> T:
            with told_as_refusals(self.path):
                return work()

        return await self._thread.run(told)
