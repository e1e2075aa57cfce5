"""Rollouts over the control API (DESIGN §5, SPEC §3.4): planned, begun, paused, resumed, cancelled; within their limits."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from maintained_fleets import (
    DAYS,
    all_history,
    as_happened,
    as_planned,
    begin_rollout,
    everything,
    refused,
    rollout,
    say,
    two_tenants,
    vm,
)
from published_schemas import faults_of_answer

from lab import lab_settings, open_lab

HOSTS = [f"h{n:02}" for n in range(20)]
PRAGUE = ZoneInfo("Europe/Prague")
DAY_S = 24 * 3600


def declare_fleet(lab, scopes=20, domains=5):
    """Each scope has a VM in each update domain; hosts are shared by all scopes."""
    for n in range(scopes):
        vms = [vm(f"s{n:02}-{d}", HOSTS[(n + 4 * d + n // 5) % len(HOSTS)], d) for d in range(domains)]
        lab.declare(f"s{n:02}", *vms, listening="always")


def three_hosts(lab):
    lab.declare("a", vm("a0", "h1"), vm("a1", "h2", 1), vm("a2", "h10", 2), vm("a3", "h10", 3), listening="always")


def turn_to(lab, wanted):
    """The manual clock, forward to a time."""
    now = datetime.fromisoformat(lab.control("GET", "/v1/clock").json["now"])
    lab.advance((wanted - now).total_seconds())


def planned(lab, **wanted):
    reply = lab.control("POST", "/v1/rollouts", {"type": "Reboot", **wanted, "plan": True})
    assert reply.status == 200, reply
    assert set(reply.json) == {"plan"}
    return reply.json["plan"]


# -- plans


def test_a_plan_changes_nothing(lab):
    """`plan: true` begins nothing: scopes, documents, rollouts and history are the same bytes as before."""
    two_tenants(lab)
    before = everything(lab)

    plan = planned(lab, all=True)

    assert [(wave["target"], wave["vms"]) for wave in plan["waves"]] == [("h1", 2)]
    assert plan["stuck"] == ""
    assert everything(lab) == before


@pytest.mark.parametrize("spring", [True, False], ids=["an hour is skipped", "an hour comes twice"])
def test_the_plan_is_what_history_shows_across_a_change_of_daylight_saving(lab, spring):
    """Must show: 20 hosts, 20 scopes, 5 UDs, nobody approving: windows kept, and the plan equals what happened."""
    declare_fleet(lab)
    now = datetime.fromisoformat(lab.control("GET", "/v1/clock").json["now"])
    change = change_after(now + timedelta(days=2), spring=spring)
    turn_to(lab, change - timedelta(hours=36))
    limits = {
        "max_hosts": 2,
        "recovery_s": 60,
        "windows": [{"days": DAYS, "from": "01:45", "to": "03:30", "time_zone": "Europe/Prague"}],
    }

    key, plan = begin_rollout(lab, all=True, limits=limits)
    assert plan["stuck"] == ""
    assert plan == lab.control("GET", f"/v1/rollouts/{key}/plan").json["plan"]
    turn_to(lab, datetime.fromisoformat(plan["ends"]))
    lab.advance(0)

    over = rollout(lab, key)
    assert (over["status"], over["touched"], over["ended_at"]) == ("Completed", 100, plan["ends"])
    assert as_happened(lab, f"rollout={key}") == as_happened(lab) == as_planned(plan)
    assert sum(wave["vms"] for wave in plan["waves"]) == 100
    nights = {in_window(wave, spring=spring) for wave in plan["waves"]}
    assert change.date() in nights
    assert len(nights) > 1


def change_after(now, *, spring):
    """The next Sunday on which Prague's clocks are turned, at midnight UTC."""
    for year in (now.year, now.year + 1, now.year + 2):
        last = max(day for day in range(25, 32) if datetime(year, 3 if spring else 10, day, tzinfo=UTC).weekday() == 6)
        found = datetime(year, 3 if spring else 10, last, tzinfo=UTC)
        if found > now:
            return found
    raise AssertionError(now)


