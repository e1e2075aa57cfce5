"""Rows of the database as the port's values, and the checksum that shows a damaged one.

Rule 1: the checksum covers the columns as well as the body, so that a body under the wrong key is found too.
Rule 2: every row is verified whenever it is read; a damaged one is named, never guessed at.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final
from zlib import crc32

from notbefore.ports import Document, Stored, StoredRecord
from notbefore.stores.codec import BodyUnreadable, decode_record, decode_scope
from notbefore.stores.sqlite.failures import RecordDamaged

Row = tuple[Any, ...]
SCOPE: Final = "scope"
NOTHING: Final[Mapping[int, Stored]] = MappingProxyType({})


def row_checksum(columns: tuple[object, ...], body: bytes) -> int:
    return crc32(body, crc32("\0".join(map(str, columns)).encode()))


def stored_scope(row: Row, known: Mapping[int, Stored] = NOTHING) -> Stored:
    """`known`, by revision: what this process wrote itself, and need not read again."""
    key, version, revision, checksum, body = row
    refuse_damaged("aggregate", key, checksum, (key, version, revision), body)
    if own := known.get(revision):
        return own
    try:
        return Stored(decode_scope(body), version, revision)
    except BodyUnreadable as error:
        raise RecordDamaged("aggregate", key, f"this program cannot read it ({error})") from error


def stored_document(row: Row) -> Document:
    """Its kind is under the checksum as well: it says how the body is to be read."""
    kind, key, version, revision, checksum, body = row
    refuse_damaged("aggregate", key, checksum, (kind, key, version, revision), body)
    return Document(kind, key, version, revision, body)


def stored_record(row: Row) -> StoredRecord:
    revision, scope, at_ms, checksum, body = row
    refuse_damaged("history", revision, checksum, (revision, scope, at_ms), body)
    try:
        return StoredRecord(revision, decode_record(body))
    except BodyUnreadable as error:
        raise RecordDamaged("history", revision, f"this program cannot read it ({error})") from error


def refuse_damaged(table: str, key: object, checksum: object, columns: tuple[object, ...], body: object) -> None:
    # A flipped bit can change a column's type as well as its value.
    if not isinstance(body, bytes) or checksum != row_checksum(columns, body):
        raise RecordDamaged(table, key, "its checksum does not match")
