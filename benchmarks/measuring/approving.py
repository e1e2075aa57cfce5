"""VMs that approve, each an event of its own, in one thread: so many at a time, or so many a second.

Rule 1: an approval is what a VM sends: a connection from its own address, a POST, the answer. It is timed from before
it connects until its answer is read.
Rule 2: anything but a 200 ends the run.
"""

import json
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

from measuring.load import Address, LoadFailed, asking, refuse_foreign, stopwatch_s
from measuring.rounds import TARGET

SILENCE_S = 20.0
ANSWER_MAX_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Approval:
    """Which VM says it, and of which event."""

    source: str
    event_id: str

    def request(self) -> bytes:
        body = json.dumps({"StartRequests": [{"EventId": self.event_id}]})
        head = f"POST {TARGET} HTTP/1.1\r\nHost: a\r\nMetadata: true\r\nConnection: close\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


@dataclass(slots=True)
class Approved:
    """How long each took, and from the first question to the last answer."""

    seconds: float = 0.0
    times_s: list[float] = field(default_factory=list)


def at_a_time(address: Address, approvals: Iterator[Approval], clients: int) -> Approved:
    """Each client approves one after the other, as fast as it is answered."""

    def may_begin(_now_s: float, open_now: int) -> bool:
        return open_now < clients

    return approved(address, approvals, may_begin, None)


def a_second(address: Address, approvals: Iterator[Approval], rate: float) -> Approved:
    """At their times, whether those before are answered or not."""
    began_s = stopwatch_s()
    begun = 0

    def may_begin(now_s: float, _open: int) -> bool:
        nonlocal begun
        is_time = now_s >= began_s + begun / rate
        begun += is_time
        return is_time

    return approved(address, approvals, may_begin, 1 / rate / 10)


def approved(
    address: Address,
    approvals: Iterator[Approval],
    may_begin: Callable[[float, int], bool],
    look_s: float | None,
) -> Approved:
    refuse_foreign(address)
    done, waiting, began_s = Approved(), list(approvals)[::-1], stopwatch_s()
    with ExitStack() as stack:
        poll = stack.enter_context(select.epoll())
        lines: dict[int, tuple[socket.socket, float]] = {}
        stack.callback(lambda: [line.close() for line, _ in lines.values()])
        while waiting or lines:
            while waiting and may_begin(stopwatch_s(), len(lines)):
                one, asked_s = waiting.pop(), stopwatch_s()
                line = asking(address, one.request(), one.source)
                lines[line.fileno()] = line, asked_s
                poll.register(line.fileno(), select.EPOLLIN)
            ready = poll.poll(look_s if look_s and waiting else SILENCE_S)
            if not ready and not (look_s and waiting):
                raise LoadFailed(f"{len(lines)} approvals were not answered")
            for number, _ in ready:
                line, asked_s = lines.pop(number)
                with line:
                    refuse_wrong(line.recv(ANSWER_MAX_BYTES))
                done.times_s.append(stopwatch_s() - asked_s)
    done.seconds = stopwatch_s() - began_s
    return done


def refuse_wrong(answer: bytes) -> None:
    if not answer.startswith(b"HTTP/1.1 200 "):
        raise LoadFailed(f"an approval was answered {answer!r}")
