"""The clock's voice: gives each scope its Tick when something in it is due (SPEC §4, L1).

Rule 1: when is the core's to say (`next_due_ms`); the timer only wakes up and asks for a turn.
Rule 2: a stepped wall clock makes every earlier answer stale, so all scopes are asked anew.
"""

import logging

from notbefore.core.errors import Refusal, UnknownScope
from notbefore.core.model import Scope
from notbefore.core.requests import Tick
from notbefore.core.settle import next_due_ms
from notbefore.core.times import SECOND_MS, Moment
from notbefore.ports import Clock, Ids, Tasks
from notbefore.runtime.snapshot import Snapshot
from notbefore.runtime.turn import Turns
from notbefore.runtime.wheel import Wheel
from notbefore.runtime.witness import Witness

STEP_NOTICED_MS = 100

log = logging.getLogger("notbefore.timer")


class Timer:
    def __init__(
        self, turns: Turns, snapshot: Snapshot, witness: Witness, clock: Clock, tasks: Tasks, ids: Ids
    ) -> None:
        self._turns = turns
        self._snapshot = snapshot
        self._witness = witness
        self._clock = clock
        self._tasks = tasks
        self._ids = ids
        self._wheel = Wheel()
        self._bell = tasks.signal()
        self._wall_minus_boot_ms: int | None = None
        snapshot.subscribe(self.arm)

    def arm(self, scope: Scope) -> None:
        if self._wheel.set(scope.key, next_due_ms(scope, self._witness.now(scope))):
            self._bell.ring()

    async def run(self) -> None:
        while True:
            now = self._clock.now()
            self._notice_step(now)
            for key in self._wheel.pop_due(now.wall_ms):
                # Side by side: what is due in one second must not wait for the impacts that the first of it sets off.
                self._tasks.spawn(f"tick {key}", self._tick(key))
            await self._clock.wait(self._wheel.next_due_ms(), self._bell)

    async def _tick(self, key: str) -> None:
        view = self._snapshot.view(key)
        if view is None:
            return
        try:
            taken = await self._turns.take(Tick(scope=view.scope.name, request_id=self._ids()))
            self.arm(taken.scope)
        except UnknownScope:
            return
        except Refusal as refusal:
            log.warning("could not give the scope its turn, will try again: %s", refusal.message, extra={"scope": key})
            if self._wheel.set(key, self._clock.now().wall_ms + SECOND_MS):
                self._bell.ring()

    def _notice_step(self, now: Moment) -> None:
        difference_ms = now.wall_ms - now.boot_ms
        before, self._wall_minus_boot_ms = self._wall_minus_boot_ms, difference_ms
        if before is not None and abs(difference_ms - before) > STEP_NOTICED_MS:
            log.warning(
                "the wall clock was stepped: %+d ms; notice really elapsed is what counts", difference_ms - before
            )
            for scope in self._snapshot.scopes():
                self.arm(scope)
