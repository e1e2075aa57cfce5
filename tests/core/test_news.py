"""News: which changes somebody wants, and ids that stay."""

from uuid import UUID

import pytest

from notbefore.core.history import Change, HistoryRecord
from notbefore.core.model import Actor, ActorKind
from notbefore.core.news import Interest, gap_between

OPERATOR = Actor(ActorKind.OPERATOR, "ops")
EVERYTHING = Interest()


def record(scope="Web-1", *what, request="r-1"):
    words = what or ("approved", "started: approved")
    return HistoryRecord(scope, 1, request, 1, tuple(Change(one, "why", OPERATOR) for one in words))


def words(interest, told):
    return [news.change.what for news in interest.wanted_of(7, told)]


def test_each_change_of_a_record_is_news_of_its_own_in_order():
    """One change, one type, one id."""
    first, second = EVERYTHING.wanted_of(7, record())

    assert (first.number, second.number) == (0, 1)
    assert (first.change.what, second.change.what) == ("approved", "started: approved")
    assert first.id != second.id
    assert UUID(first.id).version == 5


def test_an_id_is_made_of_what_is_stored_alone():
    """The same whoever makes it and however often; another revision, request or change has another."""
    same = [news.id for news in EVERYTHING.wanted_of(7, record())]

    assert [news.id for news in EVERYTHING.wanted_of(7, record())] == same
    others = [*EVERYTHING.wanted_of(8, record()), *EVERYTHING.wanted_of(7, record(request="r-2"))]
    assert not {news.id for news in others} & set(same)
    assert gap_between(1, 5).id == gap_between(1, 5).id != gap_between(1, 6).id


@pytest.mark.parametrize(
    ("scopes", "what", "expected"),
    [
        (("web-*",), (), ["approved", "started: approved"]),
        (("WEB-?", "db"), ("STARTED",), ["started: approved"]),
        ((), ("started: approved",), ["started: approved"]),
        ((), ("start",), []),
        (("db",), (), []),
    ],
)
def test_scopes_are_globs_and_words_whole_or_up_to_the_colon_in_any_letter_case(scopes, what, expected):
    """As history's own filters have them."""
    assert words(Interest(scopes, what), record()) == expected


def test_what_concerns_no_scope_is_for_those_who_want_all_scopes():
    """Hosts and tokens are nobody's but the fleet's."""
    fleet = record("", "token created")

    assert words(EVERYTHING, fleet) == ["token created"]
    assert words(Interest(("*",)), fleet) == []
