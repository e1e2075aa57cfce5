"""The life of an event, told without threads: appeared, prepared, approved, started, ended, undone (issue 9)."""

from agent_story import ID, OTHER, Story, a_rule, a_step, replace, shown

STARTED = {"status": "Started"}


def test_steps_are_done_in_order_then_it_is_approved_and_undone_in_reverse():
    """The life: appeared, do steps in order, approval, started, ended, undo in reverse order."""
    story = Story()

    story.shows(shown())
    story.ends()
    story.ends()
    story.answers()
    story.shows(shown(**STARTED))
    story.shows()
    story.ends()
    story.ends()

    assert story.did == ["do drain", "do stop", "approve", "undo stop", "undo drain"]
    assert story.life() is None


def test_an_event_that_no_rule_matches_is_left_alone():
    """Never approved, nothing done."""
    story = Story(a_rule(types=("freeze",)))

    story.shows(shown(kind="Reboot"))
    story.passes(2000)

    assert story.did == []


def test_the_first_rule_that_matches_decides_and_stays_the_events_rule():
    """The rule that was chosen stays the event's rule for its life, also when the event changes."""
    story = Story(a_rule("scheduled", ["drain"], statuses=("scheduled",)), a_rule("rest", ["other"]))

    story.shows(shown())
    story.shows(shown(**STARTED))

    assert story.life().rule.name == "scheduled"
    assert story.did == ["do drain"]


def test_an_event_that_no_rule_matched_is_looked_at_again_when_it_changes():
    story = Story(a_rule(statuses=("started",)))

    story.shows(shown())
    assert story.did == []
    story.shows(shown(**STARTED))

    assert story.did == ["do drain"]


def test_a_cancelled_event_is_undone_without_impact(caplog):
    """Cancelled: ended without Started seen; undo without impact, the log says so."""
    caplog.set_level("INFO")
    story = Story()
    story.shows(shown())
    story.ends()

    story.shows()
    story.ends()
    story.ends()

    assert story.did == ["do drain", "do stop", "undo stop", "undo drain"]
    assert "was cancelled, no impact was seen" in caplog.text


def test_a_cancel_lets_the_step_under_way_end_and_begins_no_further_one():
    """Let it end, bounded by its limit; no further ones; then undo."""
    story = Story()
    story.shows(shown())

    story.shows()
    assert story.under_way == {ID.lower(): "do 0"}
    story.all_end()

    assert story.did == ["do drain", "undo drain"]


def test_a_step_that_failed_is_undone_too():
    """Undo of what was begun, also of a step that failed; not of one that was never begun."""
    story = Story()
    story.shows(shown())
    story.ends(ok=False)

    story.shows()
    story.all_end()

    assert story.did == ["do drain", "undo drain"]


def test_after_a_failure_nothing_more_is_done_and_nothing_approved():
    """A failed step never leads to an approval unless the rule says so; the administrator is told."""
    story = Story()

    story.shows(shown())
    story.ends(ok=False)
    story.passes(5000)

    assert story.did == ["do drain"]
    assert len(story.told) == 1
    assert "step 'drain' of rule 'all': as the story has it" in story.told[0]


def test_go_on_does_the_next_step_but_approves_nothing():
    """on_failure = "go-on": the others are done all the same; it failed nevertheless."""
    story = Story(a_rule(steps=[a_step("drain", goes_on=True), "stop"]))

    story.shows(shown())
    story.ends(ok=False)
    story.ends()
    story.passes(5000)

    assert story.did == ["do drain", "do stop"]


def test_a_step_without_undo_is_not_undone():
    story = Story(a_rule(steps=[a_step("tell", undo=False), "drain"]))
    story.shows(shown())
    story.all_end()

    story.shows()
    story.all_end()

    assert story.did == ["do tell", "do drain", "approve", "undo drain"]


def test_an_undo_that_fails_does_not_keep_the_others_from_being_undone():
    story = Story()
    story.shows(shown())
    story.all_end()

    story.shows()
    story.ends(ok=False)
    story.ends()

    assert story.did[-2:] == ["undo stop", "undo drain"]
    assert "undo-failed" in story.told[0]
    assert story.life() is None


# -- budgets


