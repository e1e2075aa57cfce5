"""S5: in one scope at most one update domain is under planned platform impact, and no domain is overtaken (§3.4).

Rule 1: planned platform events are Freeze, Reboot and Redeploy of the platform; host failures stand aside, and so do
Preempt and Terminate.
Rule 2: one event holds VMs of one update domain and, when hosts are known, of one host.
Rule 3: the next domain becomes visible when the former has rested. Judged on the wall of whoever decided both ends,
when nobody stepped it in between.
Rule 4: first come, first served; the first of a domain may bring the others of its domain along.
"""

from typing import ClassVar, NamedTuple

from notbefore.core.kinds import EventType, Source, Status
from notbefore.core.model import Event, Scope, Vm, name_key
from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Commit, Ledger, Move
from notbefore.simulation.steps import Committed, Step

PLANNED = frozenset({EventType.FREEZE, EventType.REBOOT, EventType.REDEPLOY})
VISIBLE = frozenset({Status.SCHEDULED, Status.STARTED})
SECOND_MS = 1000


class Rest(NamedTuple):
    """What a domain that was touched is owed before another one's turn, and on whose wall."""

    update_domain: int
    until_ms: int
    process: str
    decided_us: int


class Domains:
    code: ClassVar[str] = "S5"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        self._rests: dict[str, Rest] = {}
        # In which order the events of all scopes were made.
        self._made: dict[str, int] = {}

    def see(self, step: Step, facts: Facts) -> None:
        if not isinstance(step, Committed):
            return
        commit = self._ledger.read(step)
        if commit.moves or commit.vms_changed:
            self._judge(step, commit, facts)
        if step.after.removed:
            # Whoever is declared anew owes nothing.
            self._rests.pop(commit.key, None)

    def _judge(self, step: Committed, commit: Commit, facts: Facts) -> None:
        for move in commit.moves:
            if move.before is None and move.after:
                self._made[move.id] = len(self._made)
                self._judge_company(step.after, move.after)
        self._judge_one_domain(commit.key, step.after, moved=commit.vms_changed)
        self._judge_order(commit, step.after)
        self._judge_rest(step, commit, facts)

    def _judge_company(self, scope: Scope, event: Event) -> None:
        hit = [vm for vm in map(scope.vm, event.vms) if vm]
        if len(hit) != len(event.vms) or len({name_key(name) for name in event.vms}) != len(event.vms):
            raise self._broken("it names a VM twice, or one that its scope does not have", scope, event)
        if {vm.update_domain for vm in hit} != {event.update_domain}:
            raise self._broken("it was made for VMs of several update domains", scope, event)
        if len({name_key(vm.host) for vm in hit if vm.host}) > 1:
            raise self._broken("it was made for VMs of several hosts", scope, event)

    def _judge_one_domain(self, key: str, scope: Scope, *, moved: bool) -> None:
        visible = [event for event in scope.events if event.status in VISIBLE and is_planned(event)]
        domains = {event.update_domain for event in visible}
        if len(domains) > 1:
            raise Violation(self.code, f"update domains {sorted(domains)} have their turn at the same time", key)
        if moved:
            vms = {name_key(vm.name): vm for vm in scope.vms}
            for event in visible:
                self._judge_place(scope, event, vms)

    def _judge_place(self, scope: Scope, event: Event, vms: dict[str, Vm]) -> None:
        over = {name_key(outcome.vm) for outcome in event.outcomes}
        for name in set(map(name_key, event.vms)) - over:
            if name in vms and vms[name].update_domain != event.update_domain:
                raise self._broken(f"{name} changed its update domain under it", scope, event)

    def _judge_order(self, commit: Commit, scope: Scope) -> None:
        waiting = [event for event in scope.events if event.status is Status.QUEUED]
        if not waiting:
            return
        entering = [move for move in commit.moves if enters(move)]
        for move in entering:
            assert move.after is not None
            domain = move.after.update_domain
            first = min(self._made[m.id] for m in entering if m.after and m.after.update_domain == domain)
            for event in waiting:
                if event.update_domain != domain and self._made[event.id] < first:
                    raise self._broken(f"it was overtaken by {move.id} of update domain {domain}", scope, event)

    def _judge_rest(self, step: Committed, commit: Commit, facts: Facts) -> None:
        at_ms = step.record.at_ms if step.record else 0
        for move in commit.moves:
            if move.after is None and move.before and move.was is Status.STARTED and is_planned(move.before):
                until_ms = at_ms + rest_s_after(step.after, move.before) * SECOND_MS
                rest = Rest(move.before.update_domain, until_ms, step.process, step.decided_us)
                self._rests[commit.key] = longer(rest, self._rests.get(commit.key))
        owed = self._rests.get(commit.key)
        if step.after.removed or owed is None:
            return
        for move in commit.moves:
            if not enters(move) or move.after is None or move.after.update_domain == owed.update_domain:
                continue
            process = facts.processes[step.process]
            same_wall = owed.process == step.process and process.stepped_us < owed.decided_us
            if same_wall and at_ms < owed.until_ms:
                early_ms = owed.until_ms - at_ms
                raise self._broken(
                    f"it became visible {early_ms} ms before update domain {owed.update_domain} had rested",
                    step.after,
                    move.after,
                )
            self._rests.pop(commit.key, None)

    def _broken(self, sentence: str, scope: Scope, event: Event) -> Violation:
        return Violation(self.code, f"{event.id}: {sentence}", scope.key, event.id)


def rest_s_after(scope: Scope, event: Event) -> int:
    """What its domain is owed: by the scope's setting, or by the rollout that the event is of."""
    return max(scope.settings.recovery_s, event.recovery_s)


def longer(rest: Rest, owed: Rest | None) -> Rest:
    """Of two rests of one domain, told on one wall, the longer is owed."""
    same = owed is not None and (owed.update_domain, owed.process) == (rest.update_domain, rest.process)
    return owed if owed and same and owed.until_ms > rest.until_ms else rest


def is_planned(event: Event) -> bool:
    return event.source is Source.PLATFORM and event.type in PLANNED and not event.unplanned


def enters(move: Move) -> bool:
    """Whether a planned event has its turn from this commit on."""
    return (
        move.after is not None and is_planned(move.after) and move.after.status in VISIBLE and move.was not in VISIBLE
    )
