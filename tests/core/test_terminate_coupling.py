"""Coupled Terminates (SPEC §3.2): an approved one waits for those as early that nobody approved yet [real]."""

from builders import (
    MINUTE,
    NOON,
    OPERATOR,
    after,
    approve,
    cancel,
    event_on,
    later,
    restart,
    scope_of,
    statuses,
    terminate,
    tick,
)

from notbefore.core.decide import decide


def two_terminates(first_s: int = 10 * MINUTE, second_s: int = 10 * MINUTE):
    """`first` and `second` are to be deleted, not before the given times."""
    return after(
        scope_of("first", "second", "third"),
        terminate("first", not_before_ms=later(first_s).wall_ms),
        terminate("second", not_before_ms=later(second_s).wall_ms),
    )


def test_an_approved_terminate_waits_for_one_with_an_equal_not_before():
    """SPEC §3.2: waits while another Terminate with an earlier or equal NotBefore is neither approved nor due."""
    scope = two_terminates()

    scope = after(scope, approve(event_on(scope, "first"), by="first"))

    assert statuses(scope) == {"first": "Scheduled", "second": "Scheduled"}


def test_an_approved_terminate_waits_for_an_earlier_one():
    """SPEC §3.2: "with an earlier or equal NotBefore"."""
    scope = two_terminates(first_s=10 * MINUTE, second_s=9 * MINUTE)

    scope = after(scope, approve(event_on(scope, "first"), by="first"))

    assert statuses(scope) == {"first": "Scheduled", "second": "Scheduled"}


def test_an_approved_terminate_does_not_wait_for_a_later_one():
    """SPEC §3.2: only an earlier or equal NotBefore holds it."""
    scope = two_terminates(first_s=10 * MINUTE, second_s=10 * MINUTE + 1)

    scope = after(scope, approve(event_on(scope, "first"), by="first"))

    assert statuses(scope) == {"first": "Started", "second": "Scheduled"}


def test_both_start_when_the_second_is_approved_too():
    """SPEC §3.2: the other is "neither approved nor due": now it is approved."""
    scope = two_terminates()

    scope = after(scope, approve(event_on(scope, "first"), by="first"), approve(event_on(scope, "second"), by="third"))

    assert statuses(scope) == {"first": "Started", "second": "Started"}


def test_an_approved_terminate_starts_when_the_earlier_one_is_due():
    """SPEC §3.2: the other is "neither approved nor due": now it is due."""
    scope = two_terminates(first_s=10 * MINUTE, second_s=9 * MINUTE)
    scope = after(scope, approve(event_on(scope, "first"), by="first"))

    held = after(scope, tick(), now=later(9 * MINUTE - 0.001))
    released = after(scope, tick(), now=later(9 * MINUTE))

    assert statuses(held) == {"first": "Scheduled", "second": "Scheduled"}
    assert statuses(released) == {"first": "Started", "second": "Started"}


def test_an_approved_terminate_starts_when_the_one_it_waits_for_is_cancelled():
    """SPEC §3.2: it waits for another Terminate of the scope; a cancelled one is none."""
    scope = two_terminates()
    scope = after(scope, approve(event_on(scope, "first"), by="first"))

    decision = decide(scope, cancel(event_on(scope, "second")), NOON)

    assert statuses(decision.scope) == {"first": "Started"}
    assert [effect.vm for effect in decision.effects] == ["first"]


def test_the_deadline_wins_over_the_coupling():
    """SPEC §3.2: "The deadline always wins": a held Terminate starts at its own NotBefore."""
    scope = two_terminates()
    scope = after(scope, approve(event_on(scope, "first"), by="first"))

    assert statuses(after(scope, tick(), now=later(10 * MINUTE)))["first"] == "Started"


def test_an_operators_approval_is_coupled_as_well():
    """SPEC §3.2: "an approved Terminate waits", whoever approved it; 200 means recorded (§2.4)."""
    scope = two_terminates()

    scope = after(scope, approve(event_on(scope, "first"), by=OPERATOR))

    assert statuses(scope) == {"first": "Scheduled", "second": "Scheduled"}


def test_other_types_are_not_coupled():
    """SPEC §3.2: coupling is between Terminates."""
    scope = after(scope_of("first", "second"), restart("first"), terminate("second"))

    scope = after(scope, approve(event_on(scope, "first"), by="first"))

    assert statuses(scope) == {"first": "Started", "second": "Scheduled"}


def test_a_terminate_alone_starts_when_approved():
    """SPEC §3.2: it waits for *another* Terminate only."""
    scope = after(scope_of("first", "second"), restart("second"), terminate("first"))

    scope = after(scope, approve(event_on(scope, "first"), by="second"))

    assert statuses(scope) == {"first": "Started", "second": "Scheduled"}


def test_three_coupled_terminates_start_together_when_the_last_is_approved():
    """SPEC §3.2: each waits for all that are as early."""
    scope = after(two_terminates(), terminate("third", not_before_ms=later(10 * MINUTE).wall_ms))
    scope = after(scope, approve(event_on(scope, "first"), event_on(scope, "third"), by="first"))
    assert set(statuses(scope).values()) == {"Scheduled"}

    scope = after(scope, approve(event_on(scope, "second"), by="first"))

    assert statuses(scope) == {"first": "Started", "second": "Started", "third": "Started"}
