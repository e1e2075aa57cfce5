"""Fleets in memory, on real decisions, and whoever drives operations and rollouts over them.

Rule 1: time goes from due time to due time; at each, everything that follows happens, in an order that dice decide.
Rule 2: whoever drives may look at a state that is not the newest, as another process would.
Rule 3: whoever watches looks after every single turn (fleet_laws.py).
"""

from collections.abc import Callable, Mapping
from random import Random
from uuid import UUID

from builders import EXECUTOR, NOON, OPERATOR, declare, request_id, tick

from notbefore.core.decide import decide
from notbefore.core.errors import Refusal
from notbefore.core.expected import Expected
from notbefore.core.fleet_seen import Fleet
from notbefore.core.history import Change
from notbefore.core.kinds import ENDED, EventType, Status
from notbefore.core.model import THE_SERVICE, Actor, ActorKind, Event, Scope, name_key
from notbefore.core.operation import Member, Operation, OperationStatus, Stage
from notbefore.core.operation_begin import begun
from notbefore.core.operation_steps import Sight, answered, cancelled, joining, look_again_ms, step, withdrawn
from notbefore.core.requests import (
    ApproveEvents,
    CancelEvent,
    ClaimEffect,
    ImpactFailed,
    ImpactFinished,
    LeaveWave,
    OpenGate,
    Request,
)
from notbefore.core.rollout import Rollout
from notbefore.core.rollout_steps import operation_of, roll, withdraws
from notbefore.core.settle import next_due_ms
from notbefore.core.times import Moment

TURNS_MAX = 40_000
NEVER = Random(0)


def scopes_of(declared: Mapping[str, list], **settings) -> dict[str, Scope]:
    """Scopes by key, each with its VMs and all with these settings."""
    made = {}
    for name, vms in declared.items():
        request = declare(*vms, **settings)
        scope = decide(None, type(request)(**{**fields_of(request), "scope": name}), NOON).scope
        made[scope.key] = scope
    return made


def fields_of(request: Request) -> dict:
    return {name: getattr(request, name) for name in request.__dataclass_fields__}


