"""What a fleet's size costs: start, memory, a GET, a schedule, an approval, and how soon a change is seen.

Run: .venv/bin/python benchmarks/fleet_size.py [--vms 1000 10000 100000 1000000] [--json FILE]

Rule 1: the servers of all sizes run side by side and are asked in turns, so a busy machine is busy for all of them.
Rule 2: every VM of every fleet asks at least once, from its own address on a connection of its own; every answer is
looked at. Load goes to loopback only.
Rule 3: figures are for people. Nothing is asserted about time.
"""

import argparse
import http.client
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median, quantiles

from measuring import fleet
from measuring.cpu import LOAD_CORE, SERVER_CORE, cpu_s, machine, on_core, peak_rss_mib, rss_mib
from measuring.load import ANSWER_TIMEOUT_S, CONNECTIONS, Address, LoadFailed, drained, pause, stopwatch_s
from measuring.table import aligned, hundredths

PROGRAM = str(Path(sys.executable).parent / "notbefore")
PATH = "/metadata/scheduledevents?api-version=2020-07-01"
HEAD = "Host: a\r\nMetadata: true\r\nConnection: close\r\n"
QUESTION = f"GET {PATH} HTTP/1.1\r\n{HEAD}\r\n".encode()
KEPT = f"GET {PATH} HTTP/1.1\r\nHost: a\r\nMetadata: true\r\n\r\n".encode()
ENV = {"NOTBEFORE_METADATA_RATE_LIMIT_PER_S": "1000000"}
SIZES = (1000, 10_000, 100_000, 1_000_000)
# A prime, so that turns of it come by every VM and no two neighbours.
STRIDE = 50_021
START_MAX_S = 300.0
STOP_MAX_S = 60.0
RECV_BYTES = 65536
CLOSE_AT_ONCE = struct.pack("ii", 1, 0)


@dataclass
class Figures:
    """Of one size; times in milliseconds unless they say otherwise."""

    vms: int
    start_s: float = 0.0
    start_cpu_s: float = 0.0
    rss_started_mib: float = 0.0
    rss_asked_mib: float = 0.0
    rss_changed_mib: float = 0.0
    rss_peak_mib: float = 0.0
    get_cpu_us: list[float] = field(default_factory=list)
    get_ms: list[float] = field(default_factory=list)
    schedule_cpu_us: float = 0.0
    schedule_ms: list[float] = field(default_factory=list)
    approval_cpu_us: float = 0.0
    approval_ms: list[float] = field(default_factory=list)
    visible_ms: list[float] = field(default_factory=list)


class Server:
    """`notbefore serve` as a user runs it, on a fleet of so many VMs."""

    def __init__(self, vms: int, process: subprocess.Popen[str], state: Path) -> None:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        said = dict(line.split(maxsplit=2)[:2] for line, _ in zip(lines, range(3), strict=False) if "://" in line)
        if "control" not in said:
            raise LoadFailed(f"the server of {vms} VMs did not start: {(state / 'log').read_text()[-1000:]}")
        self.figures = Figures(vms)
        self.pid = process.pid
        self.metadata, self.control = address_in(said["metadata"]), address_in(said["control"])
        self._token = (state / "admin.token").read_text().strip()
        self._line = http.client.HTTPConnection(*self.control, timeout=ANSWER_TIMEOUT_S)
        self._place = 0

    def command(self, method: str, path: str, body: object = None) -> bytes:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        self._line.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self._line.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise LoadFailed(f"{method} {path}: {answer.status} {text!r}")
        return text

    def hang_up(self) -> None:
        """The next command is on a fresh connection: one that was idle for long is closed by the server."""
        self._line.close()

    def some_vm(self) -> int:
        """The place of the next VM, from all over the fleet."""
        self._place = (self._place + STRIDE) % self.figures.vms
        return self._place

    def calm_vm(self) -> int:
        """The same, of a scope that nothing is scheduled for yet."""
        while json.loads(self.command("GET", f"/v1/events?scope={fleet.scope_of(self.some_vm())}"))["events"]:
            pass
        return self._place

    def restart(self, place: int) -> str:
        path = f"/v1/scopes/{fleet.scope_of(place)}/vms/{fleet.vm_of(place)}/restart"
        event_id: str = json.loads(self.command("POST", path, {}))["id"]
        return event_id


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--vms", type=int, nargs="+", default=SIZES, choices=range(1, fleet.VMS_MAX), metavar="N")
    parser.add_argument("--rounds", type=int, default=5, choices=range(1, 101), metavar="N")
    parser.add_argument("--seconds", type=float, default=2.0, metavar="S", help="of GETs, per round and size")
    parser.add_argument("--changes", type=int, default=200, choices=range(1, 10_001), metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every figure there")
    wanted = parser.parse_args(words)
    say("\n".join(f"{name}: {fact}" for name, fact in machine().items()))
    try:
        with ExitStack() as stack:
            stack.enter_context(on_core(LOAD_CORE))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="notbefore-bench-")))
            figures = measured(wanted, folder, stack)
    except (LoadFailed, OSError) as failed:
        print(f"fleet_size: {failed}", file=sys.stderr)
        return 1
    say("\n" + report(figures))
    if wanted.json:
        told = [asdict(one) | {"get_ms": hundredths(one.get_ms)} for one in figures]
        facts = {"machine": machine(), "figures": told}
        wanted.json.write_text(json.dumps(facts, indent=1) + "\n")
    return 0


