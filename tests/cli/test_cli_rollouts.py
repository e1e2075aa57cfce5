"""rollouts and operations: listed, shown, watched, and an operator's word on them (DESIGN §4)."""

import json
import signal

import pytest
from cli_runs import ended
from tenants import declare_tenants, everything, waits_for

from lab import lab_settings, open_lab

NOBODY = "3f0c5b2e-7d1a-4c55-9a0e-2b8c41d7e6f9"
WORDS = [("rollouts", word) for word in ("show", "plan", "pause", "resume", "cancel")]
WORDS += [("operations", word) for word in ("show", "cancel")]


@pytest.fixture
def tenants(lab):
    declare_tenants(lab)
    return lab


@pytest.fixture
def rollout(tenants, real):
    """One over both hosts, its first wave announced."""
    begun = real("maintain", "Reboot", "--all", "--recovery", "5m", "--impacts", "10/1h", "--json").json["rollout"]
    return waits_for(tenants, f"/v1/rollouts/{begun['id']}", is_announced)


@pytest.fixture
def operation(tenants, real):
    begun = real("maintain", "Reboot", "--host", "rack1-a", "--json").json["operation"]
    return waits_for(tenants, f"/v1/operations/{begun['id']}", is_announced)


def is_announced(one):
    """In every scope of its wave: only then approvals are waited for."""
    return "the approval of" in one["waits_for"]


@pytest.fixture
def failing(tmp_path, real):
    """A server on which every Reboot fails, and commands for it."""
    executor = {"simulate": {"failure_rate": {"Reboot": 1.0}}}
    with open_lab(lab_settings(tmp_path / "failing", executor=executor)) as opened:
        declare_tenants(opened)
        real.env |= {"NOTBEFORE_URL": opened.server.control_url, "NOTBEFORE_TOKEN": opened.server.token}
        yield opened


# -- lists


def test_there_is_nothing_to_list_at_first(real):
    """A bare `notbefore rollouts` lists."""
    assert real("rollouts").out == "No rollouts.\n"
    assert real("operations").out == "No operations are under way.\n"
    assert real("operations", "--all").out == "No operations.\n"
    assert real("rollouts", "--json").json == []


def test_a_rollout_is_listed_with_how_far_it_is(real, rollout):
    """Each with what it waits for; the whole of it as JSON."""
    header, row = real("rollouts").lines

    assert header.split()[:8] == ["ID", "TYPE", "OVER", "STATUS", "DONE", "IN", "HAND", "TOUCHED"]
    assert row.split()[:7] == [rollout["id"], "Reboot", "hosts", "Running", "0/2", "1", "0"]
    assert row.endswith(rollout["waits_for"])
    assert real("rollouts", "--json").json == [rollout]


def test_an_operation_is_listed_while_it_goes_on(tenants, real, operation):
    """Those that are over are listed with --all."""
    row = real("operations").lines[1]
    tenants.advance(7200)

    assert row.split()[:6] == [operation["id"], "rack1-a", "Reboot", "Running", "1", "2/3"]
    assert real("operations").out == "No operations are under way.\n"
    assert real("operations", "--all").lines[1].split()[3:6] == ["Completed", "2", "3/3"]


# -- one of them


def test_a_rollout_is_shown_with_lanes_budget_and_what_waits(real, rollout):
    """Lanes, budget, what waits and why."""
    shown = real("rollouts", "show", rollout["id"].upper()).lines

    assert shown[0] == f"Rollout {rollout['id']}: Reboot over 2 hosts, Running"
    assert shown[1] == "  0 done, 1 in hand, 1 waiting; 0 VMs touched, 0 failed, 0 left out"
    assert shown[2].startswith(
        "  rack1-a: wave 1, 2 VMs, 2 announced: waiting for the approval of any VM in scope bank"
    )
    assert "  budget: hosts 1/1, scopes 2, VMs 2, impacts 2/10" in shown
    assert shown[-1] == "  waiting: rack1-b"
    assert real("rollouts", "show", rollout["id"], "--json").json == rollout


def test_the_plan_of_a_rollout_is_from_here_to_its_end(tenants, real, rollout):
    """Execution follows the plan: when the first wave is over, it is no longer in it."""
    waves = real("rollouts", "plan", rollout["id"], "--json").json["plan"]["waves"]
    tenants.advance(1000)
    later = real("rollouts", "plan", rollout["id"])

    assert later.code == 0
    assert [wave["number"] for wave in waves] == [1, 2, 3]
    assert [line.split()[0] for line in later.lines[1:-1]] == ["2", "3"]


