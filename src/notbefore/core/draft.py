"""A scope while a decision is being made: the changes so far, and why each was made.

Rule 1: a draft lives inside one `decide` call and is seen by nobody else.
Rule 2: statuses move only through `move`, which asks the table and writes history in the same breath.
"""

from dataclasses import dataclass

from notbefore.core.domains import is_planned_platform
from notbefore.core.effects import Effect, PendingEffect, StartImpact
from notbefore.core.history import Change, Declaration, HistoryRecord
from notbefore.core.kinds import ENDED, Status
from notbefore.core.lifecycle import Happening, status_after
from notbefore.core.model import Actor, Event, Recovery, Scope, TakenRequest, Vm, name_key
from notbefore.core.requests import Request
from notbefore.core.times import SECOND_MS, Moment
from notbefore.core.values import replace
from notbefore.core.visibility import picture

REQUESTS_REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class Answer:
    """What the asker is told: the events it made or spoke of. `again`: this request had been taken before."""

    event_ids: tuple[str, ...] = ()
    again: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What to commit, what to do afterwards, what to answer. `record` is None when nothing needs explaining."""

    scope: Scope
    effects: tuple[Effect, ...]
    answer: Answer
    record: HistoryRecord | None


class Draft:
    def __init__(self, scope: Scope, request: Request, now: Moment) -> None:
        self.before = scope
        self.scope = scope
        self.request = request
        self.now = now
        self.changes: list[Change] = []
        self.effects: list[Effect] = []

    def move(self, event: Event, happening: Happening, why: str, by: Actor | None = None) -> Event:
        """Take one row of the table. An event that starts leaves its impacts behind; one that ends is gone."""
        moved = replace(event, status=status_after(event.status, happening, event.id))
        if moved.status is Status.STARTED:
            moved = self._started(moved)
        elif moved.status in ENDED:
            moved = replace(moved, ended_at_ms=self.now.wall_ms)
        self.tell(happening, why, by, event=moved)
        if moved.status in ENDED:
            self.scope = self.scope.without_event(moved.id)
            self._rest_after(moved)
        else:
            self.scope = self.scope.with_event(moved)
        return moved

    def _started(self, event: Event) -> Event:
        at_ms = self.now.wall_ms
        impacts = [StartImpact(event.id, vm, event.type, event.duration_s) for vm in event.vms]
        self.effects += impacts
        waiting = tuple(self._pending(impact) for impact in impacts)
        hit_ms = {**self.scope.hit_ms, **{name_key(vm): at_ms for vm in event.vms}}
        self.scope = replace(self.scope, pending=(*self.scope.pending, *waiting), hit_ms=hit_ms)
        seen_since = event.visible_since_ms if event.visible_since_ms is not None else at_ms
        return replace(event, started_at_ms=at_ms, visible_since_ms=seen_since)

    def _pending(self, impact: StartImpact) -> PendingEffect:
        """Claimed at once by the node whose turn this is, unless the VM has an earlier impact still to come."""
        node = self.request.node
        earlier = any(name_key(other.effect.vm) == name_key(impact.vm) for other in self.scope.pending)
        pending = PendingEffect(impact, since_ms=self.now.wall_ms)
        return replace(pending, attempt=1, claimed_by=node) if node and not earlier else pending

    def _rest_after(self, event: Event) -> None:
        """A domain that was really touched gets its rest before the next one's turn (SPEC §3.4).

        A rest that is owed already is not forgiven when the setting is lowered afterwards, nor when another event of
        the domain ends that asks for less.
        """
        rest_ms = max(self.scope.settings.recovery_s, event.recovery_s) * SECOND_MS
        owed = self.scope.recovery
        if event.started_at_ms is None or not is_planned_platform(event) or rest_ms == 0:
            return
        if owed and owed.update_domain == event.update_domain and still_owed_ms(owed, self.now) > rest_ms:
            return
        self.scope = replace(
            self.scope, recovery=Recovery(event.update_domain, self.now.promise(self.now.wall_ms + rest_ms))
        )

    def put(self, event: Event) -> None:
        """Change an event within its status."""
        self.scope = self.scope.with_event(event)

    def tell(
        self,
        what: str,
        why: str,
        by: Actor | None = None,
        *,
        event: Event | None = None,
        declaration: Declaration | None = None,
        vm: Vm | None = None,
    ) -> None:
        self.changes.append(Change(str(what), why, by or self.request.by, event, declaration, vm))

    def decision(self, answer: Answer, *, remember: bool = True) -> Decision:
        """Close the draft: count the incarnation, remember the request, write the record."""
        scope = self.scope
        if picture(scope) != picture(self.before):
            scope = replace(scope, incarnation=self.before.incarnation + 1)
        if remember and scope != self.before:
            taken = TakenRequest(self.request.request_id, answer.event_ids)
            scope = replace(scope, taken=(*scope.taken, taken)[-REQUESTS_REMEMBERED:])
        record = None
        if self.changes:
            record = HistoryRecord(
                scope=scope.name,
                at_ms=self.now.wall_ms,
                request_id=self.request.request_id,
                incarnation=scope.incarnation,
                changes=tuple(self.changes),
            )
        return Decision(scope, tuple(self.effects), answer, record)


def still_owed_ms(rest: Recovery, now: Moment) -> int:
    """By what has really elapsed, where that is known; never more than was promised, wherever the wall was set to."""
    promised_ms = rest.span.until_ms - rest.span.since.wall_ms
    elapsed_ms = now.elapsed_ms_since(rest.span.since)
    return min(rest.span.remaining_ms(now), promised_ms) if elapsed_ms is None else promised_ms - elapsed_ms
