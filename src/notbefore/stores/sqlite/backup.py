"""A backup: one file, a consistent copy of a store that may be running, verified before it gets its name.

Rule 1: the copy is SQLite's online backup: it shows one committed state, and writers do not wait for it.
Rule 2: a file under the backup's name is whole and good; anything less is `.part`, and removed.
Rule 3: it is its owner's alone (0600): it holds what the store holds.
Not here: bringing one back (restore.py).
"""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from notbefore.core.errors import NotAllowed, StoreUnavailable
from notbefore.stores.sqlite.connection import connect, connect_existing
from notbefore.stores.sqlite.database_file import refuse_strange
from notbefore.stores.sqlite.failures import RESTORE, StoreCorrupt, told_as_refusals
from notbefore.stores.sqlite.migrate import MIGRATIONS, form_of, migrations_in
from notbefore.stores.sqlite.verify import Verified, sentence_on, verify


def check_store(database: Path) -> Verified:
    """Every record of the store, whether or not a server works on it."""
    with told_as_refusals(database), opened_store(database) as connection:
        return verify(connection)


def write_backup(database: Path, target: Path, *, force: bool) -> Verified:
    if target.exists() and not force:
        raise NotAllowed(f"{target} is there already.", "Name another file, or add --force to replace it.")
    if target.exists() and database.exists() and target.samefile(database):
        raise NotAllowed(f"{target} is the store itself.", "Name another file for the backup.")
    with told_as_refusals(target), unfinished_copy(database, target) as (copy, verified):
        if verified.flaws:
            raise StoreCorrupt(sentence_on(list(verified.flaws), database), RESTORE, {"path": str(database)})
        copy.replace(target)
        flush_directory(target.parent)
    return verified


@contextmanager
def opened_store(database: Path) -> Iterator[sqlite3.Connection]:
    """A database that is there, ours, and not newer than this program."""
    if not database.exists():
        raise StoreUnavailable(
            f"There is no store at {database}.",
            "Say where it is with --store sqlite:PATH or --state DIR, as for `notbefore serve`.",
            {"path": str(database)},
        )
    with told_as_refusals(database), closing(connect_existing(database)) as connection:
        refuse_strange(connection, database, migrations_in(MIGRATIONS))
        if form_of(connection) == 0:
            raise StoreUnavailable(f"The store {database} is empty.", "`notbefore serve` fills it at its first start.")
        yield connection


@contextmanager
def unfinished_copy(source: Path, target: Path) -> Iterator[tuple[Path, Verified]]:
    """A verified copy beside the target, removed at the end unless it was renamed."""
    copy = target.with_name(f"{target.name}.part")
    remove(copy)
    os.mknod(copy, stat.S_IFREG | 0o600)
    try:
        with opened_store(source) as store, closing(connect(copy)) as out:
            store.backup(out)
            # One file, with no log beside it that could be forgotten when it is moved.
            out.execute("PRAGMA journal_mode = DELETE").fetchone()
            verified = verify(out)
        yield copy, verified
    finally:
        remove(copy)


def remove(copy: Path) -> None:
    for path in (copy, copy.with_name(f"{copy.name}-journal"), copy.with_name(f"{copy.name}-wal")):
        with suppress(FileNotFoundError):
            path.unlink()


def flush_directory(directory: Path) -> None:
    """A rename is on disk when its directory is."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
