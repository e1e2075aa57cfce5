"""`notbefore sandbox`: the link-local address without set-up, for one VM or several, as root and as an ordinary user."""

import json
import os
import signal
import subprocess
import sys

import pytest
from sandboxes import DOCUMENT, processes_naming, sandbox, standing_sandbox
from served import PROGRAM

from parts import ordinary_words

pytestmark = [pytest.mark.part("netns"), pytest.mark.part("ip"), pytest.mark.part("curl")]

EMPTY = {"DocumentIncarnation": 1, "Events": []}


def test_a_client_with_the_address_written_into_it_runs_unchanged():
    """Issue: server on 169.254.169.254:80 and the command in one private network namespace."""
    ran = sandbox("--", "bash", "-c", f"{DOCUMENT}; hostname >&2")

    assert (ran.returncode, json.loads(ran.stdout)) == (0, EMPTY)
    assert ran.stderr == "web-0\n"


@pytest.mark.part("ordinary-user")
def test_an_ordinary_user_needs_no_root():
    """Issue: the curl line works as an ordinary user; who he is stays the same in there."""
    ran = sandbox("--", "bash", "-c", f"{DOCUMENT}; id -u >&2", program=ordinary_words())

    assert (ran.returncode, json.loads(ran.stdout)) == (0, EMPTY)
    assert ran.stderr == f"{os.geteuid() or 65534}\n"


@pytest.mark.part("ordinary-user")
def test_an_ordinary_user_has_vms_with_networks_of_their_own():
    """`--vms N` gives N namespaces with own addresses; `sandbox exec` enters them, also from inside."""
    program = ordinary_words()
    words = program[program.index("env") :]
    inside = [
        subprocess.list2cmdline([*words[:-1]]) + " '" + words[-1] + "'",
        "sandbox exec web-1 -- ip -br addr show eth0",
    ]

    ran = sandbox("--vms", "2", "--", "bash", "-c", " ".join(inside), program=program)

    assert ran.returncode == 0, ran.stderr
    assert "10.77.0.12/32" in ran.stdout


@pytest.mark.parametrize(("line", "code"), [("exit 0", 0), ("exit 42", 42), ("kill -TERM $$", 128 + 15)])
def test_the_exit_code_of_the_command_is_passed_on(line, code):
    """As a shell tells it, also of a command that a signal ended."""
    assert sandbox("--", "bash", "-c", line).returncode == code


def test_operators_commands_work_beside_the_command():
    """The command has NOTBEFORE_URL and NOTBEFORE_TOKEN."""
    line = f"{PROGRAM} restart web-0 >&2 && {DOCUMENT} && {PROGRAM} clock show >&2"
    ran = sandbox("--clock", "manual", "--", "bash", "-c", line)

    assert [event["Resources"] for event in json.loads(ran.stdout)["Events"]] == [["web-0"]]
    assert "manual clock, paused" in ran.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_that_is_sent_to_the_sandbox_reaches_the_command(number):
    """Signals are passed on; the command says when the sandbox ends."""
    caught = (
        "import signal, sys\n"
        f"signal.pthread_sigmask(signal.SIG_BLOCK, [{int(number)}])\n"
        "print('ready', flush=True)\n"
        f"signal.sigwait([{int(number)}])\n"
        "sys.exit(5)\n"
    )
    process = subprocess.Popen(
        [PROGRAM, "sandbox", "--", sys.executable, "-c", caught], stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(20) == 5


def test_nothing_is_left_behind(tmp_path):
    """Namespaces, server, state and the note for other terminals go with the command."""
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path / "run"), "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()

    ran = sandbox("--vms", "2", "--", "bash", "-c", "ls $TMPDIR $XDG_RUNTIME_DIR/notbefore/sandboxes", env=env)

    assert "notbefore-sandbox-" in ran.stdout
    assert ".json" in ran.stdout
    assert list((tmp_path / "tmp").iterdir()) == []
    assert list((tmp_path / "run").rglob("*.json")) == []
    assert processes_naming(str(tmp_path)) == []


