"""The CLI against the real server, started as people start it: `notbefore serve --demo` with a manual clock."""

import re
import signal
from contextlib import ExitStack
from pathlib import Path

import cli_fakes
import pytest
from cli_runs import PROGRAM, Cli, Ran, ended

ANYWHERE = ("--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0")
UNSERVABLE = {
    ("--clock", "sundial"): 2,
    ("--metadata", "localhost"): 2,
    ("--store", "paper:"): 2,
    ("--config", "/nonexistent.toml"): 2,
    ("--metadata", "0.0.0.0:0"): 1,
    ("--state", "/dev/null/state"): 1,
}
FLEET = """
[scopes.shop]
kind = "availability-set"
[scopes.shop.settings]
listening = "always"
notice_s = { Reboot = 60 }
[[scopes.shop.vms]]
name = "web-1"
[[scopes.shop.vms]]
name = "web-2"
update_domain = 1
"""


def nowhere(state) -> Cli:
    """An environment in which no server is named yet."""
    return Cli(
        {
            "NOTBEFORE_URL": "http://127.0.0.1:1",
            "NOTBEFORE_ENDPOINT": "http://127.0.0.1:1",
            "NOTBEFORE_TOKEN": None,
            "NOTBEFORE_STATE": str(state),
        }
    )


def serving(cli: Cli, process) -> Cli:
    """The CLI pointed at the addresses that the server prints at its start."""
    urls = {}
    while not {"metadata", "control"} <= urls.keys():
        line = process.stdout.readline()
        assert line, process.stderr.read()
        if found := re.match(r" +(metadata|control) +(http://\S+)", line):
            urls[found[1]] = found[2]
    return Cli({**cli.env, "NOTBEFORE_URL": urls["control"], "NOTBEFORE_ENDPOINT": urls["metadata"]})


def stopped(process) -> Ran:
    process.send_signal(signal.SIGINT)
    return ended(process)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    cli = nowhere(tmp_path_factory.mktemp("state"))
    with cli.process(PROGRAM, "serve", "--demo", *ANYWHERE, "--clock", "manual") as process:
        yield serving(cli, process)
        ran = stopped(process)
    assert ran.code == 0
    assert "Traceback" not in ran.err


def test_a_restart_is_announced_approved_carried_out_and_told(demo):
    """SPEC §3 in one go: Scheduled, approved by a VM as a VM, Started, Completed, in history."""
    (made,) = demo("restart", "frontend_in_0", "--json").json
    assert demo("events").lines[1].startswith(made["id"])

    asked = demo("ask", "--from", "127.0.0.2", "--approve", made["id"].lower())
    assert "Started" in asked.lines[1]

    turned = demo("clock", "to-next")
    assert any(
        f"Reboot completed: the impact is over on every VM  FrontEnd_IN_0  {made['id']}" in one for one in turned.lines
    )
    records = demo("history", "--event", made["id"], "--json").json
    told = [change["what"] for record in records for change in record["changes"] if change["event"]]
    assert told == ["scheduled", "approved", "started: approved", "impact done", "completed"]
    assert demo("ask").lines[0] == "No events are scheduled."


def test_asking_for_exactly_the_notice_is_not_too_early(demo):
    """SPEC §3.1: a longer NotBefore may be asked for; the notice itself is not shorter than the notice."""
    ran = demo("restart", "BackEnd_IN_0", "--not-before", "15m", "--json")

    assert ran.code == 0
    assert demo("cancel", ran.json[0]["id"]).out.startswith("Reboot cancelled: BackEnd_IN_0")


def test_asking_for_less_than_the_notice_is_refused_with_the_earliest_time(demo):
    """SPEC §3.1: a shorter one is refused with the earliest allowed time in the error."""
    demo("restart", "BackEnd_IN_0", "--not-before", "+14m").is_refused_with("may not start before", "Z", "hint: ")


def test_maintenance_goes_one_update_domain_at_a_time(demo):
    """SPEC §3.4: the next update domain queues until the former has ended."""
    made = demo("maintain", "freeze", "--scope", "demo", "--json").json
    assert [event["vms"] for event in made["events"]] == [["FrontEnd_IN_0", "BackEnd_IN_0"]]
    assert [event["status"] for event in made["queued"]] == ["Queued"]

    demo("clock", "advance", "1h")

    assert demo("events").out == "No events.\n"
    statuses = {event["id"]: event["status"] for event in demo("events", "--all", "--json").json}
    assert statuses[made["queued"][0]["id"]] == "Completed"


