"""Ordering faults: for whom, how often, by what chance; what is refused; and never on a server that does not allow it."""

import json

import pytest
from fault_hands import ended, until

from lab import lab_settings, open_lab
from notbefore.faults.book import FAULTS_MAX
from notbefore.faults.fault import KINDS

OF_ANSWERS = ["410", "429", "500", "503", "slow", "hang", "cut-body", "garbage", "empty", "first-call-delay"]
OPTIONS = ("delay_s", "after_s", "notice_s", "duration_s")
NOT_TAKEN = [(kind, option) for kind in KINDS for option in OPTIONS if option not in KINDS[kind].options]


def statuses(hands, count, source="127.0.0.1"):
    return [hands.lab.ask(source).status for _ in range(count)]


def test_a_fault_is_told_as_it_was_set(hands):
    """With the defaults of its kind; options that it does not take are null."""
    made = hands.order("second-impact", vms=["BACKEND_in_0"], times=2, after_s=5.5)

    assert made == {
        "id": "f1", "kind": "second-impact", "vms": ["demo/BackEnd_IN_0"], "times": 2, "probability": 1.0, "seed": None,
        "on": None, "delay_s": None, "after_s": 5.5, "notice_s": None, "duration_s": 2, "struck": 0, "spent": False,
    }  # fmt: skip
    assert hands.faults() == [made]
    assert hands.order("slow")["delay_s"] == 3
    assert hands.order("first-call-delay")["delay_s"] == 120
    assert hands.order("cancel")["after_s"] == 60
    assert hands.order("short-notice")["notice_s"] == 30
    assert hands.order("500")["on"] == "any"


def test_n_times_and_no_more(hands):
    """One whose times are used up stays listed as spent."""
    fault = hands.order("500", times=2)

    assert statuses(hands, 4) == [500, 500, 200, 200]
    assert [(one["id"], one["struck"], one["spent"]) for one in hands.faults()] == [(fault["id"], 2, True)]
    assert hands.clear() == 1
    assert hands.faults() == []


def test_a_named_vm_alone_is_struck(hands):
    """Names in any letter case, with their scope or without."""
    hands.order("500", vms=["FRONTEND_IN_0", "demo/BackEnd_IN_0"])

    assert [hands.lab.ask(f"127.0.0.{n}").status for n in (1, 2, 3, 4)] == [500, 200, 500, 200]


def test_the_same_seed_and_the_same_order_of_questions_give_the_same_strikes(hands):
    """By probability, with a seed that is drawn and shown when it is not given."""
    drawn = hands.order("503", probability=0.5)
    first = statuses(hands, 40)
    hands.clear()
    hands.order("503", probability=0.5, seed=drawn["seed"])
    again = statuses(hands, 40)

    assert isinstance(drawn["seed"], int)
    assert first == again
    assert set(first) == {200, 503}


@pytest.mark.parametrize(("probability", "status"), [(0, 200), (1, 503)])
def test_never_and_always_are_probabilities_too(hands, probability, status):
    hands.order("503", probability=probability, seed=1)

    assert statuses(hands, 5) == [status] * 5


def test_times_count_strikes_and_not_chances(hands):
    fault = hands.order("503", probability=0.5, seed=3, times=2)

    assert statuses(hands, 40).count(503) == 2
    assert hands.struck(fault) == 2


def test_one_is_cleared_by_its_id_and_others_by_their_kind(hands):
    kept, gone = hands.order("cancel"), hands.order("500")
    hands.order("410")

    assert hands.clear(f"/{gone['id']}") == 1
    assert hands.clear("?kind=410") == 1
    assert hands.clear("?kind=410") == 0
    assert hands.faults() == [kept]
    unknown = hands.lab.control("DELETE", "/v1/faults/f99")
    assert (unknown.status, unknown.json["error"]["code"]) == (404, "unknown_fault")
    wrong = hands.lab.control("DELETE", "/v1/faults?kind=418")
    assert (wrong.status, wrong.json["error"]["facts"]) == (400, {"field": "kind", "value": "418"})
    assert hands.faults() == [kept]


def test_an_unknown_kind_is_refused_with_those_there_are(hands):
    error = hands.refused("418")

    assert (error["code"], error["facts"]) == ("invalid", {"field": "kind", "value": "418"})
    assert all(kind in error["hint"] for kind in KINDS)


@pytest.mark.parametrize(("kind", "option"), NOT_TAKEN)
def test_an_option_that_a_kind_does_not_take_is_refused(hands_of_all, kind, option):
    error = hands_of_all.refused(kind, **{option: 1})

    assert (error["code"], error["facts"]) == ("invalid", {"field": option, "kind": kind})


@pytest.mark.parametrize("kind", KINDS)
def test_on_is_for_faults_of_answers(hands_of_all, kind):
    """Answers are struck by method; a document is read by GET anyway, and an event has none."""
    if kind in OF_ANSWERS:
        hands_of_all.order(kind, on="get")
        hands_of_all.clear()
    else:
        assert hands_of_all.refused(kind, on="get")["facts"] == {"field": "on", "kind": kind}


