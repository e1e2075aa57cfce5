"""Approving: what a refused approval is looked into for (SPEC §2.4)."""

import pytest
from odd_server import EVENT, OTHER, OddServer, answer, document, event
from turned_clock import TurnedClock

from notbefore.client import EndpointError, ScheduledEvents

REFUSED = answer(400, {"error": "Bad request. No current event has the id"})
TAKEN = answer(200)


def approved(*acts, ids=(EVENT, OTHER)):
    """What approve() returns, and the questions it took, as (method, ids)."""
    with OddServer(*acts) as server, ScheduledEvents(server.url, clock=TurnedClock()) as client:
        try:
            told = client.approve(*ids)
        except EndpointError as error:
            told = error
    return told, [
        (q.method, [one["EventId"] for one in q.json["StartRequests"]] if q.body else []) for q in server.questions
    ]


def test_ids_that_are_gone_are_dropped_and_the_rest_approved():
    """All or nothing is the service's rule; so one that ended must not hold up the others."""
    told, questions = approved(REFUSED, answer(200, document(2, event(OTHER.lower()))), TAKEN)

    assert told == (OTHER,)
    assert questions == [("POST", [EVENT, OTHER]), ("GET", []), ("POST", [OTHER])]


def test_when_all_are_gone_there_is_nothing_to_say():
    """Not an error: they are over."""
    assert approved(REFUSED, answer(200, document(2))) == ((), [("POST", [EVENT, OTHER]), ("GET", [])])


def test_when_none_is_gone_the_refusal_stands():
    """Whatever is wrong, it is not that."""
    told, questions = approved(REFUSED, answer(200, document(2, event(EVENT), event(OTHER))))

    assert "No current event" in told.message
    assert len(questions) == 2


def test_it_is_looked_into_once():
    told, questions = approved(REFUSED, answer(200, document(2, event(EVENT))), REFUSED)

    assert isinstance(told, EndpointError)
    assert len(questions) == 3


@pytest.mark.parametrize("status", [403, 413])
def test_another_refusal_is_not_looked_into(status):
    told, questions = approved(answer(status, {"error": "No"}))

    assert told.facts == {"status": status}
    assert len(questions) == 1


@pytest.mark.parametrize("act", [answer(410), answer(429), answer(500)])
def test_an_approval_is_sent_again_when_trouble_passes(act):
    """Saying it twice is harmless: 200 again when repeated."""
    told, questions = approved(act, TAKEN)

    assert told == (EVENT, OTHER)
    assert [method for method, _ in questions] == ["POST", "POST"]


def test_what_the_answer_says_does_not_matter():
    """Nothing, a document, anything: 200 means recorded [real]."""
    assert approved(answer(200, "<html>"))[0] == (EVENT, OTHER)


def test_more_than_a_hundred_go_in_several_requests():
    """SPEC §2.4: up to 100 ids. The same id in another letter case is the same."""
    ids = [f"{n:08X}-0000-0000-0000-000000000000" for n in range(150)]

    told, questions = approved(TAKEN, ids=[*ids, ids[10].lower()])

    assert len(told) == 150
    assert [len(sent) for _, sent in questions] == [100, 50]


def test_approving_nothing_asks_nobody():
    """Not even where the endpoint is."""
    assert ScheduledEvents().approve() == ()
