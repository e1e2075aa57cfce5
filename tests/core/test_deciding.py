"""How `decide` decides (STYLE 2, settle.py, requests.py), checked on random journeys of every kind of request."""

import random
from dataclasses import replace

from builders import SHOP, request_id
from journeys import ANYTHING, on_random_journeys, travel
from traveller import NUMBERS

from notbefore.core.decide import decide
from notbefore.core.errors import Refusal
from notbefore.core.kinds import Status
from notbefore.core.lifecycle import TRANSITIONS
from notbefore.core.requests import ClaimEffect, ImpactFailed, ImpactFinished, LeaveWave, NoteAsked, OpenGate, Tick
from notbefore.core.settle import next_due_ms
from notbefore.core.times import Moment

every_journey = on_random_journeys(examples=100, in_proof=2000)
WEEK_MS = 7 * 24 * 3600 * 1000
SAFE_TWICE_BY_NATURE = (Tick, NoteAsked, ClaimEffect, ImpactFinished, ImpactFailed, OpenGate, LeaveWave)
FORWARD = {None: 0, Status.QUEUED: 1, Status.SCHEDULED: 2, Status.STARTED: 3}


def tick():
    return Tick(scope=SHOP, request_id=request_id())


def waited(now: Moment, ms: int) -> Moment:
    return replace(now, wall_ms=now.wall_ms + ms, boot_ms=now.boot_ms + ms)


def worded(refusal: Refusal) -> tuple:
    return (refusal.code, refusal.message, refusal.hint, dict(refusal.facts))


def outcome_of(scope, request, now):
    try:
        return decide(scope, request, now)
    except Refusal as refusal:
        return worded(refusal)


@every_journey
def test_the_same_scope_request_and_moment_give_the_same_decision_or_refusal(journey):
    """STYLE 2: `decide` never awaits, logs, reads a clock or makes an id."""
    for turn in journey.turns:
        expected = turn.decision or worded(turn.refusal)

        assert outcome_of(turn.before, turn.request, turn.now) == expected


@every_journey
def test_deciding_and_refusing_leave_the_scope_they_were_given_as_it_was(journey):
    """errors.py: a refusal changes nothing; model.py: every value is frozen, its maps included."""
    scope = None
    for turn in journey.turns:
        before = repr(scope)

        decided = outcome_of(scope, turn.request, turn.now)

        assert repr(scope) == before
        scope = scope if isinstance(decided, tuple) else decided.scope


@every_journey
def test_settling_twice_at_one_moment_is_settling_once(journey):
    """settle.py: after every decision the scope is settled; a second settling at the same moment changes nothing."""
    for turn in journey.taken:
        quiet = isinstance(turn.request, NoteAsked | ClaimEffect) or turn.decision.answer.again
        if quiet or turn.after.removed:
            continue

        again = decide(turn.after, tick(), turn.now)

        assert again.scope == turn.after
        assert (again.effects, again.record) == ((), None)


@every_journey
def test_the_next_due_time_is_neither_early_nor_late(journey):
    """§4: `advance` moves from due time to due time; so at a due time something happens, and before it nothing."""
    for turn in journey.taken:
        scope, now = turn.after, turn.now
        if scope.removed:
            continue
        due_ms = next_due_ms(scope, now)
        if due_ms is None:
            assert decide(scope, tick(), waited(now, WEEK_MS)).scope == scope
            continue
        wait_ms = due_ms - now.wall_ms
        assert wait_ms >= 0
        assert decide(scope, tick(), waited(now, wait_ms)).scope != scope
        if wait_ms > 0:
            assert decide(scope, tick(), waited(now, wait_ms - 1)).scope == scope


@every_journey
def test_a_request_that_changed_something_is_known_when_it_comes_again(journey):
    """DESIGN §2: a write of unknown outcome is judged by its request id."""
    for turn in journey.taken:
        if isinstance(turn.request, SAFE_TWICE_BY_NATURE) or turn.after == turn.before:
            continue

        again = decide(turn.after, turn.request, waited(turn.now, 1))

        assert again.answer.again
        assert again.answer.event_ids == turn.decision.answer.event_ids
        assert (again.scope, again.effects, again.record) == (turn.after, (), None)


@every_journey
def test_a_report_that_comes_again_changes_nothing(journey):
    """DESIGN §2, S6: claims and reports are safe to take twice: the second is stale."""
    for turn in journey.taken:
        if isinstance(turn.request, ClaimEffect | ImpactFinished | ImpactFailed):
            again = outcome_of(turn.after, turn.request, turn.now)

            assert again[0] == "stale_attempt" if isinstance(again, tuple) else again.scope == turn.after


@every_journey
def test_what_an_operation_says_again_changes_nothing(journey):
    """waves.py: each message may come twice."""
    for turn in journey.taken:
        if isinstance(turn.request, OpenGate | LeaveWave):
            again = decide(turn.after, turn.request, turn.now)

            assert (again.scope, again.effects, again.record) == (turn.after, (), None)


@every_journey
def test_statuses_only_move_forward(journey):
    """§3: "Forward only." """
    for turn in journey.taken:
        before, after = turn.events_before, turn.events_after
        for event_id in after:
            was = before[event_id].status if event_id in before else None
            assert FORWARD[was] <= FORWARD[after[event_id].status]


@every_journey
def test_at_most_the_limit_of_user_operations_is_scheduled_by_asking(journey):
    """§3.3: at most 10 in status Scheduled with source User at once; settable. Lowering it takes nothing back."""
    for turn in journey.taken:
        before, after = (
            sum(e.status is Status.SCHEDULED and e.source == "User" for e in events.values())
            for events in (turn.events_before, turn.events_after)
        )
        assert after <= max(before, turn.after.settings.user_operations_max)


def test_random_journeys_go_everywhere():
    """The laws above say something: the journeys take every row of the table and meet every refusal of the core."""
    dice = random.Random(20170301)
    often = [word for word, times in ANYTHING.items() for _ in range(times)]
    rows, refusals = set(), set()
    for _ in range(1500):
        for turn in travel([(dice.choice(often), dice.randrange(NUMBERS)) for _ in range(20)]).turns:
            refusals.add(turn.refusal and turn.refusal.code)
            statuses = {event_id: event.status for event_id, event in turn.events_before.items()}
            for change in turn.changes:
                if change.event:
                    rows.add((statuses.get(change.event.id), change.what))
                    statuses[change.event.id] = change.event.status

    reasons = {
        "invalid", "unknown_scope", "unknown_vm", "unknown_event", "wrong_status", "already_scheduled", "limit_reached",
        "too_early", "live_event", "vm_deallocated", "not_spot", "stale_attempt", "hindered",
    }  # fmt: skip
    assert {(status, str(what)) for status, what in TRANSITIONS} - rows == set()
    assert {"released", "gate opened"} <= {what for _, what in rows}
    assert refusals - {None} == reasons
