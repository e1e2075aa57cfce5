"""The outbox: carries committed effects to the executors, and their outcome back as requests.

Rule 1: at least once: an effect leaves the scope only with an outcome. At most once per attempt id: an
attempt is claimed by a commit before it is carried out (S6).
Rule 2: per VM in order: the second impact on a VM waits for the first one's outcome.
Rule 3: another node's claim is left alone while that node lives. Its own, made with the start, it carries out when it
first sees it; one that it did not begin then is claimed anew, for others may have changed the scope since.
"""

import logging

from notbefore.core.effects import PendingEffect
from notbefore.core.errors import Refusal, StaleAttempt
from notbefore.core.model import Actor, ActorKind, Scope, Vm, name_key
from notbefore.core.requests import ClaimEffect, ImpactFailed, ImpactFinished, Request
from notbefore.ports import Clock, Executor, Ids, Impact, ImpactFailure, Store, Tasks
from notbefore.runtime.snapshot import Snapshot
from notbefore.runtime.turn import Turns
from notbefore.runtime.wheel import Wheel

IN_HAND_MAX = 10_000
RETRY_STORE_S = 1.0
LOOK_FOR_ORPHANS_S = 2.0

log = logging.getLogger("notbefore.outbox")


class Outbox:
    def __init__(
        self,
        node: str,
        turns: Turns,
        snapshot: Snapshot,
        store: Store,
        executor: Executor,
        clock: Clock,
        tasks: Tasks,
        ids: Ids,
    ) -> None:
        self._node = node
        self._turns = turns
        self._snapshot = snapshot
        self._store = store
        self._executor = executor
        self._clock = clock
        self._tasks = tasks
        self._ids = ids
        self._by = Actor(ActorKind.EXECUTOR, executor.name)
        self._wheel = Wheel()
        self._bell = tasks.signal()
        self._in_hand: set[tuple[str, str]] = set()
        # Per scope: the attempts of this node that were seen in it.
        self._seen: dict[str, set[str]] = {}
        self._is_running = False
        self._foreign: set[str] = set()
        self._looks_for_orphans = False
        self._left_over: list[str] = []
        snapshot.subscribe(self.offer)

    def in_hand(self) -> int:
        """Impacts this node is carrying out or reporting."""
        return len(self._in_hand)

    def offer(self, scope: Scope) -> None:
        """Look at a scope's effects: deliver what can go now, come back for what must wait."""
        self._foreign.discard(scope.key)
        fresh = self._first_seen(scope)
        waits_until: list[int] = []
        vms_busy: set[str] = set()
        for pending in scope.pending:
            vm_key = name_key(pending.effect.vm)
            if vm_key in vms_busy:
                continue
            vms_busy.add(vm_key)
            if pending.retry_at_ms is not None and pending.retry_at_ms > self._clock.now().wall_ms:
                waits_until.append(pending.retry_at_ms)
            else:
                self._deliver_once(scope, pending, is_fresh=pending.attempt_id in fresh)
        if self._wheel.set(scope.key, min(waits_until, default=None)):
            self._bell.ring()

    async def run(self) -> None:
        self._is_running = True
        while True:
            for key in self._wheel.pop_due(self._clock.now().wall_ms):
                self._offer_again(key)
            await self._clock.wait(self._wheel.next_due_ms(), self._bell)

    async def _look_for_orphans(self) -> None:
        """A node that died leaves its claims behind, and nobody rings a bell for that: look while others have any."""
        while self._foreign:
            await self._clock.rest(LOOK_FOR_ORPHANS_S)
            for key in sorted(self._foreign):
                self._offer_again(key)
        self._looks_for_orphans = False

    def _leave_to_its_node(self, key: str) -> None:
        self._foreign.add(key)
        if not self._looks_for_orphans:
            self._looks_for_orphans = True
            self._tasks.spawn_aside("look for orphans", self._look_for_orphans())

    def _first_seen(self, scope: Scope) -> set[str]:
        """Attempts of this node that were not there when it last looked at the scope; what is gone never comes back.

        What is there at the start is none: a node of the same name may have begun it before.
        """
        own = {pending.attempt_id for pending in scope.pending if pending.claimed_by == self._node}
        known = self._seen.pop(scope.key, set())
        if own:
            self._seen[scope.key] = own
        return own - known if self._is_running else set()

    def _deliver_once(self, scope: Scope, pending: PendingEffect, *, is_fresh: bool) -> None:
        in_hand = (scope.key, pending.key)
        if in_hand in self._in_hand:
            return
        if len(self._in_hand) >= IN_HAND_MAX:
            self._left_over.append(scope.key)
            return
        if pending.claimed_by not in ("", self._node) and self._store.is_alive(pending.claimed_by):
            self._leave_to_its_node(scope.key)
            return
        self._in_hand.add(in_hand)
        self._tasks.spawn(f"impact {pending.key}", self._deliver(scope, pending, is_claimed=is_fresh))

    async def _deliver(self, scope: Scope, pending: PendingEffect, *, is_claimed: bool) -> None:
        try:
            claimed = (scope, pending) if is_claimed else await self._claim(scope, pending)
            await self._report(await self._carried_out(*claimed))
        except StaleAttempt as stale:
            log.info("left to whoever has the current attempt: %s", stale.message)
        except Refusal as refusal:
            log.warning("could not claim an impact, will try again: %s", refusal.message, extra={"scope": scope.name})
            await self._clock.rest(RETRY_STORE_S)
        self._in_hand.discard((scope.key, pending.key))
        self._offer_again(scope.key)
        if self._left_over:
            self._offer_again(self._left_over.pop())

    async def _claim(self, scope: Scope, pending: PendingEffect) -> tuple[Scope, PendingEffect]:
        claim = ClaimEffect(
            scope=scope.name,
            request_id=self._ids(),
            by=self._by,
            event_id=pending.effect.event_id,
            vm=pending.effect.vm,
            seen_attempt=pending.attempt,
        )
        taken = await self._turns.take(claim)
        return taken.scope, next(one for one in taken.scope.pending if one.key == pending.key)

    def _offer_again(self, key: str) -> None:
        if view := self._snapshot.view(key):
            self.offer(view.scope)

    async def _carried_out(self, scope: Scope, claimed: PendingEffect) -> Request:
        effect = claimed.effect
        impact = Impact(
            attempt_id=claimed.attempt_id,
            scope=scope.name,
            event_id=effect.event_id,
            vm=scope.vm(effect.vm) or Vm(effect.vm),
            type=effect.type,
            duration_s=effect.duration_s,
            since_ms=claimed.since_ms,
            earlier_attempts=claimed.attempt - 1,
        )
        try:
            evidence = await self._executor.carry_out(impact)
        except ImpactFailure as failure:
            reason = str(failure)
        except Exception as error:  # an executor is somebody else's code: whatever it raises is a failed attempt
            log.exception("executor broke down", extra={"attempt_id": impact.attempt_id})
            reason = f"the executor broke down: {type(error).__name__}"
        else:
            return ImpactFinished(
                scope=scope.name,
                request_id=self._ids(),
                by=self._by,
                event_id=effect.event_id,
                vm=effect.vm,
                attempt=claimed.attempt,
                evidence=evidence.sentence,
                new_host=evidence.new_host,
            )
        return ImpactFailed(
            scope=scope.name,
            request_id=self._ids(),
            by=self._by,
            event_id=effect.event_id,
            vm=effect.vm,
            attempt=claimed.attempt,
            reason=reason,
        )

    async def _report(self, outcome: Request) -> None:
        """The impact has happened: its outcome is reported until the store takes it."""
        while True:
            try:
                await self._turns.take(outcome)
            except StaleAttempt:
                raise
            except Refusal as refusal:
                ids = {"scope": outcome.scope}
                log.warning("could not report an impact, will try again: %s", refusal.message, extra=ids)
                await self._clock.rest(RETRY_STORE_S)
            else:
                return