def in_window(wave, *, spring):
    """The night that the whole wave lies in, by clocks on the wall in Prague."""
    begins, ends = (datetime.fromisoformat(wave[name]).astimezone(PRAGUE) for name in ("visible", "ends"))
    assert (1, 45) <= (begins.hour, begins.minute) < (3, 30)
    assert (ends.hour, ends.minute, ends.second) <= (3, 30, 0)
    assert spring or begins.fold == ends.fold == 0  # an hour that comes twice counts once
    assert begins.date() == ends.date()
    return begins.date()


def test_the_plan_of_a_rollout_under_way_goes_on_from_where_it_is(lab):
    """GET …/plan: from here to its end; what was planned at first is still what will be."""
    three_hosts(lab)
    key, plan = begin_rollout(lab, all=True, limits={"recovery_s": 120})
    for _ in range(6):
        lab.control("POST", "/v1/clock", {"to_next": True})
        left = lab.control("GET", f"/v1/rollouts/{key}/plan").json["plan"]
        assert left["ends"] == plan["ends"]
        assert left["waves"] == plan["waves"][-len(left["waves"]) :]
    assert len(left["waves"]) < len(plan["waves"])

    say(lab, key, "pause")
    assert lab.control("GET", f"/v1/rollouts/{key}/plan").json["plan"]["stuck"] == ""


# -- which, and in which order


@pytest.mark.parametrize(
    ("wanted", "targets"),
    [
        ({"all": True}, ["h1", "h2", "h10"]),
        ({"hosts": "H*"}, ["h1", "h2", "h10"]),
        ({"hosts": "h?"}, ["h1", "h2"]),
        ({"hosts": "h[02-9]"}, ["h2"]),
        ({"all": True, "order": "largest"}, ["h10", "h1", "h2"]),
        ({"all": True, "order": "smallest", "first": ["H2"]}, ["h2", "h1", "h10"]),
        ({"scopes": "*"}, ["a"]),
    ],
)
def test_targets_are_chosen_by_pattern_and_come_in_order(lab, wanted, targets):
    """Issue: `--all|--hosts GLOB|--scopes GLOB`, order. Hosts without running VMs are left out."""
    three_hosts(lab)
    lab.control("PUT", "/v1/hosts/h3", {})

    key, _ = begin_rollout(lab, **wanted)

    shown = rollout(lab, key)
    assert [one["name"] for one in shown["in_hand"]] + shown["waiting"] == targets
    assert (shown["targets"], shown["over"]) == (len(targets), "scopes" if "scopes" in wanted else "hosts")
    assert shown["limits"]["max_scopes" if "scopes" in wanted else "max_hosts"] == 1


