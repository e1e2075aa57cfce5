"""Each kind of step and expectation can fail, and says what was seen instead."""

import pytest
from small_plays import FLEET, played, said

from notbefore.scenarios.playing import Kind

REBOOT = (
    "Reboot Scheduled of web-0, not before 15m, source User, duration -1, "
    '"Virtual machine is going to be restarted as requested by authorized user.", as reboot'
)
# What each line finds, ten minutes after web-0 was restarted.
NOT_MET = {
    "web-0 sees nothing": REBOOT,
    "web-0 sees Freeze Scheduled of web-0": REBOOT,
    "web-0 sees Reboot Started of web-0": REBOOT,
    "web-0 sees Reboot Scheduled of web-1": REBOOT,
    "web-0 sees Reboot Scheduled of web-0 and web-1": REBOOT,
    "web-0 sees Reboot Scheduled of web-0, not before 16m": REBOOT,
    "web-0 sees Reboot Scheduled of web-0, source Platform": REBOOT,
    "web-0 sees Reboot Scheduled of web-0, duration 5": REBOOT,
    'web-0 sees Reboot Scheduled of web-0, "Soon."': REBOOT,
    "web-0 sees Reboot Scheduled of web-0, as eviction": REBOOT,
    "web-0 no longer sees reboot": REBOOT,
    "web-0 sees incarnation changed": "incarnation 2, earlier 2",
    "teller-0 sees Reboot Scheduled of web-0": 'Preempt Started of teller-0, source Platform, duration -1, "", as eviction',
    "web-0 is gone": "running on rack-a",
    "web-0 is deallocated": "running on rack-a",
    "web-0 is running on rack-b": "running on rack-a",
    "history of reboot tells scheduled, started": "scheduled",
    'history of reboot says "nobody"': "scheduled (operator admin): restart asked for by operator admin",
    "operator approves eviction, refused": "it was not refused",
    "operator restarts web-0": "refused: web-0 already has a Reboot Scheduled",
    "operator restarts web-1, refused": "it was not refused",
    "operator maintains Freeze of scope shop, not before 1s": "refused: ",
    "operator cancels eviction": "refused: ",
    "web-0 approves eviction": "refused: eviction cannot be approved any more.",
}


@pytest.fixture(scope="module")
def verdicts():
    """All of them in one play: a line that fails does not end it."""
    outcome = played(
        "at 0s",
        "operator restarts web-0, as reboot",
        "at 10m",
        "operator evicts teller-0, as eviction",
        "at 10m30s",
        *NOT_MET,
    )
    return dict(said(outcome))


@pytest.mark.parametrize("line", NOT_MET)
def test_what_is_not_met_says_what_was_seen(verdicts, line):
    """Issue: each expectation as met or not, with what was seen instead."""
    assert verdicts[line] is not None
    assert verdicts[line].startswith(NOT_MET[line]), verdicts[line]


def test_what_came_as_it_should_says_nothing(verdicts):
    assert verdicts["operator restarts web-0, as reboot"] is None
    assert verdicts["operator evicts teller-0, as eviction"] is None


def test_an_incarnation_that_moved_is_not_unchanged():
    """Compared with the time before."""
    outcome = played(
        "at 0s  operator restarts web-0",
        "web-1 sees incarnation unchanged",
        "at 1s  web-1 sees incarnation unchanged",
    )

    assert said(outcome)[1:] == [
        ("web-1 sees incarnation unchanged", "incarnation 2, earlier 1"),
        ("web-1 sees incarnation unchanged", None),
    ]


def test_only_means_that_there_is_no_other():
    outcome = played(
        "at 0s",
        "operator restarts web-0",
        "operator restarts web-1",
        "web-0 sees only Reboot Scheduled of web-0",
        "web-0 sees Reboot Scheduled of web-0",
    )

    texts = dict(said(outcome))
    assert texts["web-0 sees only Reboot Scheduled of web-0"].count("Reboot Scheduled of web-") == 2
    assert texts["web-0 sees Reboot Scheduled of web-0"] is None