def measured(wanted: argparse.Namespace, folder: Path, stack: ExitStack) -> list[Figures]:
    servers = [stack.enter_context(serving(vms, folder / str(vms))) for vms in wanted.vms]
    for server in servers:
        all_ask(server)
    for turn in range(wanted.rounds):
        for server in servers:
            ask_for(server, wanted.seconds)
            wait_for_answers(server, wanted.seconds)
        costs = "  ".join(f"{one.figures.vms:,} VMs {one.figures.get_cpu_us[-1]:.1f}" for one in servers)
        say(f"round {turn + 1}/{wanted.rounds}: CPU microseconds per GET: {costs}")
    for server in servers:
        change(server, wanted.changes)
    return [server.figures for server in servers]


@contextmanager
def serving(vms: int, state: Path) -> Iterator[Server]:
    state.mkdir(mode=0o700)
    began_s = stopwatch_s()
    fleet.make(state / "notbefore.db", vms)
    say(f"{vms:,} VMs made in {stopwatch_s() - began_s:.1f} s")
    words = [PROGRAM, "serve", "--state", str(state), "--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0"]
    with (state / "log").open("w") as log, on_core(SERVER_CORE):
        began_s = stopwatch_s()
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **ENV})
    try:
        yield started(vms, process, state, began_s)
    finally:
        process.terminate()
        process.wait(STOP_MAX_S)
        assert process.stdout is not None
        process.stdout.close()


def started(vms: int, process: subprocess.Popen[str], state: Path, began_s: float) -> Server:
    """From the command to a right answer, to the last VM there is."""
    server = Server(vms, process, state)
    while server.command("GET", "/readyz") and not is_right(answered(server, [vms - 1])[0]):
        if stopwatch_s() - began_s > START_MAX_S:
            raise LoadFailed(f"the server of {vms} VMs is not ready")
        pause(0.01)
    figures = server.figures
    figures.start_s, figures.start_cpu_s = stopwatch_s() - began_s, cpu_s(server.pid)
    figures.rss_started_mib = rss_mib(server.pid)
    say(f"{vms:,} VMs served after {figures.start_s:.1f} s ({figures.start_cpu_s:.1f} s of CPU)")
    return server


def all_ask(server: Server) -> None:
    vms = server.figures.vms
    for first in range(0, vms, CONNECTIONS):
        refuse_wrong(answered(server, range(first, min(vms, first + CONNECTIONS))))
    server.figures.rss_asked_mib = rss_mib(server.pid)
    say(f"{vms:,} VMs have asked: {server.figures.rss_asked_mib:.0f} MiB")


def ask_for(server: Server, seconds: float) -> None:
    """What a GET costs, with many at once from all over the fleet."""
    began_s, cpu_before_s, asked = stopwatch_s(), cpu_s(server.pid), 0
    while stopwatch_s() - began_s < seconds:
        refuse_wrong(answered(server, [server.some_vm() for _ in range(CONNECTIONS)]))
        asked += CONNECTIONS
    server.figures.get_cpu_us.append((cpu_s(server.pid) - cpu_before_s) * 1e6 / asked)


def wait_for_answers(server: Server, seconds: float) -> None:
    """How long a GET takes, one after the other: a pause of the server shows here."""
    until_s = stopwatch_s() + seconds
    while (began_s := stopwatch_s()) < until_s:
        refuse_wrong(answered(server, [server.some_vm()]))
        server.figures.get_ms.append((stopwatch_s() - began_s) * 1000)


