"""The one door: what a scope becomes when something is asked of it.

Rule 1: pure. The same scope, request and moment give the same decision; a refusal is raised and changes nothing.
Rule 2: a request id that was taken before changes nothing and is answered as before.
Rule 3: after the request's own change the scope settles (settle.py).
Called by: runtime/turn.py, the simulator, the tests.
"""

from collections.abc import Callable
from typing import Any

from notbefore.core.approve import approve_events
from notbefore.core.declare import declare_scope, remove_scope
from notbefore.core.draft import Answer, Decision, Draft
from notbefore.core.errors import UnknownScope
from notbefore.core.impacts import cancel_event, claim_effect, complete_event, impact_failed, impact_finished
from notbefore.core.listening import hear
from notbefore.core.model import Scope
from notbefore.core.requests import (
    ApproveEvents,
    CancelEvent,
    ClaimEffect,
    CompleteEvent,
    DeclareScope,
    FailHost,
    ImpactFailed,
    ImpactFinished,
    JoinWave,
    LeaveWave,
    Maintain,
    NoteAsked,
    OpenGate,
    OperateVm,
    RemoveScope,
    Request,
    Tick,
)
from notbefore.core.schedule import fail_host, maintain, operate_vm
from notbefore.core.settle import settle
from notbefore.core.times import Moment
from notbefore.core.waves import join_wave, leave_wave, open_gate


def decide(scope: Scope | None, request: Request, now: Moment) -> Decision:
    scope = scope or Scope(name=request.scope, removed=True)
    for taken in scope.taken:
        if taken.request_id == request.request_id:
            return Decision(scope, (), Answer(taken.event_ids, again=True), None)
    if scope.removed and not isinstance(request, DeclareScope):
        raise UnknownScope(request.scope)
    draft = Draft(scope, request, now)
    answer = ANSWERS[type(request)](draft, request)
    if not isinstance(request, QUIET):
        settle(draft)
    return draft.decision(answer, remember=not isinstance(request, FORGOTTEN))


def tick(_draft: Draft, _request: Tick) -> Answer:
    """Nothing of its own: settling does it."""
    return Answer()


def note_asked(draft: Draft, request: NoteAsked) -> Answer:
    hear(draft, request.asked_ms)
    return Answer()


ANSWERS: dict[type[Request], Callable[[Draft, Any], Answer]] = {
    DeclareScope: declare_scope,
    RemoveScope: remove_scope,
    OperateVm: operate_vm,
    Maintain: maintain,
    JoinWave: join_wave,
    OpenGate: open_gate,
    LeaveWave: leave_wave,
    FailHost: fail_host,
    ApproveEvents: approve_events,
    CancelEvent: cancel_event,
    CompleteEvent: complete_event,
    Tick: tick,
    NoteAsked: note_asked,
    ClaimEffect: claim_effect,
    ImpactFinished: impact_finished,
    ImpactFailed: impact_failed,
}

# Requests that concern no status; the clock's own Tick settles soon enough.
QUIET = (NoteAsked, ClaimEffect)

# Requests that are harmless to take twice by their own nature: they need no place among the remembered ids.
FORGOTTEN = (Tick, NoteAsked, ClaimEffect, ImpactFinished, ImpactFailed, OpenGate, LeaveWave)