WINDOW = {"days": ["Sat"], "from": "22:00", "to": "04:00"}


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"type": None, "all": True}, "type"),
        ({"type": "Terminate", "all": True}, "type"),
        ({}, "hosts"),
        ({"hosts": "h*", "all": True}, "all"),
        ({"hosts": "h*", "scopes": "a"}, "scopes"),
        ({"hosts": ""}, "hosts"),
        ({"hosts": "x" * 201}, "hosts"),
        ({"hosts": "rack-*"}, "hosts"),
        ({"hosts": "h3"}, "hosts"),
        ({"scopes": "nope"}, "scopes"),
        ({"hosts": 7}, "hosts"),
        ({"all": "yes"}, "all"),
        ({"all": True, "order": "random"}, "order"),
        ({"all": True, "first": ["h9"]}, "first"),
        ({"hosts": "h1", "first": ["h2"]}, "first"),
        ({"all": True, "budget": 1}, "budget"),
        ({"all": True, "limits": {"max_hosts": 0}}, "limits.max_hosts"),
        ({"all": True, "limits": {"max_vms": "3"}}, "limits.max_vms"),
        ({"all": True, "limits": {"recovery_s": -1}}, "limits.recovery_s"),
        ({"all": True, "limits": {"impacts_per_s": 0}}, "limits.impacts_per_s"),
        ({"all": True, "limits": {"vm_rest_s": 10**9}}, "limits.vm_rest_s"),
        ({"all": True, "limits": {"failed_max": -1}}, "limits.failed_max"),
        ({"all": True, "limits": {"speed": 1}}, "limits.speed"),
        ({"all": True, "limits": {"windows": [{**WINDOW, "days": []}]}}, "limits.windows.0.days"),
        ({"all": True, "limits": {"windows": [WINDOW, {**WINDOW, "days": ["Sa"]}]}}, "limits.windows.1.days"),
        ({"all": True, "limits": {"windows": [{**WINDOW, "from": "22"}]}}, "limits.windows.0.from"),
        ({"all": True, "limits": {"windows": [{**WINDOW, "from": "24:00"}]}}, "limits.windows"),
        ({"all": True, "limits": {"windows": [{**WINDOW, "to": "24:01"}]}}, "limits.windows.0.to"),
        (
            {"all": True, "limits": {"windows": [{**WINDOW, "time_zone": "Europe/Atlantis"}]}},
            "limits.windows.time_zone",
        ),
        (
            {"all": True, "limits": {"windows": [{**WINDOW, "time_zone": "../../etc/passwd"}]}},
            "limits.windows.time_zone",
        ),
        ({"all": True, "limits": {"windows": [WINDOW] * 21}}, "limits.windows"),
        ({"all": True, "limits": {"windows": [{**WINDOW, "to": "22:10"}]}}, "limits.windows"),
        ({"all": True, "duration_s": 10**9}, "duration_s"),
        ({"all": True, "description": "x" * 1001}, "description"),
    ],
)
def test_a_wrong_rollout_is_refused_by_field_and_changes_nothing(lab, wanted, field):
    """Bad input gets a clear error that names the field; nothing is begun."""
    three_hosts(lab)
    lab.control("PUT", "/v1/hosts/h3", {})
    before = everything(lab)

    error = refused(lab.control("POST", "/v1/rollouts", {"type": "Reboot", **wanted}))

    assert (error["code"], error["facts"]["field"]) == ("invalid", field)
    assert error["message"]
    assert everything(lab) == before


def test_a_window_that_no_wave_fits_into_is_refused_with_the_reason(lab):
    """A rollout that would never end is not begun; its plan says what keeps it."""
    three_hosts(lab)
    limits = {"windows": [{**WINDOW, "to": "22:10"}]}

    error = refused(lab.control("POST", "/v1/rollouts", {"type": "Reboot", "all": True, "limits": limits}))
    plan = planned(lab, all=True, limits=limits)

    assert "no window is open for the 931 s that a wave needs" in error["message"]
    assert (plan["waves"], plan["ends"]) == ([], None)
    assert "no window is open" in plan["stuck"]


def test_a_pattern_that_fits_nothing_is_told_what_there_is(lab):
    """The hint names the first of them."""
    three_hosts(lab)

    error = refused(lab.control("POST", "/v1/rollouts", {"type": "Reboot", "hosts": "rack-*"}))

    assert error["hint"] == "There are: h1, h2, h10."


def test_an_unknown_rollout_is_not_found_and_an_unknown_action_not_understood(lab):
    """404 `unknown_rollout`, whatever is asked of it."""
    for method, path in (("GET", "no"), ("GET", "no/plan"), ("POST", "no/pause"), ("POST", "no/cancel")):
        assert refused(lab.control(method, f"/v1/rollouts/{path}"), 404)["code"] == "unknown_rollout"
    assert refused(lab.control("POST", "/v1/rollouts/no/stop"))["facts"] == {"action": "stop"}
    assert refused(lab.control("GET", "/v1/rollouts?status=alive"))["facts"]["field"] == "status"