def change(server: Server, count: int) -> None:
    figures = server.figures
    server.hang_up()
    count = min(count, -(-figures.vms // fleet.VMS_PER_SCOPE) // 3 or 1)
    places = distinct_scopes(server, count)
    server.hang_up()
    cpu_before_s = cpu_s(server.pid)
    events = [timed(figures.schedule_ms, server.restart, place) for place in places]
    figures.schedule_cpu_us = (cpu_s(server.pid) - cpu_before_s) * 1e6 / count
    cpu_before_s = cpu_s(server.pid)
    for place, event_id in zip(places, events, strict=True):
        timed(figures.approval_ms, approve, server, place, event_id)
    figures.approval_cpu_us = (cpu_s(server.pid) - cpu_before_s) * 1e6 / count
    for place in distinct_scopes(server, count):
        figures.visible_ms.append(seen_after_ms(server, place))
    figures.rss_changed_mib, figures.rss_peak_mib = rss_mib(server.pid), peak_rss_mib(server.pid)
    say(f"{figures.vms:,} VMs: {3 * count} changes made")


def distinct_scopes(server: Server, count: int) -> list[int]:
    """One VM each of so many scopes that nothing is scheduled for."""
    found: dict[str, int] = {}
    while len(found) < count:
        place = server.calm_vm()
        found.setdefault(fleet.scope_of(place), place)
    return list(found.values())


def approve(server: Server, place: int, event_id: str) -> None:
    body = json.dumps({"StartRequests": [{"EventId": event_id}]})
    head = f"POST {PATH} HTTP/1.1\r\n{HEAD}Content-Length: {len(body)}\r\n\r\n"
    with asking(server.metadata, place, (head + body).encode()) as line:
        said = line.recv(RECV_BYTES)
        drained(line)
    if not said.startswith(b"HTTP/1.1 200"):
        raise LoadFailed(f"an approval was answered {said!r}")


def seen_after_ms(server: Server, place: int) -> float:
    """From before the operator's request is sent to the end of the first GET that shows the event."""
    with asking(server.metadata, place, KEPT) as line:
        line.recv(RECV_BYTES)
        operator = threading.Thread(target=server.restart, args=(place,))
        began_s = stopwatch_s()
        operator.start()
        while b"Scheduled" not in asked_again(line):
            if stopwatch_s() - began_s > ANSWER_TIMEOUT_S:
                raise LoadFailed("a change was not seen")
        seen_s = stopwatch_s()
        operator.join()
    return (seen_s - began_s) * 1000


def asked_again(line: socket.socket) -> bytes:
    line.sendall(KEPT)
    return line.recv(RECV_BYTES)


def asking(address: Address, place: int, request: bytes) -> socket.socket:
    """From the VM's own address. Closed at once at the end: a million connections leave no million behind."""
    line = socket.socket()
    line.settimeout(ANSWER_TIMEOUT_S)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, CLOSE_AT_ONCE)
    line.bind((fleet.address_of(place), 0))
    line.connect(address)
    line.sendall(request)
    return line


def answered(server: Server, places: Sequence[int]) -> list[bytes]:
    """All ask, then all are answered, each until the server has closed."""
    answers: list[bytes] = []
    for line in [asking(server.metadata, place, QUESTION) for place in places]:
        with line:
            answers.append(line.recv(RECV_BYTES))
            drained(line)
    return answers


def is_right(answer: bytes) -> bool:
    return answer.startswith(b"HTTP/1.1 200") and b"DocumentIncarnation" in answer


def refuse_wrong(answers: Sequence[bytes]) -> None:
    for answer in answers:
        if not is_right(answer):
            raise LoadFailed(f"a wrong answer: {answer!r}")


def timed(into: list[float], work, *arguments):  # type: ignore[no-untyped-def]
    began_s = stopwatch_s()
    result = work(*arguments)
    into.append((stopwatch_s() - began_s) * 1000)
    return result


def address_in(url: str) -> Address:
    host, _, port = url.removeprefix("http://").rpartition(":")
    return host, int(port)


def report(figures: Sequence[Figures]) -> str:
    head = ["", *(f"{one.vms:,} VMs" for one in figures)]
    rows = [
        ["start to a right answer, s (CPU)", *(f"{one.start_s:.1f} ({one.start_cpu_s:.1f})" for one in figures)],
        ["RSS after start, MiB", *(f"{one.rss_started_mib:.0f}" for one in figures)],
        ["RSS after every VM asked, MiB", *(f"{one.rss_asked_mib:.0f}" for one in figures)],
        [
            "RSS after the changes, MiB (peak)",
            *(f"{one.rss_changed_mib:.0f} ({one.rss_peak_mib:.0f})" for one in figures),
        ],
        ["GET, CPU us: median", *(f"{median(one.get_cpu_us):.1f}" for one in figures)],
        ["GET, CPU us: lowest..highest", *(f"{min(one.get_cpu_us):.1f}..{max(one.get_cpu_us):.1f}" for one in figures)],
        ["GET, ms: p50 / p99 / max", *(latency(one.get_ms) for one in figures)],
        ["schedule, CPU us", *(f"{one.schedule_cpu_us:.0f}" for one in figures)],
        ["schedule, ms: p50 / p99 / max", *(latency(one.schedule_ms) for one in figures)],
        ["approval, CPU us", *(f"{one.approval_cpu_us:.0f}" for one in figures)],
        ["approval, ms: p50 / p99 / max", *(latency(one.approval_ms) for one in figures)],
        ["change seen by its VMs, ms: p50 / p99 / max", *(latency(one.visible_ms) for one in figures)],
    ]
    return aligned([head, *rows])


def latency(times_ms: Sequence[float]) -> str:
    if len(times_ms) < 2:
        return f"{times_ms[0]:.1f}"
    p99 = quantiles(times_ms, n=100, method="inclusive")[98]
    return f"{median(times_ms):.1f} / {p99:.1f} / {max(times_ms):.1f}"


def say(sentence: str) -> None:
    print(sentence, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
