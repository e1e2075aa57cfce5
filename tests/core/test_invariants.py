"""What must always hold (SPEC §6), checked on random journeys: S1, S2, S3, S4, S8, S9, S10, S11 and the deadline.

Each law reads the turns and judges by the spec's words, not by the functions that the core decides with.
"""

import json
import re

from journeys import COUPLING, STARTING, is_shown, on_random_journeys

from notbefore.core.impacts import FAILURES_MAX
from notbefore.core.kinds import EventType, Listening, Policy, Status
from notbefore.core.model import ActorKind
from notbefore.core.requests import (
    ApproveEvents,
    ClaimEffect,
    CompleteEvent,
    FailHost,
    ImpactFailed,
    ImpactFinished,
    NoteAsked,
)
from notbefore.wire.api_versions import API_VERSIONS
from notbefore.wire.document import render_document

every_journey = on_random_journeys(examples=100, in_proof=2000)
DAY_MS = 24 * 3600 * 1000
NOTICE_S = {"Freeze": 900, "Reboot": 900, "Redeploy": 600, "Preempt": 30, "Terminate": 300}
GUID = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")


class Promises:
    """What VMs were first told of each Scheduled event, and on which reading of the clock."""

    def __init__(self) -> None:
        self.made = {}

    def note(self, turn) -> None:
        for change in turn.changes:
            if change.what == "scheduled":
                self.made.setdefault(change.event.id, (turn.now, change.event.not_before_ms))

    def is_kept(self, event_id, now) -> bool:
        since, not_before_ms = self.made[event_id]
        elapsed_ms = now.boot_ms - since.boot_ms if now.boot_id == since.boot_id else None
        real = elapsed_ms is None or elapsed_ms >= not_before_ms - since.wall_ms
        return now.wall_ms >= not_before_ms and real


def is_released(scope, event) -> bool:
    """SPEC §3.2 in its own words."""
    spoken = {approval.by.name.lower() for approval in event.approvals if approval.by.kind is ActorKind.VM}
    policy = scope.settings.approval.get(event.type, scope.settings.approval.get("default", Policy.ANY))
    named = [name.lower() for name in event.vms]
    by_policy = {
        Policy.ANY: bool(spoken),
        Policy.ALL: spoken.issuperset(named),
        Policy.LEADER: named[0] in spoken,
    }
    return by_policy[policy] or any(approval.by.kind is ActorKind.OPERATOR for approval in event.approvals)


def may_pass(scope, event) -> bool:
    """SPEC §3.4: one of an operation stays Scheduled until its gate is open, and what was released stays released."""
    may = is_released(scope, event) or event.release is not None
    return may and (event.gate is None or event.gate.open)


def may_start(turn, event, reason, promises) -> bool:
    settings, asked = turn.after.settings, turn.after.asked_ms.values()
    silent = not any(turn.now.wall_ms - at_ms <= DAY_MS for at_ms in asked)
    return {
        "approved": may_pass(turn.after, event),
        "notice ended": event.id in promises.made and promises.is_kept(event.id, turn.now),
        "auto-approved": f"{event.source}:{event.type}" in settings.auto_approve and event.notice is None,
        "nobody listens": event.notice is None
        and (settings.listening is Listening.NEVER or (settings.listening is Listening.AUTO and silent)),
        "no notice": isinstance(turn.request, FailHost) or (event.source == "User" and not settings.user_events),
    }[reason]


@on_random_journeys(examples=150, in_proof=4000, words=STARTING)
def test_s1_no_impact_before_not_before_unless_somebody_may_have_it_so(journey):
    """S1: no impact before NotBefore unless approved, auto-approved, not listened to, or flagged no-notice."""
    promises = Promises()
    for turn in journey.taken:
        promises.note(turn)
        told = {c.event.id: c for c in turn.changes if c.what.startswith("started: ")}
        running = {e.id for e in turn.events_after.values() if e.status is Status.STARTED}
        was_running = {e.id for e in turn.events_before.values() if e.status is Status.STARTED}

        assert running - was_running == set(told)
        assert {effect.event_id for effect in turn.decision.effects} == set(told)
        for change in told.values():
            assert may_start(turn, change.event, change.what.removeprefix("started: "), promises)


