"""The agent as a real process against a real server, killed at every place of an event's life (issue 9: must show)."""

import os
import subprocess
import sys

import pytest
from agent_fleet import agents_of, approvals_of, open_fleet
from agent_process import DYING, settings_text

# Opened, Appeared, began one, ended one, began two, ended two, approving, approved, started, gone, and back again.
BEFORE = [str(n) for n in range(1, 15)]
AFTER = ["2+", "4+", "6+", "10+", "12+"]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with open_fleet(tmp_path_factory.mktemp("fleet")) as lab:
        yield lab


@pytest.fixture
def agents(fleet, tmp_path):
    yield from agents_of(fleet, tmp_path)


def seen_through(fleet, agent, event):
    """Turn the clock as the event needs it, until the agent has nothing left to do."""
    while (said := agent.says("is now Started", "not approved", "nothing is left to do")) != "nothing is left to do":
        if said is None:
            return False
        fleet.advance(60 if said == "is now Started" else 2000)
        fleet.advance(60)
    return True


@pytest.mark.parametrize("dies_at", [*BEFORE, *AFTER])
def test_killed_anywhere_it_comes_back_and_finishes_with_no_step_twice(fleet, agents, dies_at):
    """Process killed at every step boundary: undo completes after it comes back, no step twice."""
    first = agents(settings_text(), program=DYING).start(DIES_AT=dies_at)
    assert first.says("the endpoint shows") or first.process.wait(30)
    event = fleet.made("fleet", "web-1", "restart")
    assert not seen_through(fleet, first, event)
    again = agents(None).start()
    if fleet.event(event["id"])["status"] == "Started":
        fleet.advance(60)

    # An event that ended before its life was written down is never heard of again: nothing was done for it.
    if int(dies_at.rstrip("+")) > 1 or fleet.event(event["id"])["status"] != "Completed":
        assert seen_through(fleet, again, event)

    again.stop()
    steps = [did for did in again.did if did != "alert"]
    assert len(steps) == len(set(steps)), again.did
    for name in ("one", "two"):
        assert (f"do {name}" not in steps) or f"undo {name}" in steps or "not run again" in alerts(again)
    assert fleet.event(event["id"])["status"] == "Completed"


def alerts(agent):
    return agent.log if "alert" in agent.did else ""


def test_killed_in_the_middle_of_a_step_it_is_not_run_again_and_nothing_is_approved(fleet, agents, tmp_path):
    """A step cut off by the crash is run again only if declared repeatable, else reported."""
    agent, event = killed_in_step(fleet, agents, settings_text(one="echo $$ > child; exec sleep 600"))

    assert agent.says("not approved: step 'one' failed")
    assert approvals_of(fleet, event["id"]) == []
    fleet.advance(2000)
    fleet.advance(60)
    assert agent.says("nothing is left to do")
    assert agent.did == ["do one", "alert", "undo one"]


def test_killed_in_the_middle_of_a_repeatable_step_it_is_run_again(fleet, agents):
    text = settings_text(one="test -e child || { echo $$ > child; exec sleep 600; }", more="repeatable = true")
    agent, event = killed_in_step(fleet, agents, text)

    assert agent.says("is now Started")
    fleet.advance(60)
    assert agent.says("nothing is left to do")
    assert agent.did == ["do one", "do one", "do two", "undo two", "undo one"]
    assert approvals_of(fleet, event["id"]) == ["vm web-1"]


def killed_in_step(fleet, agents, text):
    """An agent killed while its first step runs, and another in its place."""
    first = agents(text).start()
    assert first.says("the endpoint shows")
    event = fleet.made("fleet", "web-1", "restart")
    child = first.place / "child"
    while not (child.exists() and child.read_text().strip()):
        pass
    first.kill()
    os.kill(int(child.read_text()), 9)
    return agents(None).start(), event


@pytest.mark.part("root-mount")
def test_after_its_own_reboot_it_finishes_the_undo(fleet, agents, tmp_path):
    """Boot id changed meanwhile: undo completes after it comes back, no step twice."""
    first = agents(settings_text()).start()
    assert first.says("the endpoint shows")
    event = fleet.made("fleet", "web-1", "restart")
    assert first.says("is now Started")
    first.kill()
    fleet.advance(60)
    other = tmp_path / "boot_id"
    other.write_text("22222222-2222-2222-2222-222222222222\n")
    script = f'mount --bind {other} /proc/sys/kernel/random/boot_id && exec "$@"'

    again = agents(None, inside=("unshare", "--mount", "sh", "-c", script, "sh")).start()

    assert again.says("nothing is left to do")
    assert again.did == ["do one", "do two", "undo two", "undo one"]
    assert "22222222" in (again.place / "state" / "journal.jsonl").read_text()
    assert fleet.event(event["id"])["status"] == "Completed"


