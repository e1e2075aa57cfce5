"""Load, bounded in time and in number, on loopback only: the same request bytes to every server.

Rule 1: an answer counts when it has the length of the one that was verified before; anything else is an error.
Rule 2: CPU is the server's, so a slow generator does not spoil it; requests per second are what the pair reached.
Kept connections come from wrk. Fresh ones come from plain sockets here: wrk closes as soon as it has its answer,
so it cannot say who closes.
"""

import json
import math
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

CONNECTIONS = 16
FRESH_MAX = 400_000
ANSWER_TIMEOUT_S = 10.0
LONGER = (1, 4, 16, 64)
POLL_S = 0.01
ANSWER_MAX_BYTES = 64 * 1024
BIND_ADDRESS_NO_PORT = 24  # linux/in.h: the port is chosen when it connects, so that there are enough of them
SCRIPT = Path(__file__).with_name("request.lua")

Address = tuple[str, int]


class LoadFailed(Exception):
    """What came back is not what was verified; the figures would mean nothing."""


@dataclass(frozen=True, slots=True)
class Load:
    """What was asked and answered."""

    requests: int
    seconds: float


def stopwatch_s() -> float:
    return time.monotonic()  # noqa: TID251  a benchmark is about real time


def pause(seconds: float) -> None:
    time.sleep(seconds)  # noqa: TID251  and so are its waits


def refuse_foreign(address: Address) -> None:
    if not address[0].startswith("127."):
        raise LoadFailed(f"load goes to loopback only, not to {address[0]}")


def kept_connections(
    address: Address,
    request: bytes,
    answer_bytes: int,
    seconds: float,
    unique: str,
    connections: int,
) -> Load:
    """By wrk; for longer where nobody was answered in that time, as on a machine that is busy with other things."""
    refuse_foreign(address)
    words = [shutil.which("wrk") or "wrk", "-t", "1", "-c", str(connections)]
    tail = [
        "-s",
        str(SCRIPT),
        f"http://{address[0]}:{address[1]}",
        "--",
        request.decode(),
        *([unique] if unique else []),
    ]
    for longer in LONGER:
        report = reported_by([*words, "-d", f"{math.ceil(seconds * longer) + 5}s", *tail], seconds * longer)
        requests = report["requests"]
        expected = range(requests * answer_bytes, (requests + connections) * answer_bytes + 1)
        if any(report["errors"].values()) or report["bytes"] not in expected:
            raise LoadFailed(f"wrk saw errors or answers of another length than {answer_bytes} bytes: {report}")
        if requests:
            return Load(requests, report["seconds"])
    raise LoadFailed(f"wrk was answered nothing in {seconds * LONGER[-1]:.1f} s")


def reported_by(words: Sequence[str], seconds: float) -> dict[str, Any]:
    """wrk takes whole seconds; an interrupt ends it at any time with its report, `-d` is only the bound."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as wrk:
        while wrk.poll() is None and not catches_interrupts(wrk.pid):
            pause(POLL_S)
        try:
            wrk.wait(seconds)
        except subprocess.TimeoutExpired:
            wrk.send_signal(signal.SIGINT)
        said, _ = wrk.communicate(timeout=ANSWER_TIMEOUT_S)
    reports = [line for line in said.splitlines() if line.startswith("{")]
    if not reports:
        raise LoadFailed(f"wrk gave no report: {said.strip()}")
    report: dict[str, Any] = json.loads(reports[0])
    return report


def catches_interrupts(pid: int) -> bool:
    """Before that an interrupt would end it without a report."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    caught = next((int(line.split()[1], 16) for line in status if line.startswith("SigCgt:")), 0)
    return bool(caught >> (signal.SIGINT - 1) & 1)


def fresh_connections(
    address: Address,
    request: bytes,
    answer_bytes: int,
    seconds: float,
    *,
    server_closes: bool,
    sources: Iterator[str] | None = None,
    connections: int = CONNECTIONS,
) -> Load:
    """One request per connection, so many at a time: all ask, then all are answered, then all are closed."""
    refuse_foreign(address)
    froms = sources or repeat("")
    started_s = stopwatch_s()
    asked = 0
    while (elapsed_s := stopwatch_s() - started_s) < seconds and asked < FRESH_MAX:
        for line in [asking(address, request, next(froms)) for _ in range(connections)]:
            with line:
                got = drained(line) if server_closes else received(line, answer_bytes)
            if got != answer_bytes:
                raise LoadFailed(f"an answer had {got} bytes instead of {answer_bytes}")
        asked += connections
    return Load(asked, elapsed_s)


def kept_from(address: Address, request: bytes, answer_bytes: int, seconds: float, sources: Sequence[str]) -> Load:
    """A kept connection from each of the addresses, which wrk cannot do: all ask, then all are answered, and again."""
    refuse_foreign(address)
    with ExitStack() as stack:
        lines = [stack.enter_context(connected(address, source)) for source in sources]
        started_s = stopwatch_s()
        asked = 0
        while (elapsed_s := stopwatch_s() - started_s) < seconds:
            for line in lines:
                line.sendall(request)
            for line in lines:
                if (got := received(line, answer_bytes)) != answer_bytes:
                    raise LoadFailed(f"an answer had {got} bytes instead of {answer_bytes}")
            asked += len(lines)
    return Load(asked, elapsed_s)


def asking(address: Address, request: bytes, source: str = "") -> socket.socket:
    line = connected(address, source)
    line.sendall(request)
    return line


def connected(address: Address, source: str = "") -> socket.socket:
    if not source:
        return socket.create_connection(address, ANSWER_TIMEOUT_S)
    line = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    line.settimeout(ANSWER_TIMEOUT_S)
    line.setsockopt(socket.IPPROTO_IP, BIND_ADDRESS_NO_PORT, 1)
    line.bind((source, 0))
    line.connect(address)
    return line


def received(line: socket.socket, wanted: int) -> int:
    """Stops at the wanted number of bytes, so that the client closes."""
    got = 0
    while got < wanted and (part := line.recv(ANSWER_MAX_BYTES)):
        got += len(part)
    return got


def drained(line: socket.socket) -> int:
    """Reads until the server has closed."""
    got = 0
    while part := line.recv(ANSWER_MAX_BYTES):
        got += len(part)
    return got
