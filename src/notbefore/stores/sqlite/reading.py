"""What is read from the database: a scope, the feed, documents, the history.

Rule 1: each function is one statement, so each sees one committed state.
Rule 2: numbers from outside are fitted to what SQLite can hold; they never fail for being large.
"""

import json
import sqlite3
from collections.abc import Mapping
from typing import Final

from notbefore.core.model import name_key
from notbefore.ports import Document, HistoryQuery, Stored, StoredRecord
from notbefore.stores.sqlite.named_sql import QUERIES
from notbefore.stores.sqlite.rows import NOTHING, stored_document, stored_record, stored_scope

# How many history records one query may bring into memory, whatever it asks for.
HISTORY_LIMIT_MAX: Final = 1000
INTEGER_MAX: Final = 2**63 - 1


def scope_under(connection: sqlite3.Connection, key: str) -> Stored | None:
    row = connection.execute(QUERIES["load_scope"], {"key": name_key(key)}).fetchone()
    return stored_scope(row) if row else None


def scopes_after(
    connection: sqlite3.Connection, revision: int, limit: int, known: Mapping[int, Stored] = NOTHING
) -> list[Stored]:
    facts = {"after": between(0, revision, INTEGER_MAX), "limit": between(0, limit, INTEGER_MAX)}
    return [stored_scope(row, known) for row in connection.execute(QUERIES["scopes_after"], facts)]


def documents_of(connection: sqlite3.Connection, kind: str, after: int) -> list[Document]:
    rows = connection.execute(QUERIES["documents"], {"kind": kind, "after": after})
    return [stored_document(row) for row in rows]


def records_matching(connection: sqlite3.Connection, query: HistoryQuery) -> list[StoredRecord]:
    facts = {
        "after": between(0, query.after, INTEGER_MAX),
        "limit": between(0, query.limit, HISTORY_LIMIT_MAX),
        "scope": name_key(query.scope or ""),
        "scopes": json.dumps([name_key(one) for one in query.scopes or ()]),
        "event_id": (query.event_id or "").upper(),
        "statuses": json.dumps(query.statuses),
        "before": between(0, query.before or 0, INTEGER_MAX),
        "since_ms": between(-INTEGER_MAX, query.since_ms or 0, INTEGER_MAX),
        "until_ms": between(-INTEGER_MAX, query.until_ms or 0, INTEGER_MAX),
    }
    rows = connection.execute(history_sql(query), facts).fetchall()
    oldest_first = reversed(rows) if query.newest else rows
    return [stored_record(row) for row in oldest_first]


def history_sql(query: HistoryQuery) -> str:
    """The statement with only the conditions asked for: each can then use its index."""
    parts = ["history"]
    if query.scope is not None:
        parts.append("history_of_scope")
    if query.scopes is not None:
        parts.append("history_of_scopes")
    if query.before is not None:
        parts.append("history_before")
    if query.since_ms is not None:
        parts.append("history_since")
    if query.until_ms is not None:
        parts.append("history_until")
    if query.event_id is not None and query.statuses:
        parts.append("history_of_event_and_statuses")
    elif query.event_id is not None:
        parts.append("history_of_event")
    elif query.statuses:
        parts.append("history_of_statuses")
    parts.append("history_newest" if query.newest else "history_oldest")
    return "\n".join(QUERIES[part] for part in parts)


def data_version(connection: sqlite3.Connection) -> int:
    """A number that changes when another connection, of any process, has committed."""
    version: int = connection.execute(QUERIES["data_version"]).fetchone()[0]
    return version


def between(low: int, number: int, high: int) -> int:
    return max(low, min(number, high))