def test_a_token_limited_to_scopes_gets_nothing_of_rollouts(lab):
    """They are over the whole fleet."""
    three_hosts(lab)
    key, _ = begin_rollout(lab, all=True)
    secret = lab.control("POST", "/v1/tokens", {"name": "a", "role": "admin", "scopes": ["a"]}).json["secret"]
    before = everything(lab)

    for method, path in (
        ("GET", ""),
        ("POST", ""),
        ("GET", f"/{key}"),
        ("GET", f"/{key}/plan"),
        ("POST", f"/{key}/pause"),
    ):
        body = {"type": "Reboot", "all": True} if (method, path) == ("POST", "") else None
        assert refused(lab.control(method, f"/v1/rollouts{path}", body, token=secret), 403)["code"] == "forbidden"
    assert everything(lab) == before


# -- pause, resume, cancel


def test_a_paused_rollout_begins_nothing_and_goes_on_where_it_was(lab):
    """What is announced goes on; resumed, the rest is touched."""
    three_hosts(lab)
    key, _ = begin_rollout(lab, all=True)

    paused = say(lab, key, "pause")
    assert (paused["status"], paused["why"]) == ("Paused", "paused by operator admin")
    lab.advance(DAY_S)
    still = rollout(lab, key)
    assert (still["touched"], still["waiting"]) == (1, ["h2", "h10"])
    assert still["waits_for"].startswith(f"`notbefore rollouts resume {key}`")
    assert refused(lab.control("POST", f"/v1/rollouts/{key}/pause"), 409)["code"] == "wrong_status"

    say(lab, key, "resume")
    lab.advance(DAY_S)

    over = rollout(lab, key)
    assert (over["status"], over["touched"]) == ("Completed", 4)
    for action in ("pause", "resume", "cancel"):
        assert refused(lab.control("POST", f"/v1/rollouts/{key}/{action}"), 409)["code"] == "wrong_status"


def test_a_cancelled_rollout_withdraws_what_has_not_started(lab):
    """S9: none of it starts; the wave that was announced is gone."""
    three_hosts(lab)
    key, _ = begin_rollout(lab, all=True, limits={"max_hosts": 3})

    say(lab, key, "cancel")
    lab.advance(DAY_S)

    over = rollout(lab, key)
    assert (over["status"], over["touched"], over["waits_for"]) == ("Cancelled", 0, "nothing: it is over")
    assert lab.control("GET", "/v1/events?status=Completed").json["events"] == []
    assert {one["status"] for one in lab.control("GET", "/v1/operations").json["operations"]} == {"Cancelled"}


def test_a_wave_is_the_rollouts_to_cancel(lab):
    """It would only begin it anew; and its own page says of which rollout it is."""
    three_hosts(lab)
    key, _ = begin_rollout(lab, all=True)
    [wave] = lab.control("GET", "/v1/operations?status=live").json["operations"]
    assert (wave["rollout"], wave["host"]) == (key, "h1")

    error = refused(lab.control("POST", f"/v1/operations/{wave['id']}/cancel"), 409)

    assert (error["code"], error["facts"]) == ("not_allowed", {"operation": wave["id"], "rollout": key})


# -- failures


@pytest.fixture
def failing(tmp_path):
    with open_lab(lab_settings(tmp_path / "state", executor={"simulate": {"failure_rate": {"Reboot": 1}}})) as lab:
        yield lab


