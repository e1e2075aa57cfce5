"""The emulator's clock through the API: turned, let run at a rate, paused; what it moves happens in due order (SPEC §4)."""

from datetime import datetime, timedelta

import pytest

from lab import lab_settings, open_lab

A_DAY_A_SECOND = 86_400
NOTICE_S = 15 * 60


def clock_of(lab):
    return lab.control("GET", "/v1/clock").json


def told(lab, **how):
    reply = lab.control("POST", "/v1/clock", how)
    assert reply.status == 200, reply
    return reply.json


def changes_in(lab):
    """Everything that history tells, in its order."""
    records = lab.history("limit=1000&after=0")
    while page := lab.history(f"limit=1000&after={records[-1]['revision']}"):
        records += page
    return [(record["at"], change) for record in records for change in record["changes"]]


def wait_until_all_ended(lab):
    """The thing itself: no event is left. On a clock that runs, that comes by itself."""
    while lab.control("GET", "/v1/events").json["events"]:
        pass


def restarted_at_different_times(lab, scopes, vms):
    """Restarts whose due times differ, and are not in the order of their making."""
    lab_now = datetime.fromisoformat(clock_of(lab)["now"])
    for scope in range(scopes):
        lab.declare(f"scope-{scope}", *(f"vm-{n}" for n in range(vms)), listening="always")
        for vm in range(vms):
            at = lab_now + timedelta(seconds=86_400 + (scope * 37 + vm * 359) % 3600)
            lab.made(f"scope-{scope}", f"vm-{vm}", "restart", not_before=at.strftime("%Y-%m-%dT%H:%M:%SZ"))


def assert_in_due_order(lab, count):
    changes = changes_in(lab)
    starts = [change["event"] for _, change in changes if change["what"].startswith("started")]
    ends = [change["event"] for _, change in changes if change["what"] == "completed"]
    assert [at for at, _ in changes] == sorted(at for at, _ in changes)
    assert (len(starts), len(ends)) == (count, count)
    assert all(event["started_at"] == event["not_before"] for event in starts)
    assert [event["started_at"] for event in starts] == sorted(event["started_at"] for event in starts)
    assert {seconds_between(event["started_at"], event["ended_at"]) for event in ends} == {30}


def seconds_between(earlier, later):
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def test_a_thousand_events_over_a_hundred_scopes_happen_in_due_order(lab):
    """Issue: 1,000 events over 100 scopes, in due order, each at its own time."""
    restarted_at_different_times(lab, scopes=100, vms=10)

    lab.advance(2 * 86_400)

    assert_in_due_order(lab, 1000)


def test_on_a_clock_that_runs_each_event_starts_at_its_due_time(lab):
    """At the highest rate too: a due time between two looks at the real clock is not skipped past."""
    restarted_at_different_times(lab, scopes=10, vms=4)

    assert told(lab, rate=A_DAY_A_SECOND)["paused"] is False
    wait_until_all_ended(lab)

    assert_in_due_order(lab, 40)


def test_what_is_made_while_the_clock_runs_keeps_its_whole_notice(tmp_path):
    """A turn in progress holds the clock: the notice counts from when the event is there."""
    with open_lab(lab_settings(tmp_path / "state", clock=f"rate:{A_DAY_A_SECOND}", demo=True)) as lab:
        for vm in ("FrontEnd_IN_0", "FrontEnd_IN_1", "BackEnd_IN_0", "BackEnd_IN_1"):
            lab.made("demo", vm, "restart")
        wait_until_all_ended(lab)

        starts = [change["event"] for _, change in changes_in(lab) if change["what"] == "started: notice ended"]
        assert len(starts) == 4
        assert all(event["started_at"] == event["not_before"] for event in starts)
        assert all(seconds_between(event["visible_since"], event["not_before"]) >= NOTICE_S for event in starts)


def test_a_paused_clock_stands_and_a_resumed_one_runs_on_at_its_rate(demo):
    """`clock pause`, `clock resume`; a manual clock begins paused, at the rate of real time."""
    assert (clock_of(demo)["rate"], clock_of(demo)["paused"]) == (1, True)

    told(demo, rate=3600)
    paused = told(demo, paused=True)
    assert (paused["rate"], paused["paused"], paused["kind"]) == (3600, True, "manual")
    assert clock_of(demo) == {**clock_of(demo), "now": paused["now"]}

    resumed = told(demo, paused=False)
    assert (resumed["rate"], resumed["paused"]) == (3600, False)
    while clock_of(demo)["now"] == paused["now"]:
        pass


