"""S7: an approval answered 200 is recorded and stays; and §2.4, §3.2: whose word it is, and that it is taken.

Rule 1: after a 200 every id names an event of the VM's own scope that has the VM's word, has Started, or is gone.
Rule 2: words are added to a Scheduled event, by VMs of its scope or operators, and never taken back.
Rule 3: what is released starts in that commit, unless a coupled Terminate holds it, or the gate of its wave: then that
it is released is noted in that commit.
Rule 4: a request with an id that was never the scope's, or with a bad body, is not answered 200.
Rule 5: a VM's word is its own: it sent a request that names the event, to a process that has not refused that request.
One that was answered 503, or whose process ended, may still be heard: its write was on the way.
"""

import json
from typing import ClassVar, NamedTuple

from notbefore.core.kinds import Status
from notbefore.core.model import ActorKind, Event, name_key
from notbefore.runtime.snapshot import VmRef
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Ledger, Move, vm_keys
from notbefore.simulation.laws.starts import holding_terminate, is_released
from notbefore.simulation.steps import Committed, Step, VmAnswered, VmAsked

OK = 200
BAD_REQUEST = 400
IDS_MAX = 100
# Answers that are no promise and leave nothing behind.
REFUSED = frozenset({400, 403, 404, 405, 413, 429})


class Post(NamedTuple):
    """A request to approve that reached a process."""

    vm: VmRef
    address: str
    process: str
    asked_us: int


