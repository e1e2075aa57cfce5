"""The corpus, row by row, over real sockets: what is answered, in which order, how often, and what happens to the connection.

Every row is sent three times, each on a connection of its own: what is remembered of a request changes nothing.
"""

import pytest
from corpus_framing import FRAMING, WELL_FRAMED
from corpus_heads import HEADS
from hostile_case import GET, closed, come_of

from notbefore.metadata.protocol import NOT_HTTP


def as_expected(case):
    """What the row says; a connection that is kept then answers the next request, and that alone."""
    return [*case.statuses, 200] if case.kept else list(case.statuses)


@pytest.mark.parametrize("case", [*FRAMING, *HEADS], ids=str)
def test_one_request_has_one_answer_and_nothing_is_smuggled(target, case):
    """SPEC §2.1: the first broken rule answers; HTTP syntax is llhttp's, strict: 400, close. A request hidden in
    another is none: the event stays as it was.
    """
    for _ in range(3):
        answers = come_of(target.address, case, target.event_id)

        assert answers.statuses == as_expected(case)
        assert answers.whole
        assert answers.final[-1].says_close
        assert all(one.json["error"] for one in answers.final if one.status != 200)
    assert target.is_untouched()


@pytest.mark.parametrize(
    "case", [one for one in (*FRAMING, *HEADS) if one.statuses == (400,) and not one.kept], ids=str
)
def test_a_refused_request_breaks_neither_the_one_before_it_nor_its_own_answer(target, case):
    """Behind a good request the same holds: its answer first, then the refusal, then the end."""
    ahead = closed(case.name, GET + case.sent, 200, 400)

    answers = come_of(target.address, ahead, target.event_id)

    assert answers.statuses == [200, 400]
    assert target.is_untouched()


@pytest.mark.parametrize("case", WELL_FRAMED, ids=str)
def test_an_unusual_body_that_ends_where_it_says_approves(own_target, case):
    """RFC 9112: unusual is not wrong. What every reader understands alike is taken."""
    answers = come_of(own_target.address, case, own_target.event_id)

    assert answers.statuses == as_expected(case)
    assert own_target.is_approved()


def test_the_sentence_says_that_it_is_no_http(target):
    """SPEC §2.1: every error is a sentence a person can act on; for syntax it is always the same."""
    for case in FRAMING[:5]:
        assert come_of(target.address, case, target.event_id).final[0].body == NOT_HTTP.body
