"""The agent's own end, at every place, and what it does when it comes back (issue 9: the journal)."""

import random

import pytest
from agent_story import ID, OTHER, Story, a_rule, a_step, shown

from notbefore.agent.steps.step import Phase

STARTED = {"status": "Started"}


def test_an_event_that_is_still_shown_goes_on_where_it_was():
    story = Story()
    story.shows(shown())
    story.ends()
    story.ends()

    story.crash()
    story.looks_again()
    story.answers()
    story.shows()
    story.all_end()

    assert story.did == ["do drain", "do stop", "approve", "approve", "undo stop", "undo drain"]


def test_an_approval_that_was_taken_is_not_sent_again():
    """A 200 is remembered in the journal."""
    story = Story()
    story.shows(shown())
    story.all_end()
    story.answers()

    story.crash()
    story.looks_again()
    story.passes(5000)

    assert story.did.count("approve") == 1


def test_an_event_that_is_gone_when_it_comes_back_is_undone():
    """Those gone meanwhile are ended: undo. The VM's own reboot is the usual case."""
    story = Story()
    story.shows(shown())
    story.all_end()

    story.crash(boot="second boot")
    assert "undo stop" not in story.did
    story.shows()
    story.all_end()

    assert story.did[-2:] == ["undo stop", "undo drain"]
    assert story.life() is None


def test_an_event_that_is_gone_after_the_vms_reboot_was_no_cancelled_one(caplog):
    """It may have started and ended before anybody could see it."""
    caplog.set_level("INFO")
    story = Story()
    story.shows(shown())
    story.all_end()

    story.crash(boot="second boot")
    story.shows()

    assert "is over; what was done is undone" in caplog.text
    assert "cancelled" not in caplog.text


def test_nothing_is_begun_before_the_endpoint_has_said_what_is_there():
    """An event of the journal may be gone: its next step is not begun on the strength of memory."""
    story = Story(a_rule(steps=["drain", a_step("stop", repeatable=True)]))
    story.shows(shown())
    story.ends()
    story.crash()

    story.passes(60)
    assert story.under_way == {}
    story.shows()

    assert story.did == ["do drain", "do stop", "undo stop"]


def test_an_undo_that_is_due_needs_no_endpoint():
    """What was known to be over before the crash is undone, whatever the endpoint does."""
    story = Story(a_rule(steps=["drain", a_step("stop", repeatable=True)]))
    story.shows(shown())
    story.all_end()
    story.shows()

    story.crash()
    story.all_end()

    assert story.did == ["do drain", "do stop", "approve", "undo stop", "undo stop", "undo drain"]


@pytest.mark.parametrize("repeatable", [True, False])
def test_a_step_cut_off_by_the_crash_is_run_again_only_if_repeatable(repeatable):
    """Else it counts as failed, is alerted, no approval; and it is undone later."""
    story = Story(a_rule(steps=[a_step("drain", repeatable=repeatable)]))
    story.shows(shown())

    story.crash()
    story.looks_again()
    story.all_end()
    story.passes(5000)
    story.shows()
    story.all_end()

    if repeatable:
        assert story.did == ["do drain", "do drain", "approve", "undo drain"]
        assert story.told == []
    else:
        assert story.did == ["do drain", "undo drain"]
        assert "not repeatable" in story.told[0]


@pytest.mark.parametrize("repeatable", [True, False])
def test_an_undo_cut_off_by_the_crash_is_run_again_only_if_repeatable(repeatable):
    """No step twice: else it is reported. An undo that had not begun is run."""
    story = Story(a_rule(steps=["drain", a_step("stop", repeatable=repeatable)]))
    story.shows(shown())
    story.all_end()
    story.shows()
    assert story.did[-1] == "undo stop"

    story.crash()
    story.shows()
    story.all_end()

    assert story.did.count("undo stop") == (2 if repeatable else 1)
    assert story.did[-1] == "undo drain"
    assert len(story.told) == (0 if repeatable else 1)


def test_always_approves_also_after_a_crash_in_a_step():
    """No approval, unless the rule says always."""
    story = Story(a_rule(steps=["drain"], approve="always"))
    story.shows(shown())

    story.crash()
    story.looks_again()

    assert story.did == ["do drain", "approve"]


def test_after_the_vms_own_reboot_no_further_do_step_is_begun():
    """The impact has been: preparing for it now would only disturb; what was begun is undone at the end."""
    story = Story(a_rule(steps=[a_step("drain", repeatable=True), "stop"]))
    story.shows(shown())
    story.shows(shown(**STARTED))

    story.crash(boot="second boot")
    story.looks_again()
    story.shows()
    story.all_end()

    assert story.did == ["do drain", "undo drain"]


def test_the_budget_goes_on_counting_while_the_agent_is_down():
    """On the same boot by its steady clock, on another by the wall."""
    for boot in ("first boot", "second boot"):
        story = Story(a_rule(steps=[a_step("drain", limit_s=3600, repeatable=True)]))
        story.shows(shown(notice_s=100))
        story.clock.passed_s += 50
        story.crash(boot)

        story.looks_again()

        assert story.limit_s() == pytest.approx(30)


def test_on_the_same_boot_a_wall_clock_set_meanwhile_changes_nothing():
    story = Story(a_rule(steps=[a_step("drain", limit_s=3600, repeatable=True)]))
    story.shows(shown(notice_s=100))
    story.clock.passed_s += 50
    story.clock.wall_ahead_s = 86_400
    story.crash()

    story.looks_again()

    assert story.limit_s() == pytest.approx(30)