class Approvals:
    code: ClassVar[str] = "S7"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        self._visible_us: dict[str, int] = {}
        # By event: who asked to start it and was not refused.
        self._posts: dict[str, set[Post]] = {}

    def see(self, step: Step, facts: Facts) -> None:
        if isinstance(step, Committed):
            self._judge_commit(step)
        elif isinstance(step, VmAsked) and step.head.method == "POST":
            post = Post(step.vm, step.address, step.process, step.at_us)
            for event_id in ids_asked_for(step.body) or ():
                self._posts.setdefault(event_id, set()).add(post)
        elif isinstance(step, VmAnswered) and step.head.method == "POST":
            self._hear_answer(step, facts)

    def _judge_commit(self, step: Committed) -> None:
        for move in self._ledger.read(step).moves:
            if move.becomes_visible or move.starts:
                self._visible_us.setdefault(move.id, step.at_us)
            if move.before and move.before.approvals != (move.after or move.before).approvals:
                self._judge_words(step, move, move.before, move.after or move.before)
            elif move.before is None and move.after and move.after.approvals:
                raise self._broken("it was approved before anybody could see it", step, move)
        for event in step.after.events:
            if event.approvals and event.status is Status.SCHEDULED:
                self._judge_waiting(step, event)

    def _hear_answer(self, step: VmAnswered, facts: Facts) -> None:
        is_certain = self._ledger.askers.is_certain(step, facts)
        if step.answer.status in REFUSED:
            self._judge_refusal(step, facts, is_certain=is_certain)
        if step.answer.status in {OK, BAD_REQUEST} and is_certain:
            self._judge_answer(step, facts)

    def _judge_refusal(self, step: VmAnswered, facts: Facts, *, is_certain: bool) -> None:
        stored = facts.scopes.get(step.vm.scope)
        for event_id in ids_asked_for(step.body) or ():
            self._posts.get(event_id, set()).discard(Post(step.vm, step.address, step.process, step.asked_us))
            event = stored.scope.event(event_id) if stored else None
            if event and is_certain and words_of(event, step.vm.vm) and not self._has_asked(step.vm, event_id):
                sentence = f"{step.vm.vm} got {step.answer.status}, and its word on {event_id} was taken"
                raise Violation("§2.4", sentence, step.vm.scope, event_id)

    def _has_asked(self, vm: VmRef, event_id: str) -> bool:
        """Whether a request of this VM explains its word; or one from an address that was once its own too."""
        ever_claimed = self._ledger.askers.ever_claimed
        return any(post.vm == vm or ever_claimed(post.address, vm) for post in self._posts.get(event_id, ()))

    def _judge_answer(self, step: VmAnswered, facts: Facts) -> None:
        ids = ids_asked_for(step.body)
        scope = facts.scopes[step.vm.scope].scope if step.vm.scope in facts.scopes else None
        if step.answer.status == BAD_REQUEST:
            live = [scope.event(event_id) for event_id in ids or ()] if scope else []
            if ids and live and all(event and self._was_visible(event, step.asked_us) for event in live):
                raise Violation("§2.4", f"{step.vm.vm} approved current events and got 400", step.vm.scope, ids[0])
            return
        if ids is None or scope is None:
            raise Violation("§2.4", f"{step.vm.vm} got 200 for the body {step.body[:80]!r}", step.vm.scope)
        for event_id in ids:
            if self._ledger.scope_of_event.get(event_id) != step.vm.scope:
                sentence = f"{step.vm.vm} got 200 for {event_id[:50]}, which its scope never had"
                raise Violation("§2.4", sentence, step.vm.scope, event_id[:50])
            event = scope.event(event_id)
            if event is not None and not has_word_of(event, step.vm.vm):
                sentence = f"{step.vm.vm} got 200 for {event_id}, which is {event.status} without its word"
                raise Violation(self.code, sentence, step.vm.scope, event_id)

    def _was_visible(self, event: Event, asked_us: int) -> bool:
        return not event.hidden and self._visible_us.get(event.id, asked_us) < asked_us

    def _judge_words(self, step: Committed, move: Move, before: Event, after: Event) -> None:
        if after.approvals[: len(before.approvals)] != before.approvals:
            raise self._broken("an approval was taken back", step, move)
        if before.status is not Status.SCHEDULED:
            raise self._broken(f"it was approved while {before.status}", step, move)
        vms = vm_keys(step.before) if step.before else set()
        for approval in after.approvals[len(before.approvals) :]:
            of_the_scope = approval.by.kind is ActorKind.VM and name_key(approval.by.name) in vms
            if not of_the_scope and approval.by.kind is not ActorKind.OPERATOR:
                raise self._broken(f"it was approved by {approval.by}, who has no word in its scope", step, move)
            if of_the_scope and not self._has_asked(VmRef(step.after.key, name_key(approval.by.name)), move.id):
                raise self._broken(f"it has the word of {approval.by}, who did not give it", step, move)

    def _judge_waiting(self, step: Committed, event: Event) -> None:
        if not is_released(step.after.settings, event) or holding_terminate(step.after, event):
            return
        if event.gate is None or event.gate.open:
            raise Violation("§3.2", f"{event.id}: released and not Started", step.after.key, event.id)
        if event.release is None:
            raise Violation("§3.4", f"{event.id}: approved, and not released", step.after.key, event.id)

    def _broken(self, sentence: str, step: Committed, move: Move) -> Violation:
        return Violation(self.code, f"{move.id}: {sentence}", step.after.key, move.id)


def ids_asked_for(body: bytes) -> tuple[str, ...] | None:
    """The EventIds of an approval in their own case, or None when the body is not what SPEC §2.4 asks for."""
    try:
        asked = json.loads(body)["StartRequests"]
        ids = [one["EventId"] for one in asked] if isinstance(asked, list) else []
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    good = 1 <= len(ids) <= IDS_MAX and all(isinstance(one, str) for one in ids)
    return tuple(one.upper() for one in ids) if good else None


def has_word_of(event: Event, vm: str) -> bool:
    if event.status is Status.STARTED and not event.hidden:
        return True
    return event.status is Status.SCHEDULED and words_of(event, vm)


def words_of(event: Event, vm: str) -> bool:
    return any(a.by.kind is ActorKind.VM and name_key(a.by.name) == vm for a in event.approvals)
