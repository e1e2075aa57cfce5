"""Hearing: a VM that asks enables the service for its scope and keeps it enabled (SPEC §2.5).

Rule 1: the first *asked* of a scope is committed before its answer; so is one that enables it anew.
Of many VMs that ask first at once, one is committed, and the others are answered after it.
Rule 2: later ones are kept in memory and committed at most hourly, in the background; every other
commit of the scope takes them along.
Rule 3: so many scopes a second begin to save, and no more: a fleet that began to ask in the same minute would else be
saved in the same minute of every hour. Who is put off needs no queue: its VMs ask again.
"""

import logging
from zlib import crc32

from notbefore.core.errors import Refusal
from notbefore.core.listening import LISTENS_FOR_MS
from notbefore.core.model import Actor, ActorKind
from notbefore.core.requests import NoteAsked
from notbefore.core.times import HOUR_MS
from notbefore.ports import Clock, Ids, Tasks
from notbefore.runtime.asked import Asked
from notbefore.runtime.snapshot import Snapshot, View, VmRef
from notbefore.runtime.turn import Turns

SAVE_AGAIN_AFTER_S = 60.0
SAVES_PER_S = 40
LANES = 256

log = logging.getLogger("notbefore.hearing")


class Hearing:
    def __init__(self, turns: Turns, snapshot: Snapshot, asked: Asked, clock: Clock, tasks: Tasks, ids: Ids) -> None:
        self._turns = turns
        self._snapshot = snapshot
        self._asked = asked
        self.asked_of = asked.of_scope
        self._clock = clock
        self._tasks = tasks
        self._ids = ids
        self._saving: dict[str, float] = {}
        self._lanes = [tasks.lock() for _ in range(LANES)]
        self._second = 0
        self._saves_begun = 0

    def enables(self, view: View, now_ms: int) -> bool:
        """Whether a question now is the first in a day: it has to be committed before its answer."""
        return now_ms - view.newest_asked_ms > LISTENS_FOR_MS

    async def enable(self, ref: VmRef, view: View) -> None:
        async with self._lanes[crc32(ref.scope.encode()) % LANES]:
            now_ms = self._clock.now().wall_ms
            view = self._snapshot.view_by_key(ref.scope) or view
            if self.enables(view, now_ms):
                await self._turns.take(self._note(ref, view, {ref.vm: now_ms}))
            else:
                self.heard(ref, view, now_ms)

    def heard(self, ref: VmRef, view: View, now_ms: int) -> None:
        self._asked.note(ref.scope, ref.vm, now_ms)
        if now_ms - view.newest_asked_ms > HOUR_MS:
            self._save_soon(ref, view)

    def _save_soon(self, ref: VmRef, view: View) -> None:
        """In the background, once at a time and not all at once: who is put off asks again."""
        now_s = self._clock.steady_s()
        if now_s < self._saving.get(ref.scope, 0.0):
            return
        if self._second != int(now_s):
            self._second, self._saves_begun = int(now_s), 0
        if self._saves_begun < SAVES_PER_S:
            self._saves_begun += 1
            self._saving[ref.scope] = now_s + SAVE_AGAIN_AFTER_S
            self._tasks.spawn("save asked", self._save(ref, view))

    async def _save(self, ref: VmRef, view: View) -> None:
        try:
            await self._turns.take(self._note(ref, view, dict(self._asked.unsaved(ref.scope))))
        except Refusal as refusal:
            log.warning("could not note who asked, will try again: %s", refusal.message, extra={"scope": ref.scope})
        else:
            self._saving.pop(ref.scope, None)

    def _note(self, ref: VmRef, view: View, asked_ms: dict[str, int]) -> NoteAsked:
        vm = view.scope.vm(ref.vm)
        by = Actor(ActorKind.VM, vm.name if vm else ref.vm)
        return NoteAsked(scope=view.scope.name, request_id=self._ids(), by=by, asked_ms=asked_ms)