def test_stopped_in_the_middle_of_a_step_it_lets_it_end_and_goes_on_at_the_next_start(fleet, agents):
    """SIGTERM: running steps end within the grace, the journal stays; on the next start it goes on."""
    first = agents(settings_text(one="echo $$ > child; while test ! -e go; do sleep 0.05; done")).start()
    assert first.says("the endpoint shows")
    fleet.made("fleet", "web-1", "restart")
    assert first.says("'one' begins")
    first.process.terminate()
    assert first.says("stopping: SIGTERM")
    (first.place / "go").touch()
    assert first.wait() == 0
    assert first.did == ["do one"]

    again = agents(None).start()
    assert again.says("is now Started")
    fleet.advance(60)

    assert again.says("nothing is left to do")
    assert again.did == ["do one", "do two", "undo two", "undo one"]


def test_a_step_that_the_stop_cut_off_is_as_one_that_a_crash_cut_off(fleet, agents):
    """After the grace: repeatable, so it is run again at the next start; it has not failed."""
    text = settings_text(one="test -e child || { echo $$ > child; exec sleep 600; }", more="repeatable = true")
    first = agents(text.replace("stop_grace_s = 5", "stop_grace_s = 0")).start()
    assert first.says("the endpoint shows")
    fleet.made("fleet", "web-1", "restart")
    while not (first.place / "child").exists():
        pass
    assert first.stop() == 0

    again = agents(None).start()
    assert again.says("is now Started")
    fleet.advance(60)

    assert again.says("nothing is left to do")
    assert again.did == ["do one", "do one", "do two", "undo two", "undo one"]


def test_a_second_agent_on_the_same_state_refuses_to_start(fleet, agents):
    """Two agents in one VM: the second refuses to start, exit 1 with who has it."""
    first = agents(settings_text()).start()
    assert first.says("the endpoint shows")

    second = agents(None).start()

    assert second.process.wait(30) == 1
    second.says("never")
    assert f"Another agent (process {first.process.pid}) works with" in second.log
    assert "Traceback" not in second.log


# -- the journal


def test_with_a_corrupt_journal_it_says_so_approves_nothing_and_keeps_watching(fleet, agents):
    """Journal corrupt: says so, does not approve, keeps watching."""
    first = agents(settings_text()).start()
    assert first.says("the endpoint shows")
    fleet.made("fleet", "web-1", "restart")
    assert first.says("is now Started")
    fleet.advance(60)
    assert first.says("nothing is left to do")
    first.stop()
    journal = first.place / "state" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"StepEnded"', b'"StepRotted"', 1))
    before = first.did

    again = agents(None).start()
    assert again.says("is damaged at line 4")
    assert again.says("the endpoint shows")
    event = fleet.made("fleet", "web-1", "restart")
    assert again.says("not approved: the journal has a hole")
    assert approvals_of(fleet, event["id"]) == []
    fleet.advance(2000)
    fleet.advance(60)

    assert again.says("nothing is left to do")
    assert [did for did in again.did[len(before) :] if did != "alert"] == ["do one", "do two", "undo two", "undo one"]
    assert "alert" in again.did[len(before) :]


FULL = """
import resource, signal, sys
from pathlib import Path
from notbefore.agent.main import run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
size = Path(sys.argv[1]).stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, resource.RLIM_INFINITY))
sys.exit(run(sys.argv[2:]))
"""


def test_with_a_full_disk_it_says_so_begins_and_approves_nothing_and_keeps_watching(fleet, agents):
    """Disk full: says so, does not approve, keeps watching; when there is room it goes on."""
    first = agents(settings_text()).start()
    assert first.says("the endpoint shows")
    first.stop()
    journal = first.place / "state" / "journal.jsonl"
    full = agents(None, program=(sys.executable, "-c", FULL, str(journal))).start()
    assert full.says("cannot be written")
    assert full.says("this VM is web-1")
    event = fleet.made("fleet", "web-1", "restart")
    assert full.says(f"event {event['id']} appeared")
    assert full.did in ([], ["alert"])
    subprocess.run(["prlimit", f"--pid={full.process.pid}", "--fsize=unlimited"], check=True)

    assert full.says("the journal can be written again")
    assert full.says("is now Started")
    fleet.advance(60)
    assert full.says("nothing is left to do")
    assert approvals_of(fleet, event["id"]) == ["vm web-1"]
