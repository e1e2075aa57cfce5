"""A clock that runs stands at each time the scenario names, and an agent may take part meanwhile."""

import pytest
from small_plays import FLEET, played, said

from notbefore.client import ScheduledEvents
from notbefore.core.errors import Refusal
from notbefore.scenarios.emulator import Emulator, Stage
from notbefore.scenarios.library import scenario_of
from notbefore.scenarios.playing import Kind, play

A_DAY_IN_A_SECOND = 86_400.0


def approving(vm):
    """An agent that answers as soon as its VM's event is told of."""

    def meanwhile(told, endpoints):
        if told.kind is Kind.HAPPENED and " scheduled " in told.text:
            with ScheduledEvents(endpoints[vm]) as agent:
                agent.approve(*(event.id for event in agent.document().events))

    return meanwhile


@pytest.mark.parametrize(
    "name", ["live-migration", "availability-set-maintenance", "degraded-hardware", "spot-eviction"]
)
def test_lines_are_at_their_times_exactly_when_the_clock_runs(name):
    """At a day in a second too: what is expected at 14m59s and at 15m is seen then."""
    outcome = play(scenario_of(name), Stage(rate=A_DAY_IN_A_SECOND), lambda _: None, serve=lambda _: None)

    assert outcome.not_met == []


def test_an_agent_that_approves_takes_part():
    """Issue: so that somebody's agent can take part."""
    outcome = played(
        "at 0s",
        "operator restarts web-0, as reboot",
        "at 1m",
        "web-0 sees nothing",
        "history of reboot tells scheduled, approved, started, impact done, completed",
        'history of reboot says "approved by vm web-0"',
        stage=Stage(rate=A_DAY_IN_A_SECOND),
        meanwhile=approving("web-0"),
    )

    assert outcome.not_met == []


def test_nothing_is_judged_when_nothing_is_expected():
    """--no-expect: names are still given, and what an agent made impossible is told without failing."""
    outcome = played(
        "at 0s",
        "operator maintains Freeze of web-0",
        "web-0 sees only Freeze Started of web-0, as freeze",
        "web-0 sees only Freeze Scheduled of web-0, as freeze",
        "at 1m",
        "operator cancels freeze",
        fleet=FLEET + "Freeze takes 1h\n",
        expect=False,
        meanwhile=approving("web-0"),
    )

    assert outcome.not_met == []
    assert outcome.of(Kind.EXPECTATION) == []
    assert [text for text, _ in said(outcome)] == ["operator maintains Freeze of web-0", "operator cancels freeze"]
    assert outcome.of(Kind.STEP)[1].seen.startswith("refused: ")


def test_an_emulator_that_breaks_down_ends_the_play_with_a_sentence(caplog):
    """Nothing would go on any more; nobody waits for it."""
    with Emulator(scenario_of("live-migration"), Stage(rate=1.0)) as emulator:

        async def break_down():
            emulator._thread.up.result().failure.set_exception(RuntimeError("boom"))

        emulator._thread.ran(break_down())
        with pytest.raises(Refusal, match="broke down"):
            emulator.go_on_to(900, lambda: None)

    assert "boom" in caplog.text
