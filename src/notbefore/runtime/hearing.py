"""Hearing: a VM that asks enables the service for its scope and keeps it enabled (SPEC §2.5).

Rule 1: the first *asked* of a scope is committed before its answer; so is one that enables it anew.
Rule 2: later ones are kept in memory and committed at most hourly, in the background; every other
commit of the scope takes them along.
"""

import logging

from notbefore.core.errors import Refusal
from notbefore.core.listening import LISTENS_FOR_MS
from notbefore.core.model import Actor, ActorKind
from notbefore.core.requests import NoteAsked
from notbefore.core.times import HOUR_MS
from notbefore.ports import Clock, Ids, Tasks
from notbefore.runtime.asked import Asked
from notbefore.runtime.snapshot import View, VmRef
from notbefore.runtime.turn import Turns

SAVE_AGAIN_AFTER_S = 60.0

log = logging.getLogger("notbefore.hearing")


class Hearing:
    def __init__(self, turns: Turns, asked: Asked, clock: Clock, tasks: Tasks, ids: Ids) -> None:
        self._turns = turns
        self._asked = asked
        self._clock = clock
        self._tasks = tasks
        self._ids = ids
        self._saving: dict[str, float] = {}

    def enables(self, view: View, now_ms: int) -> bool:
        """Whether a question now is the first in a day: it has to be committed before its answer."""
        return now_ms - view.newest_asked_ms > LISTENS_FOR_MS

    async def enable(self, ref: VmRef, view: View) -> None:
        await self._turns.take(self._note(ref, view, {ref.vm: self._clock.now().wall_ms}))

    def heard(self, ref: VmRef, view: View, now_ms: int) -> None:
        self._asked.note(ref.scope, ref.vm, now_ms)
        if now_ms - view.newest_asked_ms > HOUR_MS and self._clock.steady_s() >= self._saving.get(ref.scope, 0.0):
            self._saving[ref.scope] = self._clock.steady_s() + SAVE_AGAIN_AFTER_S
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
