"""The incarnation (SPEC §2.3): +1 on every visible change, and on nothing else."""

from dataclasses import replace

import pytest
from builders import (
    EVENT,
    MINUTE,
    NOON,
    OTHER_EVENT,
    after,
    approve,
    asked,
    cancel,
    claim,
    complete,
    declare,
    failed,
    later,
    maintain,
    operate,
    reboot_of,
    remove,
    restart,
    running,
    scope_of,
    scope_with,
    spot,
    terminate,
    tick,
)

from notbefore.core.decide import decide
from notbefore.core.kinds import EventType, Policy
from notbefore.core.model import Vm

RUNNING = running(reboot_of("vm-a", "vm-b"))
WITH_ONE_QUEUED = after(scope_of(Vm("vm-a", 0), Vm("vm-b", 1)), maintain())


def test_a_new_scope_starts_at_one():
    """REFERENCE: known clients send `If-None-Match: 0` first and mean "I have nothing"; so no document is number 0."""
    assert scope_of("vm-a").incarnation == 1


@pytest.mark.parametrize(
    ("scope", "request_made"),
    [
        pytest.param(scope_of("vm-a"), restart("vm-a"), id="added"),
        pytest.param(scope_with(reboot_of("vm-a")), approve(EVENT), id="started"),
        pytest.param(scope_with(RUNNING), complete(EVENT), id="ended"),
        pytest.param(scope_with(reboot_of("vm-a")), cancel(EVENT), id="cancelled"),
        pytest.param(scope_with(reboot_of("vm-a", "vm-b")), declare("vm-a", force=True), id="changed"),
        pytest.param(scope_with(reboot_of("vm-a")), declare("vm-a", legacy_underscore=True), id="underscore"),
        pytest.param(scope_with(reboot_of("vm-a")), remove(force=True), id="removed"),
    ],
)
def test_every_visible_change_raises_it_by_one(scope, request_made):
    """SPEC §2.3: "+1 on every visible change of the scope's events (added, started, ended, changed)"."""
    assert decide(scope, request_made, NOON).scope.incarnation == scope.incarnation + 1


@pytest.mark.parametrize("request_made", [operate("evict", "vm-a"), terminate("vm-a")], ids=["Preempt", "Terminate"])
def test_a_change_that_only_later_versions_show_raises_it_too(request_made):
    """SPEC §2.3: "whichever version shows it"."""
    assert after(scope_of(spot("vm-a")), request_made).incarnation == 2


def test_a_due_event_raises_it_when_it_starts():
    """SPEC §2.3: started."""
    scope = scope_with(reboot_of("vm-a"))

    assert after(scope, tick(), now=later(14 * MINUTE)).incarnation == 1
    assert after(scope, tick(), now=later(15 * MINUTE)).incarnation == 2


@pytest.mark.parametrize(
    ("scope", "request_made"),
    [
        pytest.param(scope_with(reboot_of("vm-a")), asked("vm-a"), id="asked"),
        pytest.param(
            scope_with(reboot_of("vm-a", "vm-b"), approval={"default": Policy.ALL}),
            approve(EVENT, by="vm-a"),
            id="approved without effect",
        ),
        pytest.param(scope_with(RUNNING), claim(RUNNING, "vm-a"), id="claimed"),
        pytest.param(after(scope_with(RUNNING), claim(RUNNING, "vm-a")), failed(RUNNING, "vm-a"), id="failed once"),
        pytest.param(WITH_ONE_QUEUED, maintain(EventType.FREEZE, vms=("vm-b",)), id="queued"),
        pytest.param(scope_with(reboot_of("vm-a")), declare("vm-a", "vm-b", recovery_s=3), id="redeclared"),
        pytest.param(scope_of("vm-a", user_events=False), restart("vm-a"), id="hidden"),
        pytest.param(scope_of("vm-a"), declare("vm-a", legacy_underscore=True), id="underscore of nothing"),
        pytest.param(scope_of("vm-a"), remove(), id="removed empty"),
    ],
)
def test_what_no_version_shows_does_not_raise_it(scope, request_made):
    """SPEC §2.3: the same number always means the same content; nothing visible changed, so neither does it."""
    decision = decide(scope, request_made, NOON)

    assert decision.scope != scope
    assert decision.scope.incarnation == scope.incarnation


def test_what_is_cancelled_in_the_queue_was_never_seen():
    """SPEC §3: `Queued` exists in history and the control API, never in the document."""
    shown, queued = WITH_ONE_QUEUED.events

    scope = after(WITH_ONE_QUEUED, cancel(queued))

    assert scope.events == (shown,)
    assert scope.incarnation == WITH_ONE_QUEUED.incarnation


def test_several_visible_changes_in_one_turn_are_one_step():
    """SPEC §2.3: one document, one consistency unit; a reader sees the change whole."""
    scope = scope_with(reboot_of("vm-a"), reboot_of("vm-b", event_id=OTHER_EVENT))

    assert after(scope, approve(EVENT, OTHER_EVENT)).incarnation == 2


def test_it_never_goes_back():
    """SPEC §2.3: "never goes back", through removal and a new declaration."""
    scope = replace(scope_of("vm-a"), incarnation=41)

    again = after(scope, remove(), declare("vm-a"))

    assert again.incarnation == 41
