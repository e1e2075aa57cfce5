"""maintain over hosts and fleets: what is asked for, what is planned, what is refused (SPEC §3.4)."""

import json
import signal

import pytest
from cli_runs import ended
from tenants import declare_tenants, everything, waits_for

NO_PLACE = [
    (),
    ("--scope", "shop", "--all"),
    ("--scope", "shop", "--hosts", "*"),
    ("--host", "rack1-a", "--all"),
    ("--all", "--hosts", "*"),
    ("--hosts", "*", "--scopes", "*"),
    ("--host", "rack1-a", "--host", "rack1-b"),
    ("--host", "rack1-a", "--update-domain", "0"),
    ("--all", "--vm", "web-0"),
    ("--scope", "shop", "--max-hosts", "1"),
    ("--host", "rack1-a", "--recovery", "5m"),
    ("--host", "rack1-a", "--order", "name"),
    ("--scope", "shop", "--first", "shop"),
    ("--all", "--not-before", "+1h"),
]
UNREADABLE = [
    ("--max-hosts", "0"),
    ("--max-vms", "few"),
    ("--recovery", "soon"),
    ("--vm-rest", "-1d"),
    ("--impacts", "10"),
    ("--impacts", "x/1h"),
    ("--impacts", "10/"),
    ("--max-failed", "-1"),
    ("--order", "random"),
    ("--window", "always"),
    ("--window", "Sat 22:00"),
    ("--window", "Caturday 22:00-04:00"),
    ("--window", "Sat-Caturday 22:00-04:00"),
    ("--window", "22:00-04:00 Europe/Prague now"),
]
REFUSED = {
    ("--hosts", "no-such-*"): "no-such-*",
    ("--scopes", "no-such-*"): "no-such-*",
    ("--host", "no-such-host"): "no-such-host",
    ("--all", "--first", "no-such-host"): "no-such-host",
    ("--all", "--window", "22:00-04:00 Europe/Nowhere"): "Europe/Nowhere",
    ("--all", "--window", "22:00-25:00"): "25:00",
    ("--all", "--impacts", "0/1h"): "impacts_max",
    ("--all", "--window", "Sun 04:00-04:10"): "never come to its end",
    ("--all", "--duration", "-2"): "duration_s",
}


@pytest.fixture
def tenants(lab):
    declare_tenants(lab)
    return lab


@pytest.mark.parametrize("words", NO_PLACE, ids=" ".join)
def test_what_has_no_place_together_is_wrong_usage(cli, server, words):
    """Exactly one of --scope, --host, --all, --hosts, --scopes; nothing that was said is left aside."""
    cli("maintain", "Reboot", *words).is_wrong_usage_of("hint: ")

    assert server.requests == []


@pytest.mark.parametrize("words", UNREADABLE, ids=" ".join)
def test_a_limit_that_cannot_be_read_is_wrong_usage(cli, server, words):
    """DESIGN §4: exit code 2, before anything is asked for."""
    cli("maintain", "Reboot", "--all", *words).is_wrong_usage_of(words[0])

    assert server.requests == []


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_what_the_server_refuses_is_one_sentence_and_changes_nothing(tenants, real, words):
    """Bad input changes nothing; exit code 1."""
    before = everything(tenants)

    real("maintain", "Reboot", *words).is_refused_with(REFUSED[words])

    assert everything(tenants) == before


def test_limits_travel_as_the_api_has_them(cli, server):
    """DESIGN §5: units last, windows with days, hours and time zone."""
    server.refuses("POST", "/v1/rollouts", "invalid", "Not today.")
    budget = ("--max-hosts", "2", "--max-scopes", "3", "--max-vms", "50", "--max-failed", "4")
    times = (
        "--recovery",
        "5m",
        "--impacts",
        "10/1h",
        "--vm-rest",
        "7d",
        "--window",
        "sat,SUN 22:00-04:00 Europe/Prague",
    )
    order = ("--order", "Smallest", "--first", "rack1-b", "--first", "rack1-a")

    cli("maintain", "reboot", "--hosts", "rack1-*", *budget, *times, *order, "--window", "Fri-Mon 01:00-02:00")

    assert server.requests[-1].body == {
        "type": "Reboot",
        "hosts": "rack1-*",
        "order": "smallest",
        "first": ["rack1-b", "rack1-a"],
        "limits": {
            "max_hosts": 2,
            "max_scopes": 3,
            "max_vms": 50,
            "recovery_s": 300,
            "impacts_max": 10,
            "impacts_per_s": 3600,
            "vm_rest_s": 7 * 86400,
            "failed_max": 4,
            "windows": [
                {"days": ["Sat", "Sun"], "from": "22:00", "to": "04:00", "time_zone": "Europe/Prague"},
                {"days": ["Fri", "Sat", "Sun", "Mon"], "from": "01:00", "to": "02:00", "time_zone": "UTC"},
            ],
        },
    }


@pytest.mark.parametrize(("words", "over"), [(("--all",), {"all": True}), (("--scopes", "s*"), {"scopes": "s*"})])
def test_what_is_not_said_is_left_to_the_server(cli, server, words, over):
    """Without limits the body has none; a window without days is one of every day."""
    server.refuses("POST", "/v1/rollouts", "invalid", "Not today.")

    cli("maintain", "freeze", *words)

    assert server.requests[-1].body == {"type": "Freeze", **over}