def test_a_full_disk_begins_nothing_and_approves_nothing_and_goes_on_when_there_is_room():
    """Disk full: says so, does not approve, keeps watching."""
    story = Story()
    story.shows(shown())
    story.kept.is_full = True

    story.ends()
    story.shows(shown(), shown(OTHER))
    story.passes(60)
    assert story.did == ["do drain"]
    assert "No space left on device" in story.told[0]
    story.kept.is_full = False
    story.passes(60)
    story.all_end()

    assert story.did == ["do drain", "do stop", "approve", "approve"]


def test_a_full_disk_is_told_when_a_hand_is_free_though_it_has_room_again_by_then():
    """Other alerts may be under way, or hang: what is wrong with the journal waits for them, and is not dropped."""
    story = Story()
    story.shows(shown())
    story.hands.can_tell = False
    story.kept.is_full = True
    story.ends()
    story.passes(10)
    story.kept.is_full = False
    story.passes(10)
    assert story.told == []

    story.hands.can_tell = True
    story.ends()

    assert len(story.told) == 1
    assert "No space left on device" in story.told[0]


def test_what_ended_while_the_disk_was_full_is_undone_afterwards():
    story = Story()
    story.shows(shown())
    story.all_end()
    story.kept.is_full = True
    story.shows(shown(**STARTED))
    story.shows()
    story.passes(60)
    assert story.did[-1] == "approve"

    story.kept.is_full = False
    story.passes(60)
    story.all_end()

    assert story.did[-2:] == ["undo stop", "undo drain"]


def test_a_beginning_that_could_not_be_written_is_tried_again_by_itself():
    """Nothing else has to happen for that."""
    story = Story(a_rule(approve="at-deadline"))
    story.shows(shown())
    story.all_end()
    story.kept.is_full = True
    story.passes(880)
    assert "approve" not in story.did
    assert "No space left on device" in story.told[0]

    story.kept.is_full = False
    story.passes(3)

    assert story.did[-1] == "approve"


def test_what_waited_to_be_written_counts_from_when_it_was_seen():
    story = Story(a_rule(steps=[a_step("drain", limit_s=3600)]))
    story.kept.is_full = True
    story.shows(shown(notice_s=100))
    story.passes(50)

    story.kept.is_full = False
    story.passes(2)

    assert story.limit_s() == pytest.approx(80 - 50, abs=2.1)


# -- at random


def walk(seed):
    """A day of an agent at random: events come, change and go, steps end either way, the disk is full for a while, it is
    killed and comes back.
    """
    chance = random.Random(seed)
    steps = [a_step(name, repeatable=chance.random() < 0.3, goes_on=chance.random() < 0.3) for name in "abc"]
    story = Story(a_rule(steps=steps, approve=chance.choice(["on-success", "always", "never"])))
    there = {}
    for _ in range(60):
        act = chance.random()
        if act < 0.2 and len(there) < 3:
            event_id = f"0000000{chance.randrange(4)}-{chance.randrange(1000)}"
            there[event_id] = shown(event_id, notice_s=story.clock.passed_s + chance.choice([30, 300, 900]))
        elif act < 0.35 and there:
            event_id = chance.choice(list(there))
            there[event_id] = {**there[event_id], "EventStatus": "Started", "NotBefore": ""}
        elif act < 0.5 and there:
            del there[chance.choice(list(there))]
        elif act < 0.8 and story.hands.steps:
            life = chance.choice(list(story.hands.steps))
            event_id, _, number = life.partition("~")
            story.ends(event_id, ok=chance.random() < 0.8, number=int(number or 1))
        elif act < 0.9:
            story.passes(chance.choice([1, 20, 400]))
        else:
            story.crash(chance.choice([None, f"boot {chance.random()}"]))
        story.kept.is_full = chance.random() < 0.15
        if chance.random() < 0.7:
            story.shows(*there.values())
        check(story)
    story.kept.is_full = False
    story.shows()
    for _ in range(100):
        story.all_end()
        story.passes(30)
    return story


def check(story):
    """What holds at every moment."""
    for life in story.book.lives.living.values():
        repeatable = [step.repeatable for step in life.rule.steps]
        for n in range(len(life.stages)):
            for phase in (Phase.DO, Phase.UNDO):
                runs = story.begun.count((life.name, n, phase))
                assert runs <= 1 or repeatable[n], f"{phase} {n} was run {runs} times for {life.name}"
    in_hand = [story.book.lives.living[life].key(n) for life, (n, _, _) in story.hands.steps.items()]
    assert len(in_hand) == len(set(in_hand)), "two runs at once of one thing"


@pytest.mark.parametrize("seed", range(200))
def test_no_step_runs_twice_for_a_life_and_in_the_end_everything_is_undone(seed):
    """Never runs a step twice for one event; whatever was begun is undone, by the last that held it."""
    story = walk(seed)

    assert not story.book.lives.living
    assert not story.hands.steps
    for step in "abc":
        runs = [did for did in story.did if did in (f"do {step}", f"undo {step}")]
        assert not runs or runs[-1] == f"undo {step}"


def test_the_same_facts_give_the_same_lives():
    """The state is the journal replayed."""
    story = walk(7)
    story.shows(shown(ID))
    before = story.book.lives.living

    story.crash()

    assert {name: life.stages for name, life in before.items()} != {}
    assert set(story.book.lives.living) == set(before)
