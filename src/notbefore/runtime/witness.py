"""What this process can say of promises made on other machines, or before this machine's last boot (SPEC §4).

Rule 1: one that it found at its start is as old as the wall says; one that it met later is new, also when the store
was away meanwhile: rather late, should everybody who saw it being made be gone, than early.
Rule 2: from there on its own boot clock counts: a step of the wall afterwards shortens nothing.
Rule 3: what was learned goes when the promise leaves the scope; an old state of a scope makes nothing forgotten.
Called by: turn.py, timer.py, operations.py and rollouts.py, and control/, wherever a promise is judged.
"""

from collections.abc import Iterable, Mapping

from notbefore.core.model import Scope
from notbefore.core.times import Moment, Now
from notbefore.ports import Clock
from notbefore.runtime.snapshot import Snapshot

NOTHING: Mapping[Moment, int] = {}


class Witness:
    def __init__(self, snapshot: Snapshot, clock: Clock) -> None:
        self._snapshot = snapshot
        self._clock = clock
        self._learned: dict[str, Mapping[Moment, int]] = {}
        snapshot.subscribe(self.see)

    def see(self, scope: Scope) -> None:
        """Learn what is new in the scope's newest state, and forget what is no longer in it."""
        now = self._clock.now()
        others = readings_of_other_boots(scope, now.boot_id)
        known = self._learned.pop(scope.key, NOTHING)
        if others:
            self._learned[scope.key] = self._learned_of(others, known, now)

    def now(self, scope: Scope | None) -> Moment:
        """The moment to judge this scope's promises by; learns those that the feed has not brought yet."""
        now = self._clock.now()
        if scope is None or not (others := readings_of_other_boots(scope, now.boot_id)):
            return now
        known = self._learned.get(scope.key, NOTHING)
        if any(since not in known for since in others):
            known = self._learned[scope.key] = {**known, **self._learned_of(others, known, now)}
        return Now(now.wall_ms, now.boot_ms, now.boot_id, known)

    def now_everywhere(self) -> Moment:
        """The moment to judge promises of several scopes by, as far as the feed has brought them."""
        now = self._clock.now()
        learned = {since: at_ms for known in self._learned.values() for since, at_ms in known.items()}
        return Now(now.wall_ms, now.boot_ms, now.boot_id, learned) if learned else now

    def _learned_of(self, others: Iterable[Moment], known: Mapping[Moment, int], now: Moment) -> Mapping[Moment, int]:
        return {since: known[since] if since in known else now.boot_ms - self._age_ms(since, now) for since in others}

    def _age_ms(self, since: Moment, now: Moment) -> int:
        return 0 if self._snapshot.loaded else max(0, now.wall_ms - since.wall_ms)


def readings_of_other_boots(scope: Scope, boot_id: str) -> list[Moment]:
    spans = [event.notice for event in scope.events if event.notice]
    if scope.recovery:
        spans.append(scope.recovery.span)
    return [span.since for span in spans if span.since.boot_id != boot_id]
