"""The server under a service manager: it says when it is ready, takes sockets, and is told to stop."""

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from service_manager import ANYWHERE, PATIENCE_S, PROGRAM, Manager, asked, document

from notbefore.systemd import inherited_sockets, notify, watchdog_interval_s

EMPTY = (200, {"DocumentIncarnation": 1, "Events": []})
TEST_PORTS = range(10000, 32000)


@pytest.fixture
def manager():
    # Not tmp_path: the name of a unix socket has at most 107 bytes.
    with tempfile.TemporaryDirectory() as directory, Manager(Path(directory) / "notify") as manager:
        yield manager


@pytest.fixture
def listening():
    """Sockets on 127.0.0.1, closed at the end."""
    made = []

    def listen(host="127.0.0.1"):
        made.append(socket.create_server((host, 0)))
        return made[-1]

    yield listen
    for one in made:
        one.close()


# -- the protocols


@pytest.mark.parametrize("address", ["path", "@abstract"])
def test_a_state_is_one_datagram_to_the_notify_socket(address):
    """sd_notify(3): to the AF_UNIX socket in NOTIFY_SOCKET; a first @ stands for the abstract name space."""
    with tempfile.TemporaryDirectory() as directory:
        name = f"@notbefore-test-{os.getpid()}" if address == "@abstract" else f"{directory}/notify"
        with Manager(name) as manager:
            notify("READY=1\nSTATUS=ok", {"NOTIFY_SOCKET": name})

            assert manager.line.recv(100) == b"READY=1\nSTATUS=ok"


@pytest.mark.parametrize("env", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "/nonexistent/notify"}])
def test_without_a_manager_nothing_is_said(env):
    """Without NOTIFY_SOCKET it does nothing, and a manager that has gone away is no reason to stop."""
    notify("READY=1", env)


