"""Operations driven: what is seen of their scopes goes in, what they want of them is said.

Rule 1: level, not edge: whatever woke it, a drive looks at how things are and goes as far as it can. So it does not
matter which process drives, how often, or where the one before was killed.
Rule 2: an event that a scope no longer has is over only when the store and history say so; this process may be behind.
Not here: what follows (core/operation_steps.py), what a scope makes of it (core/waves.py).
"""

from collections.abc import Callable
from functools import partial

from notbefore.core.errors import LimitReached, Refusal, StoreUnavailable, UnknownOperation, UnknownScope
from notbefore.core.expected import Expected
from notbefore.core.kinds import ENDED
from notbefore.core.model import THE_SERVICE, Actor, Event, Scope, name_key
from notbefore.core.operation import Member, Operation, OperationStatus, Stage
from notbefore.core.operation_steps import Sight, Stepped, answered, cancelled, joining, look_again_ms, step, withdrawn
from notbefore.core.requests import LeaveWave, OpenGate, Request
from notbefore.core.rollout_plan import Plan, plan_of_operation
from notbefore.ports import Clock, HistoryQuery, Store, Tasks
from notbefore.runtime.book import Book, Turned
from notbefore.runtime.driver import Driver
from notbefore.runtime.snapshot import Snapshot
from notbefore.runtime.turn import Turns
from notbefore.runtime.witness import Witness

KIND = "operation"
OPERATIONS_MAX = 1000