def test_a_clock_that_runs_can_be_turned_as_well(tmp_path):
    """advance and to-next jump it, from due time to due time; it runs on from there."""
    with open_lab(lab_settings(tmp_path / "state", clock="rate:0.001", demo=True)) as lab:
        event = lab.made("demo", "FrontEnd_IN_0", "restart")
        assert (clock_of(lab)["kind"], clock_of(lab)["rate"], clock_of(lab)["paused"]) == ("rate", 0.001, False)

        turned = told(lab, to_next=True)
        assert turned["now"] == event["not_before"]
        assert [change["what"] for record in turned["happened"] for change in record["changes"]] == [
            "started: notice ended"
        ]
        assert [record["changes"][-1]["what"] for record in lab.advance(60)["happened"]] == ["completed"]
        assert clock_of(lab)["paused"] is False


@pytest.mark.parametrize(
    "body",
    [
        {"rate": 0},
        {"rate": -1},
        {"rate": 86_401},
        {"rate": "60"},
        {"rate": True},
        {"rate": 60, "paused": False},
        {"rate": 60, "advance_s": 1},
        {"paused": 1},
        {"paused": None},
    ],
)
def test_a_wrong_pace_is_refused_and_changes_nothing(shared_demo, body):
    """A rate of 0 is no rate: `paused` says it."""
    before = clock_of(shared_demo)

    assert shared_demo.control("POST", "/v1/clock", body).status == 400
    assert clock_of(shared_demo) == before


@pytest.mark.parametrize("how", [{"advance_s": 60}, {"to_next": True}, {"rate": 60}, {"paused": True}])
def test_a_real_clock_takes_no_order(tmp_path, how):
    """Refused with a sentence that says how to get one that does."""
    with open_lab(lab_settings(tmp_path / "state", clock="real")) as lab:
        reply = lab.control("POST", "/v1/clock", how)

        assert (clock_of(lab)["kind"], clock_of(lab)["rate"], clock_of(lab)["paused"]) == ("real", 1, False)
        assert reply.status == 409
        assert "--clock manual" in reply.json["error"]["hint"]
        assert "rate:60" in reply.json["error"]["hint"]


def test_time_and_pace_survive_a_restart(tmp_path):
    """It goes on from its own time, never back, at the pace it was told, as long as `serve` names the same clock."""
    state = tmp_path / "state"
    with open_lab(lab_settings(state, clock="rate:3600")) as lab:
        told(lab, rate=7200)
        before = told(lab, paused=True)
    with open_lab(lab_settings(state, clock="rate:3600")) as lab:
        assert (clock_of(lab)["rate"], clock_of(lab)["paused"]) == (7200, True)
        assert before["now"] <= clock_of(lab)["now"]
    with open_lab(lab_settings(state, clock="manual")) as lab:
        assert (clock_of(lab)["kind"], clock_of(lab)["rate"], clock_of(lab)["paused"]) == ("manual", 1, True)
        assert seconds_between(before["now"], clock_of(lab)["now"]) <= 2


def test_an_event_scheduled_before_a_restart_starts_at_its_time_after_it(tmp_path):
    """The notice goes on with the clock: no time passes while the server is away."""
    state = tmp_path / "state"
    with open_lab(lab_settings(state, clock="manual", demo=True)) as lab:
        event = lab.made("demo", "FrontEnd_IN_0", "restart")
        lab.advance(5 * 60)
    with open_lab(lab_settings(state, clock=f"rate:{A_DAY_A_SECOND}", demo=True)) as lab:
        wait_until_all_ended(lab)
        (started,) = [change["event"] for _, change in changes_in(lab) if change["what"] == "started: notice ended"]
        assert (started["id"], started["started_at"]) == (event["id"], event["not_before"])


def test_a_clock_that_runs_stops_before_dates_end(tmp_path):
    """As one that is turned does: whatever follows can still be written."""
    state = tmp_path / "state"
    state.mkdir()
    (state / "manual.clock").write_text(f"{int(datetime.fromisoformat('8999-12-31T23:00:00Z').timestamp()) * 1000}\n")
    with open_lab(lab_settings(state, clock=f"rate:{A_DAY_A_SECOND}")) as lab:
        while clock_of(lab)["now"] != "9000-01-01T00:00:00Z":
            pass
        assert clock_of(lab)["now"] == "9000-01-01T00:00:00Z"
