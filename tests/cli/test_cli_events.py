"""approve, cancel, complete: an operator's word on events."""

import pytest
from cli_fakes import EVENT, OTHER_EVENT, event

WORDS = [("approve", "Started"), ("cancel", "Cancelled"), ("complete", "Completed")]


@pytest.mark.parametrize(("word", "status"), WORDS)
def test_a_word_on_an_event_is_said_by_its_id_in_any_letter_case(cli, server, word, status):
    """SPEC §2.3: an id is accepted in any case; the answer shows where the event stands now."""
    server.answers("POST", f"/v1/events/{EVENT}/{word}", event(status=status, waiting_for=""))

    ran = cli(word, EVENT.lower())

    assert ran.code == 0
    assert ran.lines == [f"Reboot {status.lower()}: web-1  {EVENT}"]


@pytest.mark.parametrize("word", ["approve", "cancel", "complete"])
def test_a_refused_word_on_a_later_event_says_what_was_done(cli, server, word):
    """One request per event, in order; a refusal ends it."""
    server.answers("POST", f"/v1/events/{EVENT}/{word}", event())
    server.refuses("POST", f"/v1/events/{OTHER_EVENT}/{word}", "wrong_status", "It is Started.", "Look.")

    ran = cli(word, EVENT, OTHER_EVENT)

    ran.is_refused_with("It is Started.", f"Done before it: {EVENT}.", "hint: Look.")
    assert EVENT in ran.out


def test_the_answers_are_an_array_in_json(cli, server):
    """A command that takes several events answers with several."""
    server.answers("POST", f"/v1/events/{EVENT}/cancel", event(status="Cancelled"))

    assert cli("cancel", EVENT, "--json").json == [event(status="Cancelled")]