def test_an_operation_is_shown_with_its_waves_and_what_waits(real, operation):
    """Waves with the events of each; VMs whose turn is later, and why."""
    shown = real("operations", "show", operation["id"].upper()).lines

    assert shown[0].startswith("Reboot of host rack1-a is Running: wave 1, not before ")
    assert shown[0].endswith(f", gate shut  {operation['id']}")
    assert shown[1].startswith("  waiting for the approval of any VM in scope bank, and of any VM in scope shop, or ")
    assert [line.split()[:5] for line in shown[3:5]] == [
        ["1", "bank", "0", "db-0", "announced"],
        ["1", "shop", "0", "web-0", "announced"],
    ]
    assert shown[5].startswith("waits: shop/web-1: scope shop: update domain 0 has its turn")
    assert real("operations", "show", operation["id"], "--json").json == operation


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_one_that_is_not_there_is_refused_in_a_sentence(tenants, real, words):
    """Exit code 1, and nothing changed."""
    before = everything(tenants)

    real(*words, NOBODY).is_refused_with(NOBODY, f"hint: `notbefore {words[0]}`")
    assert everything(tenants) == before


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_a_word_without_an_id_is_wrong_usage(cli, words):
    """DESIGN §4: exit code 2."""
    cli(*words).is_wrong_usage_of(words[0].upper().removesuffix("S"))


@pytest.mark.parametrize(
    "words", [("rollouts", "--watch"), ("rollouts", "--json"), ("operations", "--all")], ids=" ".join
)
def test_an_option_of_the_list_before_another_word_is_wrong_usage(cli, server, words):
    """Nothing that was said is left aside."""
    cli(*words, "show", NOBODY).is_wrong_usage_of(words[1])

    assert server.requests == []


# -- words on them


def test_a_rollout_is_paused_resumed_and_cancelled(tenants, real, rollout):
    """Issue: pause, resume, cancel. What is withdrawn is Cancelled, and VMs see nothing of it."""
    of = rollout["id"]

    paused = real("rollouts", "pause", of).lines
    assert paused[0] == f"Rollout {of}: Reboot over 2 hosts, Paused: paused by operator admin"
    assert any(line.startswith("  rack1-a: wave 1, 2 VMs, 2 announced: waiting for") for line in paused)
    assert real("rollouts", "resume", of, "--json").json["status"] == "Running"
    assert real("rollouts", "cancel", of).lines[0].endswith("Cancelling: cancelled by operator admin")
    waits_for(tenants, f"/v1/rollouts/{of}", lambda one: one["status"] == "Cancelled")
    assert real("events").out == "No events.\n"
    assert {one["status"] for one in real("events", "--all", "--json").json} == {"Cancelled"}


def test_a_word_that_comes_too_late_is_refused(tenants, real, rollout):
    """A rollout that runs cannot be resumed, one that is over not be paused; the sentence says where it stands."""
    real("rollouts", "resume", rollout["id"]).is_refused_with("Running", "hint: `notbefore rollouts`")
    tenants.advance(2 * 86400)

    real("rollouts", "pause", rollout["id"]).is_refused_with("Completed")
    real("rollouts", "cancel", rollout["id"]).is_refused_with("Completed")


def test_an_operation_is_cancelled_as_a_whole(tenants, real, operation):
    """SPEC §3.4: cancel as a whole; S9: a cancelled event never starts."""
    said = real("operations", "cancel", operation["id"]).lines[0]
    assert "cancelled by operator admin" in said
    waits_for(tenants, f"/v1/operations/{operation['id']}", lambda one: one["status"] == "Cancelled")
    tenants.advance(7200)

    assert {one["status"] for one in real("events", "--all", "--json").json} == {"Cancelled"}
    shown = real("operations", "show", operation["id"]).lines
    assert any(line.startswith("left alone: shop/web-1: cancelled by operator admin") for line in shown)
    real("operations", "cancel", operation["id"]).is_refused_with("Cancelled")


def test_a_wave_of_a_rollout_is_the_rollouts_to_cancel(real, rollout):
    """The hint names what would do it."""
    wave = rollout["in_hand"][0]["operation"]

    real("operations", "cancel", wave).is_refused_with(f"notbefore rollouts cancel {rollout['id']}")


