"""Rollouts driven: what became of their waves goes in, the next waves' operations come out.

Rule 1: level, not edge, as operations.py: killing a server, or two driving at once, changes nothing in the result.
Rule 2: the rollout says in its own commit which operation a wave is; only then is the operation begun, under that id.
Not here: what follows (core/rollout_steps.py).
"""

from collections.abc import Callable
from functools import partial

from notbefore.core.errors import LimitReached, UnknownRollout, WrongStatus
from notbefore.core.expected import Expected
from notbefore.core.fleet_seen import Fleet
from notbefore.core.history import Change
from notbefore.core.model import THE_SERVICE, Actor, Scope
from notbefore.core.operation import Operation
from notbefore.core.rollout import Rollout
from notbefore.core.rollout_plan import Plan, plan_of
from notbefore.core.rollout_steps import Rolled, operation_of, paused, resumed, roll, stopped, withdraws
from notbefore.ports import Clock, Tasks
from notbefore.runtime.book import Book, Turned
from notbefore.runtime.driver import Driver
from notbefore.runtime.operations import Operations
from notbefore.runtime.snapshot import Snapshot
from notbefore.runtime.witness import Witness

KIND = "rollout"
ROLLOUTS_MAX = 50


class Rollouts:
    def __init__(
        self,
        book: Book[Rollout],
        operations: Operations,
        snapshot: Snapshot,
        witness: Witness,
        clock: Clock,
        tasks: Tasks,
    ) -> None:
        self.book = book
        self._operations = operations
        self._snapshot = snapshot
        self._witness = witness
        # How long impacts usually take, as far as somebody knows.
        self.expected = Expected()
        self._driver = Driver(KIND, self._drive_once, clock, tasks)
        book.subscribe(self._changed)
        operations.book.subscribe(self._operation_changed)
        operations.is_needed = self._is_needed
        snapshot.subscribe(self._scope_changed)

    # -- Asked for by operators.

    async def begin(self, rollout: Rollout, by: Actor) -> Rollout:
        if len(self.book.live()) >= ROLLOUTS_MAX:
            raise LimitReached(
                f"{ROLLOUTS_MAX} rollouts are under way, and no more may be.",
                "Wait for one to end, or cancel one.",
                {"limit": ROLLOUTS_MAX},
            )
        why = f"{rollout.type} of {rollout.targets} {rollout.over} asked for by {by}"
        return await self.book.add(rollout, (Change("rollout begun", why, by, rollout=rollout.id),))

    async def pause(self, rollout_id: str, by: Actor) -> Rollout:
        return await self._word(rollout_id, lambda one: paused(one, by), "paused")

    async def resume(self, rollout_id: str, by: Actor) -> Rollout:
        return await self._word(rollout_id, lambda one: resumed(one, self.fleet(one), by), "resumed")

    async def cancel(self, rollout_id: str, by: Actor) -> Rollout:
        return await self._word(rollout_id, lambda one: stopped(one, by), "cancelled")

    async def _word(self, rollout_id: str, change: Callable[[Rollout], Rolled], word: str) -> Rollout:
        said: Rollout | None = None

        def say(there: Rollout | None) -> Turned[Rollout]:
            nonlocal said
            if there is None:
                raise UnknownRollout(rollout_id)
            if there == said:
                # A write of unknown outcome is there after all: it was said already.
                return Turned(there)
            rolled = change(there)
            said = rolled.rollout
            if not rolled.changes:
                raise WrongStatus(rollout_id, there.status, word, KIND)
            return Turned(rolled.rollout, rolled.changes)

        found = await self.book.turn(rollout_id, say)
        assert found is not None
        return found

    def plan(self, rollout: Rollout) -> Plan:
        """From here to its end, when nobody approves and nothing fails."""
        return self.planning(rollout)()

    def planning(self, rollout: Rollout) -> Callable[[], Plan]:
        """The same, to be done beside the event loop: the fleet is copied now, and looked at no more."""
        seen, now = self.fleet(rollout), self._witness.now_everywhere()
        return partial(plan_of, rollout, dict(seen.scopes), seen.operations, seen.expected, now)

    # -- Driving.

    async def run(self) -> None:
        await self._driver.run()

    def _changed(self, rollout: Rollout) -> None:
        if rollout.is_over:
            self._driver.look_again(rollout.id, None)
        else:
            self._driver.soon(rollout.id)

    def _operation_changed(self, operation: Operation) -> None:
        if operation.rollout and (rollout := self.book.get(operation.rollout)):
            self._changed(rollout)

    def _scope_changed(self, _scope: Scope) -> None:
        """Somebody's turn may be over: whoever waits looks again."""
        for rollout in self.book.live():
            self._changed(rollout)

    def _is_needed(self, operation: Operation) -> bool:
        rollout = self.book.get(operation.rollout) if operation.rollout else None
        waves = [target.wave for target in rollout.in_hand] if rollout else []
        return any(wave and wave.operation == operation.id for wave in waves)

    async def _drive_once(self, key: str) -> None:
        again_ms: int | None = None

        def go_on(there: Rollout | None) -> Turned[Rollout] | None:
            nonlocal again_ms
            if there is None or there.is_over:
                return None
            rolled = roll(there, self.fleet(there), self._witness.now_everywhere())
            again_ms = rolled.look_again_ms
            return Turned(rolled.rollout, rolled.changes)

        rollout = await self.book.turn(key, go_on)
        if rollout is None or rollout.is_over:
            await self.book.clear_out()
            return
        for target in rollout.in_hand:
            if target.wave and self._operations.book.get(target.wave.operation) is None:
                await self._operations.begin(operation_of(rollout, target, target.wave))
            if target.wave and withdraws(rollout):
                why = f"withdrawn with rollout {rollout.id}: {rollout.why}"
                await self._operations.cancel(target.wave.operation, rollout.stopped_by or THE_SERVICE, why)
        self._driver.look_again(key, again_ms)

    def fleet(self, rollout: Rollout) -> Fleet:
        """What is seen by this rollout."""
        waves = [target.wave for target in rollout.in_hand if target.wave]
        found = [self._operations.book.get(wave.operation) for wave in waves]
        under_way = {one.id: one for one in found if one}
        return Fleet(self._snapshot.by_key, under_way, self.expected, self._snapshot.scopes_on)
