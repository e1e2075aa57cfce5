"""Retiring: records leave history, with the index of events that belongs to them.

Rule 1: one transaction: a record and its index entries are there together or gone together.
Rule 2: a record that is gone already is nothing to do; one that is damaged is told, and nothing leaves.
Not here: which records may go, and where they are kept first (runtime/retention.py).
"""

import sqlite3
from collections.abc import Sequence

from notbefore.stores.sqlite.connection import transaction
from notbefore.stores.sqlite.named_sql import QUERIES
from notbefore.stores.sqlite.rows import stored_record
from notbefore.stores.sqlite.writing import statuses_left_by


def retire_alone(connection: sqlite3.Connection, revisions: Sequence[int]) -> None:
    with transaction(connection):
        for revision in revisions:
            retire_record(connection, revision)


def retire_record(connection: sqlite3.Connection, revision: int) -> None:
    row = connection.execute(QUERIES["record_at"], {"revision": revision}).fetchone()
    if row is None:
        return
    for event_id in statuses_left_by(stored_record(row).record):
        connection.execute(QUERIES["retire_record_event"], {"event_id": event_id, "revision": revision})
    connection.execute(QUERIES["retire_record"], {"revision": revision})
