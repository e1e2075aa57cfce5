"""How soon a held question hears of a change: from an operator's request to the last byte at each VM that waits.

Run: .venv/bin/python benchmarks/long_poll.py [--changes 50] [--held 1 100 1000]

Rule 1: the clock starts before the operator's request is sent, so the figures hold its whole way: decision, commit with
fsync, wake, answer. A second VM asks once a second meanwhile, without waiting.
Rule 2: every answer is read to its end and checked: 200, the preference applied, the next incarnation.
Rule 3: figures are for people. Nothing is asserted about time. At most 2,000 are held: one machine, loopback only.
"""

import argparse
import http.client
import json
import os
import resource
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from measuring.cpu import LOAD_CORE, SERVER_CORE, machine, on_core, peak_rss_mib
from measuring.load import LoadFailed, stopwatch_s

PATH = "/metadata/scheduledevents?api-version=2020-07-01"
PROGRAM = str(Path(sys.executable).parent / "notbefore")
HELD_MAX = 2000
ANSWER_TIMEOUT_S = 20.0
RECV_BYTES = 65536
ENV = {
    "NOTBEFORE_METADATA_RATE_LIMIT_PER_S": "0",
    "NOTBEFORE_METADATA_LIMITS_CONNECTIONS_PER_VM_MAX": str(HELD_MAX + 100),
}
Address = tuple[str, int]


class Server:
    """`notbefore serve --demo` as a user runs it, and an operator's hands on it."""

    def __init__(self, process: subprocess.Popen[str], state: Path) -> None:
        assert process.stdout is not None
        said = dict(
            line.split(maxsplit=2)[:2] for line in (process.stdout.readline() for _ in range(3)) if "://" in line
        )
        self.pid = process.pid
        self.metadata, self.control = address_in(said["metadata"]), address_in(said["control"])
        self._headers = {"Authorization": f"Bearer {(state / 'admin.token').read_text().strip()}"}
        self._line = http.client.HTTPConnection(*self.control, timeout=ANSWER_TIMEOUT_S)

    def command(self, method: str, path: str, body: object = None) -> bytes:
        self._line.request(method, path, None if body is None else json.dumps(body), {**self._headers, **JSON})
        answer = self._line.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise LoadFailed(f"{method} {path}: {answer.status} {text!r}")
        return text

    def held(self) -> int:
        page = self.command("GET", "/metrics").decode()
        return int(float(page.partition("\nnotbefore_metadata_long_polls ")[2].partition("\n")[0]))


JSON = {"Content-Type": "application/json"}


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--changes", type=int, default=50, choices=range(1, 1001), metavar="N")
    parser.add_argument(
        "--held", type=int, nargs="+", default=[1, 100, 1000], choices=range(1, HELD_MAX + 1), metavar="N"
    )
    wanted = parser.parse_args(words)
    raise_file_limit()
    print("\n".join(f"{name}: {fact}" for name, fact in machine().items()))
    print(f"{wanted.changes} changes each; milliseconds from before the operator's request is sent")
    print(f"{'held':>6} {'first, median':>15} {'last, median':>15} {'last, worst':>13} {'MiB':>6}")
    try:
        for count in wanted.held:
            folder = tempfile.TemporaryDirectory(prefix="notbefore-bench-")
            with on_core(LOAD_CORE), folder as state, serving(Path(state)) as server:
                print(row(server, count, wanted.changes), flush=True)
    except (LoadFailed, OSError) as failed:
        print(f"long_poll: {failed}", file=sys.stderr)
        return 1
    return 0


def row(server: Server, count: int, changes: int) -> str:
    with ExitStack() as stack:
        lines = [stack.enter_context(socket.create_connection(server.metadata, ANSWER_TIMEOUT_S)) for _ in range(count)]
        stack.enter_context(plain_client(server.metadata))
        first_ms, last_ms = [], []
        incarnation = 1
        for change in range(changes):
            hold(server, lines, incarnation)
            first, last = woken_by(server, lines, incarnation + 1, change)
            first_ms.append(first * 1000)
            last_ms.append(last * 1000)
            incarnation += 1
    figures = f"{median(first_ms):15.1f} {median(last_ms):15.1f} {max(last_ms):13.1f}"
    return f"{count:6} {figures} {peak_rss_mib(server.pid):6.0f}"


def hold(server: Server, lines: Sequence[socket.socket], incarnation: int) -> None:
    head = (
        f"GET {PATH} HTTP/1.1\r\nHost: a\r\nMetadata: true\r\nIf-None-Match: {incarnation}\r\nPrefer: wait=60\r\n\r\n"
    )
    for line in lines:
        line.sendall(head.encode())
    while server.held() < len(lines):
        pass


def woken_by(server: Server, lines: Sequence[socket.socket], incarnation: int, change: int) -> tuple[float, float]:
    """Make one change; how long until the first and the last of those who wait have heard of it."""
    began_s = stopwatch_s()
    operator = threading.Thread(target=made, args=(server, change))
    operator.start()
    waiting = {line.fileno(): line for line in lines}
    poll = select.poll()
    for number in waiting:
        poll.register(number, select.POLLIN)
    heard_s: list[float] = []
    while waiting:
        ready = poll.poll(ANSWER_TIMEOUT_S * 1000)
        if not ready:
            raise LoadFailed(f"{len(waiting)} heard nothing of a change")
        for number, _ in ready:
            check(waiting.pop(number).recv(RECV_BYTES), incarnation)
            heard_s.append(stopwatch_s())
            poll.unregister(number)
    operator.join()
    return heard_s[0] - began_s, heard_s[-1] - began_s


def made(server: Server, change: int) -> None:
    """An event appears; the next time it is cancelled."""
    if change % 2:
        listed = json.loads(server.command("GET", "/v1/events"))["events"]
        server.command("POST", f"/v1/events/{listed[0]['id']}/cancel", {})
    else:
        server.command("POST", "/v1/scopes/demo/vms/FrontEnd_IN_0/restart", {})


def check(answer: bytes, incarnation: int) -> None:
    whole = answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"]}")
    if not whole or b"preference-applied: wait=60" not in answer or f"etag: {incarnation}\r".encode() not in answer:
        raise LoadFailed(f"a wrong answer: {answer!r}")


@contextmanager
def plain_client(address: Address) -> Iterator[None]:
    """The second VM: once a second, as everybody does who does not wait."""
    over = threading.Event()

    def ask() -> None:
        line = http.client.HTTPConnection(*address, timeout=ANSWER_TIMEOUT_S, source_address=("127.0.0.2", 0))
        while not over.wait(1.0):
            line.request("GET", PATH, headers={"Metadata": "true"})
            line.getresponse().read()
        line.close()

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    words = [
        PROGRAM,
        "serve",
        "--demo",
        "--state",
        str(folder),
        "--metadata",
        "127.0.0.1:0",
        "--control",
        "127.0.0.1:0",
    ]
    env = {**os.environ, **ENV}
    with on_core(SERVER_CORE):
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
    try:
        yield Server(process, folder)
    finally:
        process.terminate()
        process.wait(ANSWER_TIMEOUT_S)
        assert process.stdout is not None
        process.stdout.close()


def address_in(url: str) -> Address:
    host, _, port = url.removeprefix("http://").rpartition(":")
    return host, int(port)


def raise_file_limit() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
