"""What one metadata GET costs: CPU microseconds per request and throughput, beside nginx and Go on the same machine.

Run: .venv/bin/python benchmarks/metadata_get.py [--rounds 5] [--seconds 2.5] [--only NAME ...] [--json FILE]

Rule 1: servers take turns (A B C, B C A, ...), each on one core, the load on the other, same bytes to all.
Rule 2: every answer is checked before, and counted and measured by length during; an error ends the run.
Rule 3: figures are for people. Nothing is asserted about time: other work on the machine shows in the spread.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

from measuring.answer import Answer, answer_to
from measuring.cpu import LOAD_CORE, SERVER_CORE, core_busy_s, cpu_s, machine, on_core, peak_rss_mib
from measuring.load import Address, Load, LoadFailed, fresh_connections, kept_connections, pause
from measuring.table import Sample, report
from peers.servers import Server, go, nginx, notbefore, program

TARGET = "/metadata/scheduledevents?api-version=2020-07-01"
UNIQUE_HEADER = "x-ms-client-request-id"
WARM_UP_S = 0.5
SETTLE_S = 0.1
LOG_TAIL = 1000
ALLOWING = "allow-faults"  # notbefore with faults allowed and none set
SERVERS = {"notbefore": "", ALLOWING: "", "nginx": "nginx", "go": "go"}  # with the program each needs

Generate = Callable[[Address, bytes, int, float], Load]


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    meaning: str
    generate: Generate
    status: int = 200
    headers: str = ""
    only: str = ""
    needs: str = ""

    def request(self, address: Address, tag: str) -> bytes:
        extra = self.headers.format(tag=tag)
        return f"GET {TARGET} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nMetadata: true\r\n{extra}\r\n".encode()


CASES = (
    Case("keep-alive", "kept connections, the same bytes again and again", kept_connections, needs="wrk"),
    Case(
        "close",
        "a connection per request; `Connection: close`, the server closes",
        partial(fresh_connections, server_closes=True),
        headers="Connection: close\r\n",
    ),
    Case(
        "fresh",
        "a connection per request; the client closes when it has its answer",
        partial(fresh_connections, server_closes=False),
    ),
    Case(
        "not-modified",
        "kept connections, If-None-Match answered by 304",
        kept_connections,
        status=304,
        headers="If-None-Match: {tag}\r\n",
        needs="wrk",
    ),
    Case(
        "unique-header",
        f"kept connections, another {UNIQUE_HEADER} in each request",
        partial(kept_connections, unique=UNIQUE_HEADER),
        only="notbefore",
        needs="wrk",
    ),
)


@dataclass(frozen=True, slots=True)
class Target:
    """One case at one server, verified: what to send where, and how long each answer is."""

    case: Case
    server: Server
    address: Address
    request: bytes
    answer_bytes: int


def main(words: Sequence[str]) -> int:
    wanted = arguments(words)
    servers = [name for name in SERVERS if name in wanted.only] or list(SERVERS)
    cases = [case for case in CASES if case.name in wanted.only] or list(CASES)
    needed = {case.needs for case in cases} | {SERVERS[name] for name in servers}
    missing = sorted(name for name in needed if name and not program(name))
    if missing:
        print(f"metadata_get: needs {', '.join(missing)}. Install with `make parts` (as root).", file=sys.stderr)
        return 1
    with ExitStack() as stack:
        stack.enter_context(on_core(LOAD_CORE))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="notbefore-bench-")))
        try:
            measure(wanted, cases, *up(servers, folder, stack))
        except (LoadFailed, OSError, subprocess.SubprocessError) as failed:
            logs = "".join(f"\n{log.name}: {log.read_text()[-LOG_TAIL:]}" for log in sorted(folder.glob("*.log")))
            print(f"metadata_get: {failed}{logs}", file=sys.stderr)
            return 1
    return 0


def arguments(words: Sequence[str]) -> argparse.Namespace:
    names = [*SERVERS, *(case.name for case in CASES)]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, choices=range(1, 101), metavar="N")
    parser.add_argument("--seconds", type=float, default=2.5, metavar="S", help="per case and server, 0.1 to 60")
    parser.add_argument("--only", nargs="+", default=[], choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every sample there")
    wanted = parser.parse_args(words)
    if not 0.1 <= wanted.seconds <= 60:
        parser.error("--seconds is 0.1 to 60")
    return wanted


def measure(wanted: argparse.Namespace, cases: Sequence[Case], servers: Sequence[Server], reference: Answer) -> None:
    facts = {**machine(), **{server.name: server.version for server in servers}}
    pairs = [(case, server) for case in cases for server in servers if case.only in ("", server.name)]
    targets = [verified(case, server, reference) for case, server in pairs]
    about_s = len(targets) * (wanted.rounds * (wanted.seconds + SETTLE_S) + WARM_UP_S)
    say("\n".join(f"{name}: {fact}" for name, fact in facts.items()))
    say(f"{len(targets)} pairs of case and server in {wanted.rounds} rounds, about {about_s:.0f} s")
    for target in targets:
        sampled(target, 0, min(WARM_UP_S, wanted.seconds / 3))
    samples = rounds(targets, wanted.rounds, wanted.seconds)
    for case, server in pairs:
        verified(case, server, reference)
    facts |= closing_facts(samples, servers)
    say("\n" + report(samples, {case.name: case.meaning for case in cases}, [server.name for server in servers]))
    say("\n" + "\n".join(f"{name}: {fact}" for name, fact in facts.items()))
    if wanted.json:
        written = {"facts": facts, "samples": [asdict(sample) for sample in samples]}
        wanted.json.write_text(json.dumps(written, indent=1) + "\n")


def up(names: Sequence[str], folder: Path, stack: ExitStack) -> tuple[list[Server], Answer]:
    """The servers wanted, and the answer all of them give. It is notbefore's, so notbefore always starts."""
    ours = stack.enter_context(notbefore(folder))
    reference = answer_to(ours.address, CASES[0].request(ours.address, ""))
    if reference.status != 200 or not json.loads(reference.body)["DocumentIncarnation"]:
        raise LoadFailed(f"notbefore does not answer as it should: {reference}")
    makers = {
        ALLOWING: lambda folder, _: notbefore(folder, ALLOWING, "--allow-faults"),
        "nginx": nginx,
        "go": go,
    }
    servers = [ours, *(stack.enter_context(makers[name](folder, reference)) for name in names if name in makers)]
    return [server for server in servers if server.name in names], reference