@pytest.mark.parametrize(
    ("kind", "wrong", "field"),
    [
        ("500", {"times": 0}, "times"),
        ("500", {"times": -1}, "times"),
        ("500", {"times": 1.5}, None),
        ("500", {"times": 10**7}, "times"),
        ("500", {"times": 10**400}, "times"),
        ("slow", {"delay_s": 10**400}, "delay_s"),
        ("500", {"probability": 1.1}, "probability"),
        ("500", {"probability": -0.1}, "probability"),
        ("500", {"probability": "0.5"}, None),
        ("500", {"seed": -1}, "seed"),
        ("500", {"seed": 2**53}, "seed"),
        ("500", {"on": "put"}, "on"),
        ("500", {"vms": "web-0"}, "vms"),
        ("500", {"vms": ["FrontEnd_IN_0"] * 101}, "vms"),
        ("500", {"nonsense": 1}, "nonsense"),
        ("slow", {"delay_s": -1}, "delay_s"),
        ("slow", {"delay_s": 10**6}, "delay_s"),
        ("second-impact", {"duration_s": 1.5}, "duration_s"),
    ],
)
def test_bad_input_is_refused_with_the_field_and_changes_nothing(hands_of_all, kind, wrong, field):
    error = hands_of_all.refused(kind, **wrong)

    assert error["code"] == "invalid"
    if field:
        assert error["facts"]["field"] == field


def test_a_vm_that_is_not_there_is_refused(hands):
    """By itself, in its scope, or in a scope that is not there."""
    assert hands.refused("500", vms=["nope"])["code"] == "unknown_vm"
    assert hands.refused("500", vms=["FrontEnd_IN_0", "demo/nope"])["code"] == "unknown_vm"
    assert hands.refused("500", vms=["nope/FrontEnd_IN_0"])["code"] == "unknown_scope"


def test_a_name_that_several_scopes_have_is_refused_until_its_scope_is_said(hands):
    hands.lab.declare("other", "FrontEnd_IN_0")

    error = hands.refused("500", vms=["frontend_in_0"])

    assert error["code"] == "invalid"
    assert sorted(error["facts"]["candidates"]) == ["demo/FrontEnd_IN_0", "other/FrontEnd_IN_0"]
    assert hands.order("500", vms=["OTHER/frontend_in_0"])["vms"] == ["other/FrontEnd_IN_0"]


def test_there_is_a_limit(hands):
    for _ in range(FAULTS_MAX):
        hands.order("cancel")

    assert hands.refused("cancel")["code"] == "limit_reached"
    assert hands.clear() == FAULTS_MAX


def test_setting_and_clearing_are_in_the_log(hands, caplog):
    """A warning each: whoever wonders why the server misbehaves finds out there."""
    hands.order("500", times=1)
    hands.clear()

    told = [record.getMessage() for record in caplog.records if record.name == "notbefore.faults"]
    assert told == ["fault 500 f1 is set: answers 500; the request is not carried out", "fault 500 f1 is cleared"]
    assert {record.levelname for record in caplog.records if record.name == "notbefore.faults"} == {"WARNING"}


def test_requests_over_the_rate_are_refused_and_not_struck(tmp_path):
    """SPEC §2.1: every well-formed request of a known VM counts, whatever becomes of it."""
    settings = lab_settings(tmp_path / "state", demo=True, allow_faults=True, rate_limit_per_s=0.001)
    with open_lab(settings) as lab:
        fault = lab.control("POST", "/v1/faults", {"kind": "500"}).json
        assert [lab.ask().status for _ in range(3)] == [500, 429, 429]
        assert lab.control("GET", "/v1/faults").json["faults"] == [{**fault, "struck": 1}]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("POST", "", {"kind": "500"}),
        ("DELETE", "", None),
        ("DELETE", "/f1", None),
    ],
)
def test_a_server_that_does_not_allow_faults_takes_none(shared_demo, method, path, body):
    """Never possible on a server not started with `--allow-faults`; it says how to get one."""
    reply = shared_demo.control(method, f"/v1/faults{path}", body)

    assert (reply.status, reply.json["error"]["code"]) == (409, "not_allowed")
    assert "--allow-faults" in reply.json["error"]["hint"]
    assert shared_demo.ask().status == 200


@pytest.mark.part("curl")
def test_a_fault_that_is_spent_can_still_be_ended(hands):
    """One that has somebody in hand, say."""
    fault = hands.order("slow", delay_s=3600, times=1)
    asking = hands.start()
    until(lambda: hands.struck(fault) == 1)
    assert hands.faults()[0]["spent"]

    hands.clear(f"/{fault['id']}")

    assert json.loads(ended(asking).body) == {"DocumentIncarnation": 1, "Events": []}