def test_sockets_for_another_process_are_not_taken():
    """sd_listen_fds(3): LISTEN_PID must be our own; the variables are unset so that no child takes them up."""
    env = {"LISTEN_PID": str(os.getppid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "metadata", "HOME": "/"}

    assert inherited_sockets(env) == {}
    assert env == {"HOME": "/"}


def test_the_watchdog_hears_from_us_twice_as_often_as_it_wants():
    """sd_watchdog_enabled(3): every half of WATCHDOG_USEC, if WATCHDOG_PID is ours or not set."""
    assert watchdog_interval_s({"WATCHDOG_USEC": "20000000"}) == 10
    assert watchdog_interval_s({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": str(os.getpid())}) == 10
    assert watchdog_interval_s({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": str(os.getppid())}) is None
    assert watchdog_interval_s({}) is None


# -- the server


def test_ready_is_said_when_everything_answers_and_stopping_when_told_to_stop(manager, tmp_path):
    """Type=notify: READY=1 after every listener serves, with a status line; STOPPING=1 on the way down."""
    service = manager.start("serve", "--demo", "--state", str(tmp_path), *ANYWHERE)

    metadata, control = service.urls()

    assert asked(control, "/readyz") == (200, {"status": "ready"})
    assert document(metadata) == EMPTY
    service.told(signal.SIGTERM)
    service.says("STOPPING=1")
    assert service.ended()[0] == 0


def test_the_event_loop_feeds_the_watchdog(manager, tmp_path):
    """WatchdogSec: as long as the loop turns, the manager hears of it."""
    env = {**os.environ, "WATCHDOG_USEC": "200000"}
    service = manager.start("serve", "--state", str(tmp_path), *ANYWHERE, env=env)

    service.says("READY=1")

    for _ in range(3):
        service.says("WATCHDOG=1")


def test_sockets_that_were_handed_over_are_served_instead_of_the_settings_addresses(manager, tmp_path, listening):
    """A socket outlives the server, so that a question asked before its start waits for the answer."""
    metadata, control = listening(), listening()
    early = socket.create_connection(metadata.getsockname(), timeout=PATIENCE_S)
    early.sendall(b"GET /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\nHost: x\r\nMetadata: true\r\n\r\n")

    # No address is wanted that could be bound: the settings' own are left alone.
    addresses = ("--metadata", "127.0.0.1:1", "--control", "127.0.0.1:1")
    handed = [("control", control), ("metadata", metadata)]
    service = manager.start("serve", "--demo", "--state", str(tmp_path), *addresses, handing_over=handed)

    assert service.urls() == [metadata.getsockname(), control.getsockname()]
    with early:
        assert early.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
    assert asked(control.getsockname(), "/healthz") == (200, {"status": "ok"})


def test_a_socket_that_was_handed_over_is_the_line_of_the_vm_that_the_settings_name(manager, tmp_path, listening):
    """The settings' listeners then say whose line an address is."""
    metadata, control = listening(), listening()
    host, port = metadata.getsockname()
    settings = tmp_path / "notbefore.toml"
    settings.write_text(
        f'demo = true\n[metadata]\nlisteners = [{{ address = "{host}:{port}", vm = "demo/BackEnd_IN_0" }}]\n'
    )

    handed = [("metadata", metadata), ("control", control)]
    service = manager.start("serve", "--config", str(settings), "--state", str(tmp_path / "state"), handing_over=handed)

    service.urls()
    assert document((host, port), source="127.0.0.77") == EMPTY


@pytest.mark.parametrize(
    ("name", "host", "sentence"),
    [
        ("metadata", "0.0.0.0", "may not listen on 0.0.0.0"),
        ("cellar", "127.0.0.1", "A socket named 'cellar' was handed over"),
    ],
)
def test_a_socket_that_may_not_be_served_is_refused(manager, tmp_path, listening, name, host, sentence):
    """Not exposed outside the VM [seed]: the address that a socket really has counts, whoever bound it."""
    service = manager.start("serve", "--state", str(tmp_path), *ANYWHERE, handing_over=[(name, listening(host))])

    code, _, complaint = service.ended()

    assert code == 1
    assert sentence in complaint


def test_a_descriptor_that_does_not_listen_for_tcp_is_refused(manager, tmp_path, listening):
    """A mistake in a unit file is said at the start."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams, (tmp_path / "file").open("w") as file:
        for one, sentence in ((datagrams, "does not listen for TCP"), (file, "there is none: Socket operation")):
            service = manager.start("serve", "--state", str(tmp_path), *ANYWHERE, handing_over=[("control", one)])
            code, _, complaint = service.ended()

            assert code == 1
            assert sentence in complaint


def test_several_control_sockets_are_refused(manager, tmp_path, listening):
    """There is one control address, and which of two it should be is not guessed."""
    handed = [("control", listening()), ("control", listening())]

    code, _, complaint = manager.start("serve", "--state", str(tmp_path), handing_over=handed).ended()

    assert code == 1
    assert "Several control sockets" in complaint


def test_the_signal_of_a_reload_does_not_stop_it(manager, tmp_path, listening):
    """ExecReload= sends SIGHUP, which by itself ends a process; here it reads the settings again."""
    metadata, control = listening(), listening()
    settings = tmp_path / "notbefore.toml"
    settings.write_text("demo = true\n")
    handed = [("metadata", metadata), ("control", control)]
    words = ("serve", "--config", str(settings), "--state", str(tmp_path / "state"))
    service = manager.start(*words, handing_over=handed)
    service.says("READY=1")

    settings.write_text("demmo = true\n")
    service.told(signal.SIGHUP)

    assert "demmo" in service.logs("settings not reloaded")
    assert document(metadata.getsockname()) == EMPTY


@pytest.mark.part("systemd-socket-activate")
def test_systemds_own_socket_activation_starts_it(tmp_path):
    """With systemd's program, not only with our reading of its manual: the first question starts the server."""
    metadata, control = free_addresses(2)
    listens = ["-l", "{}:{}".format(*metadata), "-l", "{}:{}".format(*control), "--fdname=metadata:control"]
    command = ["systemd-socket-activate", *listens, PROGRAM, "serve", "--demo", "--state", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = [process.stderr.readline(), process.stderr.readline()]
            assert all(line.startswith("Listening on 127.0.0.1:") for line in said), said

            assert document(metadata) == EMPTY
            assert asked(control, "/readyz")[0] == 200
        finally:
            process.send_signal(signal.SIGTERM)
        process.stderr.read()
    assert process.returncode == 0


def free_addresses(count):
    """Free a moment ago, and below the ports that outgoing connections take."""
    found = []
    for port in TEST_PORTS[os.getpid() % 1000 :: 1009]:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(probe.getsockname())
    return found[:count]