# -- what becomes of them


def test_a_watched_rollout_in_a_pipe_is_a_line_per_change_of_it_and_of_its_lanes(tenants, real, rollout):
    """Degrades to plain text when nobody sits before it."""
    with real.going_on("rollouts", "--watch") as process:
        header, whole, lane = (process.stdout.readline().rstrip() for _ in range(3))
        tenants.advance(1000)
        changed = []
        while "between waves" not in "".join(changed):
            changed.append(process.stdout.readline())
            assert changed[-1]
        process.send_signal(signal.SIGINT)
        ran = ended(process)

    assert header.split()[:3] == ["ROLLOUT", "LANE", "STATUS"]
    assert whole.split()[:4] == ["+", rollout["id"], "-", "Running"]
    assert lane.split()[:8] == ["+", rollout["id"], "rack1-a", "Running", "1", "2", "2", "announced"]
    assert {line[0] for line in changed} == {"~"}
    assert (ran.code, ran.err) == (130, "")


def test_one_rollout_can_be_watched_as_json(tenants, real, rollout):
    """The API's objects, each with what became of it."""
    with real.going_on("rollouts", "show", rollout["id"], "--watch", "--json") as process:
        first = json.loads(process.stdout.readline())
        real("rollouts", "pause", rollout["id"])
        second = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        ended(process)

    assert first == {"change": "appeared", "item": rollout}
    assert (second["change"], second["item"]["status"]) == ("changed", "Paused")


def test_a_watched_rollout_on_a_terminal_is_one_live_picture(tenants, real, rollout):
    """Lanes, budget, what waits and why, what is done; drawn anew when it changed."""
    with real.at_terminal(160, "rollouts", "--watch", TZ="Europe/Prague") as (_, screen):
        first = screen.until("waiting: rack1-b")
        tenants.advance(7200)
        screen.until("No rollouts.")

    assert f"Rollout {rollout['id']}: Reboot over 2 hosts, Running" in first
    assert "0 done, 1 in hand, 1 waiting" in first
    assert "budget: hosts 1/1, scopes 2, VMs 2, impacts 2/10" in first
    assert "2 announced" in first
    assert ("+01:00" in first) or ("+02:00" in first)


def test_operations_can_be_watched(tenants, real, operation):
    """DESIGN §4: every list takes --json and --watch."""
    with real.going_on("operations", "--watch") as process:
        lines = [process.stdout.readline() for _ in range(2)]
        tenants.advance(7200)
        gone = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        ended(process)

    assert lines[1].startswith(f"+ {operation['id']}")
    assert gone[0] in "-~"


def test_a_rollout_that_halts_says_why_and_what_to_do(failing, real):
    """Issue: halts itself when failed impacts pass a limit and withdraws events not yet started, with the reason."""
    with real.going_on("maintain", "Reboot", "--all", "--max-hosts", "2", "--wait") as process:
        of = process.stdout.readline().split()[1].rstrip(":")
        failing.advance(7200)
        ran = ended(process)

    assert ran.code == 1
    assert "The rollout has halted: " in ran.err
    assert f"notbefore rollouts resume {of}" in ran.err
    shown = real("rollouts", "show", of)
    assert ", Halted: " in shown.lines[0]
    assert any("failed" in line for line in shown.lines[2:])
    assert "rollout halted" in real("history", "--rollout", of).out


# -- history


def test_history_can_be_sought_by_operation_and_rollout(tenants, real, rollout):
    """Explain, history and metrics for operations and rollouts."""
    tenants.advance(2 * 86400)
    wave = rollout["in_hand"][0]["operation"]

    of_rollout = real("history", "--rollout", rollout["id"].upper(), "--limit", "200")
    of_operation = real("history", "--operation", wave.upper())

    for told in (
        "rollout begun",
        "rollout wave",
        "rollout target done",
        "rollout completed",
        f"rollout {rollout['id']}",
    ):
        assert told in of_rollout.out
    for told in ("wave announced", "wave ended", "operation completed", f"operation {wave}"):
        assert told in of_operation.out
    assert "rollout begun" not in of_operation.out


def test_the_clock_says_which_rollout_a_change_is_of(tenants, real, rollout):
    """What happened while the clock was turned, each with whose it is."""
    turned = real("clock", "advance", "2d").lines

    assert any(line.endswith(f"rollout {rollout['id']}") for line in turned)
    assert not any(line.endswith("scope ") for line in turned)