@on_random_journeys(examples=150, in_proof=4000, words=STARTING)
def test_what_is_approved_behind_a_gate_is_released_and_stays_scheduled(journey):
    """SPEC §3.4: an event that is approved is released and stays Scheduled, until the gate opens or it is due."""
    released = set()
    for turn in journey.taken:
        told = {c.event.id for c in turn.changes if c.what == "released"}
        assert released.isdisjoint(told)
        released |= told
        if turn.decision.answer.again or isinstance(turn.request, NoteAsked | ClaimEffect):
            continue
        for event in turn.events_after.values():
            assert (event.release is not None) is (event.id in released)
            if event.status is Status.SCHEDULED and event.gate:
                assert event.release is None or not event.gate.open
                assert event.release is not None or not is_released(turn.after, event)


@every_journey
def test_s2_not_before_leaves_the_whole_notice_and_is_not_moved(journey):
    """S2: NotBefore - visible-since ≥ the notice, across restarts and clock steps; a promise once made stands."""
    promises = Promises()
    for turn in journey.taken:
        promises.note(turn)
        for change in turn.changes:
            if change.what == "scheduled":
                notice_s = turn.after.settings.notice_s.get(change.event.type, NOTICE_S[change.event.type])
                assert change.event.not_before_ms - turn.now.wall_ms >= notice_s * 1000
        for event in turn.events_after.values():
            if event.status is Status.SCHEDULED:
                assert event.not_before_ms % 1000 == 0
                assert event.not_before_ms == promises.made[event.id][1]
                assert event.visible_since_ms == promises.made[event.id][0].wall_ms


def content_of(scope, version) -> bytes:
    return render_document(scope, version).partition(b",")[2]


@every_journey
def test_s3_the_incarnation_rises_with_every_visible_change_and_means_one_content(journey):
    """S3: rises with every visible change and no other, never repeats with other content, never falls."""
    shown = {}
    for turn in journey.taken:
        before, after = turn.before, turn.after
        for version in API_VERSIONS.values():
            document = render_document(after, version)
            assert shown.setdefault((after.incarnation, version.name), document) == document
        if before is not None:
            is_visible = any(content_of(before, v) != content_of(after, v) for v in API_VERSIONS.values())
            # The underscore may count though the one version that has it shows none of these events.
            is_renamed = before.settings.legacy_underscore is not after.settings.legacy_underscore
            assert after.incarnation - before.incarnation in ({0, 1} if is_renamed and not is_visible else {is_visible})


@every_journey
def test_s4_an_event_id_names_one_event_for_ever(journey):
    """S4: EventId stable and never reused."""
    facts, gone = {}, set()
    for turn in journey.taken:
        for event in turn.events_after.values():
            assert GUID.fullmatch(event.id)
            assert event.id not in gone
            known = (event.type, event.source, event.made_at_ms, event.made_by, event.update_domain)
            assert facts.setdefault(event.id, known) == known
        gone |= turn.events_before.keys() - turn.events_after.keys()


@every_journey
def test_s6_an_attempt_is_claimed_once_and_reported_once(journey):
    """S6: an impact is carried out at most once per attempt id, also with two servers."""
    claimed, reported = set(), set()
    for turn in journey.taken:
        request = turn.request
        if isinstance(request, ClaimEffect):
            attempt = (request.event_id, request.vm.lower(), request.seen_attempt + 1)
            assert attempt not in claimed
            claimed.add(attempt)
        if isinstance(request, ImpactFinished | ImpactFailed):
            attempt = (request.event_id, request.vm.lower(), request.attempt)
            assert attempt in claimed
            assert attempt not in reported
            reported.add(attempt)


@every_journey
def test_s8_a_vm_sees_exactly_its_scopes_scheduled_and_started_events(journey):
    """S8: a VM sees exactly its scope; §2.3: Scheduled or Started only; names are the scope's, each from one UD."""
    for turn in journey.taken:
        scope = turn.after
        document = json.loads(render_document(scope, API_VERSIONS["2020-07-01"]))
        expected = {e.id for e in scope.events if is_shown(e) and not e.hidden}
        assert {shown["EventId"] for shown in document["Events"]} == expected
        for event in scope.events:
            done = {outcome.vm.lower() for outcome in event.outcomes}
            here = [name for name in event.vms if scope.vm(name)]
            assert set(map(str.lower, event.vms)) - set(map(str.lower, here)) <= done
            assert len({scope.vm(name).update_domain for name in here}) <= 1