def test_all_steps_together_may_take_their_share_of_the_notice():
    """Each at most its own limit, all together at most budget_share of the time until NotBefore."""
    story = Story(a_rule(steps=[a_step("drain", limit_s=20), a_step("stop", limit_s=3600)], budget_share=0.5))

    story.shows(shown(notice_s=100))
    assert story.limit_s() == 20
    story.passes(20)
    story.ends()

    assert story.limit_s() == 30


def test_when_the_budget_is_over_the_step_under_way_is_cut_off():
    """A Preempt has 30 s."""
    story = Story(a_rule(steps=[a_step("drain", limit_s=600)]))

    story.shows(shown(kind="Preempt", notice_s=30))
    story.passes(23.9)
    assert story.hands.cut == set()
    story.passes(0.2)

    assert story.hands.cut == {ID.lower()}


def test_a_step_that_would_begin_after_the_budget_counts_as_failed():
    story = Story()

    story.shows(shown(kind="Preempt", notice_s=30))
    story.clock.passed_s = 24.0
    story.ends()
    story.passes(60)

    assert story.did == ["do drain"]
    assert "the time that its event's steps may take is over" in story.told[0]


def test_a_changed_not_before_changes_the_budget_and_restarts_nothing():
    """Changed: budgets are recomputed, nothing restarts."""
    story = Story(a_rule(steps=[a_step("drain", limit_s=3600)]))
    story.shows(shown(notice_s=1000))

    story.shows(shown(notice_s=100))
    story.passes(79)
    assert story.hands.cut == set()
    story.passes(2)

    assert story.hands.cut == {ID.lower()}
    assert story.did == ["do drain"]


def test_a_start_leaves_the_budget_as_it_was():
    """Started early, by another's word: NotBefore is shown no more, and the steps have no more time than before."""
    story = Story(a_rule(steps=[a_step("drain", limit_s=3600)]))
    story.shows(shown(notice_s=100))

    story.shows(shown(**STARTED))
    story.passes(81)

    assert story.hands.cut == {ID.lower()}


def test_without_a_notice_the_limits_alone_hold_and_it_is_said():
    """Started already: better late; the limits hold, and that there was no notice is said."""
    story = Story(a_rule(steps=[a_step("drain", limit_s=77)]), alert_on=("no-notice",))

    story.shows(shown(**STARTED))

    assert story.limit_s() == 77
    assert "no notice" in story.told[0]
    story.all_end()
    assert story.did == ["do drain"]


def test_a_rule_for_scheduled_events_leaves_alone_what_is_first_seen_as_started():
    story = Story(a_rule(statuses=("scheduled",)))

    story.shows(shown(**STARTED))

    assert story.did == []


def test_a_not_before_that_is_no_date_is_not_due():
    """An event whose NotBefore is not known is not treated as due: limits hold, and the leader still approves."""
    story = Story(a_rule(steps=[a_step("drain", limit_s=77)]))

    story.shows(shown(NotBefore="soon"))
    assert story.limit_s() == 77
    story.passes(70)
    assert story.hands.cut == set()
    story.ends()

    assert story.did == ["do drain", "approve"]


def test_a_wall_clock_that_is_set_meanwhile_changes_no_budget():
    """Times are counted on the steady clock."""
    story = Story(a_rule(steps=[a_step("drain", limit_s=3600)]))
    story.shows(shown(notice_s=100))

    story.clock.wall_ahead_s = 86_400
    story.passes(79)

    assert story.hands.cut == set()


# -- two events on one VM


def test_what_is_in_force_for_one_event_is_shared_by_the_next():
    """Two events overlapping: not done again but shared; undone only when the last that holds it has ended."""
    story = Story()
    story.shows(shown())
    story.all_end()

    story.shows(shown(), shown(OTHER))
    assert story.did == ["do drain", "do stop", "approve", "approve"]
    story.shows(shown(OTHER))
    assert story.life() is None
    story.shows()
    story.all_end()

    assert story.did[4:] == ["undo stop", "undo drain"]
    assert not story.book.lives.living


def test_two_events_at_once_do_a_step_once():
    """Whoever comes second waits for the end of the first, then shares it."""
    story = Story(a_rule(steps=["drain"]))

    story.shows(shown(), shown(OTHER))
    assert story.did == ["do drain"]
    story.all_end()
    story.shows()
    story.all_end()

    assert story.did == ["do drain", "approve", "approve", "undo drain"]