def test_waiting_ends_when_somebody_turns_the_clock(demo):
    """--wait asks the server again and again; two terminals, as people use it."""
    with demo.process(PROGRAM, "terminate", "BackEnd_IN_1", "--wait") as process:
        assert process.stdout.readline().startswith("Terminate scheduled: BackEnd_IN_1")
        demo("clock", "advance", "10m")
        ran = ended(process)

    assert (ran.code, ran.err) == (0, "")
    assert ran.lines[-1].startswith("Terminate completed: BackEnd_IN_1")


def test_a_fleet_is_applied_changed_and_left_alone(demo, tmp_path):
    """PUT replaces the whole and is idempotent; a live event is not hurt unless forced."""
    file = tmp_path / "fleet.toml"
    file.write_text(FLEET)
    assert demo("apply", str(file)).lines[0] == "+ scope shop: availability-set, 2 VMs"
    assert demo("apply", str(file)).lines == ["Applied: nothing to change, 1 thing unchanged."]
    demo("restart", "web-2")

    file.write_text(FLEET.replace("web-2", "web-3").replace("60", "30"))
    demo("apply", str(file)).is_refused_with("fleet.toml, line 7, scopes.shop.vms: ", "web-2", "live event")
    forced = demo("apply", str(file), "--force")

    assert forced.lines[:4] == [
        "~ scope shop",
        "    ~ settings.notice_s.Reboot: 60 -> 30",
        "    + vm web-3: update domain 1",
        "    - vm web-2",
    ]


def test_the_fakes_have_the_shapes_of_the_real_server(demo):
    """What the other tests of the CLI lean on is what the server answers."""
    (event,) = demo("freeze", "FrontEnd_IN_1", "--json").json
    (scope, *_) = demo("scopes", "--json").json
    (record,) = demo("history", "--limit", "1", "--json").json

    assert cli_fakes.event().keys() <= event.keys()
    assert cli_fakes.scope().keys() == scope.keys()
    assert cli_fakes.vm().keys() == scope["vms"][0].keys()
    assert cli_fakes.record().keys() <= record.keys()
    assert cli_fakes.change("", "").keys() <= record["changes"][0].keys()
    assert cli_fakes.clock().keys() == demo("clock", "show", "--json").json.keys()


def test_an_unknown_event_is_the_servers_refusal(demo):
    """The sentence and the hint come through; the exit code is 1."""
    demo("cancel", cli_fakes.EVENT).is_refused_with(cli_fakes.EVENT, "hint: `notbefore events`")


def test_a_token_that_the_server_refuses_is_not_shown(demo):
    """The file holds it; a client's error does not show even a wrong one."""
    token = Path(demo.env["NOTBEFORE_STATE"], "admin.token").read_text().strip()

    ran = demo("events", NOTBEFORE_TOKEN=token[:-1])

    assert ran.code == 1
    assert token[:-1] not in ran.out + ran.err


def test_serve_refuses_what_it_cannot_serve_in_one_sentence(tmp_path):
    """Wrong settings are wrong usage (2); what the machine or the rules forbid is a refusal (1)."""
    cli = nowhere(tmp_path)
    with ExitStack() as stack:
        started = {args: stack.enter_context(cli.process(PROGRAM, "serve", *ANYWHERE, *args)) for args in UNSERVABLE}
        refused = {args: ended(process) for args, process in started.items()}

    for (_, wrong), ran in refused.items():
        assert wrong.removesuffix(":0") in ran.err
        assert len(ran.err.splitlines()) <= len(("sentence", "hint"))
    assert {args: ran.code for args, ran in refused.items()} == UNSERVABLE


def test_serve_refuses_an_address_that_is_taken(demo, tmp_path):
    """A taken port is an error at start, never a surprise later."""
    taken = demo.env["NOTBEFORE_URL"].removeprefix("http://")

    ran = nowhere(tmp_path).apart(PROGRAM, "serve", "--metadata", "127.0.0.1:0", "--control", taken)

    ran.is_refused_with(taken)
