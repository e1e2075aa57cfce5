"""Whether what the database holds is what was written: every record against its checksum, every page by SQLite.

Rule 1: a flaw is told with the table and the key it stands under, and looking goes on behind it.
Rule 2: at every start the aggregates are verified, because decisions rest on them; history is verified
when it is read, and whole by `notbefore store check`.
"""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from notbefore.stores.sqlite.failures import PRIMARY_CODE, RESTORE, RecordDamaged, StoreCorrupt
from notbefore.stores.sqlite.named_sql import QUERIES
from notbefore.stores.sqlite.rows import SCOPE, Row, refuse_damaged, stored_document, stored_record, stored_scope
from notbefore.stores.sqlite.writing import statuses_left_by

WHOLE = "ok"
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Flaw(NamedTuple):
    table: str
    key: str
    why: str

    def __str__(self) -> str:
        return f"table {self.table}, record '{self.key}': {self.why}" if self.key else f"{self.table}: {self.why}"


class Verified(NamedTuple):
    """What was looked at, and what is wrong with it. Aggregates are scopes and documents."""

    aggregates: int
    documents: int
    records: int
    flaws: tuple[Flaw, ...]


def refuse_damaged_aggregates(connection: sqlite3.Connection, path: Path) -> None:
    """Checksums and the indexes over them; what the bodies say is the reader's to find out."""
    flaws: list[Flaw] = []
    for row in connection.execute(QUERIES["every_aggregate"]):
        flaws += flaws_by(check_aggregate, row)
    flaws += page_flaws(connection, "aggregates_integrity")
    if flaws:
        raise StoreCorrupt(sentence_on(flaws, path), RESTORE, {"path": str(path), "flaws": [str(one) for one in flaws]})


def sentence_on(flaws: list[Flaw], path: Path) -> str:
    more = f" (and {len(flaws) - 1} more)" if len(flaws) > 1 else ""
    return f"The store {path} is damaged, in {flaws[0]}{more}."


def verify(connection: sqlite3.Connection) -> Verified:
    """Everything, in one state of the database."""
    connection.execute("BEGIN")
    try:
        flaws = list(page_flaws(connection, "integrity"))
        documents = DocumentCount()
        aggregates = rows_read(rows_of(connection, "every_aggregate", "aggregate", flaws), documents.read, flaws)
        walk = RecordWalk(connection)
        records = rows_read(rows_of(connection, "every_record", "history", flaws), walk.read, flaws)
        flaws += walk.flaws_at_end()
    finally:
        connection.execute("ROLLBACK")
    return Verified(aggregates, documents.number, records, tuple(flaws))


def rows_read(rows: Iterator[Row], read: Callable[[Row], None], flaws: list[Flaw]) -> int:
    number = 0
    for row in rows:
        flaws += flaws_by(read, row)
        number += 1
    return number


def rows_of(connection: sqlite3.Connection, query: str, table: str, flaws: list[Flaw]) -> Iterator[Row]:
    """Rows as far as SQLite can reach them."""
    try:
        yield from connection.execute(QUERIES[query])
    except sqlite3.DatabaseError as error:
        flaws.append(unreadable(table, error))


def page_flaws(connection: sqlite3.Connection, query: str) -> Iterator[Flaw]:
    try:
        for (said,) in connection.execute(QUERIES[query]):
            if said != WHOLE:
                yield Flaw("database", "", " ".join(str(said).split()))
    except sqlite3.DatabaseError as error:
        yield unreadable("database", error)


def unreadable(where: str, error: sqlite3.DatabaseError) -> Flaw:
    """Only damage is a flaw; a lock or a failing disk is something else."""
    if getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE not in DAMAGE:
        raise error
    return Flaw(where, "", f"it cannot be read to its end ({error})")


def flaws_by(read: Callable[[Row], None], row: Row) -> Iterator[Flaw]:
    try:
        read(row)
    except RecordDamaged as found:
        yield Flaw(found.table, found.key, found.why)
    except sqlite3.DatabaseError as error:
        yield unreadable("history_event", error)


def check_aggregate(row: Row) -> None:
    """A kind that is no scope's is a document's; a damaged one is found by the checksum."""
    kind, key, version, revision, checksum, body = row
    if kind == SCOPE:
        refuse_damaged("aggregate", key, checksum, (key, version, revision), body)
    else:
        stored_document(row)


def read_aggregate(row: Row) -> None:
    """What the body of a document says is its owner's to find out."""
    check_aggregate(row)
    kind, *rest = row
    if kind == SCOPE:
        stored_scope(tuple(rest))


class DocumentCount:
    """Reads aggregates and counts those that are no scope."""

    def __init__(self) -> None:
        self.number = 0

    def read(self, row: Row) -> None:
        self.number += row[0] != SCOPE
        read_aggregate(row)


class RecordWalk:
    """History from its first record to its last, with the index of events that belongs to it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._statuses = 0
        self._all_read = True

    def read(self, row: Row) -> None:
        try:
            stored = stored_record(row)
        except RecordDamaged:
            self._all_read = False
            raise
        for event_id, status in statuses_left_by(stored.record).items():
            self._statuses += 1
            facts = {"event_id": event_id, "revision": stored.revision}
            found = self._connection.execute(QUERIES["status_in_record"], facts).fetchone()
            if found != (status,):
                raise RecordDamaged("history", stored.revision, f"its index does not list event {event_id} as it is")

    def flaws_at_end(self) -> Iterator[Flaw]:
        try:
            yield from self._count_flaws()
        except sqlite3.DatabaseError as error:
            yield unreadable("database", error)

    def _count_flaws(self) -> Iterator[Flaw]:
        listed = self._connection.execute(QUERIES["statuses_in_records"]).fetchone()[0]
        if self._all_read and listed != self._statuses:
            yield Flaw(
                "history_event", "", f"it lists {listed} events of records, and the records tell of {self._statuses}"
            )
        used = self._connection.execute(QUERIES["newest_revision_used"]).fetchone()[0]
        row = self._connection.execute(QUERIES["current_revision"]).fetchone()
        if row is None or not isinstance(row[0], int) or row[0] < used:
            yield Flaw("revision_counter", "", f"it is behind revision {used}, which is in use")