@every_journey
def test_s9_a_cancelled_event_never_starts(journey):
    """S9: a cancelled event never starts."""
    cancelled = set()
    for turn in journey.taken:
        assert cancelled.isdisjoint(turn.events_after)
        assert cancelled.isdisjoint(effect.event_id for effect in turn.decision.effects)
        cancelled |= {c.event.id for c in turn.changes if c.event and c.event.status is Status.CANCELLED}


@every_journey
def test_s10_nothing_leaves_started_without_evidence_a_word_or_the_limit(journey):
    """S10: nothing leaves Started without evidence, an operator's word, or the retry limit (then `Failed`)."""
    failures = {}
    for turn in journey.taken:
        request = turn.request
        if isinstance(request, ImpactFailed):
            key = (request.event_id, request.vm.lower())
            failures[key] = failures.get(key, 0) + 1
        for change in turn.changes:
            event = change.event
            if not event or event.ended_at_ms is None or event.status is Status.CANCELLED:
                continue
            assert turn.events_before[event.id].status is Status.STARTED
            given_up = [outcome.vm for outcome in event.outcomes if not outcome.done]
            if event.status is Status.FAILED:
                assert any(failures[event.id, vm.lower()] >= FAILURES_MAX for vm in given_up)
                continue
            evidence = {outcome.vm.lower() for outcome in event.outcomes if outcome.done}
            is_evident = not given_up and evidence.issuperset(map(str.lower, event.vms))
            is_named = isinstance(request, CompleteEvent) and request.event_id.upper() == event.id
            # A VM that is deleted or removed takes its share of every event with it.
            is_left = not any(turn.after.vm(name) for name in event.vms if name.lower() not in evidence)
            by_word = request.by.kind is ActorKind.OPERATOR and (is_named or is_left)
            assert is_evident or by_word or (is_left and isinstance(request, ImpactFinished))


@every_journey
def test_s11_history_explains_every_change(journey):
    """S11: history explains every change: when, who, why."""
    for turn in journey.taken:
        told = {}
        for change in turn.changes:
            assert change.why
            assert change.by.kind
            if change.event:
                told[change.event.id] = change.event
        before, after = turn.events_before, turn.events_after
        for event_id in before.keys() | after.keys():
            if before.get(event_id) != after.get(event_id):
                assert told[event_id] == after.get(event_id, told[event_id])
                assert (event_id in after) is (told[event_id].ended_at_ms is None)
        if turn.changes:
            record = turn.decision.record
            assert (record.at_ms, record.request_id) == (turn.now.wall_ms, turn.request.request_id)
            assert record.incarnation == turn.after.incarnation
        if turn.before and turn.before.vms != turn.after.vms:
            assert {"declared", "vm left", "vm changed", "removed"} & {change.what for change in turn.changes}


@every_journey
def test_an_event_is_started_or_gone_once_its_promise_is_kept(journey):
    """L1 and L2: a Scheduled event is Started or gone by NotBefore; silence stops nothing."""
    promises = Promises()
    for turn in journey.taken:
        promises.note(turn)
        if turn.decision.answer.again or isinstance(turn.request, NoteAsked | ClaimEffect):
            continue
        for event in turn.events_after.values():
            if event.status is Status.SCHEDULED:
                assert not promises.is_kept(event.id, turn.now)


@on_random_journeys(examples=100, in_proof=2000, words=COUPLING)
def test_an_approved_event_waits_for_nothing_but_a_coupled_terminate(journey):
    """§3.2: released means started, but for a Terminate while another as early is neither approved nor due."""
    for turn in journey.taken:
        waiting = [e for e in turn.events_after.values() if e.status is Status.SCHEDULED]
        holding = [e for e in waiting if e.type is EventType.TERMINATE and not is_released(turn.after, e)]
        for event in waiting:
            if is_released(turn.after, event):
                assert event.type is EventType.TERMINATE
                assert any(other.not_before_ms <= event.not_before_ms for other in holding)
        if isinstance(turn.request, ApproveEvents):
            for change in turn.changes:
                if change.what == "started: approved" and change.event.type is EventType.TERMINATE:
                    assert not any(other.not_before_ms <= change.event.not_before_ms for other in holding)
