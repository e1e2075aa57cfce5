"""notbefore.testing leaves nothing behind: no thread, no port, no file, no connection; whatever clients do."""

import gc
import socket
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from notbefore.testing import Emulator
from notbefore.testing.lifetime import fresh_directory

HEAD = b"GET /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n"
POST = HEAD.replace(b"GET", b"POST") + b"Content-Length: 100\r\n\r\n{"
HELD = HEAD + b"If-None-Match: 1\r\nPrefer: wait=60\r\n\r\n"


def address_of(url):
    parts = urlsplit(url)
    return parts.hostname, parts.port


def ours():
    return [thread for thread in threading.enumerate() if thread.name.startswith("notbefore")]


def test_nothing_is_left_when_it_is_closed():
    """Issue: leaving the fixture ends everything."""
    with Emulator() as emulator:
        vm = emulator.vm("web-0")
        emulator.advance_until("over", emulator.schedule("Reboot", vm))
        vm.document()
        addresses = [address_of(emulator.url), address_of(vm.endpoint)]
        state = emulator._state
        assert state.is_dir()

    assert not state.exists()
    assert ours() == []
    for address in addresses:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
    gc.collect()  # whatever was left open would warn now, and a warning fails a test here
    emulator.close()
    assert emulator.story() == "The emulator is closed."


@pytest.mark.parametrize("sent", [b"", HEAD, POST, HELD], ids=["nothing", "half a head", "half a body", "held"])
def test_a_client_that_hangs_holds_nothing_up(sent):
    """What it is owed it gets at once; what it owes is not waited for."""
    with Emulator() as emulator:
        vm = emulator.vm("web-0")
        line = socket.create_connection(address_of(vm.endpoint), timeout=20)
        line.sendall(sent)
        if sent:
            emulator.wait_until(lambda: vm.requests)
    with line, suppress(ConnectionError):
        received = b""
        if not sent:
            line.sendall(b"G")  # whoever has said nothing is the kernel's, and hears of the end when it speaks
        while part := received_or_reset(line):
            received += part

    assert ours() == []
    assert received.startswith(b"HTTP/1.1 304") if sent is HELD else b"200" not in received[:20]


def received_or_reset(line):
    try:
        return line.recv(65536)
    except ConnectionResetError:
        return b""


def test_it_is_closed_when_the_test_fails():
    with pytest.raises(ZeroDivisionError), Emulator() as emulator:
        emulator.schedule("Reboot", "web-0")
        raise ZeroDivisionError

    assert not emulator.is_open
    assert ours() == []


def test_emulators_stand_beside_each_other():
    """Issue: nothing global, no fixed port."""

    def one_life(number):
        with Emulator() as emulator:
            event = emulator.schedule("Reboot", f"web-{number}")
            emulator.advance("15m")
            assert emulator.vm(f"web-{number}").document().events[0].status == "Started"
            return emulator.url, event.status

    with ThreadPoolExecutor(4) as threads:
        lives = list(threads.map(one_life, range(8)))

    assert {status for _, status in lives} == {"Started"}


def test_an_emulator_is_opened_again_with_nothing_of_its_former_life():
    emulator = Emulator()
    with emulator:
        emulator.schedule("Reboot", "web-0")
    with emulator:
        assert emulator.control.scopes() == ()
        assert emulator.vms == ()
        assert emulator.schedule("Reboot", "web-0").status == "Scheduled"
        with pytest.raises(RuntimeError, match="open already"):
            emulator.open()
    with pytest.raises(RuntimeError, match="not open"):
        emulator.vm("web-0")


def test_a_server_that_cannot_start_says_why_and_leaves_nothing(tmp_path):
    file = tmp_path / "file"
    file.write_text("")

    with pytest.raises(Exception, match="Cannot use"):
        Emulator(directory=file / "state").open()

    assert ours() == []


def test_a_server_that_broke_down_says_so_when_it_is_closed():
    """A test on a broken server proves nothing."""
    emulator = Emulator().open()
    failure = emulator._running.up.result().failure

    async def break_down():
        failure.set_exception(RuntimeError("a part broke down"))

    emulator._running.ran(break_down())
    emulator._running._thread.join()

    assert emulator.story() == "The story cannot be told: The emulator's server has stopped."
    with pytest.raises(RuntimeError, match="a part broke down"):
        emulator.close()
    assert ours() == []


def test_an_operators_request_that_hangs_holds_nothing_up_either():
    with Emulator() as emulator:
        line = socket.create_connection(address_of(emulator.url), timeout=20)
        head = f"PUT /v1/scopes/s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {emulator.token}\r\n"
        line.sendall(f"{head}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n".encode())
        assert line.recv(100).startswith(b"HTTP/1.1 100")
    with line:
        assert b"200" not in received_or_reset(line)

    assert ours() == []


def test_the_state_is_in_memory_where_there_is_room_and_in_a_temporary_directory_elsewhere(tmp_path):
    """It lasts no longer than the emulator, so it need not be on a disk."""
    elsewhere = fresh_directory(tmp_path / "not there")

    assert fresh_directory(tmp_path).parent == tmp_path
    assert elsewhere.parent == Path(tempfile.gettempdir())
    elsewhere.rmdir()
