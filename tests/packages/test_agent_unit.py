"""The agent's unit: systemd accepts it, it gives little away, and under a real manager the agent does its work in it."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from test_systemd_units import EXPOSURE_MAX, analyzed, lines_of

from lab import lab_settings, open_lab
from notbefore.agent.running import KILL_MARGIN_S
from notbefore.agent.settings import STOP_GRACE_S

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy/systemd/notbefore-agent.service"
AS_ROOT = ROOT / "deploy/systemd/notbefore-agent-root.conf"
INSTALLED = "/usr/local/bin/notbefore-agent"
AGENT = str(Path(sys.executable).with_name("notbefore-agent"))
# The manager of a user, who is root, in namespaces and a control group of its own: with the agent, its settings and the unit where they are installed,
# and with what the manager of a system would have made for it.
MANAGER = """
set -e
for top in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
  test ! -e $top/cgroup.procs || { mkdir $top/$4; echo $$ > $top/$4/cgroup.procs; }
done
mount -t tmpfs tmpfs /run
export XDG_RUNTIME_DIR=/run/u HOME=/run/home PATH=/usr/bin:/bin
units=$HOME/.config/systemd/user bars=/run/systemd/inaccessible
mkdir -p /run/u /run/systemd/system $bars/dir $units/notbefore-agent.service.d /run/etc/up /run/etc/work
: > $bars/reg; mkfifo $bars/fifo; mknod $bars/chr c 0 0; mknod $bars/blk b 0 0; chmod 000 $bars/*
mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/etc/up,workdir=/run/etc/work /etc
mkdir -p /etc/notbefore-agent
cp "$1/agent.toml" /etc/notbefore-agent/
mount -t tmpfs tmpfs /usr/local/bin
cp "$1/notbefore-agent.pyz" /usr/local/bin/notbefore-agent
cp "$1/notbefore-agent.service" $units
printf '[Service]\\nDynamicUser=no\\n' > $units/notbefore-agent.service.d/user.conf
printf '[Service]\\nExecStart=/bin/sleep 1000\\n' > $units/work.service
unset XDG_CONFIG_HOME
NOTIFY_SOCKET= /lib/systemd/systemd --user --log-target=null --unit=basic.target & manager=$!
exec "$2" "$3" "$manager"
"""
SETTINGS = """
[agent]
endpoint = "{endpoint}"

[[rule]]
name = "all"

[[rule.step]]
name = "unit"
kind = "systemd"
units = ["work.service"]
user = true

[[rule.step]]
name = "look about"
kind = "command"
do = ["sh", "-c", '''
(touch /usr/here && echo written) 2>/dev/null || echo "/usr is read only" > $STATE_DIRECTORY/did
(ls /root && echo seen) 2>/dev/null || echo "homes are closed" >> $STATE_DIRECTORY/did
echo "told: ${{NOTIFY_SOCKET-nothing}}" >> $STATE_DIRECTORY/did
''']
"""


@pytest.fixture
def unit(tmp_path):
    """The unit with the program where it is on this machine: systemd looks whether it is there."""
    file = tmp_path / UNIT.name
    file.write_text(UNIT.read_text().replace(INSTALLED, AGENT))
    return file


def exposure_of(unit):
    ran = analyzed("security", "--offline=true", "--no-pager", unit)
    return float(re.search(r"exposure level for \S+: ([0-9.]+)", ran.stdout)[1])


@pytest.mark.part("systemd-analyze")
def test_systemd_accepts_the_agents_unit_with_and_without_its_drop_in(unit):
    """No unknown key, no program that is not there."""
    for _ in ("bare", "with the drop-in"):
        ran = analyzed("verify", "--man=no", unit)

        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
        drop_in = unit.with_name(f"{unit.name}.d") / "root.conf"
        drop_in.parent.mkdir(exist_ok=True)
        drop_in.write_text(AS_ROOT.read_text())


@pytest.mark.part("systemd-analyze")
def test_the_agents_unit_is_hardened(unit):
    """As little exposed as the server; what steps need beyond it is given by whoever writes them."""
    assert exposure_of(unit) <= EXPOSURE_MAX


def test_the_agent_has_no_privilege_and_gets_none():
    assert lines_of(UNIT, "CapabilityBoundingSet") == lines_of(UNIT, "AmbientCapabilities") == [""]
    assert lines_of(UNIT, "NoNewPrivileges") == lines_of(UNIT, "DynamicUser") == ["yes"]


def test_the_drop_in_takes_back_only_what_the_unit_says():
    """A line about something that the unit leaves alone would be a mistake."""
    taken_back = re.findall(r"^(\w+)=", AS_ROOT.read_text(), re.MULTILINE)

    assert set(taken_back) - {"User"} <= set(re.findall(r"^(\w+)=", UNIT.read_text(), re.MULTILINE))


def test_the_unit_gives_steps_the_time_to_end_that_the_agent_gives_them():
    """The agent alone is told to stop, and is not killed before its own grace is over."""
    [stop] = lines_of(UNIT, "TimeoutStopSec")

    assert lines_of(UNIT, "KillMode") == ["mixed"]
    assert int(stop.removesuffix("s")) > STOP_GRACE_S + KILL_MARGIN_S


def test_the_commands_of_the_unit_are_ones_the_agent_takes(tmp_path):
    """A reload checks the settings that the start reads."""
    [start] = lines_of(UNIT, "ExecStart")
    check, hang_up = lines_of(UNIT, "ExecReload")
    words = shlex.split(check.replace(INSTALLED, AGENT).replace("/etc/notbefore-agent", str(tmp_path)))
    ran = subprocess.run(words, capture_output=True, text=True, check=False)

    assert check == start.replace(" run ", " check ")
    assert hang_up == "/bin/kill -HUP $MAINPID"
    assert (ran.returncode, ran.stderr.partition(":")[0]) == (2, f"{tmp_path}/agent.toml cannot be read")


# -- under a real manager


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    place = tmp_path_factory.mktemp("unit")
    subprocess.run([sys.executable, ROOT / "scripts/agent-pyz", place], check=True)
    (place / UNIT.name).write_text(UNIT.read_text())
    inside = ["unshare", "--mount", "--fork", "--pid", "--mount-proc", "--kill-child", "sh", "-c", MANAGER, "sh"]
    group = f"notbefore-test-{os.getpid()}"
    session = [place, sys.executable, Path(__file__).with_name("agent_unit_session.py"), group]
    listeners = [{"address": "127.0.0.1:0", "vm": "fleet/web-1"}]
    with open_lab(lab_settings(place / "server", listeners=listeners)) as lab:
        lab.declare("fleet", "web-1", listening="always")
        lab.made("fleet", "web-1", "restart")
        (place / "agent.toml").write_text(SETTINGS.format(endpoint=lab.server.metadata_urls[0]))
        env = {name: value for name, value in os.environ.items() if not name.startswith("NOTBEFORE_")}
        ran = subprocess.run([*inside, *session], capture_output=True, text=True, check=False, timeout=120, env=env)
    remove_groups(group)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def remove_groups(name):
    """What a manager that was killed leaves behind, from the inside out."""
    for top in Path("/sys/fs/cgroup").glob(f"**/{name}"):
        for directory, _, _ in os.walk(top, topdown=False):
            Path(directory).rmdir()


def under_systemd(test):
    return pytest.mark.part("systemd-manager")(pytest.mark.part("system-python")(test))


@under_systemd
def test_systemd_starts_the_agent_and_hears_that_it_is_ready(told):
    """The unit as it ships, but for the user; the one-file agent, with the system's own Python."""
    assert (told["start"], told["ready"]) == (0, "active")
    assert (told["stop"], told["result"]) == (0, "success")


@under_systemd
def test_in_its_unit_the_agent_runs_steps_stops_units_and_approves(told):
    """It needs no privilege for that, and has none; nor does a step speak to the manager in its name."""
    assert told["work"] == "inactive"
    assert told["did"] == ["/usr is read only", "homes are closed", "told: nothing"]
    none = "0" * 16
    assert told["privileges"] == {"CapEff": none, "CapBnd": none, "NoNewPrivs": "1", "Seccomp": "2"}


@under_systemd
def test_a_reload_with_settings_that_cannot_be_taken_fails_and_changes_nothing(told):
    assert told["reload"] == 0
    assert told["reload of nonsense"] != 0
    assert told["after that"] == "active"


@under_systemd
def test_an_agent_that_stands_still_is_started_anew(told):
    """The watchdog."""
    assert int(told["restarts"]) >= 1
