"""One commit, as statements inside a transaction.

Rule 1: `write_commit` compares before it writes, so that a conflict leaves the transaction as it was. Many
commits may therefore share one transaction and one fsync, each succeeding or conflicting alone.
Rule 2: a history record has the revision of the commit it explains.
Not here: documents (documents.py), beginning and ending the transaction (connection.py), who shares one (groups.py).
"""

import sqlite3
from dataclasses import dataclass

from notbefore.core.history import HistoryRecord
from notbefore.core.kinds import Status
from notbefore.core.model import Scope, name_key
from notbefore.ports import Stored, VersionConflict
from notbefore.stores.codec import encode_record, encode_scope
from notbefore.stores.sqlite.named_sql import QUERIES
from notbefore.stores.sqlite.rows import row_checksum


@dataclass(frozen=True, slots=True)
class Commit:
    """A compare-and-set on one scope, ready to be written."""

    scope: Scope
    expected_version: int
    body: bytes
    record: HistoryRecord | None
    record_body: bytes


def commit_of(scope: Scope, expected_version: int, record: HistoryRecord | None) -> Commit:
    """Encoded here, before any transaction, so that a scope too large disturbs nobody."""
    return Commit(scope, expected_version, encode_scope(scope), record, encode_record(record) if record else b"")


def write_commit(connection: sqlite3.Connection, commit: Commit) -> Stored:
    refuse_conflict(connection, commit)
    stored = Stored(commit.scope, commit.expected_version + 1, next_revision(connection))
    put_scope(connection, stored, commit.body)
    if commit.record is not None:
        append_history(connection, stored.revision, commit.record, commit.record_body)
    return stored


def refuse_conflict(connection: sqlite3.Connection, commit: Commit) -> None:
    row = connection.execute(QUERIES["current_version"], {"key": commit.scope.key}).fetchone()
    version = row[0] if row else 0
    if version != commit.expected_version:
        raise VersionConflict(
            f"Scope '{commit.scope.name}' is at version {version}, not {commit.expected_version} as expected."
        )


def next_revision(connection: sqlite3.Connection) -> int:
    connection.execute(QUERIES["bump_revision"])
    revision: int = connection.execute(QUERIES["current_revision"]).fetchone()[0]
    return revision


def put_scope(connection: sqlite3.Connection, stored: Stored, body: bytes) -> None:
    key, version, revision = stored.scope.key, stored.version, stored.revision
    checksum = row_checksum((key, version, revision), body)
    connection.execute(
        QUERIES["put_scope"],
        {"key": key, "version": version, "revision": revision, "checksum": checksum, "body": body},
    )


def append_history(connection: sqlite3.Connection, revision: int, record: HistoryRecord, body: bytes) -> None:
    scope, at_ms = name_key(record.scope), record.at_ms
    checksum = row_checksum((revision, scope, at_ms), body)
    connection.execute(
        QUERIES["append_history"],
        {"revision": revision, "scope": scope, "at_ms": at_ms, "checksum": checksum, "body": body},
    )
    for event_id, status in statuses_left_by(record).items():
        connection.execute(
            QUERIES["append_history_event"], {"event_id": event_id, "revision": revision, "status": status}
        )


def statuses_left_by(record: HistoryRecord) -> dict[str, Status | None]:
    """The last status counts: a reader of the record finds the event so."""
    return {change.event.id.upper(): change.event.status for change in record.changes if change.event}
