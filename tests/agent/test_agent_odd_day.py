"""The agent on a day on which its endpoint does everything wrong in turn (issue 9: the faults of the client issue)."""

from agent_story import Story, a_rule
from odd_day import LAST, QUICK, odd_acts
from odd_server import EVENT, OTHER, THIRD, OddServer
from turned_clock import TurnedClock

from notbefore.agent.watching import Look, Trouble, Watcher


def shown_ids(look):
    return {change.event.id for change in look.changes}


def odd_day():
    """What the real watcher makes of it: looks and troubles, up to the day's last event."""
    clock = TurnedClock()
    with (
        OddServer(*odd_acts(clock)) as server,
        Watcher(server.url, vm="web-1", patience=QUICK, clock=clock) as watcher,
    ):
        seen = []
        for one in watcher.looks(lambda: False):
            seen.append(one)
            if isinstance(one, Look) and LAST in shown_ids(one):
                return seen
    return []


def test_every_step_is_done_and_undone_once_and_what_is_scheduled_is_approved_once():
    """Neither crashes nor misses nor repeats: 410, 429, 500, a hang, an empty 200, garbage, a cut body, numbers that
    begin anew, an unknown type, an event first seen as Started."""
    story, approved = Story(a_rule()), []
    seen = odd_day()
    for one in seen[:-1]:
        story.agent._take(one)
        story._turn()
        story.all_end()
        for life in list(story.hands.approving):
            approved.append(life.upper())
            story.answers(life)
        story.all_end()

    assert len([one for one in seen if isinstance(one, Trouble)]) >= 6
    assert approved == [EVENT, OTHER]
    assert [did for did in story.did if did != "approve"] == ["do drain", "do stop", "undo stop", "undo drain"]
    assert story.book.lives.living == {}
    assert {memory.name.upper() for memory in story.book.lives.memories.values()} == {EVENT, OTHER, THIRD}
    assert story.told == []
