"""A turn: load, decide, commit, show. Every change of every scope goes through here.

Rule 1: commit, then emit. The answer, the snapshot and the outbox see only what is committed.
Rule 2: a conflict, or a write of unknown outcome, means another turn with the same request id:
what was taken already is answered, not done again.
Rule 3: the first try builds on what this process knows, which mostly is the newest: the compare-and-set tells. What
that cannot settle, a refusal or a conflict, is for a try that loads: nobody is refused on old knowledge.
Rule 4: turns of one scope take place one after the other in this process; between processes the store decides.
"""

import logging
from dataclasses import dataclass, replace
from zlib import crc32

from notbefore.core.decide import decide
from notbefore.core.draft import Answer, Decision
from notbefore.core.errors import Refusal, StoreUnavailable
from notbefore.core.history import Change, HistoryRecord
from notbefore.core.model import Scope, name_key, with_asked
from notbefore.core.requests import NoteAsked, Request
from notbefore.ports import OutcomeUnknown, Store, Stored, Tasks, VersionConflict
from notbefore.runtime.asked import Asked
from notbefore.runtime.snapshot import Snapshot, View
from notbefore.runtime.witness import Witness

TRIES_MAX = 100
LANES = 256

log = logging.getLogger("notbefore.turn")


@dataclass(frozen=True, slots=True)
class Taken:
    """The answer, and the scope as it stands after the turn."""

    answer: Answer
    scope: Scope


class Turns:
    def __init__(
        self, node: str, store: Store, witness: Witness, tasks: Tasks, snapshot: Snapshot, asked: Asked
    ) -> None:
        self._node = node
        self._store = store
        self._witness = witness
        self._snapshot = snapshot
        self._asked = asked
        self._give_way = tasks.give_way
        self._lanes = [tasks.lock() for _ in range(LANES)]

    async def take(self, request: Request) -> Taken:
        self._give_way()
        request = replace(request, node=self._node)
        async with self._lanes[crc32(name_key(request.scope).encode()) % LANES]:
            if taken := await self._taken_on_known(request):
                return taken
            for _ in range(TRIES_MAX):
                try:
                    return await self._take_once(request)
                except (VersionConflict, OutcomeUnknown):
                    continue
        raise StoreUnavailable(
            f"Scope '{request.scope}' is being changed by too many at once.", "Try again.", {"tries": TRIES_MAX}
        )

    async def preview(self, request: Request) -> Decision:
        """What a turn would do, with nothing done."""
        stored = await self._store.load(name_key(request.scope))
        scope = self._known(stored, request)
        return decide(scope, request, self._witness.now(scope))

    async def _taken_on_known(self, request: Request) -> Taken | None:
        known = self._snapshot.known(name_key(request.scope))
        if known is None:
            return None
        scope = self._known(known, request)
        self._give_way()
        try:
            decision = decide(scope, request, self._witness.now(scope))
            return await self._committed(decision, known.version) if decision.scope != scope else None
        except (Refusal, VersionConflict, OutcomeUnknown):
            return None

    async def _take_once(self, request: Request) -> Taken:
        stored = await self._store.load(name_key(request.scope))
        scope = self._known(stored, request)
        decision = decide(scope, request, self._witness.now(scope))
        if stored is not None and decision.scope == scope:
            # Perhaps our own write of before, whose outcome was unknown: shown before it is answered.
            self._snapshot.apply(stored)
            return Taken(decision.answer, decision.scope)
        return await self._committed(decision, stored.version if stored else 0)

    async def _committed(self, decision: Decision, version: int) -> Taken:
        self._give_way()
        committed = await self._store.commit(decision.scope, version, decision.record)
        self._give_way()
        self._snapshot.apply(committed)
        self._give_way()
        if decision.record:
            narrate(decision.record)
        self._give_way()
        return Taken(decision.answer, committed.scope)

    def _known(self, stored: Stored | View | None, request: Request) -> Scope | None:
        """The stored scope, with what this process has heard from its VMs since, unless that is the request itself."""
        if stored is None or isinstance(request, NoteAsked):
            return stored.scope if stored else None
        return with_asked(stored.scope, self._asked.unsaved(stored.scope.key))


def narrate(record: HistoryRecord) -> None:
    """One readable line per decision, ids as fields."""
    for change in record.changes:
        log.info("%s: %s", what_of(change), change.why, extra=ids_of(record, change))


def what_of(change: Change) -> str:
    return change.what if change.event is None else f"event {change.what.partition(':')[0]}"


def ids_of(record: HistoryRecord, change: Change) -> dict[str, object]:
    ids: dict[str, object] = {"scope": record.scope}
    if event := change.event:
        ids |= {"event_id": event.id, "type": str(event.type), "vms": len(event.vms)}
    elif change.vm:
        ids["vm"] = change.vm.name
    return ids
