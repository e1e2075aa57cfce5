"""Who approves, and when (issue 9; SPEC §2.4: one VM speaks for all of an event)."""

import pytest
from agent_story import ID, Story, a_rule, shown

THREE = ("web-1", "web-2", "web-3")


def story_of(vm="web-1", **rule):
    return Story(a_rule(**{"steps": ["drain"], **rule}), vm=vm)


def approvals(story):
    return story.did.count("approve")


def test_on_success_approves_when_every_step_has_succeeded():
    story = story_of()
    story.shows(shown())
    assert approvals(story) == 0

    story.ends()

    assert approvals(story) == 1


def test_a_rule_without_steps_approves_at_once():
    story = story_of(steps=[])

    story.shows(shown())

    assert approvals(story) == 1


def test_never_means_never():
    story = story_of(approve="never")
    story.shows(shown())
    story.ends()
    story.passes(5000)

    assert approvals(story) == 0


def test_always_approves_also_after_a_failure():
    """That is what the rule says."""
    story = story_of(approve="always")
    story.shows(shown())

    story.ends(ok=False)

    assert approvals(story) == 1


@pytest.mark.parametrize(("notice_s", "margin_s"), [(900, 30), (100, 10), (15, 2)])
def test_at_deadline_approves_shortly_before_not_before(notice_s, margin_s):
    story = story_of(approve="at-deadline", budget_share=0.1)
    story.shows(shown(notice_s=notice_s))
    story.ends()

    story.passes(notice_s - margin_s - 1)
    assert approvals(story) == 0
    story.passes(1)

    assert approvals(story) == 1


def test_at_deadline_the_vms_of_an_event_speak_one_after_the_other():
    first, second = story_of(approve="at-deadline"), story_of(vm="web-2", approve="at-deadline")
    for story in (first, second):
        story.shows(shown(vms=THREE))
        story.ends()
        story.passes(875)

    assert (approvals(first), approvals(second)) == (1, 0)
    second.passes(10)
    assert approvals(second) == 1


def test_at_deadline_approves_nothing_after_a_failure_or_without_a_deadline():
    failed, undated = story_of(approve="at-deadline"), story_of(approve="at-deadline")
    failed.shows(shown())
    failed.ends(ok=False)
    undated.shows(shown(NotBefore="soon"))
    undated.ends()
    failed.passes(5000)
    undated.passes(5000)

    assert approvals(failed) == approvals(undated) == 0


@pytest.mark.parametrize("status", ["Started", "Pending", ""])
def test_only_scheduled_events_are_approved(status):
    story = story_of()
    story.shows(shown(status=status))
    story.ends()

    assert approvals(story) == 0


def test_an_approval_that_failed_is_tried_again_while_it_is_scheduled_and_told_once():
    story = story_of()
    story.shows(shown())
    story.ends()

    story.answers(given=False)
    assert approvals(story) == 1
    story.passes(5)
    assert approvals(story) == 2
    story.answers(given=False)
    story.shows(shown(status="Started"))
    story.passes(500)

    assert approvals(story) == 2
    assert [one for one in story.told if "approval-failed" in one] == story.told[:1]
    assert len(story.told) == 1


def test_the_leader_is_the_first_of_resources_in_any_letter_case():
    """A simple leader is the first machine in Resources [seed]."""
    story = story_of(vm="WEB-1")
    story.shows(shown(vms=THREE))

    story.ends()

    assert approvals(story) == 1


@pytest.mark.parametrize(("vm", "share"), [("web-2", 0.5), ("web-3", 0.5 + 0.5 / 3)])
def test_the_others_take_over_one_by_one_when_it_stays_scheduled(vm, share):
    """The next takes over when the leader stays silent for a set share of the notice."""
    story = story_of(vm=vm)
    story.shows(shown(vms=THREE, notice_s=1000))
    story.ends()

    story.passes(1000 * share - 1)
    assert approvals(story) == 0
    story.passes(2)

    assert approvals(story) == 1


def test_nobody_takes_over_what_has_started():
    story = story_of(vm="web-2")
    story.shows(shown(vms=THREE))
    story.ends()

    story.shows(shown(vms=THREE, status="Started"))
    story.passes(5000)

    assert approvals(story) == 0


def test_everybody_has_a_slot_before_the_deadline():
    names = tuple(f"web-{n}" for n in range(1, 41))
    story = story_of(vm="web-40", takeover_share=0.9)
    story.shows(shown(vms=names, notice_s=1000))
    story.ends()

    story.passes(999)

    assert approvals(story) == 1


def test_a_failed_step_takes_nothing_over():
    story = story_of(vm="web-2")
    story.shows(shown(vms=THREE))
    story.ends(ok=False)
    story.passes(5000)

    assert approvals(story) == 0


def test_own_only_approves_nothing_that_others_are_in():
    alone, shared = story_of(among="own-only"), story_of(among="own-only")
    alone.shows(shown())
    alone.ends()
    shared.shows(shown(vms=THREE))
    shared.ends()

    assert (approvals(alone), approvals(shared)) == (1, 0)


def test_any_approves_whoever_is_ready():
    story = story_of(vm="web-3", among="any")
    story.shows(shown(vms=THREE))

    story.ends()

    assert approvals(story) == 1


@pytest.mark.parametrize(("among", "expected"), [("leader", 0), ("own-only", 0), ("any", 1)])
def test_a_peers_event_is_approved_only_among_any(among, expected):
    story = story_of(vm="web-9", of="any", among=among)
    story.shows(shown(vms=THREE))
    story.ends()
    story.passes(5000)

    assert approvals(story) == expected


@pytest.mark.parametrize("allowed", [False, True])
def test_a_peers_terminate_is_not_approved_unless_the_rule_says_so(allowed):
    """A peer's Terminate is never approved by default."""
    story = story_of(vm="web-9", of="any", among="any", approve_peer_terminate=allowed)
    story.shows(shown(kind="Terminate"))
    story.ends()

    assert approvals(story) == int(allowed)


def test_why_it_is_not_approved_is_said(caplog):
    caplog.set_level("INFO")
    story = story_of()
    story.shows(shown())
    story.ends(ok=False)

    assert "not approved: step 'drain' failed" in caplog.text
    assert caplog.text.count("not approved") == 1
    assert story.life(ID).fault == "drain"
