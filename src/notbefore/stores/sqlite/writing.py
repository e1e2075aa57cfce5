"""Commits, as statements inside a transaction.

Rule 1: compare and set is one statement, and the first, so that a conflict leaves the transaction as it was. Many
commits may therefore share one transaction and one fsync, each succeeding or conflicting alone.
Rule 2: a history record has the revision of the commit it explains.
Rule 3: where there is one processor for all, a VM's question must not wait for a whole commit: whoever wants it has it
in between. Where many commits wait, they are in a greater hurry.
Not here: documents (documents.py), beginning and ending the transaction (connection.py), who shares one (groups.py).
"""

import os
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from notbefore.core.history import HistoryRecord
from notbefore.core.kinds import Status
from notbefore.core.model import Scope, name_key
from notbefore.ports import Stored, VersionConflict
from notbefore.stores.codec import encode_record, encode_scope
from notbefore.stores.sqlite.named_sql import QUERIES
from notbefore.stores.sqlite.rows import row_checksum

FEW: Final = 4


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


def write_commits(connection: sqlite3.Connection, commits: Sequence[Commit]) -> list[Stored | VersionConflict]:
    """What each came to."""
    before = newest = newest_revision(connection)
    outcomes: list[Stored | VersionConflict] = []
    for commit in commits:
        if len(commits) <= FEW:
            os.sched_yield()
        outcome = written_or_conflict(connection, commit, newest + 1)
        outcomes.append(outcome)
        if isinstance(outcome, Stored):
            newest = outcome.revision
    if newest > before:
        count_revisions(connection, newest)
    return outcomes


def written_or_conflict(connection: sqlite3.Connection, commit: Commit, revision: int) -> Stored | VersionConflict:
    stored = Stored(commit.scope, commit.expected_version + 1, revision)
    if not is_put(connection, stored, commit.body):
        return conflict_of(connection, commit)
    if commit.record is not None:
        append_history(connection, revision, commit.record, commit.record_body)
    return stored


def is_put(connection: sqlite3.Connection, stored: Stored, body: bytes) -> bool:
    """Whether the scope was at the version before."""
    key, version, revision = stored.scope.key, stored.version, stored.revision
    checksum = row_checksum((key, version, revision), body)
    given = {"key": key, "version": version, "revision": revision, "checksum": checksum, "body": body}
    return executed(connection, "add_scope" if version == 1 else "change_scope", given).rowcount == 1


def conflict_of(connection: sqlite3.Connection, commit: Commit) -> VersionConflict:
    row = executed(connection, "current_version", {"key": commit.scope.key}).fetchone()
    version = row[0] if row else 0
    return VersionConflict(
        f"Scope '{commit.scope.name}' is at version {version}, not {commit.expected_version} as expected."
    )


def newest_revision(connection: sqlite3.Connection) -> int:
    revision: int = executed(connection, "current_revision", {}).fetchone()[0]
    return revision


def count_revisions(connection: sqlite3.Connection, revision: int) -> None:
    executed(connection, "count_revisions", {"revision": revision})


def executed(connection: sqlite3.Connection, query: str, given: Mapping[str, object]) -> sqlite3.Cursor:
    return connection.execute(QUERIES[query], given)


def append_history(connection: sqlite3.Connection, revision: int, record: HistoryRecord, body: bytes) -> None:
    scope, at_ms = name_key(record.scope), record.at_ms
    checksum = row_checksum((revision, scope, at_ms), body)
    given = {"revision": revision, "scope": scope, "at_ms": at_ms, "checksum": checksum, "body": body}
    executed(connection, "append_history", given)
    for event_id, status in statuses_left_by(record).items():
        given = {"event_id": event_id, "revision": revision, "status": status}
        executed(connection, "append_history_event", given)


def statuses_left_by(record: HistoryRecord) -> dict[str, Status | None]:
    """The last status counts: a reader of the record finds the event so."""
    return {change.event.id.upper(): change.event.status for change in record.changes if change.event}
