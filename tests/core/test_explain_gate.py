"""Why an approved event of host maintenance waits, and who is told of whom (SPEC §3.4)."""

from dataclasses import replace

from notbefore.core.decide import decide
from notbefore.core.explain import Behind, Rule, WaveMate, explain, waiting_for
from notbefore.core.kinds import EventType, Listening
from notbefore.core.model import Actor, ActorKind, Scope, Vm
from notbefore.core.requests import ApproveEvents, JoinWave, OpenGate
from notbefore.core.scope_settings import ScopeSettings
from notbefore.core.times import Moment

NOON = Moment(1_772_452_800_000, 0, "boot")
OPERATOR = Actor(ActorKind.OPERATOR, "ops")
EVENT = "602D9444-D2CD-49C7-8624-8643E7171297"
OTHER = "11111111-D2CD-49C7-8624-8643E7171297"
OPERATION = "0b0f3a52-8f0e-4b5c-a2a1-5ad7d0ce71b1"
DEADLINE = "2026-03-02T12:15:01Z"
TENANT = Behind("rack1", (WaveMate("b", OTHER, ("b1",)),))
HIDDEN = Behind("rack1", (), hidden=1)


def joined():
    scope = Scope("a", settings=ScopeSettings(listening=Listening.ALWAYS), vms=(Vm("a1", host="rack1"),))
    request = JoinWave(
        scope="a",
        request_id="1b0f3a52-8f0e-4b5c-a2a1-5ad7d0ce71b1",
        by=OPERATOR,
        event_id=EVENT,
        operation=OPERATION,
        wave=1,
        type=EventType.REBOOT,
        vms=("a1",),
        not_before_ms=NOON.wall_ms + 901_000,
        duration_s=-1,
        description="",
    )
    return decide(scope, request, NOON).scope


def approved():
    by = Actor(ActorKind.VM, "a1")
    request = ApproveEvents(scope="a", request_id="2b0f3a52-8f0e-4b5c-a2a1-5ad7d0ce71b1", by=by, event_ids=(EVENT,))
    return decide(joined(), request, NOON).scope


def why(scope, behind):
    return explain(scope, scope.event(EVENT), NOON, behind=behind)


def test_an_operator_is_told_which_tenants_vm_holds_it():
    """Must show: explain names B's VM to the operator."""
    explanation = why(approved(), TENANT)

    assert explanation.rule is Rule.GATE
    assert explanation.waits_on == (OTHER,)
    assert f"Not released yet on host rack1: b1 of scope b ({OTHER})." in explanation.because
    assert explanation.released_by == (
        f"`notbefore approve {OTHER}`, an operator's word on all that are not released",
        f"`notbefore cancel {OTHER}`, which takes the others out of the wave",
        f"the clock: at {DEADLINE} it starts by itself",
    )


def test_who_may_not_know_the_others_is_told_only_that_there_are_some():
    explanation = why(approved(), HIDDEN)

    assert "Other VMs on host rack1 are not released yet." in explanation.because
    assert explanation.waits_on == ("the clock",)
    assert explanation.released_by == (f"the clock: at {DEADLINE} it starts by itself",)
    assert OTHER not in explanation.paragraph


def test_the_sentence_in_a_list_is_the_one_of_the_explanation_and_names_nobody():
    scope = approved()

    sentence = waiting_for(scope, scope.event(EVENT), NOON)
    assert sentence == f"the rest of wave 1 of operation {OPERATION}, or {DEADLINE}"
    assert why(scope, TENANT).waiting_for == sentence


def test_unapproved_it_says_that_its_own_approval_would_not_be_enough():
    explanation = why(joined(), TENANT)

    assert explanation.rule is Rule.POLICY_ANY
    assert f"Approved, it would still wait for the rest of wave 1 of operation {OPERATION}." in explanation.because
    assert explanation.released_by[0].startswith(f"`notbefore approve {EVENT} {OTHER}`")
    assert len(explanation.released_by) == 2


def test_alone_in_its_wave_its_own_approval_is_enough():
    explanation = why(joined(), Behind("rack1", ()))

    assert f"in any VM of scope a: `notbefore ask --approve {EVENT}`" in explanation.released_by


def test_an_open_gate_explains_nothing():
    scope = joined()
    request = OpenGate(scope="a", request_id="3b0f3a52-8f0e-4b5c-a2a1-5ad7d0ce71b1", by=OPERATOR, event_id=EVENT)
    opened = decide(scope, request, NOON).scope

    assert why(opened, TENANT) == replace(why(opened, HIDDEN))
    assert why(opened, TENANT).rule is Rule.POLICY_ANY
