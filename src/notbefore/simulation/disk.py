"""What the store holds: one value per scope, compared and set in one instant, and told to whoever follows.

Rule 1: a write is there whole or not at all, from the instant it is taken.
Rule 2: scopes pass through the stores' own encoding on their way in, so nothing lives on that could not be stored.
Not here: how a process reaches it, and what goes wrong on the way (connection.py).
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from notbefore.core.history import HistoryRecord
from notbefore.core.model import Scope, name_key
from notbefore.ports import Document, HistoryQuery, Stored, StoredRecord, VersionConflict
from notbefore.simulation.scheduler import Scheduler
from notbefore.simulation.steps import Committed, DocumentPut, HistoryRetired, Step
from notbefore.stores.codec import decode_record, decode_scope, encode_record, encode_scope


class Disk:
    def __init__(self, scheduler: Scheduler, tell: Callable[[Step], None]) -> None:
        self._scheduler = scheduler
        self._tell = tell
        self._revision = 0
        self._followers: list[Callable[[], None]] = []
        self.scopes: dict[str, Stored] = {}
        self.documents: dict[tuple[str, str], Document] = {}
        # Of each kind of document the newest revision.
        self._newest: dict[str, int] = {}
        self.records: list[StoredRecord] = []

    def follow(self, on_commit: Callable[[], None]) -> None:
        self._followers.append(on_commit)

    def unfollow(self, on_commit: Callable[[], None]) -> None:
        self._followers.remove(on_commit)

    def take(self, write: "Write") -> Stored:
        known = self.scopes.get(write.key)
        if (known.version if known else 0) != write.expected_version:
            raise VersionConflict
        self._revision += 1
        scope = decode_scope(write.body)
        record = decode_record(write.record) if write.record else None
        stored = self.scopes[write.key] = Stored(scope, write.expected_version + 1, self._revision)
        if record:
            self.records.append(StoredRecord(self._revision, record))
        self._tell(
            Committed(
                self._scheduler.now_us, write.process, write.asked_us, known.scope if known else None, scope, record
            )
        )
        self._notify()
        return stored

    def put(self, put: "Put") -> Document | None:
        known = self.documents.get((put.kind, put.key))
        if (known.version if known else 0) != put.expected_version:
            raise VersionConflict
        self._revision += 1
        record = decode_record(put.record) if put.record else None
        document = None
        if put.body is None:
            self.documents.pop((put.kind, put.key), None)
        else:
            document = Document(put.kind, put.key, self._revision, self._revision, put.body)
            self.documents[put.kind, put.key] = document
            self._newest[put.kind] = self._revision
        if record:
            self.records.append(StoredRecord(self._revision, record))
        self._tell(DocumentPut(self._scheduler.now_us, put.process, put.kind, put.key, put.body, record))
        self._notify()
        return document

    def retire(self, revisions: Sequence[int], process: str) -> None:
        going = set(revisions)
        gone = tuple(one for one in self.records if one.revision in going)
        self.records = [one for one in self.records if one.revision not in going]
        self._tell(HistoryRetired(self._scheduler.now_us, process, gone))

    def _notify(self) -> None:
        for on_commit in self._followers:
            on_commit()

    def changes_after(self, revision: int, limit: int) -> list[Stored]:
        newer = sorted((s.revision, key) for key, s in self.scopes.items() if s.revision > revision)
        return [self.scopes[key] for _, key in newer[:limit]]

    def documents_after(self, kind: str, revision: int) -> list[Document]:
        if self._newest.get(kind, 0) <= revision:
            return []
        kept = self.documents.items()
        found = sorted((key, one) for (of, key), one in kept if of == kind and one.revision > revision)
        return [document for _, document in found]

    def history(self, query: HistoryQuery) -> list[StoredRecord]:
        later = self.records[bisect_right(self.records, query.after, key=lambda one: one.revision) :]
        found = [one for one in later if is_between(one, query) and is_asked_for(one.record, query)]
        return found[-query.limit :] if query.newest else found[: query.limit]


def is_between(stored: StoredRecord, query: HistoryQuery) -> bool:
    before, since_ms, until_ms = query.before, query.since_ms, query.until_ms
    return (
        stored.revision > query.after
        and (before is None or stored.revision < before)
        and (since_ms is None or stored.record.at_ms >= since_ms)
        and (until_ms is None or stored.record.at_ms <= until_ms)
    )


def is_asked_for(record: HistoryRecord, query: HistoryQuery) -> bool:
    if query.scope is not None and name_key(record.scope) != name_key(query.scope):
        return False
    if query.scopes is not None and name_key(record.scope) not in map(name_key, query.scopes):
        return False
    events = [change.event for change in record.changes if change.event]
    of_event = query.event_id is None or any(event.id == query.event_id.upper() for event in events)
    of_status = not query.statuses or any(event.status in query.statuses for event in events)
    return of_event and of_status


class Write:
    """One compare-and-set on its way to the disk."""

    def __init__(
        self, scope: Scope, expected_version: int, record: HistoryRecord | None, process: str, asked_us: int
    ) -> None:
        self.key = scope.key
        self.expected_version = expected_version
        self.body = encode_scope(scope)
        self.record = encode_record(record) if record else b""
        self.process = process
        self.asked_us = asked_us
        if decode_scope(self.body) != scope:
            raise AssertionError(f"scope {scope.name} is not what its stored form says")


class Put:
    """One compare-and-set of a document on its way to the disk."""

    def __init__(
        self,
        kind: str,
        key: str,
        body: bytes | None,
        expected_version: int,
        record: HistoryRecord | None,
        process: str,
    ) -> None:
        self.kind = kind
        self.key = key
        self.body = body
        self.expected_version = expected_version
        self.record = encode_record(record) if record else b""
        self.process = process
