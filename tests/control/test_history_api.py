"""GET /v1/history (DESIGN §5): filters, paging, and what is refused."""

import pytest

from lab import lab_settings, open_lab
from notbefore.control.history_search import Reach, found_after, newest_found
from notbefore.core.history import Sought
from notbefore.ports import HistoryQuery


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Two scopes with something to tell of each: an approval by a VM, a deadline, a cancellation."""
    with open_lab(lab_settings(tmp_path_factory.mktemp("told") / "state")) as lab:
        lab.declare("Web", {"name": "web-1", "addresses": ["127.0.0.1"]}, "web-2", listening="always")
        lab.declare("db", "db-1", listening="always")
        approved = lab.made("web", "web-1", "restart")["id"]
        assert lab.approve(approved).status == 200
        lab.advance(60)
        due = lab.made("db", "db-1", "restart")["id"]
        lab.advance(3600)
        cancelled = lab.made("web", "web-2", "redeploy")["id"]
        assert lab.control("POST", f"/v1/events/{cancelled}/cancel").status == 200
        yield lab, approved, due, cancelled


def whats(records):
    return [change["what"] for record in records for change in record["changes"]]


@pytest.mark.parametrize("name", ["web", "WEB", "Web"])
def test_a_scope_is_found_in_any_letter_case(told, name):
    """SPEC §1: names are compared case-insensitively."""
    lab, *_ = told

    records = lab.history(f"scope={name}")

    assert {record["scope"] for record in records} == {"Web"}
    assert len(records) == len([one for one in lab.history() if one["scope"] == "Web"])


@pytest.mark.parametrize("name", ["web-1", "WEB-1"])
def test_a_vm_is_found_by_what_it_said_and_what_happened_to_it(told, name):
    """The declaration it stands in, its event, its own word."""
    lab, approved, *_ = told

    records = lab.history(f"vm={name}")

    assert whats(records)[0] == "declared"
    assert {c["event"]["id"] for r in records for c in r["changes"] if c["event"]} == {approved}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("clock", {"started: notice ended"}),
        ("vm%20web-1", {"enabled", "approved", "started: approved"}),
        ("web-1", {"enabled", "approved", "started: approved"}),
        ("executor%20simulate", {"impact done", "completed"}),
        ("admin", {"declared", "scheduled", "cancelled"}),
        ("operator%20ADMIN", {"declared", "scheduled", "cancelled"}),
    ],
)
def test_history_is_found_by_who_did_it(told, by, expected):
    """Issue: who (VM, token name, clock, executor)."""
    lab, *_ = told

    assert set(whats(lab.history(f"by={by}"))) == expected


def test_history_is_found_by_what_happened(told):
    """A word with its reason, or all of its reasons."""
    lab, _, due, _ = told

    assert whats(lab.history("what=started:%20notice%20ended")) == ["started: notice ended"]
    assert len(lab.history("what=STARTED")) == 2
    assert len(lab.history(f"what=started&event={due.lower()}")) == 1


def test_history_is_found_by_its_time_to_the_second(told):
    """What is shown can be asked for: both ends are inclusive."""
    lab, *_ = told
    times = [record["at"] for record in lab.history()]
    late = [at for at in times if at > times[0]]

    assert [one["at"] for one in lab.history(f"since={late[0]}")] == late
    assert [one["at"] for one in lab.history(f"until={times[0]}")] == [at for at in times if at == times[0]]
    assert lab.history(f"since={late[-1]}&until={times[0]}") == []


def test_filters_narrow_each_other(told):
    """Everything that is asked has to hold."""
    lab, *_ = told

    assert whats(lab.history("scope=db&what=completed")) == ["impact done", "completed"]
    assert lab.history("scope=db&vm=web-1") == []


@pytest.mark.parametrize("query", ["", "by=admin&", "what=started&", "scope=web&vm=web-1&"])
def test_paging_by_next_gives_the_same_as_asking_at_once(told, query):
    """`next` is where to go on with `after`; nothing is left out and nothing comes twice."""
    lab, *_ = told
    at_once = lab.control("GET", f"/v1/history?{query}after=0&limit=1000").json
    paged, answer = [], {"next": 0, "more": True}
    while answer["more"]:
        answer = lab.control("GET", f"/v1/history?{query}after={answer['next']}&limit=1").json
        paged += answer["history"]

    assert paged == at_once["history"]
    assert not at_once["more"]


def test_the_newest_that_fit_are_given_and_going_on_misses_nothing(told):
    """`next` of the newest is the newest there was, whether or not it fitted."""
    lab, *_ = told
    answer = lab.control("GET", "/v1/history?by=admin&limit=2").json

    assert answer["history"] == lab.history("by=admin")[-2:]
    assert answer["next"] == lab.history()[-1]["revision"]


@pytest.mark.parametrize("look", [found_after, newest_found])
def test_looking_through_history_ends_somewhere_and_says_so(told, look):
    """A limit on everything: one question looks through so many records and no more."""
    lab, *_ = told
    short = Reach(pages=2, per_page=2)

    found = lab.run(look(lab.server.node.store, HistoryQuery(limit=1), Sought(by="nobody").fits, short))

    assert found.records == ()
    assert found.more
    assert found.next == lab.history("after=0")[4 if look is found_after else -1]["revision"]


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("scop=web", "scop"),
        ("scope=a&scope=b", "scope"),
        ("LIMIT=5", "LIMIT"),
        ("since=soon", "since"),
        ("after=x", "after"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(told, query, named):
    """DESIGN §5: unknown fields are refused by name."""
    lab, *_ = told
    reply = lab.control("GET", f"/v1/history?{query}")

    assert reply.status == 400
    assert named in reply.json["error"]["message"]


def test_a_record_says_who_when_what_why_and_the_incarnation(told):
    """Issue: who, when, what, why, with the incarnation."""
    lab, approved, *_ = told
    (record,) = lab.history(f"event={approved}&what=approved")

    said = next(change for change in record["changes"] if change["what"] == "approved")

    assert said["by"] == "vm web-1"
    assert said["why"] == "approved by vm web-1"
    assert record["at"] == said["event"]["started_at"] or said["event"]["started_at"] is None
    assert record["incarnation"] == 3
    assert record["scope"] == "Web"
