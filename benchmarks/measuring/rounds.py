"""Cases put to servers in turns, in another order each round, so that nobody always comes first, or always behind the
same one: what that one leaves behind, such as ports that wait, its successor pays for.

Rule 1: a server is measured only when it answers a case as the reference does; it is looked at before and after.
Rule 2: CPU is the server's, from before the first request until it has nothing left to tidy up.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from measuring.answer import Answer, answer_to
from measuring.cpu import SERVER_CORE, core_busy_s, cpu_s
from measuring.load import Address, Load, LoadFailed, pause
from measuring.table import Sample
from peers.servers import Server

TARGET = "/metadata/scheduledevents?api-version=2020-07-01"
SETTLE_S = 0.1
WARM_UP_S = 0.5


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    meaning: str
    generate: Callable[["Target", float], Load]
    status: int = 200
    headers: str = ""
    only: tuple[str, ...] = ()  # servers; without any, all that are not for certain cases alone
    needs: str = ""
    needs_kept: bool = False  # connections that the server keeps

    @property
    def closes(self) -> bool:
        return "Connection: close" in self.headers

    def request(self, address: Address, tag: str) -> bytes:
        extra = self.headers.format(tag=tag)
        return f"GET {TARGET} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nMetadata: true\r\n{extra}\r\n".encode()


@dataclass(frozen=True, slots=True)
class Target:
    """One case at one server, verified: what to send where, how long each answer is, who may ask."""

    case: Case
    server: Server
    address: Address
    request: bytes
    answer_bytes: int
    sources: tuple[str, ...] = ()


def verified(case: Case, server: Server, reference: Answer, sources: tuple[str, ...] = ()) -> Target:
    """A body that is the server's own is only compared by what every document has."""
    address = server.address if case.status == 200 else server.not_modified_address
    request = case.request(address, reference.header("etag"))
    answer = answer_to(address, request, sources[0] if sources else "")
    body = reference.body if case.status == 200 else b""
    closes = answer.header("connection").lower() == "close"
    is_right = (answer.status, answer.body) == (case.status, body) and closes == (case.closes or not server.keeps)
    if not is_right or answer.header("etag") != reference.header("etag"):
        raise LoadFailed(f"{server.name} answers {case.name} wrongly: {answer}")
    return Target(case, server, address, request, answer.length, sources)


def refuses_strangers(server: Server) -> None:
    """A peer that does not look at header and version would be compared unfairly."""
    wrong = (b"", b"Metadata: true\r\n")
    for target, headers in zip((TARGET, TARGET.partition("?")[0]), wrong, strict=True):
        request = f"GET {target} HTTP/1.1\r\nHost: a\r\n".encode() + headers + b"\r\n"
        status = answer_to(server.address, request).status
        if status != 400:
            raise LoadFailed(f"{server.name} answers {status} to a request that is wrong: {request!r}")


def rounds(targets: Sequence[Target], count: int, seconds: float, say: Callable[[str], None]) -> list[Sample]:
    """Case by case, and within a case server by server; the orders are the same in every run."""
    samples: list[Sample] = []
    for target in targets:
        sampled(target, 0, min(WARM_UP_S, seconds / 3))
    for turn in range(count):
        for case in dict.fromkeys(target.case for target in targets):
            rivals = [target for target in targets if target.case is case]
            in_some_order = Random(f"{turn} {case.name}").sample(rivals, len(rivals))
            taken = [sampled(target, turn, seconds) for target in in_some_order]
            figures = "  ".join(f"{one.server} {one.cpu_us_per_request:.1f}" for one in taken)
            say(f"round {turn + 1}/{count}  {case.name}: {figures}")
            samples += taken
    return samples


def about_s(targets: Sequence[Target], count: int, seconds: float) -> float:
    return sum(count * (seconds * target.server.share + SETTLE_S) + WARM_UP_S for target in targets)


def sampled(target: Target, turn: int, seconds: float) -> Sample:
    pid = target.server.pid
    cpu_before_s, busy_before_s = cpu_s(pid), core_busy_s(SERVER_CORE)
    load = target.case.generate(target, seconds * target.server.share)
    pause(SETTLE_S)
    used_s, busy_s = cpu_s(pid) - cpu_before_s, core_busy_s(SERVER_CORE) - busy_before_s
    others_s = max(0.0, busy_s - used_s)
    return Sample(target.case.name, target.server.name, turn, load.requests, load.seconds, used_s, others_s)
