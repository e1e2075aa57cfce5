"""A fleet in the mind: what would be, from one due time to the next, when nobody approves anything.

Rule 1: it is the same code that decides: scopes and operations are copies, turned by hand. So what is imagined is what
will happen, as long as nothing else does.
Rule 2: impacts take as long as they are expected to, and none fails. A scope that listens now is taken to go on
listening, and one that does not, not.
Called by: rollout_plan.py.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from notbefore.core.decide import decide
from notbefore.core.errors import Refusal
from notbefore.core.expected import Expected
from notbefore.core.kinds import Listening, Source, Status
from notbefore.core.listening import listens
from notbefore.core.model import THE_SERVICE, Actor, ActorKind, Event, Scope, name_key
from notbefore.core.operation import Member, Operation, Stage, Wave
from notbefore.core.operation_steps import Sight, answered, joining, look_again_ms, step
from notbefore.core.requests import CompleteEvent, OpenGate, Request, Tick
from notbefore.core.settle import next_due_ms
from notbefore.core.times import SECOND_MS, Moment
from notbefore.core.values import replace

BOOT = "imagined"
NO_ID = "00000000-0000-0000-0000-000000000000"
EXECUTOR = Actor(ActorKind.OPERATOR, "the plan")


@dataclass(frozen=True, slots=True)
class EndedWave:
    """A wave of an operation that is over: when it was announced and ended, and what it held."""

    operation: str
    wave: Wave
    ends_ms: int
    members: tuple[Member, ...]

    @property
    def starts_ms(self) -> int:
        """The last of the starts."""
        starts = (one.started_at_ms for one in self.members)
        return max((at_ms for at_ms in starts if at_ms is not None), default=self.wave.formed_at_ms)


class Imagined:
    def __init__(
        self,
        scopes: Mapping[str, Scope],
        operations: Iterable[Operation],
        expected: Expected,
        at_ms: int,
    ) -> None:
        self.at_ms = at_ms
        self.expected = expected
        self.scopes = {key: as_it_listens(scope, self.now) for key, scope in scopes.items()}
        self.operations = {one.id: one for one in operations}
        self.ended: list[EndedWave] = []
        # How often VMs came, left or moved: who keeps lists of them looks again then.
        self.moves = 0
        self._busy = {key for key, scope in self.scopes.items() if scope.events}

    @property
    def now(self) -> Moment:
        return Moment(self.at_ms, self.at_ms, BOOT)

    def next_ms(self, *others: int | None) -> int | None:
        """When something happens next."""
        times = [*others, *map(self._next_of, self._busy), *map(self._look_again, self._live())]
        return min((at_ms for at_ms in times if at_ms is not None and at_ms > self.at_ms), default=None)

    def _live(self) -> list[Operation]:
        return [operation for operation in self.operations.values() if not operation.is_over]

    def _look_again(self, operation: Operation) -> int | None:
        return look_again_ms(operation, Sight(self.scopes, {}), self.now)

    def _next_of(self, key: str) -> int | None:
        scope = self.scopes[key]
        ends = [self._ends_ms(event) for event in scope.events_in(Status.STARTED)]
        due_ms = next_due_ms(scope, self.now)
        return min([*ends, *([due_ms] if due_ms is not None else [])], default=None)

    def _ends_ms(self, event: Event) -> int:
        seconds = self.expected.started_s(event.type, event.duration_s)
        return (event.started_at_ms or self.at_ms) + round(seconds * SECOND_MS)

    def settle_scopes(self) -> None:
        """What happens in scopes at this time by itself."""
        for key in sorted(self._busy):
            self._turn(key, Tick(scope=key, request_id=NO_ID))
            for event in self.scopes[key].events_in(Status.STARTED):
                if self._ends_ms(event) <= self.at_ms:
                    over = CompleteEvent(scope=key, request_id=event.id, by=EXECUTOR, event_id=event.id)
                    self._turn(key, over)

    def _turn(self, key: str, request: Request) -> str:
        """The refusal, if there is one."""
        try:
            scope = decide(self.scopes[key], request, self.now).scope
        except Refusal as refusal:
            return refusal.message
        self.moves += scope.vms is not self.scopes[key].vms
        # Neither answers nor effects are wanted of an imagined scope.
        self.scopes[key] = replace(scope, pending=(), taken=())
        (self._busy.add if scope.events else self._busy.discard)(key)
        return ""

    def drive_operations(self) -> bool:
        """One step of each; whether any moved."""
        moved = [self._drive(operation) for operation in self._live()]
        return any(moved)

    def _drive(self, before: Operation) -> bool:
        wave = before.wave
        events = {one.event_id: self._event(before, one) for one in wave.members} if wave else {}
        sight = Sight(self.scopes, {key: event for key, event in events.items() if event})
        operation = step(before, sight, self.now).operation
        if wave and len(operation.done) > len(before.done):
            self.ended.append(EndedWave(before.id, wave, self.at_ms, operation.done[len(before.done) :]))
        for member in operation.wave.members if operation.wave else ():
            operation = self._said(operation, member)
        self.operations[operation.id] = operation
        return operation != before

    def _said(self, operation: Operation, member: Member) -> Operation:
        assert operation.wave is not None
        key = name_key(member.scope)
        if member.stage is Stage.ASKED:
            refusal = self._turn(key, joining(operation, operation.wave, member))
            return answered(operation, member.event_id, refusal, self.now)
        if member.stage is Stage.RELEASED and operation.wave.gate_open:
            opening = OpenGate(
                scope=key, request_id=f"open {member.event_id}", by=THE_SERVICE, event_id=member.event_id
            )
            self._turn(key, opening)
        return operation

    def _event(self, operation: Operation, member: Member) -> Event | None:
        """One that is no longer there has ended: here nothing is cancelled and nothing fails."""
        scope = self.scopes.get(name_key(member.scope))
        there = scope.event(member.event_id) if scope else None
        if there or member.stage is Stage.ASKED:
            return there
        began_ms = member.started_at_ms or self.at_ms
        ended = Event(member.event_id, operation.type, Source.PLATFORM, member.vms, began_ms, THE_SERVICE)
        return replace(ended, status=Status.COMPLETED, started_at_ms=began_ms)


def as_it_listens(scope: Scope, now: Moment) -> Scope:
    listening = Listening.ALWAYS if listens(scope, now) else Listening.NEVER
    return replace(scope, settings=replace(scope.settings, listening=listening), pending=(), taken=())
