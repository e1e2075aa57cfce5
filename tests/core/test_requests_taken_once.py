"""Request ids and event ids (DESIGN §2, SPEC §2.3): taken once, named after the request, never reused."""

import re
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace

import pytest
from builders import (
    EVENT,
    NOON,
    after,
    approve,
    cancel,
    claim,
    complete,
    declare,
    event_on,
    failed,
    host_failed,
    later,
    maintain,
    only_event,
    operate,
    reboot_of,
    remove,
    request_id,
    restart,
    running,
    scope_of,
    scope_with,
)

from notbefore.core.decide import decide
from notbefore.core.draft import REQUESTS_REMEMBERED
from notbefore.core.errors import StaleAttempt
from notbefore.core.kinds import Policy
from notbefore.core.model import Vm

FLEET = scope_of(Vm("vm-a", 0, host="h1"), Vm("vm-b", 1, host="h1"))
WAITING = scope_with(reboot_of("vm-a", "vm-b"), approval={"default": Policy.ALL})
GUID = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")


@pytest.mark.parametrize(
    ("scope", "ask"),
    [
        pytest.param(FLEET, restart("vm-a"), id="restart"),
        pytest.param(FLEET, maintain(), id="maintain"),
        pytest.param(FLEET, host_failed("h1"), id="host failed"),
        pytest.param(FLEET, declare("vm-a"), id="declare"),
        pytest.param(FLEET, remove(), id="remove"),
        pytest.param(WAITING, approve(EVENT, by="vm-a"), id="approve"),
        pytest.param(WAITING, cancel(EVENT), id="cancel"),
        pytest.param(scope_with(running(reboot_of("vm-a"))), complete(EVENT), id="complete"),
    ],
)
def test_a_request_taken_twice_changes_nothing_and_is_answered_as_before(scope, ask):
    """DESIGN §2: a write whose outcome is unknown is re-read and judged by its request id, never blindly retried."""
    once = decide(scope, ask, NOON)

    twice = decide(once.scope, ask, later(5))

    assert (once.answer.again, twice.answer.again) == (False, True)
    assert twice.answer.event_ids == once.answer.event_ids
    assert twice.scope == once.scope
    assert (twice.effects, twice.record) == ((), None)


def test_a_failure_told_twice_under_one_request_id_counts_once():
    """DESIGN §2 with SPEC §3.5: the retry limit counts attempts, not how often a commit was tried."""
    event = running(reboot_of("vm-a"))
    scope, told = after(scope_with(event), claim(event, "vm-a")), failed(event, "vm-a")
    scope = after(scope, told)

    with suppress(StaleAttempt):  # to refuse it, or to know it again: either keeps the count
        scope = after(scope, told)

    assert scope.pending[0].failures == 1


def test_a_request_is_remembered_for_the_last_64():
    """DESIGN §2: a scope keeps its last 64 request ids."""
    ask = restart("vm-a")
    scope = after(scope_of("vm-a"), ask)
    for n in range(63):
        scope = after(scope, declare("vm-a", recovery_s=n + 1))

    assert decide(scope, ask, NOON).answer.again
    assert len(after(scope, declare("vm-a", recovery_s=99)).taken) == REQUESTS_REMEMBERED == 64


def test_the_same_wish_under_another_request_id_is_another_request():
    """DESIGN §2: requests are known by id, not by what they say."""
    scope = after(scope_of("vm-a"), operate("freeze", "vm-a"))
    scope = after(scope, cancel(only_event(scope)))

    decision = decide(scope, operate("freeze", "vm-a"), NOON)

    assert not decision.answer.again
    assert len(decision.scope.events) == 1


def test_an_event_id_is_an_upper_case_guid():
    """SPEC §2.3: "EventId: GUID, upper case"; seed: "Globally unique identifier for this event."."""
    scope = after(FLEET, maintain())

    assert len(scope.events) == 2
    assert all(GUID.fullmatch(event.id) for event in scope.events)


def test_event_ids_are_named_after_the_request():
    """STYLE 2: the core makes no ids. The same request names the same events, wherever and whenever it is taken."""
    ask = maintain()

    here, there = decide(FLEET, ask, NOON), decide(replace(FLEET, incarnation=9), ask, later(99))

    assert here.answer.event_ids == there.answer.event_ids
    assert len(set(here.answer.event_ids)) == 2


def test_two_requests_never_name_the_same_event():
    """SPEC §2.3: "never reused"; S4."""
    names = {restart("vm-a").nth_event_id(n) for n in range(3)} | {restart("vm-a").nth_event_id(n) for n in range(3)}

    assert len(names) == 6


def test_an_event_id_stays_the_same_from_first_sight_to_removal():
    """SPEC §2.3: "the same from first sight to removal"."""
    queued = after(FLEET, maintain())
    event_id = event_on(queued, "vm-b").id

    scheduled = after(queued, cancel(event_on(queued, "vm-a")))
    started = after(scheduled, approve(event_id.lower(), by="vm-a"))

    assert [event_on(scope, "vm-b").id for scope in (scheduled, started)] == [event_id, event_id]


def test_deciding_leaves_the_scope_it_was_given_as_it_was():
    """STYLE 2: `decide` is pure: a change is a new value."""
    scope = scope_with(reboot_of("vm-a"), running(reboot_of("vm-b", event_id=request_id().upper())))
    before = deepcopy(scope)

    decide(scope, approve(EVENT, by="vm-a"), NOON)
    decide(scope, declare("vm-c", force=True), NOON)

    assert scope == before


def test_the_same_scope_request_and_moment_give_the_same_decision():
    """STYLE 2: `decide` reads no clock and makes no id."""
    ask = maintain()

    assert decide(FLEET, ask, NOON) == decide(FLEET, ask, NOON)