class Operations:
    def __init__(
        self,
        book: Book[Operation],
        turns: Turns,
        snapshot: Snapshot,
        witness: Witness,
        store: Store,
        clock: Clock,
        tasks: Tasks,
    ) -> None:
        self.book = book
        self._turns = turns
        self._snapshot = snapshot
        self._store = store
        self._witness = witness
        self._driver = Driver(KIND, self._drive_once, clock, tasks)
        self._of_scope: dict[str, set[str]] = {}
        self._scopes_of: dict[str, set[str]] = {}
        # Who still has to learn how an operation ended: a rollout.
        self.is_needed: Callable[[Operation], bool] = lambda _: False
        book.subscribe(self._concern)
        snapshot.subscribe(self._scope_changed)

    # -- Asked for by operators and rollouts.

    async def begin(self, begun: Stepped) -> Operation:
        operation = begun.operation
        if len(self.book.live()) >= OPERATIONS_MAX and self.book.get(operation.id) is None:
            raise LimitReached(
                f"{OPERATIONS_MAX} operations are under way, and no more may be.",
                "Wait for one to end, or cancel one.",
                {"limit": OPERATIONS_MAX},
            )
        return await self.book.add(operation, begun.changes)

    async def cancel(self, operation_id: str, by: Actor, why: str) -> Operation:
        def change(there: Operation | None) -> Turned[Operation]:
            if there is None:
                raise UnknownOperation(operation_id)
            return turned(cancelled(there, by, why))

        found = await self.book.turn(operation_id, change)
        assert found is not None
        return found

    def planning(self, operation: Operation, expected: Expected) -> Callable[[], Plan]:
        """What will come of it when nobody approves; its scopes are copied now, so that it can be done aside."""
        seen, now = self._snapshot.by_key, self._witness.now_everywhere()
        scopes = {key: seen[key] for key in sorted(operation.scopes()) if key in seen}
        return partial(plan_of_operation, operation, scopes, expected, now)

    # -- Driving.

    async def run(self) -> None:
        await self._driver.run()

    def _concern(self, operation: Operation) -> None:
        """An operation is new or changed: know whose changes concern it, and see to it."""
        for key in self._scopes_of.pop(operation.id, ()):
            self._of_scope[key].discard(operation.id)
        if operation.is_over:
            self._driver.look_again(operation.id, None)
            return
        self._scopes_of[operation.id] = operation.scopes()
        for key in self._scopes_of[operation.id]:
            self._of_scope.setdefault(key, set()).add(operation.id)
        self._driver.soon(operation.id)

    def _scope_changed(self, scope: Scope) -> None:
        for key in sorted(self._of_scope.get(scope.key, ())):
            self._driver.soon(key)

    async def _drive_once(self, key: str) -> None:
        there = self.book.get(key)
        if there is None or there.is_over:
            return
        sight = await self._sight(there)
        operation = await self._turn(key, lambda one: step(one, sight, self._witness.now_everywhere()))
        if operation.is_over:
            await self.book.clear_out(self.is_needed)
            return
        for member in operation.wave.members if operation.wave else ():
            await self._say(operation, member)
        self._driver.look_again(key, look_again_ms(operation, sight, self._witness.now_everywhere()))

    async def _turn(self, key: str, change: Callable[[Operation], Stepped]) -> Operation:
        """One that is over, or gone, stays as it is."""
        found = await self.book.turn(key, lambda one: None if one is None or one.is_over else turned(change(one)))
        if found is None:
            raise UnknownOperation(key)
        return found

    # -- What is seen.

    async def _sight(self, operation: Operation) -> Sight:
        seen = self._snapshot.by_key
        scopes = {key: seen[key] for key in operation.scopes() if key in seen}
        events: dict[str, Event] = {}
        for member in operation.wave.members if operation.wave else ():
            if member.stage is not Stage.OVER and (event := await self._event_of(operation, member, scopes)):
                events[member.event_id] = event
        return Sight(scopes, events)

    async def _event_of(self, operation: Operation, member: Member, scopes: dict[str, Scope]) -> Event | None:
        key = name_key(member.scope)
        seen = scopes[key].event(member.event_id) if key in scopes else None
        if seen or (member.stage is Stage.ASKED and operation.status is OperationStatus.RUNNING):
            return seen
        stored = await self._store.load(key)
        if stored and (event := stored.scope.event(member.event_id)):
            return event
        return await self._ended_event(member.event_id)

    async def _ended_event(self, event_id: str) -> Event | None:
        query = HistoryQuery(event_id=event_id, statuses=ENDED, newest=True, limit=1)
        for stored in await self._store.history(query):
            for change in stored.record.changes:
                if change.event and change.event.id == event_id and change.event.status in ENDED:
                    return change.event
        return None

    # -- What is said.

    async def _say(self, operation: Operation, member: Member) -> None:
        if operation.status is OperationStatus.CANCELLING:
            if member.stage not in (Stage.STARTED, Stage.OVER):
                await self._take_back(operation, member)
        elif member.stage is Stage.ASKED:
            await self._ask(operation, member)
        elif member.stage is Stage.RELEASED and operation.wave and operation.wave.gate_open:
            opening = OpenGate(
                scope=member.scope,
                request_id=self._request_id(operation, "open", member),
                by=THE_SERVICE,
                event_id=member.event_id,
            )
            await self._told(opening)

    async def _ask(self, operation: Operation, member: Member) -> None:
        wave = operation.wave
        assert wave is not None
        try:
            taken = await self._turns.take(joining(operation, wave, member))
        except StoreUnavailable:
            raise
        except Refusal as refused:
            # A refusal is of what this process saw: it holds once the event can no longer come by another's word.
            has_come = await self._told(self._leaving(operation, member, refused.message, keeps=True))
            refusal = "" if has_come else refused.message
        else:
            # Taken back before it came: `again`, and without an event.
            refusal = "" if taken.answer.event_ids else "it was taken back before it came"
        now = self._witness.now_everywhere()
        await self._turn(operation.id, lambda one: Stepped(answered(one, member.event_id, refusal, now), ()))

    async def _take_back(self, operation: Operation, member: Member) -> None:
        await self._told(self._leaving(operation, member, operation.why))
        if member.stage is Stage.ASKED and await self._event_of(operation, member, {}) is None:
            await self._turn(operation.id, lambda one: Stepped(withdrawn(one, member.event_id), ()))

    def _leaving(self, operation: Operation, member: Member, why: str, *, keeps: bool = False) -> LeaveWave:
        return LeaveWave(
            scope=member.scope,
            request_id=self._request_id(operation, "bar" if keeps else "leave", member),
            by=operation.cancelled_by or THE_SERVICE,
            event_id=member.event_id,
            joined_by=operation.join_id(member.event_id),
            why=why,
            keeps=keeps,
        )

    async def _told(self, request: Request) -> bool:
        """Whether the event has come; a scope that is gone has none left to speak of."""
        try:
            return bool((await self._turns.take(request)).answer.event_ids)
        except UnknownScope:
            return False

    def _request_id(self, operation: Operation, what: str, member: Member) -> str:
        return operation.join_id(f"{what} {member.event_id}")


def turned(stepped: Stepped) -> Turned[Operation]:
    return Turned(stepped.operation, stepped.changes)