def test_a_name_is_one_events_for_its_life():
    """S4: EventId stable; another event of the same looks is not taken for it."""
    outcome = played(
        "at 0s",
        "operator freezes web-0, as first",
        "web-0 sees Freeze Scheduled of web-0, as first",
        "web-0 sees Freeze Scheduled of web-0, as second",
        "operator cancels first",
        "operator freezes web-0",
        "web-0 sees Freeze Scheduled of web-0, as first",
        "web-0 sees Freeze Scheduled of web-0, as second",
        "web-0 no longer sees first",
    )

    assert [seen for _, seen in said(outcome)] == [
        *(None, None),
        'Freeze Scheduled of web-0, not before 15m, source Platform, duration -1, "Host server is undergoing maintenance.", as first',
        *(None, None),
        'Freeze Scheduled of web-0, not before 15m, source Platform, duration -1, "Host server is undergoing maintenance."',
        *(None, None),
    ]


def test_an_event_that_was_never_seen_cannot_be_spoken_of():
    outcome = played(
        "at 0s",
        "web-0 sees Freeze Scheduled of web-0, as ghost",
        "web-0 approves ghost",
        "web-0 no longer sees ghost",
    )

    assert [seen for _, seen in said(outcome)] == [
        "nothing",
        "refused: No event is called ghost: the line that names it saw none.",
        "no event is called ghost: the line that names it saw none",
    ]


def test_a_deleted_vm_is_no_longer_answered():
    """SPEC §3.5: Terminate done, the VM leaves the scope; §5: who is not known gets 403."""
    outcome = played("at 0s  operator terminates teller-1", "at 6m", "teller-1 is gone", "teller-1 sees nothing")

    [_, gone, asked] = said(outcome)
    assert gone == ("teller-1 is gone", None)
    assert "403" in asked[1]


def test_every_kind_of_step_can_be_taken():
    """Issue: maintain, restart, redeploy, freeze, evict, terminate, cancel, approve, host-failed, a VM asks."""
    fleet = FLEET + "Reboot takes 1s\nPreempt takes 1s\nTerminate takes 1s\nRedeploy takes 1s\nFreeze takes 1s\n"
    outcome = played(
        "at 0s",
        "web-0 asks",
        "operator maintains Freeze of update domain 0 and 1 of scope shop",
        "web-0 sees only Freeze Scheduled of web-0, as freeze",
        "operator approves freeze",
        "web-0 sees only Freeze Started of web-0, as freeze",
        "operator completes freeze",
        "web-1 sees only Freeze Scheduled of web-1, as next",
        "operator cancels next",
        'operator maintains Reboot of web-0, duration 7, "Why."',
        'web-1 sees only Reboot Scheduled of web-0, duration 7, "Why.", as reboot',
        "web-1 approves reboot",
        "after 10s",
        "web-0 sees nothing",
        "operator maintains Freeze of host rack-b",
        "web-1 sees only Freeze Scheduled of web-1, as hosts",
        "operator redeploys web-0, as redeploy",
        "operator approves redeploy",
        "after 20m",
        "web-0 is running on rack-b",
        "host rack-a fails",
        "teller-0 sees only Reboot Started of teller-0, as failure",
        "after 1m",
        "operator evicts teller-0",
        "after 1m",
        "teller-0 is deallocated",
        "history of failure tells started, impact done, completed",
        'history of scope shop says "moved to rack-b"',
        fleet=fleet,
    )

    assert outcome.not_met == []
    assert len(outcome.of(Kind.STEP)) == 12


def test_scopes_have_the_settings_that_are_set():
    """Written as in fleet.toml, each for the scope it stands in."""
    outcome = played(
        "at 0s  operator restarts web-0",
        "web-0 sees Reboot Started of web-0",
        "operator freezes web-1, as freeze",
        "web-0 sees Freeze Scheduled of web-1, not before 1m",
        fleet=FLEET.replace(
            "  vm web-0",
            '  setting auto_approve = ["User:Reboot"]   # the owner knows\n  setting notice_s = { Freeze = 60 }\n  vm web-0',
        ),
    )

    assert outcome.not_met == []


def test_a_scope_that_nobody_asks_for_gets_no_notice_when_it_is_to_be_so():
    """SPEC §2.5; scenarios listen always, unless they say otherwise."""
    fleet = FLEET.replace("  vm web-0", '  setting listening = "auto"\n  vm web-0')
    at_once = played("at 0s  operator restarts web-0, as reboot", "web-0 sees Reboot Started of web-0", fleet=fleet)
    noticed = played(
        "at 0s  web-1 asks", "operator restarts web-0", "web-0 sees Reboot Scheduled of web-0", fleet=fleet
    )

    assert at_once.not_met == noticed.not_met == []
