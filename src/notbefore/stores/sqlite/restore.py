"""Bringing a backup back: in the store's place, with the former file kept beside it.

Rule 1: the backup is verified first; nothing of the store is touched for a bad one.
Rule 2: nobody may have the store open: no living node, no other connection, and none can come meanwhile.
Rule 3: at every moment the store's name leads to the former database or the restored one, never to half of one,
nor to one with the other's log.
"""

import os
import sqlite3
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

from notbefore.core.errors import NotAllowed, StoreUnavailable
from notbefore.stores.sqlite.backup import flush_directory, unfinished_copy
from notbefore.stores.sqlite.connection import connect_existing
from notbefore.stores.sqlite.directory_lock import alone_in
from notbefore.stores.sqlite.failures import PRIMARY_CODE, StoreCorrupt, told_as_refusals
from notbefore.stores.sqlite.nodes import Nodes
from notbefore.stores.sqlite.verify import DAMAGE, Verified, sentence_on

IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Restored(NamedTuple):
    verified: Verified
    former: Path | None


def restore(database: Path, backup: Path) -> Restored:
    database = Path(os.path.realpath(database))
    with told_as_refusals(database):
        refuse_if_used(database)
        database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with unfinished_copy(backup, database) as (copy, verified):
            refuse_bad(backup, verified)
            give_to_owner_of_store(copy, database)
            with alone_in(database.parent, wait=True):
                refuse_if_used(database)
                former = put_in_place(copy, database)
    return Restored(verified, former)


def refuse_bad(backup: Path, verified: Verified) -> None:
    if verified.flaws:
        raise StoreCorrupt(
            sentence_on(list(verified.flaws), backup).replace("The store", "The backup", 1),
            "The store was left as it is; restore another backup.",
            {"path": str(backup)},
        )


def refuse_if_used(database: Path) -> None:
    if living := Nodes(database, "").living():
        raise NotAllowed(
            f"A server is running on the store {database}.",
            "Stop it first; restoring would change what it has promised behind its back.",
            {"path": str(database), "nodes": living},
        )


def give_to_owner_of_store(copy: Path, database: Path) -> None:
    """Root restores for the user that runs the server."""
    if os.geteuid() == 0:
        owner = (database if database.exists() else database.parent).stat()
        os.chown(copy, owner.st_uid, owner.st_gid)


def put_in_place(copy: Path, database: Path) -> Path | None:
    former = keep_former(database) if database.exists() else None
    for beside in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            database.with_name(f"{database.name}{beside}").unlink()
    copy.replace(database)
    flush_directory(database.parent)
    return former


def keep_former(database: Path) -> Path:
    """A second name for the database. A log that cannot be folded in stays with it: it may hold the last commits."""
    former = unused_name(database)
    log, former_log = database.with_name(f"{database.name}-wal"), former.with_name(f"{former.name}-wal")
    os.link(database, former)
    try:
        if log.exists():
            # Before SQLite looks: it removes the log of what it takes for no database.
            os.link(log, former_log)
        if fold_log_into(database):
            former_log.unlink(missing_ok=True)
    except BaseException:
        former.unlink()
        former_log.unlink(missing_ok=True)
        raise
    return former


def fold_log_into(database: Path) -> bool:
    """Leaving WAL takes the log into the database, and is possible only when nobody else has it open."""
    try:
        with closing(connect_existing(database)) as connection:
            connection.execute("PRAGMA busy_timeout = 0")
            connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE
        if code in IN_USE:
            raise StoreUnavailable(
                f"Another program has the store {database} open.",
                "`fuser` on the file says which; end it, then restore.",
                {"path": str(database)},
            ) from None
        if code not in DAMAGE:
            raise
        return False
    return True


def unused_name(database: Path) -> Path:
    """`<db>.before-restore`, with a number when that is taken: what was kept once is never overwritten."""
    first = database.with_name(f"{database.name}.before-restore")
    numbered = (first.with_name(f"{first.name}-{n}") for n in count(2))
    return first if not first.exists() else next(path for path in numbered if not path.exists())
