"""One change of one document, as statements inside a transaction.

Rule 1: compare before writing, as commits of scopes do (writing.py).
Rule 2: a document's version is the revision of its last change, which is never given out again. So a document that
was removed leaves nothing behind, and yet no version of it is taken for one of its successor's.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from notbefore.core.errors import LimitReached
from notbefore.core.history import HistoryRecord
from notbefore.ports import Document, VersionConflict
from notbefore.stores.codec import encode_record
from notbefore.stores.sqlite.connection import transaction
from notbefore.stores.sqlite.named_sql import QUERIES
from notbefore.stores.sqlite.rows import SCOPE, row_checksum
from notbefore.stores.sqlite.writing import append_history, count_revisions, newest_revision

# As for a scope: small enough for one etcd transaction together with its history record.
DOCUMENT_BODY_MAX_BYTES: Final = 512 * 1024


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """A compare-and-set on one document, ready to be written; without a body it removes."""

    kind: str
    key: str
    body: bytes | None
    expected_version: int
    record: HistoryRecord | None
    record_body: bytes


def change_of(
    kind: str, key: str, body: bytes | None, expected_version: int, record: HistoryRecord | None
) -> DocumentChange:
    if kind == SCOPE:
        raise ValueError("A scope is committed, not put as a document.")
    if body is not None and len(body) > DOCUMENT_BODY_MAX_BYTES:
        raise LimitReached(
            f"The {kind} '{key}' would take {len(body)} bytes, and at most {DOCUMENT_BODY_MAX_BYTES} may be stored.",
            "Make it smaller.",
            {"kind": kind, "key": key, "bytes": len(body), "limit": DOCUMENT_BODY_MAX_BYTES},
        )
    return DocumentChange(kind, key, body, expected_version, record, encode_record(record) if record else b"")


def change_alone(connection: sqlite3.Connection, change: DocumentChange) -> Document | None:
    with transaction(connection):
        refuse_conflict(connection, change)
        revision = newest_revision(connection) + 1
        document = put_or_remove(connection, change, revision)
        count_revisions(connection, revision)
        if change.record is not None:
            append_history(connection, revision, change.record, change.record_body)
        return document


def refuse_conflict(connection: sqlite3.Connection, change: DocumentChange) -> None:
    """What is not there cannot be removed, whatever was expected."""
    row = connection.execute(QUERIES["document_version"], {"kind": change.kind, "key": change.key}).fetchone()
    version = row[0] if row else 0
    if version != change.expected_version or (change.body is None and row is None):
        raise VersionConflict(
            f"The {change.kind} '{change.key}' is at version {version}, not {change.expected_version} as expected."
        )


def put_or_remove(connection: sqlite3.Connection, change: DocumentChange, revision: int) -> Document | None:
    kind, key, body = change.kind, change.key, change.body
    if body is None:
        connection.execute(QUERIES["remove_document"], {"kind": kind, "key": key})
        return None
    checksum = row_checksum((kind, key, revision, revision), body)
    facts = {"kind": kind, "key": key, "version": revision, "revision": revision, "checksum": checksum, "body": body}
    connection.execute(QUERIES["put_document"], facts)
    return Document(kind, key, revision, revision, body)
