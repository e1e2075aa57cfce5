"""`notbefore-agent` as a user meets it: run, check, example, status, dry run, reload (issue 9: operations)."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys

import pytest
from agent_fleet import agents_of, approvals_of, open_fleet
from agent_process import PROGRAM, settings_text

LIGHT = [sys.executable, "-c", "from notbefore.cli.entry import main; main()", "agent"]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with open_fleet(tmp_path_factory.mktemp("fleet")) as lab:
        yield lab


@pytest.fixture
def agents(fleet, tmp_path):
    yield from agents_of(fleet, tmp_path)


def ran(*words, program=PROGRAM, endpoint=""):
    env = {**os.environ, "NOTBEFORE_ENDPOINT": endpoint}
    done = subprocess.run([*program, *words], capture_output=True, text=True, env=env, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("program", [PROGRAM, LIGHT], ids=["notbefore-agent", "notbefore agent"])
def test_it_says_its_version_and_how_it_is_used(program):
    assert re.fullmatch(r"notbefore-agent \d+\.\d+\.\d+\n", ran("--version", program=program).stdout)
    assert "example" in ran("--help", program=program).stdout
    assert ran(program=program).returncode == 2
    assert ran("run", program=program).returncode == 2


def test_the_example_passes_check(fleet, tmp_path):
    """`example`: a commented agent.toml to stdout, which `check` accepts."""
    config = tmp_path / "agent.toml"
    config.write_text(ran("example").stdout.replace("[agent]", f'[agent]\nstate = "{tmp_path}/state"'))

    checked = ran("check", "--config", str(config), endpoint=fleet.server.metadata_urls[0])

    assert checked.returncode == 0, checked.stdout
    assert "ok    this VM is web-1" in checked.stdout
    assert not (tmp_path / "state").exists()


def test_check_says_what_would_not_work(fleet, tmp_path):
    """Settings, endpoint, who am I, each command exists: exit 1 and a line for each."""
    config = tmp_path / "agent.toml"
    config.write_text(settings_text().replace('"sh", "-c", "echo do one', '"no-such-program", "-c", "echo do one'))

    checked = ran("check", "--config", str(config), endpoint=fleet.server.metadata_urls[0])
    nobody = ran("check", "--config", str(config), endpoint="http://127.0.0.1:9")

    assert checked.returncode == nobody.returncode == 1
    assert re.search(r"FAIL  rule 'all', 'one': .*no-such-program", checked.stdout)
    assert "FAIL  endpoint: Nothing answers at http://127.0.0.1:9" in nobody.stdout


def test_check_says_that_the_journal_is_damaged(fleet, tmp_path):
    config = tmp_path / "agent.toml"
    config.write_text(settings_text())
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "journal.jsonl").write_text("nonsense\n")

    checked = ran("check", "--config", str(config), endpoint=fleet.server.metadata_urls[0])

    assert checked.returncode == 1
    assert "FAIL  state: the journal is damaged at line 1" in checked.stdout


@pytest.mark.parametrize("command", ["run", "check"])
def test_wrong_settings_are_wrong_usage_with_file_and_line(tmp_path, command):
    config = tmp_path / "agent.toml"
    config.write_text("[agent]\nspeed = 1\n")

    done = ran(command, "--config", str(config))

    assert done.returncode == 2
    assert f"{config}:2: agent.speed: there is no such key" in done.stderr


def test_a_state_that_cannot_be_kept_is_a_refusal(tmp_path):
    (tmp_path / "state").write_text("a file")
    config = tmp_path / "agent.toml"
    config.write_text('[agent]\nstate = "state"\n')

    done = ran("run", "--config", str(config))

    assert done.returncode == 1
    assert "cannot keep its journal in" in done.stderr


def test_a_dry_run_says_what_it_would_do_and_does_nothing(fleet, agents):
    """Nor does it tell a load balancer to drain, or write over the metrics of the agent that runs in earnest."""
    status = '\n[status]\nlisten = "127.0.0.1:0"\ntextfile = "agent.prom"\n'
    agent = agents(settings_text() + status).start("--dry-run")
    assert agent.says("the endpoint shows")
    assert "/healthz" not in agent.log
    event = fleet.made("fleet", "web-1", "restart")

    assert agent.says("'one' done .*dry run, within 60 s it would: run sh -c")
    assert agent.says(f"dry run: {event['id']} would be approved")
    fleet.advance(2000)
    fleet.advance(60)
    assert agent.says("nothing is left to do")

    assert agent.stop() == 0
    assert agent.did == []
    assert approvals_of(fleet, event["id"]) == []
    assert not (agent.place / "state").exists()
    assert not (agent.place / "agent.prom").exists()


def asked(url, path):
    line = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    line.request("GET", path)
    reply = line.getresponse()
    body = reply.read().decode()
    line.close()
    return reply.status, body


def test_healthz_asks_a_load_balancer_to_drain_until_everything_is_undone(fleet, agents):
    """503 "draining" while any event of mine is between do and the end of undo."""
    text = settings_text(one="while test ! -e go; do sleep 0.05; done")
    agent = agents(text + '\n[status]\nlisten = "127.0.0.1:0"\ntextfile = "agent.prom"\n').start()
    assert agent.says("status: ")
    url = re.search(r"status: (\S+)/healthz", agent.log)[1]
    assert agent.says("the endpoint shows")
    assert asked(url, "/healthz") == (200, "ok\n")
    event = fleet.made("fleet", "web-1", "restart")
    assert agent.says("'one' begins")

    while asked(url, "/healthz")[0] != 503:
        pass
    assert asked(url, "/healthz")[1] == f"draining: Reboot {event['id']} is Scheduled\n"
    assert 'notbefore_agent_events{type="Reboot"} 1' in asked(url, "/metrics")[1]
    (agent.place / "go").touch()
    assert agent.says("is now Started")
    fleet.advance(60)
    assert agent.says("nothing is left to do")

    while asked(url, "/healthz")[0] != 200:
        pass
    metrics = asked(url, "/metrics")[1]
    assert 'notbefore_agent_steps_total{phase="do",outcome="ok"} 2' in metrics
    assert 'notbefore_agent_approvals_total{outcome="given"} 1' in metrics
    assert asked(url, "/other")[0] == 404
    agent.stop()
    assert "notbefore_agent_draining 0" in (agent.place / "agent.prom").read_text()


def test_log_lines_are_json_when_that_is_wanted(fleet, agents):
    agent = agents(settings_text() + '\n[log]\nformat = "json"\n').start()
    assert agent.says("the endpoint shows")
    fleet.made("fleet", "web-1", "restart")
    assert agent.says("is now Started")
    fleet.advance(60)
    assert agent.says("nothing is left to do")
    agent.stop()

    lines = [json.loads(line) for line in agent.lines]
    assert {"at", "level", "message"} <= set(lines[0])
    assert any(line.get("rule") == "all" and line.get("event_id") for line in lines)


def test_a_reload_is_for_events_to_come(fleet, agents):
    """The rule that was chosen stays the event's rule, also when settings are read anew; wrong ones change nothing."""
    agent = agents(settings_text(one="while test ! -e go; do sleep 0.05; done")).start()
    assert agent.says("the endpoint shows")
    fleet.made("fleet", "web-1", "restart")
    assert agent.says("'one' begins")
    agent.config.write_text(settings_text().replace('"all"', '"new"').replace("undo two", "undo new"))
    agent.process.send_signal(signal.SIGHUP)
    assert agent.says("1 rules and 1 alerts were read anew")
    for wrong in ("[nonsense]", "[[rule]]\nname = 'x'\nof = ['mine']"):
        agent.config.write_text(wrong)
        agent.process.send_signal(signal.SIGHUP)
        assert agent.says("the settings stay as they are: .*(nonsense|of: is one of mine)")
    (agent.place / "go").touch()
    assert agent.says("is now Started")
    fleet.advance(60)
    assert agent.says("nothing is left to do")
    fleet.made("fleet", "web-1", "restart")

    assert agent.says("rule 'new' decides")
    assert agent.did[:4] == ["do one", "do two", "undo two", "undo one"]


