"""What an operation waits for, in one sentence for operators of the whole fleet: every scope may stand in it.

Rule 1: pure, and from the functions that decide (waves.py, approval.py, operation_steps.py).
Rule 2: an approval that is waited for stands beside the time that makes it needless.
"""

from collections.abc import Mapping, Sequence

from notbefore.core.approval import voices_missing
from notbefore.core.explain.explanation import listed
from notbefore.core.explain.notice import can_be_spoken_for
from notbefore.core.kinds import Policy
from notbefore.core.model import Event, Scope, name_key
from notbefore.core.operation import Member, Operation, OperationStatus, Stage, Waiting, Wave
from notbefore.core.operation_steps import ASK_AGAIN_MAX_MS
from notbefore.core.times import Moment, is_still_to_come, iso
from notbefore.core.waves import hindrance_to

OVER = "nothing: it is over"
SHOWN_MAX = 5


def operation_waits_for(operation: Operation, scopes: Mapping[str, Scope], now: Moment) -> str:
    if operation.is_over:
        return OVER
    if operation.wave and operation.status is OperationStatus.CANCELLING:
        return cancelling_waits_for(operation.wave)
    if operation.wave:
        return wave_waits_for(operation.wave, scopes)
    whys = {why_waiting(one, operation, scopes, now): None for one in operation.waiting}
    return "; ".join(list(whys)[:SHOWN_MAX]) or "its next step, which is due now"


def cancelling_waits_for(wave: Wave) -> str:
    started = [one for one in wave.members if one.stage is Stage.STARTED]
    return impacts(started) if started else "its events to be withdrawn"


def wave_waits_for(wave: Wave, scopes: Mapping[str, Scope]) -> str:
    by_stage = {stage: [one for one in wave.members if one.stage is stage] for stage in Stage}
    if asked := by_stage[Stage.ASKED]:
        return f"the word of {listed(sorted({one.scope for one in asked}))} that its events are announced"
    if announced := by_stage[Stage.ANNOUNCED]:
        return approvals(announced, wave, scopes)
    if by_stage[Stage.RELEASED]:
        return "its gate, which opens now"
    return impacts(by_stage[Stage.STARTED]) if by_stage[Stage.STARTED] else "its next step, which is due now"


def approvals(announced: Sequence[Member], wave: Wave, scopes: Mapping[str, Scope]) -> str:
    words = [word for one in announced if (word := approval(one, scopes))]
    due = f"{iso(wave.not_before_ms)}, its common NotBefore"
    more = f" and {len(words) - SHOWN_MAX} more" if len(words) > SHOWN_MAX else ""
    return f"the approval of {', and of '.join(words[:SHOWN_MAX])}{more}, or {due}" if words else due


def approval(member: Member, scopes: Mapping[str, Scope]) -> str:
    """Whose word its scope asks for; none is the empty word: only its time can release it then."""
    scope = scopes.get(name_key(member.scope))
    event = scope.event(member.event_id) if scope else None
    if scope is None or event is None or not can_be_spoken_for(scope, event):
        return ""
    return f"{speakers(scope, event)} in scope {scope.name}"


def speakers(scope: Scope, event: Event) -> str:
    missing = voices_missing(scope, event, event.approvals)
    if scope.settings.policy_for(event.type) is Policy.ANY and len(scope.vms) > 1:
        return "any VM"
    return listed(missing) if missing else "any VM"


def impacts(members: Sequence[Member]) -> str:
    names = [f"{vm} in scope {one.scope}" for one in members for vm in one.vms]
    return f"the impact on {listed(names)} to be over"


def why_waiting(one: Waiting, operation: Operation, scopes: Mapping[str, Scope], now: Moment) -> str:
    """Why a VM is in no wave yet."""
    scope = scopes.get(name_key(one.of.scope))
    vm = scope.vm(one.of.vm) if scope else None
    if scope is None or vm is None:
        return f"{one.of.vm} in scope {one.of.scope}, which is not there any more"
    if is_still_to_come(one.not_until_ms, now, ASK_AGAIN_MAX_MS):
        return f"scope {scope.name}, which is asked again at {iso(one.not_until_ms)}: {one.why}".rstrip(".")
    hindrance = hindrance_to(scope, [vm], operation.type, now)
    if hindrance is None:
        return "the end of the wave under way" if operation.wave else "its wave, which begins now"
    until = f" until {iso(hindrance.until_ms)}" if hindrance.until_ms is not None else ""
    return f"scope {scope.name}: {hindrance.why}{until}"
