"""What the store holds: one value per scope, compared and set in one instant, and told to whoever follows.

Rule 1: a write is there whole or not at all, from the instant it is taken.
Rule 2: scopes pass through the stores' own encoding on their way in, so nothing lives on that could not be stored.
Not here: how a process reaches it, and what goes wrong on the way (connection.py).
"""

from collections.abc import Callable

from notbefore.core.history import HistoryRecord
from notbefore.core.model import Scope, name_key
from notbefore.ports import HistoryQuery, Stored, StoredRecord, VersionConflict
from notbefore.simulation.scheduler import Scheduler
from notbefore.simulation.steps import Committed, Step
from notbefore.stores.codec import decode_record, decode_scope, encode_record, encode_scope


class Disk:
    def __init__(self, scheduler: Scheduler, tell: Callable[[Step], None]) -> None:
        self._scheduler = scheduler
        self._tell = tell
        self._revision = 0
        self._followers: list[Callable[[], None]] = []
        self.scopes: dict[str, Stored] = {}
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
        for on_commit in self._followers:
            on_commit()
        return stored

    def changes_after(self, revision: int, limit: int) -> list[Stored]:
        newer = sorted((s.revision, key) for key, s in self.scopes.items() if s.revision > revision)
        return [self.scopes[key] for _, key in newer[:limit]]

    def history(self, query: HistoryQuery) -> list[StoredRecord]:
        found = [one for one in self.records if one.revision > query.after and is_asked_for(one.record, query)]
        return found[-query.limit :] if query.newest else found[: query.limit]


def is_asked_for(record: HistoryRecord, query: HistoryQuery) -> bool:
    if query.scope is not None and name_key(record.scope) != name_key(query.scope):
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
