"""The embedded store: one SQLite file on a local disk, for one or many processes of one machine.

Rule 1: a commit is on disk (WAL, fsync) before it is answered.
Rule 2: the event loop never waits for a disk: each connection has a thread of its own.
Rule 3: sqlite3's exceptions stay inside; refusals with a sentence and a hint come out.
Not here: bytes of scopes and records (../codec.py), caching (runtime/snapshot.py).
"""

from notbefore.stores.sqlite.failures import StoreCorrupt
from notbefore.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore", "StoreCorrupt"]
