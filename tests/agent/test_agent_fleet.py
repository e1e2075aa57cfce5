"""Several agents on one event: one speaks for all, and another when that one stays silent (issue 9: must show)."""

import pytest
from agent_fleet import VMS, agents_of, approvals_of, open_fleet
from agent_process import settings_text

# No VM is ready before all have seen the event.
UNTIL_GO = "while test ! -e go; do sleep 0.05; done"


@pytest.fixture
def fleet(tmp_path):
    with open_fleet(tmp_path) as lab:
        yield lab


@pytest.fixture
def agents(fleet, tmp_path):
    yield from agents_of(fleet, tmp_path)


def test_three_agents_on_one_event_give_exactly_one_approval(fleet, agents):
    """The leader speaks for all."""
    running = [agents(settings_text(one=UNTIL_GO), n).start() for n in range(3)]
    assert all(agent.says("the endpoint shows 0 events") for agent in running)
    event = fleet.maintain("fleet", "Freeze")["events"][0]
    assert event["vms"] == list(VMS)
    assert all(agent.says("'one' begins") for agent in running)
    leader, *others = running
    # The leader's word starts it for all: the others are ready before it speaks, or they would leave off in the middle.
    for agent in others:
        (agent.place / "go").touch()
        assert agent.says(r"'two' done \(do\)")
    (leader.place / "go").touch()

    assert all(agent.says("is now Started") for agent in running)
    fleet.advance(60)
    assert all(agent.says("nothing is left to do") for agent in running)

    assert approvals_of(fleet, event["id"]) == ["vm web-1"]
    assert all(agent.did == ["do one", "do two", "undo two", "undo one"] for agent in running)


def test_when_the_leader_is_killed_the_next_approves_before_the_deadline(fleet, agents):
    """The next takes over when the leader stays silent for a set share of the notice."""
    text = settings_text(rule="takeover_share = 0.002")
    leader, second, third = (agents(text, n).start() for n in range(3))
    assert all(agent.says("the endpoint shows 0 events") for agent in (leader, second, third))
    leader.kill()
    event = fleet.maintain("fleet", "Freeze")["events"][0]

    # Perhaps its turn has come by the time it is ready: then not "later".
    assert second.says("to be approved( later)?: web-1, the first of its Resources, has the word until then")
    assert second.says("is now Started")
    assert third.says("is now Started")
    fleet.advance(60)

    assert approvals_of(fleet, event["id"]) == ["vm web-2"]
    shown = fleet.event(event["id"])
    assert shown["started_at"] < shown["not_before"]