# Asked to end it tells the sandbox to hurry, and stays.
UNWILLING = (
    "import os, signal, sys\n"
    "signal.signal(signal.SIGTERM, lambda *_: os.kill(int(sys.argv[1]), signal.SIGINT))\n"
    "print(flush=True)\n"
    "while True: signal.pause()\n"
)
LEFT_BEHIND = {
    "in the background": "tail -f /dev/null {name} & exit 3",
    "as a daemon": "(setsid tail -f /dev/null {name} &) & exit 3",
    "and not willing to end": "coproc {python} -c '{unwilling}' $PPID {name}; read -u ${{COPROC[0]}}; exit 3",
}


@pytest.mark.parametrize("how", LEFT_BEHIND)
def test_what_the_command_leaves_running_ends_with_the_sandbox(tmp_path, how):
    """Nothing is left behind, an agent that was started with & neither; and the exit code is the command's."""
    name = tmp_path / "agent"
    name.touch()
    line = LEFT_BEHIND[how].format(name=name, python=sys.executable, unwilling=UNWILLING)

    ran = sandbox("--port-per-vm", "--", "bash", "-c", line)

    assert ran.returncode == 3, ran.stderr
    assert processes_naming(str(name)) == []


def test_what_ends_in_the_background_does_not_stay_as_a_zombie():
    """A command may run for weeks and start a daemon each minute."""
    ended = "pids=$(for n in 1 2 3; do (true & echo $!); done)"
    waited_for = "for pid in $pids; do while kill -0 $pid 2>/dev/null; do :; done; done"

    assert sandbox("--port-per-vm", "--", "bash", "-c", f"{ended}; {waited_for}").returncode == 0


def test_a_sandbox_that_is_killed_takes_its_processes_along(tmp_path):
    """However it ends: the server and the command end with it."""
    process = subprocess.Popen(
        [PROGRAM, "sandbox", "--state", str(tmp_path / "state"), "--", "bash", "-c", f"echo there; exec tail -f {tmp_path}/x"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout.readline() == "there\n"
        process.kill()
        # The command holds the other end of this pipe: it is closed when that has ended.
        assert process.stdout.read() == ""
    while processes_naming(str(tmp_path / "state")):
        pass


def test_another_terminal_enters_a_vm_by_its_name(tmp_path):
    """`sandbox exec VM -- CMD`: with the VM's address and host name; the server knows it by that."""
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}
    here = {**os.environ, **env}
    with standing_sandbox("--vms", "3", "--clock", "manual", env=env):
        told = sandbox("exec", "server", "--", PROGRAM, "restart", "web-2", env=here)
        asked = sandbox(
            "exec", "WEB-1", "--", "bash", "-c", f"{DOCUMENT}; echo; hostname; echo [$NOTBEFORE_TOKEN]", env=here
        )

    assert told.returncode == 0, told.stderr
    document, hostname, token = asked.stdout.splitlines()
    assert [event["Resources"] for event in json.loads(document)["Events"]] == [["web-2"]]
    assert (hostname, token) == ("web-1", "[]")


def test_vms_come_from_a_fleet_file_with_the_addresses_they_have_there(tmp_path):
    """VM names from a fleet file."""
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(
        '[scopes.shop]\nkind = "availability-set"\n[[scopes.shop.vms]]\nname = "front"\naddresses = ["10.5.0.9"]\n'
        '[[scopes.shop.vms]]\nname = "back"\n'
    )
    inside = f"{PROGRAM} sandbox exec front -- ip -br addr show eth0; {PROGRAM} sandbox exec back -- {DOCUMENT}"

    ran = sandbox("--fleet", str(fleet), "--", "bash", "-c", inside)

    assert "10.5.0.9/32" in ran.stdout
    assert json.loads(ran.stdout.splitlines()[-1]) == EMPTY


def test_a_vm_of_the_loopback_has_an_address_of_its_own_in_a_sandbox(tmp_path):
    """A fleet file for a laptop has VMs at 127.0.0.x: no network takes such a packet, so they would never be answered."""
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(
        '[[scopes.shop.vms]]\nname = "front"\naddresses = ["127.0.0.1"]\n'
        '[[scopes.shop.vms]]\nname = "back"\naddresses = ["169.254.169.254", "10.5.0.9"]\n'
    )
    inside = "; ".join(f"{PROGRAM} sandbox exec {vm} -- {DOCUMENT}; echo" for vm in ("front", "back"))

    ran = sandbox("--fleet", str(fleet), "--", "bash", "-c", inside)

    assert [json.loads(line) for line in ran.stdout.splitlines()] == [EMPTY, EMPTY], ran.stderr


def test_who_is_not_there_cannot_be_entered(tmp_path):
    """A sentence each: no sandbox, no such VM, several sandboxes."""
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}
    here = {**os.environ, **env}
    none = sandbox("exec", "web-0", "--", "true", env=here)
    with standing_sandbox("--vms", "1", env=env):
        unknown = sandbox("exec", "web-7", "--", "true", env=here)
        with standing_sandbox("--vms", "1", env=env):
            several = sandbox("exec", "web-0", "--", "true", env=here)

    assert (none.returncode, none.stderr.splitlines()[0]) == (1, "No sandbox is running.")
    assert (unknown.returncode, "It has: server, web-0." in unknown.stderr) == (1, True)
    assert (several.returncode, "--sandbox" in several.stderr) == (1, True)