class DrivenFleet:
    def __init__(self, scopes: Mapping[str, Scope], dice: Random = NEVER, duration_s: float = 30) -> None:
        self.scopes = dict(scopes)
        self.at_ms = NOON.wall_ms
        self.operations: dict[str, Operation] = {}
        self.rollouts: dict[str, Rollout] = {}
        self.told: list[tuple[int, str, Change]] = []
        self.ended: dict[str, Event] = {}
        self.watchers: list[Callable[[DrivenFleet], None]] = []
        self.expected_s = dict.fromkeys(EventType, duration_s)
        # What people and troubles do: asked about each event that becomes visible, when after that; None is never.
        self.approved_after_ms: Callable[[Event], int | None] = lambda _: None
        self.cancelled_after_ms: Callable[[Event], int | None] = lambda _: None
        self.fails: Callable[[str], bool] = lambda _vm: False
        self.new_host: Callable[[str], str | None] = lambda _vm: None
        self.stale = 0.0
        self._dice = dice
        self._earlier = dict(scopes)
        self._agenda: list[tuple[int, Request]] = []
        self._look_again: dict[str, int | None] = {}
        self._turns = 0
        self._changes = 0

    @property
    def now(self) -> Moment:
        return Moment(self.at_ms, self.at_ms, "fleet")

    # -- What people ask for.

    def maintain(self, host: str, event_type: EventType = EventType.REBOOT, number: int = 1, **wishes) -> str:
        wished = Operation(str(UUID(int=number)), event_type, OPERATOR, self.at_ms, host=host, **wishes)
        self.operations[wished.id] = begun(wished, self.scopes).operation
        return wished.id

    def roll_out(self, rollout: Rollout) -> str:
        self.rollouts[rollout.id] = rollout
        return rollout.id

    def cancel(self, operation_id: str, why: str = "no longer wanted") -> None:
        stepped = cancelled(self.operations[operation_id], OPERATOR, why)
        self.operations[operation_id] = stepped.operation

    def take(self, request: Request) -> tuple[str, tuple[str, ...]]:
        """What the scope answers: its refusal, or the events."""
        self._turns += 1
        assert self._turns < TURNS_MAX, "it does not come to an end"
        key = name_key(request.scope)
        try:
            decision = decide(self.scopes.get(key), request, self.now)
        except Refusal as refusal:
            return refusal.message, ()
        if decision.scope != self.scopes[key]:
            self._changes += 1
            self._earlier[key] = self.scopes[key]
            self.scopes[key] = decision.scope
        for change in decision.record.changes if decision.record else ():
            self._note(key, change)
        for watch in self.watchers:
            watch(self)
        return "", decision.answer.event_ids

    def _note(self, key: str, change: Change) -> None:
        self.told.append((self.at_ms, key, change))
        event = change.event
        if event and event.status in ENDED:
            self.ended[event.id] = event
        if event and change.what == "scheduled":
            facts = {"scope": key, "request_id": request_id()}
            if (after_ms := self.approved_after_ms(event)) is not None:
                by = Actor(ActorKind.VM, event.vms[0])
                self._agenda.append((self.at_ms + after_ms, ApproveEvents(**facts, by=by, event_ids=(event.id,))))
            if (after_ms := self.cancelled_after_ms(event)) is not None:
                self._agenda.append((self.at_ms + after_ms, CancelEvent(**facts, by=OPERATOR, event_id=event.id)))

    # -- Time.

    def run(self, until_ms: int | None = None) -> "DrivenFleet":
        """To the end of everything, or to that time. Where nothing goes on before the end, it is stuck."""
        while True:
            self.settle()
            next_ms = self._next_ms()
            if until_ms is not None and (next_ms is None or next_ms > until_ms):
                self.at_ms = until_ms
                return self
            if next_ms is None:
                return self
            self.at_ms = next_ms

    def run_for(self, seconds: float) -> "DrivenFleet":
        return self.run(self.at_ms + round(seconds * 1000))

    def _next_ms(self) -> int | None:
        times = [at_ms for at_ms, _ in self._agenda] + [one for one in self._look_again.values() if one is not None]
        for scope in self.scopes.values():
            times += [pending.since_ms + self._lasts_ms(pending.effect) for pending in scope.pending]
            due_ms = next_due_ms(scope, self.now)
            times += [due_ms] if due_ms is not None else []
        return min((at_ms for at_ms in times if at_ms > self.at_ms), default=None)

    def _lasts_ms(self, impact) -> int:
        return round((impact.duration_s if impact.duration_s >= 0 else self.expected_s[impact.type]) * 1000)

    def settle(self) -> None:
        """Everything that happens at this time; whoever drives may come before what happens to scopes, or between."""
        for key in self._shuffled(self.scopes):
            self._drive_some()
            if next_due_ms(self.scopes[key], self.now) is not None:
                self.take(type(tick())(scope=key, request_id=request_id()))
        due = [request for at_ms, request in self._agenda if at_ms <= self.at_ms]
        self._agenda = [one for one in self._agenda if one[0] > self.at_ms]
        for request in due:
            self.take(request)
        self._carry_out()
        while any([self.drive(key) for key in self._shuffled([*self.operations, *self.rollouts])]):  # noqa: C419  all of them
            self._carry_out()

    def _drive_some(self) -> None:
        if self._dice is not NEVER:
            for key in self._shuffled([*self.operations, *self.rollouts])[: self._dice.randrange(3)]:
                self.drive(key)

    def _shuffled(self, some) -> list:
        names = sorted(some)
        if self._dice is not NEVER:
            self._dice.shuffle(names)
        return names

    def _carry_out(self) -> None:
        for key, scope in list(self.scopes.items()):
            for pending in scope.pending:
                if pending.since_ms + self._lasts_ms(pending.effect) <= self.at_ms:
                    self._finish(key, pending)

    def _finish(self, key: str, pending) -> None:
        impact = {"scope": key, "by": EXECUTOR, "event_id": pending.effect.event_id, "vm": pending.effect.vm}
        for attempt in range(1, 6 if self.fails(pending.effect.vm) else 2):
            self.take(ClaimEffect(**impact, request_id=request_id(), node="n", seen_attempt=attempt - 1))
            report = {**impact, "request_id": request_id(), "attempt": attempt}
            if self.fails(pending.effect.vm):
                self.take(ImpactFailed(**report, reason="told to fail"))
            else:
                moved = self.new_host(pending.effect.vm) if pending.effect.type is EventType.REDEPLOY else None
                self.take(ImpactFinished(**report, evidence="seen", new_host=moved))

    # -- Driving, as runtime/operations.py and runtime/rollouts.py do.

    def drive(self, key: str) -> bool:
        """Whether anything changed by it, which wakes whom it concerns."""
        before = self._changes
        if key in self.rollouts:
            return self._drive_rollout(key)
        moved = self._drive_operation(key, stale=True) if self._dice.random() < self.stale else False
        return self._drive_operation(key) or moved or self._changes != before

    def _drive_operation(self, key: str, *, stale: bool = False) -> bool:
        before = self.operations[key]
        if before.is_over:
            self._look_again[key] = None
            return False
        sight = self.sight(before, stale=stale)
        stepped = step(before, sight, self.now)
        self.told += [(self.at_ms, "", change) for change in stepped.changes]
        self.operations[key] = stepped.operation
        for member in stepped.operation.wave.members if stepped.operation.wave else ():
            self.operations[key] = self._said(self.operations[key], member)
        operation = self.operations[key]
        self._look_again[key] = None if operation.is_over else look_again_ms(operation, self.sight(operation), self.now)
        return operation != before

    def sight(self, operation: Operation, *, stale: bool = False) -> Sight:
        scopes = self._earlier if stale else self.scopes
        seen = {key: scopes[key] for key in operation.scopes() if key in scopes}
        events = {}
        for member in operation.wave.members if operation.wave else ():
            if event := self._event_of(operation, member, seen):
                events[member.event_id] = event
        return Sight(seen, events)

    def _event_of(self, operation: Operation, member: Member, seen: Mapping[str, Scope]) -> Event | None:
        key = name_key(member.scope)
        event = seen[key].event(member.event_id) if key in seen else None
        if event or (member.stage is Stage.ASKED and operation.status is OperationStatus.RUNNING):
            return event
        return self.scopes[key].event(member.event_id) or self.ended.get(member.event_id)

    def _said(self, operation: Operation, member: Member) -> Operation:
        facts = {"scope": member.scope, "request_id": request_id(), "by": THE_SERVICE, "event_id": member.event_id}
        if operation.status is OperationStatus.CANCELLING:
            if member.stage in (Stage.STARTED, Stage.OVER):
                return operation
            self.take(LeaveWave(**facts, joined_by=operation.join_id(member.event_id), why=operation.why))
            is_there = self.scopes[name_key(member.scope)].event(member.event_id) or member.event_id in self.ended
            return operation if is_there else withdrawn(operation, member.event_id)
        if member.stage is Stage.ASKED:
            assert operation.wave is not None
            refusal, made = self.take(joining(operation, operation.wave, member))
            if refusal:
                barring = LeaveWave(**facts, joined_by=operation.join_id(member.event_id), why=refusal, keeps=True)
                _, come = self.take(barring)
                refusal = "" if come else refusal
            elif not made:
                refusal = "it was taken back before it came"
            return answered(operation, member.event_id, refusal, self.now)
        if member.stage is Stage.RELEASED and operation.wave and operation.wave.gate_open:
            self.take(OpenGate(**facts))
        return operation

    def _drive_rollout(self, key: str) -> bool:
        before = self.rollouts[key]
        rolled = roll(before, self.fleet, self.now)
        self.told += [(self.at_ms, "", change) for change in rolled.changes]
        self.rollouts[key], self._look_again[key] = rolled.rollout, rolled.look_again_ms
        for target in rolled.rollout.in_hand:
            if target.wave and target.wave.operation not in self.operations:
                self.operations[target.wave.operation] = operation_of(rolled.rollout, target, target.wave).operation
            if target.wave and withdraws(rolled.rollout):
                self.cancel(target.wave.operation, rolled.rollout.why)
        return rolled.rollout != before

    @property
    def fleet(self) -> Fleet:
        return Fleet(self.scopes, self.operations, Expected(self.expected_s))

    # -- What can be seen of it afterwards.

    def events(self) -> list[tuple[str, Event]]:
        """Those that are shown now, each with its scope's key."""
        shown = (Status.SCHEDULED, Status.STARTED)
        return [(key, event) for key, scope in self.scopes.items() for event in scope.events_in(*shown)]

    def starts(self) -> list[tuple[int, str, Event]]:
        return [(at, key, change.event) for at, key, change in self.told if change.what.startswith("started")]

    def times_touched(self) -> dict[tuple[str, str], int]:
        counted = {(key, name_key(vm.name)): 0 for key, scope in self.scopes.items() for vm in scope.vms}
        for _, key, event in self.starts():
            for vm in event.vms:
                counted[key, name_key(vm)] += 1
        return counted