def test_a_step_that_failed_for_one_event_is_tried_by_the_other():
    story = Story(a_rule(steps=["drain"]))
    story.shows(shown())
    story.ends(ok=False)

    story.shows(shown(), shown(OTHER))
    story.all_end()
    story.shows()
    story.all_end()

    assert story.did == ["do drain", "do drain", "approve", "undo drain"]


def test_who_comes_while_it_is_being_undone_waits_and_does_it_anew():
    story = Story(a_rule(steps=["drain"]))
    story.shows(shown())
    story.all_end()
    story.shows()

    story.shows(shown(OTHER))
    assert story.under_way == {ID.lower(): "undo 0"}
    story.ends()

    assert story.under_way == {OTHER.lower(): "do 0"}


def test_steps_that_are_not_shared_are_done_for_each_event():
    """What tells somebody is told for each."""
    story = Story(a_rule(steps=[a_step("mail", key="")]))

    story.shows(shown(), shown(OTHER))
    story.all_end()

    assert story.did.count("do mail") == 2


def test_the_same_step_of_two_rules_is_one_thing_in_force():
    story = Story(a_rule("freezes", ["drain"], types=("freeze",)), a_rule("rest", ["drain"]))
    story.shows(shown(kind="Freeze"))
    story.all_end()

    story.shows(shown(kind="Freeze"), shown(OTHER))
    story.shows(shown(OTHER))
    assert "undo drain" not in story.did
    story.shows()
    story.all_end()

    assert story.did.count("do drain") == story.did.count("undo drain") == 1


def test_what_is_done_for_one_peer_is_not_in_force_for_another():
    story = Story(a_rule(steps=["take-out"], of="peer"), vm="web-0")

    story.shows(shown(vms=("web-1",)), shown(OTHER, vms=("web-2",)))
    story.all_end()

    assert story.did.count("do take-out") == 2


def test_more_events_than_any_vm_has_are_left_alone():
    """A limit on everything."""
    story = Story(a_rule(steps=[]))

    story.shows(*(shown(f"{n:08}") for n in range(300)))

    assert len(story.book.lives.living) == 200


# -- reappeared


def test_an_event_that_comes_again_before_anything_was_undone_goes_on():
    story = Story()
    story.shows(shown())

    story.shows()
    story.shows(shown())
    story.ends()
    story.ends()

    assert story.did == ["do drain", "do stop", "approve"]


def test_an_echo_of_an_ended_event_begins_nothing():
    """Reappeared with an older incarnation: what is over stays over while it might be an older answer."""
    story = Story()
    story.shows(shown())
    story.all_end()
    story.shows(shown(**STARTED))
    story.shows()
    story.all_end()
    before = list(story.did)

    story.shows(shown())
    story.passes(14)
    story.shows()
    story.passes(100)

    assert story.did == before


def test_an_event_that_comes_again_and_stays_has_another_life():
    story = Story(a_rule(steps=["drain"]))
    story.shows(shown())
    story.all_end()
    story.shows()
    story.all_end()

    story.shows(shown())
    story.passes(16)

    assert story.life().name == f"{ID.lower()}~2"
    assert story.did == ["do drain", "approve", "undo drain", "do drain"]


def test_an_event_that_comes_again_with_another_not_before_has_another_life_at_once():
    story = Story(a_rule(steps=["drain"]))
    story.shows(shown())
    story.all_end()
    story.shows()
    story.all_end()

    story.shows(shown(notice_s=1800))

    assert story.under_way == {f"{ID.lower()}~2": "do 0"}


def test_an_event_that_comes_again_while_it_is_being_undone_is_undone_first():
    story = Story(a_rule(steps=["drain"]))
    story.shows(shown())
    story.all_end()
    story.shows()

    story.shows(shown())
    story.passes(100)
    assert story.under_way == {ID.lower(): "undo 0"}
    story.ends()

    assert story.under_way == {f"{ID.lower()}~2": "do 0"}


def test_an_echo_whose_event_was_forgotten_and_that_no_rule_wants_any_more_ends_nobody():
    """Sixty-four others were over meanwhile, and the settings were read anew."""
    story = Story(a_rule(steps=[]))
    story.shows(shown())
    story.shows()
    story.shows(shown())
    for n in range(70):
        story.shows(shown(), shown(f"0000000{n:02}"))
        story.shows(shown())
    assert ID.lower() not in story.book.lives.memories
    story.agent._carrier.settings = replace(story.settings, rules=())

    story.passes(60)

    assert story.book.lives.echoes == {}
    assert story.life() is None