def test_ports_serve_where_there_are_no_namespaces():
    """`--port-per-vm`: each VM has a port of 127.0.0.1, told as environment and as JSON."""
    line = (
        'curl -s -H Metadata:true "$NOTBEFORE_ENDPOINT_WEB_1/metadata/scheduledevents?api-version=2020-07-01"; '
        f'echo; echo "$NOTBEFORE_ENDPOINTS"; {PROGRAM} vms --json >/dev/null'
    )

    ran = sandbox("--port-per-vm", "--vms", "2", "--", "bash", "-c", line)

    document, endpoints = ran.stdout.splitlines()
    assert json.loads(document) == EMPTY
    assert sorted(json.loads(endpoints)) == ["web-0", "web-1"]
    assert f"NOTBEFORE_ENDPOINT_WEB_0={json.loads(endpoints)['web-0']}" in ran.stderr
    assert all(url.startswith("http://127.0.0.1:") for url in json.loads(endpoints).values())


@pytest.mark.parametrize("named_by", ["environment", "settings"])
def test_the_store_of_a_server_that_serves_elsewhere_is_left_alone(tmp_path, named_by):
    """A sandbox has a server and state of its own: turning its clock must not start the events of a real fleet."""
    elsewhere, settings = tmp_path / "real.db", tmp_path / "notbefore.toml"
    settings.write_text(f'[store]\nurl = "sqlite:{elsewhere}"\n')
    named = {"NOTBEFORE_STORE_URL": f"sqlite:{elsewhere}"} if named_by == "environment" else {}
    words = ("--config", str(settings)) if named_by == "settings" else ()

    ran = sandbox("--port-per-vm", *words, "--", PROGRAM, "restart", "web-0", env={**os.environ, **named})

    assert ran.returncode == 0, ran.stderr
    assert not elsewhere.exists()


def test_a_kernel_that_gives_no_namespaces_is_told_with_what_to_do():
    """Issue: a clear message where the kernel forbids it. A user namespace with limits of its own is such a kernel."""
    line = 'for n in user net; do echo 0 > /proc/sys/user/max_${n}_namespaces; done; exec "$@"'

    ran = subprocess.run(
        ["unshare", "--user", "--map-root-user", "bash", "-c", line, "bash", PROGRAM, "sandbox", "--", "true"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert ran.returncode == 1
    assert ran.stderr.startswith("The kernel gives ordinary users no namespaces here: user.max_user_namespaces is 0.")
    assert "sysctl -w user.max_user_namespaces" in ran.stderr
    assert "--port-per-vm" in ran.stderr


def test_a_missing_ip_program_is_named():
    """`ip` of iproute2, or a clear message."""
    ran = sandbox("--", "/bin/true", env={**os.environ, "PATH": ""})

    assert (ran.returncode, "iproute2" in ran.stderr) == (1, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--", "there-is-no-such-program"), "there-is-no-such-program"),
        (("--vms", "0", "--", "true"), "1 to 64"),
        (("--vms", "65", "--", "true"), "1 to 64"),
        (("--vms", "2", "--fleet", "x", "--", "true"), "--vms or --fleet"),
        (("exec", "web-0"), "CMD"),
    ],
)
def test_wrong_usage_is_said_before_anything_stays(words, says):
    """Exit code 2, one sentence."""
    ran = sandbox(*words)

    assert (ran.returncode, says in ran.stderr) == (2, True), ran.stderr
