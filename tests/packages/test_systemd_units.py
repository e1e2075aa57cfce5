"""The units: systemd accepts them, they give little away, and what they forbid the server never does."""

import os
import re
import shlex
import signal
import subprocess
import tomllib
from pathlib import Path

import pytest
from service_manager import ANYWHERE, PROGRAM, Manager, asked, document

from notbefore.settings import load_settings
from notbefore.systemd import CONTROL, METADATA

UNITS = Path(__file__).parents[2] / "deploy/systemd"
SERVICE = UNITS / "notbefore.service"
INSTALLED = "/opt/notbefore/bin/notbefore"
EXPOSURE_MAX = 1.5

# What SQLite does only for root, to give a file to the owner of its directory; the service is not root.
ONLY_AS_ROOT = {"fchown"}


def lines_of(unit, key):
    return re.findall(rf"^{key}=(.*)$", unit.read_text(), re.MULTILINE)


def analyzed(*words):
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)


@pytest.fixture
def units(tmp_path):
    """The units with the program where it is on this machine: systemd looks whether it is there."""
    for unit in UNITS.iterdir():
        if unit.name.startswith("notbefore-agent"):
            continue
        (tmp_path / unit.name).write_text(unit.read_text().replace(INSTALLED, PROGRAM))
    return tmp_path


@pytest.mark.part("systemd-analyze")
def test_systemd_accepts_the_units(units):
    """No unknown key, no missing unit, no program that is not there."""
    files = sorted(units.glob("notbefore*.s*"))
    ran = analyzed("verify", "--man=no", *files)

    assert len(files) == 3
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.part("systemd-analyze")
def test_the_service_is_hardened(units):
    """`systemd-analyze security` finds little exposed: 0 is nothing, 10 everything."""
    ran = analyzed("security", "--offline=true", "--no-pager", units / SERVICE.name)

    assert float(re.search(r"exposure level for \S+: ([0-9.]+)", ran.stdout)[1]) <= EXPOSURE_MAX


def test_the_service_has_no_capability_but_the_low_port():
    """It needs one privilege at most, and can gain none."""
    assert lines_of(SERVICE, "CapabilityBoundingSet") == ["CAP_NET_BIND_SERVICE"]
    assert lines_of(SERVICE, "AmbientCapabilities") == ["CAP_NET_BIND_SERVICE"]
    assert lines_of(SERVICE, "NoNewPrivileges") == ["yes"]
    assert lines_of(SERVICE, "DynamicUser") == ["yes"]


def test_the_commands_of_the_service_are_ones_the_program_takes(units):
    """Every flag exists, the settings it ships with are valid, and a reload checks what the start would read."""
    [start] = lines_of(SERVICE, "ExecStart")
    check, hang_up = lines_of(SERVICE, "ExecReload")
    words = shlex.split(check.replace(INSTALLED, PROGRAM).replace("/etc/notbefore", str(units)))

    checked = subprocess.run(words, capture_output=True, text=True, check=True).stdout

    assert check == f"{start} --check"
    assert hang_up == "/bin/kill -HUP $MAINPID"
    assert tomllib.loads(checked)["metadata"]["listeners"][0]["address"] == "169.254.169.254:80"


def test_the_sockets_have_the_names_the_server_knows_and_the_addresses_of_the_settings():
    """FileDescriptorName= is how the server tells them apart; without the units it binds the same addresses itself."""
    settings = load_settings(UNITS / "notbefore.toml", {}, {})
    wanted = {METADATA: settings.metadata.listeners[0].address, CONTROL: settings.control.address}
    for name, address in wanted.items():
        unit = UNITS / f"notbefore-{name}.socket"

        assert lines_of(unit, "FileDescriptorName") == [name]
        assert lines_of(unit, "ListenStream") == [address]
        assert lines_of(unit, "Service") == [SERVICE.name]


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Every system call of a server that starts, answers both planes, takes an order, and stops."""
    directory = tmp_path_factory.mktemp("strace")
    traced = directory / "notbefore"
    traced.write_text(f'#!/bin/sh\nexec strace -f -qq -o {directory}/calls {PROGRAM} "$@"\n')
    traced.chmod(0o755)
    state = str(directory / "state")
    with Manager(f"@notbefore-strace-{os.getpid()}") as manager:
        service = manager.start("serve", "--demo", "--state", state, *ANYWHERE, program=str(traced))
        metadata, control = service.urls()
        assert document(metadata)[0] == 200
        assert asked(control, "/readyz")[0] == 200
        env = {**os.environ, "NOTBEFORE_URL": "http://{}:{}".format(*control), "NOTBEFORE_STATE": state}
        subprocess.run([PROGRAM, "restart", "FrontEnd_IN_0"], env=env, check=True, capture_output=True)
        os.kill(child_of(service.process.pid), signal.SIGTERM)
        assert service.ended()[0] == 0
    return (directory / "calls").read_text()


def child_of(pid):
    """The program under strace: a signal to strace itself would end the tracing, not the program."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())


def calls_in(names):
    """The system calls a list of systemd names stands for."""
    found = set()
    for name in names:
        if not name.startswith("@"):
            found.add(name)
            continue
        told = analyzed("syscall-filter", name)
        found |= calls_in(line.split()[0] for line in told.stdout.splitlines()[1:] if line.strip() and "#" not in line)
    return found


@pytest.mark.part("strace")
@pytest.mark.part("systemd-analyze")
def test_the_server_makes_no_call_that_the_service_forbids(calls):
    """SystemCallFilter= takes away nothing that is needed."""
    allowed, refused = lines_of(SERVICE, "SystemCallFilter")
    permitted = calls_in(allowed.split()) - calls_in(refused.removeprefix("~").split())

    made = set(re.findall(r"^\d+ +(?:<\.\.\. )?([a-z]\w*)(?:\(| resumed)", calls, re.MULTILINE))

    assert {"execve", "accept4", "sendto", "fdatasync"} <= made
    assert made - permitted <= ONLY_AS_ROOT


@pytest.mark.part("strace")
def test_the_server_makes_no_memory_executable_and_no_strange_socket(calls):
    """MemoryDenyWriteExecute= and RestrictAddressFamilies= take away nothing that is needed."""
    [families] = lines_of(SERVICE, "RestrictAddressFamilies")

    assert not re.findall(r"^.*PROT_WRITE\|PROT_EXEC.*$|^.* mprotect\(.*PROT_EXEC.*$", calls, re.MULTILINE)
    assert set(re.findall(r"socket(?:pair)?\((AF_\w+)", calls)) <= set(families.split())