def verified(case: Case, server: Server, reference: Answer) -> Target:
    """A server is measured only when it answers the case's request as the reference does."""
    address = server.address if case.status == 200 else server.not_modified_address
    request = case.request(address, reference.header("etag"))
    answer = answer_to(address, request)
    body = reference.body if case.status == 200 else b""
    closes = answer.header("connection").lower() == "close"
    is_right = (answer.status, answer.body, closes) == (case.status, body, "Connection: close" in case.headers)
    if not is_right or answer.header("etag") != reference.header("etag"):
        raise LoadFailed(f"{server.name} answers {case.name} wrongly: {answer}")
    return Target(case, server, address, request, answer.length)


def rounds(targets: Sequence[Target], count: int, seconds: float) -> list[Sample]:
    """Case by case, and within a case server by server, another one first in each round."""
    samples: list[Sample] = []
    for turn in range(count):
        for case in dict.fromkeys(target.case for target in targets):
            rivals = [target for target in targets if target.case is case]
            first = turn % len(rivals)
            taken = [sampled(target, turn, seconds) for target in [*rivals[first:], *rivals[:first]]]
            figures = "  ".join(f"{one.server} {one.cpu_us_per_request:.1f}" for one in taken)
            say(f"round {turn + 1}/{count}  {case.name}: {figures}")
            samples += taken
    return samples


def sampled(target: Target, turn: int, seconds: float) -> Sample:
    """The server's CPU from before the first request until it has nothing left to tidy up."""
    pid = target.server.pid
    cpu_before_s, busy_before_s = cpu_s(pid), core_busy_s(SERVER_CORE)
    load = target.case.generate(target.address, target.request, target.answer_bytes, seconds)
    pause(SETTLE_S)
    used_s, busy_s = cpu_s(pid) - cpu_before_s, core_busy_s(SERVER_CORE) - busy_before_s
    others_s = max(0.0, busy_s - used_s)
    return Sample(target.case.name, target.server.name, turn, load.requests, load.seconds, used_s, others_s)


def closing_facts(samples: Sequence[Sample], servers: Sequence[Server]) -> dict[str, str]:
    """What tells a reader how far to trust the figures, and what the servers needed."""
    shares = [sample.others_s / (sample.seconds + SETTLE_S) for sample in samples]
    total = sum(sample.requests for sample in samples)
    return {
        "requests": f"{total:,}, none of them with an error",
        "others on the server's core": f"{median(shares):.0%} of the time, at worst {max(shares):.0%}",
        "peak memory": ", ".join(f"{server.name} {peak_rss_mib(server.pid):.0f} MiB" for server in servers),
    }


def say(sentence: str) -> None:
    print(sentence, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