@pytest.mark.parametrize(
    "words", [("--host", "rack1-a"), ("--all",), ("--scopes", "*", "--max-vms", "2")], ids=" ".join
)
def test_a_plan_is_a_table_and_changes_nothing(tenants, real, words):
    """--plan: the plan is data, printed with its times, and nothing is scheduled."""
    before = everything(tenants)

    ran = real("maintain", "Reboot", *words, "--plan")
    as_json = real("maintain", "Reboot", *words, "--plan", "--json").json

    assert ran.code == 0
    assert ran.lines[0] == "Planned; nothing is scheduled."
    assert ran.lines[1].split() == ["WAVE", "TARGET", "VISIBLE", "NOT", "BEFORE", "ENDS", "VMS", "UPDATE", "DOMAINS"]
    waves = as_json["plan"]["waves"]
    assert len(ran.lines) == 2 + len(waves) + 1
    for line, wave in zip(ran.lines[2:], waves, strict=False):
        assert line.split()[:6] == [
            *(str(wave["number"]), wave["target"], wave["visible"], wave["not_before"], wave["ends"], str(wave["vms"]))
        ]
    assert everything(tenants) == before


def test_a_plan_names_the_update_domains_of_each_wave(tenants, real):
    """SPEC §3.4: at most one update domain of each scope in a wave."""
    ran = real("maintain", "Reboot", "--host", "rack1-a", "--plan")

    assert ran.lines[2].endswith("2    bank 0, shop 0")
    assert ran.lines[3].endswith("1    shop 1")
    assert ran.lines[4].startswith("2 waves, 3 VMs, over by ")


def test_a_plan_that_has_no_end_says_so(tenants, real):
    """Nothing is promised that cannot be kept."""
    ran = real("maintain", "Reboot", "--all", "--window", "Sun 04:00-04:10", "--plan")

    assert ran.code == 0
    assert "It does not come to its end" in ran.err
    assert "WAVE" not in ran.out


def test_a_host_is_maintained_as_one_operation(tenants, real):
    """SPEC §3.4: an operation over the scopes that have VMs on the host."""
    begun = real("maintain", "Freeze", "--host", "RACK1-A", "--duration", "9", "--json").json["operation"]

    listed = waits_for(tenants, f"/v1/operations/{begun['id']}", lambda one: one["waves"])
    assert [one["id"] for one in real("operations", "--json").json] == [begun["id"]]
    assert (listed["type"], listed["duration_s"]) == ("Freeze", 9)
    assert {event["scope"] for event in listed["waves"][0]["events"]} == {"shop", "bank"}


def test_a_host_beside_a_scope_is_the_scopes_vms_on_it(tenants, real):
    """With --scope it is maintenance of that scope, and no operation."""
    made = real("maintain", "Reboot", "--scope", "shop", "--host", "rack1-b", "--json").json

    assert [event["vms"] for event in made["events"]] == [["web-2"]]
    assert real("operations", "--json").json == []


def test_waiting_for_a_host_returns_when_it_is_over(tenants, real):
    """--wait follows it to its end; each thing it waits for is said when that changes."""
    with real.going_on("maintain", "Reboot", "--host", "rack1-a", "--wait") as process:
        assert process.stdout.readline().startswith("Reboot of host rack1-a is Running")
        tenants.advance(7200)
        ran = ended(process)

    assert (ran.code, ran.err) == (0, "")
    assert ran.lines[-1].startswith("Reboot of host rack1-a is Completed")


def test_waiting_for_a_host_that_is_cancelled_ends_with_1(tenants, real):
    """Exit code 1: it did not complete."""
    with real.going_on("maintain", "Reboot", "--host", "rack1-a", "--wait", "--json") as process:
        (found,) = waits_for(tenants, "/v1/operations", lambda one: one["operations"])["operations"]
        real("operations", "cancel", found["id"])
        ran = ended(process)

    assert ran.code == 1
    assert json.loads(ran.out)["operation"]["status"] == "Cancelled"
    assert f"notbefore operations show {found['id']}" in ran.err


def test_waiting_for_a_scope_returns_when_its_events_have_ended(tenants, real):
    """--wait of other commands: the events as they ended."""
    with real.going_on("maintain", "Reboot", "--scope", "shop", "--wait", "--json") as process:
        waits_for(tenants, "/v1/events", lambda one: len(one["events"]) == 3)
        tenants.advance(7200)
        ran = ended(process)

    assert ran.code == 0
    assert [event["status"] for event in json.loads(ran.out)["events"]] == ["Completed"] * 3


def test_killing_the_command_changes_nothing(tenants, real):
    """DESIGN §2: killing the CLI mid-way changes nothing: the rollout goes on by itself."""
    with real.going_on("maintain", "Reboot", "--all", "--wait") as process:
        said = process.stdout.readline()
        tenants.advance(1000)
        process.send_signal(signal.SIGKILL)
    tenants.advance(7200)

    (rollout,) = real("rollouts", "--json").json
    assert rollout["id"] in said
    assert (rollout["status"], rollout["touched"]) == ("Completed", 5)
