"""Questions that are held until their answer would be news, or their time is up (SPEC §2.6).

Rule 1: looking and parking are one step, so no change falls between them; every change of a scope has its held
questions looked at again, in batches, so that nobody else waits for ten thousand of them.
Rule 2: whoever is answered is identified anew; the answer is made once per state, version and wait.
Rule 3: real time, never the domain's clock. Nobody is held early, nor much longer than a tick too long.
Rule 4: bounded: over `long_polls_max`, while stopping or aside, a question is answered as if it had not asked to wait.
Not here: sockets (protocol.py), loops: `soon` puts a call behind what is being done; `expire` is called every second,
and oftener while `end_within` says so.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from notbefore.core.model import Scope
from notbefore.metadata.answers import NOT_MODIFIED, HttpAnswer
from notbefore.metadata.counts import CHANGED, EXPIRED, LEFT, RELEASED
from notbefore.metadata.face import Service
from notbefore.metadata.identity import Peer
from notbefore.metadata.verdict import ReadDocument
from notbefore.runtime.snapshot import VmRef

BATCH = 256
SLOTS_PER_S = 10


@dataclass(frozen=True, slots=True, eq=False)
class Poll:
    """One held question: who asked for what from where, and who is to be told."""

    caller: VmRef
    peer: Peer
    vouched: bool
    wanted: ReadDocument
    tell: Callable[[HttpAnswer], None]


@dataclass(slots=True)
class Group:
    """The held questions of one scope, in the order they came, and the state they have all been looked at in."""

    seen: Scope
    due_slots: dict[Poll, int] = field(default_factory=dict)

    def is_news(self, scope: Scope) -> bool:
        before = self.seen
        return scope.removed or scope.incarnation != before.incarnation or scope.vms != before.vms


class Polls:
    def __init__(self, service: Service, soon: Callable[[Callable[[], None]], object]) -> None:
        self._service = service
        self._soon = soon
        self._groups: dict[str, Group] = {}
        self._slots: dict[int, dict[Poll, None]] = {}
        self.stopping = False
        self.aside = False
        service.follow_scopes(self._changed)

    def hold(self, poll: Poll, at_once: HttpAnswer) -> HttpAnswer | None:
        """The answer when there is nothing to wait for, or no room (then `at_once`); None when it will be told."""
        counts = self._service.counts
        if self.stopping or self.aside or counts.polls_held >= self._service.options.limits.long_polls_max:
            counts.polls_refused += 1
            return at_once
        answer = self._answer(poll)
        if answer.status != NOT_MODIFIED or not poll.wanted.wait_s:
            return answer
        self._park(poll, poll.wanted.wait_s)
        return None

    def leave(self, poll: Poll) -> None:
        """Its client is gone."""
        if self._forget(poll):
            self._service.counts.polls_ended[LEFT] += 1

    def release(self, poll: Poll) -> None:
        """It is answered now, before its time; so its preference was not applied."""
        self._end(poll, RELEASED, self._answer(poll, applied=False))

    def step_aside(self) -> None:
        """Hold nothing until `aside` is false again; what is held is let go."""
        self.aside = True
        for group in list(self._groups.values()):
            for poll in list(group.due_slots):
                self.release(poll)

    def end_within(self, seconds: float) -> bool:
        """Whether somebody's time is up by then."""
        return min(self._slots, default=math.inf) <= (self._service.now_s() + seconds) * SLOTS_PER_S

    def expire(self) -> None:
        now = self._service.now_s() * SLOTS_PER_S
        for slot in sorted(slot for slot in self._slots if slot <= now):
            for poll in list(self._slots.get(slot, ())):
                self._end(poll, EXPIRED, self._answer(poll))

    def _park(self, poll: Poll, wait_s: int) -> None:
        slot = math.ceil((self._service.now_s() + wait_s) * SLOTS_PER_S)
        group = self._groups.get(poll.caller.scope)
        if group is None:
            scope = self._service.scope_of(poll.caller)
            assert scope is not None, "it was answered a moment ago"
            group = self._groups[poll.caller.scope] = Group(scope)
        group.due_slots[poll] = slot
        self._slots.setdefault(slot, {})[poll] = None
        self._service.counts.polls_held += 1

    def _changed(self, scope: Scope) -> None:
        group = self._groups.get(scope.key)
        if group is not None and group.is_news(scope):
            group.seen = scope
            self._soon(partial(self._look_at, list(group.due_slots)))

    def _look_at(self, polls: Sequence[Poll]) -> None:
        """Some now, the others when everybody else has had a turn."""
        for poll in polls[:BATCH]:
            if self._is_held(poll):
                answer = self._answer(poll)
                if answer.status != NOT_MODIFIED:
                    self._end(poll, CHANGED, answer)
        if len(polls) > BATCH:
            self._soon(partial(self._look_at, polls[BATCH:]))

    def _answer(self, poll: Poll, *, applied: bool = True) -> HttpAnswer:
        return self._service.answer_held(poll.caller, poll.peer, poll.wanted, vouched=poll.vouched, applied=applied)

    def _end(self, poll: Poll, why: str, answer: HttpAnswer) -> None:
        if self._forget(poll):
            self._service.counts.polls_ended[why] += 1
            poll.tell(answer)

    def _is_held(self, poll: Poll) -> bool:
        group = self._groups.get(poll.caller.scope)
        return group is not None and poll in group.due_slots

    def _forget(self, poll: Poll) -> bool:
        """Whether it was held until now."""
        group = self._groups.get(poll.caller.scope)
        slot = group.due_slots.pop(poll, None) if group else None
        if group is None or slot is None:
            return False
        if not group.due_slots:
            del self._groups[poll.caller.scope]
        self._slots[slot].pop(poll)
        if not self._slots[slot]:
            del self._slots[slot]
        self._service.counts.polls_held -= 1
        return True
