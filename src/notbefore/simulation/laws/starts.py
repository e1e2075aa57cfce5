"""S1: no impact before NotBefore unless approved, auto-approved, not listened to, or flagged no-notice (SPEC §3).

Rule 1: every start has a cause in history, and the cause is judged anew from settings, words and clocks.
Rule 2: a deadline is judged twice: on the wall of whoever decided, exactly; and in true time, against what that
process can know: it saw the promise being made, or it is on the machine that made it, or it found it when it loaded.
Not here: whether a scope listens (listening.py).
"""

from typing import ClassVar, NamedTuple

from notbefore.core.kinds import EventType, Policy, Source, Status
from notbefore.core.model import ActorKind, Event, Scope, name_key
from notbefore.core.scope_settings import ScopeSettings
from notbefore.simulation.facts import Facts, ProcessFacts
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Ledger, Move
from notbefore.simulation.steps import Committed, Step

MS_US = 1000
MILLION = 1_000_000
DRIFT_PPM = 300
READING_US = 5 * MS_US
# Between reading a scope and being loaded.
LOADING_US = 1_000 * MS_US
CAUSE = "started: "
FAILURE = "Virtual machine has encountered a failure."


class Promise(NamedTuple):
    """What VMs were first told, by whom, and when that really was."""

    decided_us: int
    committed_us: int
    boot_id: str
    not_before_ms: int
    visible_since_ms: int

    @property
    def span_us(self) -> int:
        return (self.not_before_ms - self.visible_since_ms) * MS_US


class Starts:
    code: ClassVar[str] = "S1"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        self._promises: dict[str, Promise] = {}

    def see(self, step: Step, facts: Facts) -> None:
        if not isinstance(step, Committed):
            return
        for move in self._ledger.read(step).moves:
            if move.becomes_visible and move.after and move.after.notice:
                event = move.after
                assert event.notice is not None
                self._promises[move.id] = Promise(
                    step.decided_us,
                    step.at_us,
                    event.notice.since.boot_id,
                    event.notice.until_ms,
                    event.visible_since_ms or 0,
                )
            if move.after and move.after.release != (move.before.release if move.before else None):
                self._judge_release(step, move, move.after)
            if move.starts and move.after:
                self._judge_start(step, move, move.after, facts)
            if move.after is None:
                self._promises.pop(move.id, None)

    def _judge_start(self, step: Committed, move: Move, event: Event, facts: Facts) -> None:
        causes = [change.what.removeprefix(CAUSE) for change in move.told if change.what.startswith(CAUSE)]
        if len(causes) != 1:
            raise self._broken(f"it started and history names {len(causes)} causes", step, event)
        was_visible = move.was is Status.SCHEDULED or move.becomes_visible
        if was_visible != (causes[0] in {"approved", "notice ended"}):
            raise self._broken(f"it started as '{causes[0]}' and was {move.was or 'new'} before", step, event)
        match causes[0]:
            case "approved":
                self._judge_approval(step, event)
            case "notice ended":
                self._judge_deadline(step, event, facts)
            case "auto-approved":
                if f"{event.source}:{event.type}" not in step.after.settings.auto_approve:
                    raise self._broken("it started as auto-approved and no rule of its scope says so", step, event)
            case "no notice":
                of_the_user = event.source is Source.USER and not step.after.settings.user_events and event.hidden
                if not of_the_user and not is_host_failure(move, event):
                    raise self._broken("it got no notice and neither failed its host nor is it hidden", step, event)
            case "nobody listens":
                pass
            case unheard_of:
                raise self._broken(f"'{unheard_of}' is no cause to start", step, event)

    def _judge_release(self, step: Committed, move: Move, event: Event) -> None:
        """An event of a wave that may start before its wave may is released, once, and stays so."""
        if event.gate is None or (move.before and move.before.release):
            raise self._broken("it was released and is of no wave, or was before", step, event)
        if not is_released(step.after.settings, event):
            raise self._broken("it was released and those who have to speak have not", step, event)

    def _judge_approval(self, step: Committed, event: Event) -> None:
        if event.release is None and not is_released(step.after.settings, event):
            raise self._broken("it started as approved and those who have to speak have not", step, event)
        holding = holding_terminate(step.after, event)
        if holding:
            raise self._broken(f"it started while Terminate {holding.id}, as early, held it", step, event)

    def _judge_deadline(self, step: Committed, event: Event, facts: Facts) -> None:
        promise = self._promises.get(event.id)
        if promise is None or step.record is None:
            raise self._broken("its notice ended and nobody was ever told of it", step, event)
        if step.record.at_ms < promise.not_before_ms:
            early_ms = promise.not_before_ms - step.record.at_ms
            raise self._broken(f"it started {early_ms} ms before NotBefore by the wall", step, event)
        early_us = too_early_us(promise, step, facts.processes[step.process])
        if early_us > 0:
            raise self._broken(f"it started {early_us} us before its notice had really elapsed", step, event)

    def _broken(self, sentence: str, step: Committed, event: Event) -> Violation:
        return Violation(self.code, f"{event.id}: {sentence}", step.after.key, event.id)


def too_early_us(promise: Promise, step: Committed, process: ProcessFacts) -> int:
    """By how much the deciding process came before the time that it had to wait in truth; <= 0 when it did not."""
    loaded_us, calm_us = process.loaded_us, process.calm_since_us
    tolerance_us = promise.span_us * DRIFT_PPM // MILLION + READING_US
    if process.boot_id == promise.boot_id:
        return promise.decided_us + promise.span_us - tolerance_us - step.decided_us
    if loaded_us is None or loaded_us > promise.committed_us:
        from_us = step.decided_us if loaded_us is None else loaded_us
        if calm_us is None or calm_us > from_us or loaded_us is None:
            return 0
        left_us = min((promise.not_before_ms - process.loaded_wall_ms) * MS_US, promise.span_us)
        return loaded_us + left_us - tolerance_us - LOADING_US - step.decided_us
    return promise.decided_us + promise.span_us - tolerance_us - step.decided_us


def is_host_failure(move: Move, event: Event) -> bool:
    """SPEC §3.1's last row: an operator said so in this very commit, and the VMs are told so."""
    said = move.before is None and all(change.by.kind is ActorKind.OPERATOR for change in move.told)
    of_the_platform = event.source is Source.PLATFORM and event.type is EventType.REBOOT
    return said and of_the_platform and event.unplanned and event.description == FAILURE


def is_released(settings: ScopeSettings, event: Event) -> bool:
    """SPEC §3.2 in its own words."""
    if any(approval.by.kind is ActorKind.OPERATOR for approval in event.approvals):
        return True
    spoken = {name_key(approval.by.name) for approval in event.approvals if approval.by.kind is ActorKind.VM}
    match settings.approval.get(event.type, settings.approval.get("default", Policy.ANY)):
        case Policy.ANY:
            return bool(spoken)
        case Policy.ALL:
            return spoken.issuperset(map(name_key, event.vms))
        case Policy.LEADER:
            return name_key(event.vms[0]) in spoken


def holding_terminate(scope: Scope, event: Event) -> Event | None:
    """Another Terminate, as early or earlier, that still waits for a word: one that is due is Started by now."""
    not_before_ms = event.notice.until_ms if event.notice else 0
    if event.type is not EventType.TERMINATE:
        return None
    for other in scope.events:
        if other.type is EventType.TERMINATE and other.status is Status.SCHEDULED and other.id != event.id:
            as_early = other.not_before_ms is not None and other.not_before_ms <= not_before_ms
            if as_early and not is_released(scope.settings, other):
                return other
    return None
