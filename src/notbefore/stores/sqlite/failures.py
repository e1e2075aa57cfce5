"""What SQLite and the file system complain about, as refusals a person can act on.

Rule 1: a table from SQLite's primary result codes to sentences; what is not in it still gets one.
Rule 2: whatever is told here, nothing was promised: the transaction is rolled back.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from notbefore.core.errors import StoreUnavailable

# Extended codes say more in their upper bits (SQLITE_IOERR_FSYNC); the lowest byte is the kind of failure.
PRIMARY_CODE = 0xFF


class StoreCorrupt(StoreUnavailable):
    """What the store holds is not what was written."""


class RecordDamaged(StoreCorrupt):
    """One record is not what was written."""

    def __init__(self, table: str, key: object, why: str) -> None:
        super().__init__(
            f"The record '{key}' in table {table} of the store is damaged: {why}.",
            RESTORE,
            {"table": table, "key": str(key)},
        )
        self.table = table
        self.key = str(key)
        self.why = why


DAMAGED = "The store {path} is damaged."
RESTORE = (
    "`notbefore store check` says what is damaged, `notbefore store restore FILE` puts a backup in its place"
    " and keeps the damaged file."
)

SENTENCES: Mapping[int, tuple[type[StoreUnavailable], str, str]] = {
    sqlite3.SQLITE_FULL: (
        StoreUnavailable,
        "The disk of {path} is full.",
        "Free some space; the next request tries again.",
    ),
    sqlite3.SQLITE_IOERR: (
        StoreUnavailable,
        "The disk of {path} reported an error.",
        "The kernel log says more; nothing is confirmed that is not on disk.",
    ),
    sqlite3.SQLITE_BUSY: (
        StoreUnavailable,
        "Another process holds the store for too long.",
        "Find who has the file open (`fuser` on it) and whether it is stuck.",
    ),
    sqlite3.SQLITE_LOCKED: (
        StoreUnavailable,
        "The store is locked.",
        "Try again; if it stays so, restart notbefore.",
    ),
    sqlite3.SQLITE_READONLY: (
        StoreUnavailable,
        "The store may only be read.",
        "Let the user that runs notbefore write the file and its directory.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        StoreUnavailable,
        "The store {path} cannot be opened.",
        "Check that it and its directory can be read and written by the user that runs notbefore.",
    ),
    sqlite3.SQLITE_CORRUPT: (StoreCorrupt, DAMAGED, RESTORE),
    sqlite3.SQLITE_NOTADB: (
        StoreCorrupt,
        "The store {path} is not a database.",
        f"Name another file for the store. If it was one: {RESTORE}",
    ),
}
OTHERWISE = (StoreUnavailable, "The store cannot be used just now.", "The detail says what SQLite reported.")


@contextmanager
def told_as_refusals(path: Path) -> Iterator[None]:
    """Nothing of sqlite3 and no OSError gets past here."""
    try:
        yield
    except sqlite3.Error as error:
        raise refusal_for(error, path) from error
    except UnicodeDecodeError as error:
        # SQLite quotes damaged text in its complaint, and Python cannot read the complaint.
        raise StoreCorrupt(DAMAGED.format(path=path), RESTORE, {"path": str(path), "detail": str(error)}) from error
    except OSError as error:
        raise StoreUnavailable(
            f"The store {path} cannot be used: {error.strerror or error}.",
            "Check that the path is right and its directory can be written by the user that runs notbefore.",
            {"path": str(path)},
        ) from error


def refusal_for(error: sqlite3.Error, path: Path) -> StoreUnavailable:
    # Errors that Python's own layer raises carry no code.
    code = getattr(error, "sqlite_errorcode", 0)
    refusal, sentence, hint = SENTENCES.get(code & PRIMARY_CODE, OTHERWISE)
    detail = f"{getattr(error, 'sqlite_errorname', type(error).__name__)}: {error}"
    return refusal(sentence.format(path=path), hint, {"path": str(path), "detail": detail})