def test_a_rollout_halts_itself_when_impacts_fail_and_says_so(failing):
    """Must show: it halts, withdraws what had not started, and says so; metrics count it."""
    failing.declare("a", vm("a0", "h1"), listening="always")
    failing.declare("b", vm("b0", "h2"), listening="always", notice_s={"Reboot": 3 * 3600})
    key, _ = begin_rollout(failing, all=True, limits={"max_hosts": 2})
    failing.advance(2 * 3600)

    halted = rollout(failing, key)
    assert (halted["status"], halted["why"]) == ("Halted", "1 impact failed, and at most 0 may")
    assert failing.control("GET", "/v1/events").json["events"] == []
    told = [change["what"] for record in all_history(failing, f"rollout={key}") for change in record["changes"]]
    assert {"rollout begun", "rollout wave", "failed", "rollout halted", "cancelled"} <= set(told)
    page = failing.control("GET", "/metrics").body.decode()
    for line in ('notbefore_rollouts{status="Halted"} 1.0', "notbefore_rollouts_halted_total 1.0"):
        assert line in page.splitlines()
    assert 'notbefore_rollout_vms{outcome="failed"} 1.0' in page.splitlines()


# -- what is shown


def test_a_rollout_shows_its_budget_and_what_each_target_waits_for(lab):
    """Issue: lanes, budget and what waits."""
    three_hosts(lab)
    lab.declare("b", vm("b0", "h1"), listening="always")
    key, plan = begin_rollout(lab, all=True)

    shown = rollout(lab, key)

    [target] = shown["in_hand"]
    due = plan["waves"][0]["not_before"]
    silence = f"the approval of any VM in scope a, and of b0 in scope b, or {due}, its common NotBefore"
    assert (target["name"], target["wave"], target["vms"], target["waits_for"]) == ("h1", 1, 2, silence)
    assert shown["budget"] == {
        "hosts": {"used": 1, "max": 1},
        "scopes": {"used": 2, "max": None},
        "vms": {"used": 2, "max": None},
        "impacts": {"used": 0, "max": None},
    }
    assert shown["waits_for"] == f"h1: {silence}; h2: the budget: max_hosts 1"


def test_what_is_shown_has_the_fields_that_are_published_and_no_others(lab):
    """Real answers are held against the OpenAPI document, at every stage of a rollout with windows and all limits."""
    three_hosts(lab)
    windows = [{"days": DAYS, "from": "00:00", "to": "24:00", "time_zone": "UTC"}]
    limits = {"max_vms": 2, "windows": windows, "impacts_max": 50, "vm_rest_s": 60}
    key, _ = begin_rollout(lab, all=True, limits=limits)

    for seconds in (0, 905, 60, DAY_S):
        lab.advance(seconds)
        for path in (
            "rollouts",
            f"rollouts/{key}",
            f"rollouts/{key}/plan",
            "operations",
            "history?limit=1000",
            "events",
        ):
            assert not faults_of_answer("GET", f"/v1/{path}", lab.control("GET", f"/v1/{path}"))
    assert rollout(lab, key)["status"] == "Completed"


def test_a_rollout_waits_for_its_window_by_name(lab):
    """And is not begun before."""
    three_hosts(lab)
    now = datetime.fromisoformat(lab.control("GET", "/v1/clock").json["now"])
    shut_until = f"{(now.hour + 3) % 24:02}:00"
    limits = {"windows": [{"days": DAYS, "from": shut_until, "to": f"{(now.hour + 5) % 24:02}:00"}]}

    key, plan = begin_rollout(lab, all=True, limits=limits)

    assert rollout(lab, key)["waits_for"] == f"h1: its window, which opens at {plan['waves'][0]['visible']}"
    assert plan["waves"][0]["visible"][11:16] == shut_until
    assert lab.control("GET", "/v1/events").json["events"] == []


def test_approvals_only_make_it_faster(lab):
    """Must show: with approvals it only gets faster."""
    three_hosts(lab)
    key, plan = begin_rollout(lab, all=True)
    for _ in range(len(plan["waves"])):
        for event in lab.control("GET", "/v1/events").json["events"]:
            assert lab.control("POST", f"/v1/events/{event['id']}/approve").status == 200
        lab.advance(60)

    over = rollout(lab, key)
    assert (over["status"], over["touched"]) == ("Completed", 4)
    assert over["ended_at"] < plan["ends"]