HUNG = {"one": "head -c 1000000 /dev/zero; sleep 600", "more": 'limit = "300ms"'}
BAD_STEPS = {
    "fails": ({"one": "exit 3"}, "ended with exit code 3"),
    "prints a megabyte and hangs": (HUNG, "its time of 0.3 s was over"),
    "leaves a child": ({"one": "sleep 600 & exit 0"}, r"ended with exit code 0 and left \S+ \(\d+\) running"),
    "leaves a silent child": (
        {"one": "sleep 600 > /dev/null 2>&1 < /dev/null & exit 0"},
        r"ended with exit code 0 and left \S+ \(\d+\) running",
    ),
}


@pytest.mark.parametrize(("step", "said"), BAD_STEPS.values(), ids=BAD_STEPS)
def test_a_step_that_goes_wrong_is_told_and_not_approved(fleet, agents, step, said):
    """Fails, hangs, prints a megabyte, or forks a child that stays: budget kept, no approval, told to the administrator."""
    agent = agents(settings_text(**step)).start()
    assert agent.says("the endpoint shows")
    event = fleet.made("fleet", "web-1", "restart")

    assert agent.says(f"'one' FAILED .*{said}")
    assert agent.says("not approved: step 'one' failed")
    while "alert" not in agent.did:
        pass
    assert approvals_of(fleet, event["id"]) == []
    fleet.advance(2000)
    fleet.advance(60)
    assert agent.says("nothing is left to do")
    # Perhaps its time was over before it had written anything.
    assert [did for did in agent.did if did != "do one"] == ["alert", "undo one"]


def test_it_tells_the_service_manager_and_keeps_its_watchdog(fleet, agents, tmp_path):
    """Type=notify and a watchdog: READY=1 when it watches, WATCHDOG=1 while the loop turns."""
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        agent = agents(settings_text()).start(NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="200000")
        heard = [manager.recv(500) for _ in range(6)]
        agent.process.terminate()
        while b"STOPPING=1" not in heard:
            heard.append(manager.recv(500))

    assert heard[0] == b"READY=1"
    assert heard[1:6].count(b"WATCHDOG=1") >= 2
