"""The database's file: made for its owner alone, refused when it is not ours, and set to keep promises.

Rule 1: a file that exists is opened by SQLite only. Closing any other descriptor of it would drop the locks
that SQLite holds in this process (https://www.sqlite.org/howtocorrupt.html, 2.2).
Rule 2: what is not ours is refused before anything is written to it.
Rule 3: processes that open at once do so one after another, under the directory's lock: SQLite answers
"locked" without waiting to the second of two that turn a new file to WAL.
"""

import os
import sqlite3
import stat
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from notbefore.core.errors import StoreUnavailable
from notbefore.stores.sqlite.connection import connect
from notbefore.stores.sqlite.directory_lock import alone_in
from notbefore.stores.sqlite.migrate import APPLICATION_ID, Migration, form_of, migrate, migrations_in

# What the write-ahead log may keep on disk after a checkpoint.
WAL_KEPT_MAX_BYTES: Final = 64 * 1024 * 1024


def open_for_writing(path: Path, source: Traversable) -> sqlite3.Connection:
    """The database at `path`, made or migrated when need be."""
    migrations = migrations_in(source)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with alone_in(path.parent, wait=True):
        make_file(path)
        connection = connect(path)
        try:
            refuse_strange(connection, path, migrations)
            keep_promises(connection, path)
            migrate(connection, path, migrations)
        except BaseException:
            connection.close()
            raise
    return connection


def make_file(path: Path) -> None:
    """SQLite gives the log and the index beside it the same mode."""
    if path.is_dir():
        raise StoreUnavailable(
            f"The store {path} is a directory.", "Name a file in it, such as notbefore.db.", {"path": str(path)}
        )
    with suppress(FileExistsError):
        # Not open(2): see Rule 1.
        os.mknod(path, stat.S_IFREG | 0o600)
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        raise StoreUnavailable(
            f"The store {path} may only be read: its file system is mounted read-only.",
            "Mount it for writing, or name another file for the store.",
            {"path": str(path)},
        )
    if not os.access(path, os.R_OK | os.W_OK, effective_ids=True):
        raise StoreUnavailable(
            f"The store {path} may not be read and written by this user.",
            "Run notbefore as the file's owner, or give the file to the user that runs it.",
            {"path": str(path)},
        )


def refuse_strange(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration]) -> None:
    form, known = form_of(connection), migrations[-1].number
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if application != APPLICATION_ID and not (is_empty and form == 0):
        raise StoreUnavailable(
            f"The database {path} belongs to another program.", "Name another file for the store.", {"path": str(path)}
        )
    if form > known:
        raise StoreUnavailable(
            f"The store {path} was written by a newer notbefore: it has form {form}, and this one knows up to {known}.",
            f"Upgrade notbefore, or go back to the copy {path.name}.before-{known + 1:04d} if it is there.",
            {"path": str(path), "form": form, "known": known},
        )


def keep_promises(connection: sqlite3.Connection, path: Path) -> None:
    """A commit is flushed to disk before it returns, and readers never wait for it."""
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise StoreUnavailable(
            f"The store {path} cannot keep a write-ahead log where it is.",
            "Put it on a local disk; network file systems cannot share one.",
            {"path": str(path), "journal_mode": mode},
        )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_KEPT_MAX_BYTES}")
