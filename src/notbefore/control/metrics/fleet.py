"""The fleet in numbers: scopes, VMs, events, effects on their way; kept up to date at each change of a scope.

Rule 1: a change takes out what the scope counted before and puts in what it counts now; a scrape only reads.
Rule 2: whether a scope listens also depends on the time, so the scopes are kept by the minute in which they last
asked: a scrape adds up minutes, at most two days of them.
Subscribes to: runtime/snapshot.py.
"""

from collections import Counter
from itertools import product

from notbefore.core.effects import PendingEffect
from notbefore.core.kinds import LIVE, EventType, Listening, VmState
from notbefore.core.listening import LISTENS_FOR_MS
from notbefore.core.model import Scope, Vm, name_key

MINUTE_MS = 60_000
KEPT_MINUTES = 2 * LISTENS_FOR_MS // MINUTE_MS
EFFECT_STATES = ("waiting", "claimed", "resting", "behind")


class Fleet:
    def __init__(self) -> None:
        self.scopes = 0
        self.vms: Counter[str] = Counter(dict.fromkeys(VmState, 0))
        self.events: Counter[tuple[str, str]] = Counter(dict.fromkeys(product(EventType, LIVE), 0))
        self.effects: Counter[str] = Counter(dict.fromkeys(EFFECT_STATES, 0))
        self._always = 0
        self._asked: dict[int, dict[str, int]] = {}
        self._counted: dict[str, Scope] = {}

    def take(self, scope: Scope) -> None:
        key = scope.key
        former = self._counted.pop(key, None)
        if former is None or former.vms is not scope.vms or scope.removed:
            self._add_vms(former.vms if former else (), -1)
            self._add_vms(() if scope.removed else scope.vms, 1)
        if former:
            self._add(key, former, -1)
        if not scope.removed:
            self._counted[key] = scope
            self._add(key, scope, 1)

    def listening(self, now_ms: int) -> int:
        """Scopes that would get notice now, by what is committed of who asked."""
        since_ms = now_ms - LISTENS_FOR_MS
        edge = since_ms // MINUTE_MS
        for long_ago in [minute for minute in self._asked if minute < edge - KEPT_MINUTES]:
            del self._asked[long_ago]
        lately = sum(len(scopes) for minute, scopes in self._asked.items() if minute > edge)
        just_so = sum(at_ms >= since_ms for at_ms in self._asked.get(edge, {}).values())
        return self._always + lately + just_so

    def _add_vms(self, vms: tuple[Vm, ...], sign: int) -> None:
        """Most changes of a scope leave its VMs as they are."""
        for state, count in Counter([vm.state for vm in vms]).items():
            self.vms[state] += sign * count

    def _add(self, key: str, scope: Scope, sign: int) -> None:
        self.scopes += sign
        for event in scope.events:
            self.events[event.type, str(event.status)] += sign
        for state in effect_states(scope.pending):
            self.effects[state] += sign
        if scope.settings.listening is Listening.ALWAYS:
            self._always += sign
        elif scope.settings.listening is Listening.AUTO and scope.asked_ms:
            self._add_asked(key, max(scope.asked_ms.values()), sign)

    def _add_asked(self, key: str, at_ms: int, sign: int) -> None:
        minute = at_ms // MINUTE_MS
        scopes = self._asked.setdefault(minute, {})
        if sign > 0:
            scopes[key] = at_ms
        else:
            scopes.pop(key, None)
        if not scopes:
            del self._asked[minute]


def effect_states(pending: tuple[PendingEffect, ...]) -> list[str]:
    """Where each effect stands: the second impact on a VM is behind the first (runtime/outbox.py, rule 2)."""
    states: list[str] = []
    busy: set[str] = set()
    for effect in pending:
        vm = name_key(effect.effect.vm)
        if vm in busy:
            states.append("behind")
        elif effect.retry_at_ms is not None:
            states.append("resting")
        else:
            states.append("claimed" if effect.claimed_by else "waiting")
        busy.add(vm)
    return states
