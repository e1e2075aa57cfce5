"""What one metadata GET costs: CPU microseconds per request and throughput, beside others on the same machine.

Run: .venv/bin/python benchmarks/metadata_get.py [--rounds 5] [--seconds 2.5] [--only NAME ...] [--json FILE]

Rule 1: servers take turns, in another order each round, each on one core, the load on the other, same bytes to all.
Rule 2: every answer is checked before, and counted and measured by length during; an error ends the run.
Rule 3: figures are for people. Nothing is asserted about time: other work on the machine shows in the spread.
Rule 4: what cannot run here is left out, and said; what was asked for by name is missed.
"""

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from statistics import median

from measuring.answer import Answer, answer_to
from measuring.callers import callers, in_turn
from measuring.cpu import LOAD_CORE, machine, on_core, peak_rss_mib
from measuring.load import CONNECTIONS, Load, LoadFailed, fresh_connections, kept_connections, kept_from
from measuring.results import Results, take_json
from measuring.rounds import SETTLE_S, Case, Target, about_s, refuses_strangers, rounds, verified
from measuring.table import Sample, Table, tables
from peers.control import Operator
from peers.processes import program, said_by
from peers.servers import Server, bare_python, go, nginx, notbefore, pure_python, python_peer, serving, with_workers

UNIQUE_HEADER = "x-ms-client-request-id"
LOG_TAIL = 1000
KEPT = 64
FEW, MANY = 16, 256
VMS = 1_000_000
# The demo's VMs. From one address alone a client runs out of ports within a second, and is slower than any server then.
DEMO = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
ONE, FLEET, WORKERS, PURE = "one-vm", "fleet", "workers-2", "pure-python"
SPREAD = (ONE, FLEET)
# What each needs: a program, a module for Python, or a flag of `notbefore serve`.
SERVERS = {
    "notbefore": "",
    "allow-faults": "",  # notbefore with faults allowed and none set
    WORKERS: "--workers",
    PURE: "",  # notbefore without its compiled part
    "nginx": "nginx",
    "nginx-bare": "nginx",  # `return 200` to whoever asks
    "go": "go",
    "bare-python": "",  # answers whoever asks, and does nothing else
    "asgi": "",
    "fastapi": "",
    "flask-mock": "flask",
    ONE: "",
    FLEET: "measuring.fleet",
}


def kept(target: Target, seconds: float, unique: str = "", connections: int = KEPT) -> Load:
    what = (target.address, target.request, target.answer_bytes, seconds)
    return kept_connections(*what, unique, connections * target.server.workers)


def fresh(target: Target, seconds: float) -> Load:
    closes = target.case.closes or not target.server.keeps
    sources = in_turn(target.sources or DEMO)
    what = (target.address, target.request, target.answer_bytes, seconds)
    connections = CONNECTIONS * target.server.workers
    return fresh_connections(*what, server_closes=closes, sources=sources, connections=connections)


def spread_kept(target: Target, seconds: float) -> Load:
    turn = cycle(target.sources)  # the same ones in each round, as those who keep their connection
    sources = [next(turn) for _ in range(KEPT)]
    return kept_from(target.address, target.request, target.answer_bytes, seconds, sources)


CLOSE = "Connection: close\r\n"
COMPARED = ("notbefore", PURE, "nginx", "go", "bare-python")
CASES = (
    Case("keep-alive", f"{KEPT} kept connections, the same bytes again and again", kept, needs="wrk", needs_kept=True),
    *(
        Case(
            f"keep-alive-{connections}",
            f"the same with {connections}",
            partial(kept, connections=connections),
            only=COMPARED,
            needs="wrk",
            needs_kept=True,
        )
        for connections in (FEW, MANY)
    ),
    Case("close", "a connection per request; `Connection: close`, the server closes", fresh, headers=CLOSE),
    Case("fresh", "a connection per request; the client closes when it has its answer", fresh),
    Case(
        "not-modified",
        "kept connections, If-None-Match answered by 304",
        kept,
        status=304,
        headers="If-None-Match: {tag}\r\n",
        needs="wrk",
        needs_kept=True,
    ),
    Case(
        "unique-header",
        f"kept connections, another {UNIQUE_HEADER} in each request",
        partial(kept, unique=UNIQUE_HEADER),
        only=("notbefore", "nginx", "go"),
        needs="wrk",
        needs_kept=True,
    ),
    Case("spread-keep-alive", f"{KEPT} kept connections, of as many VMs", spread_kept, only=SPREAD),
    Case("spread-close", "as `close`, another VM each time", fresh, headers=CLOSE, only=SPREAD),
    Case("spread-fresh", "as `fresh`, another VM each time", fresh, only=SPREAD),
)


def main(words: Sequence[str]) -> int:
    wanted = arguments(words)
    servers = [name for name in SERVERS if name in wanted.only] or list(SERVERS)
    cases = [case for case in CASES if case.name in wanted.only] or list(CASES)
    needs = {name: SERVERS[name] for name in servers} | {case.name: case.needs for case in cases}
    left_out = {name: f"needs {need}" for name, need in needs.items() if need and not is_there(need)}
    cases = [case for case in cases if any(suits(case, name) for name in servers)]
    missed = sorted({needs[name] for name in left_out if name in wanted.only})
    if missed or not cases:
        print(f"metadata_get: {lacking(missed) if missed else 'no case for these servers.'}", file=sys.stderr)
        return 1
    with ExitStack() as stack:
        stack.enter_context(on_core(LOAD_CORE))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="notbefore-bench-")))
        try:
            measure(wanted, cases, servers, left_out, folder, stack)
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
    parser.add_argument("--vms", type=int, default=VMS, choices=range(20, VMS + 1), metavar="N", help="of the fleet")
    take_json(parser)
    wanted = parser.parse_args(words)
    if not 0.1 <= wanted.seconds <= 60:
        parser.error("--seconds is 0.1 to 60")
    return wanted


def suits(case: Case, server: str) -> bool:
    return server in case.only if case.only else server not in SPREAD


def is_there(need: str) -> bool:
    if need.startswith("--"):
        return need in said_by(str(Path(sys.executable).with_name("notbefore")), "serve", "--help")
    return bool(find_spec(need) if need in {"flask", "measuring.fleet"} else program(need))


def lacking(needs: Sequence[str]) -> str:
    flags = [need for need in needs if need.startswith("--")]
    if flags:
        return f"needs {', '.join(flags)} of `notbefore serve`, which this version has not."
    return f"needs {', '.join(needs)}. Install with `make parts` (as root); Python's with `make bench`."


def measure(
    wanted: argparse.Namespace,
    all_cases: Sequence[Case],
    all_names: Sequence[str],
    left_out: dict[str, str],
    folder: Path,
    stack: ExitStack,
) -> None:
    cases = [case for case in all_cases if case.name not in left_out]
    names = [name for name in all_names if name not in left_out and any(suits(case, name) for case in cases)]
    for name, reason in left_out.items():
        say(f"{name} is left out: {reason}")
    found = [target for group in (SPREAD, None) for target in targets_of(group, cases, names, wanted, folder, stack)]
    targets = sorted(found, key=lambda target: cases.index(target.case))
    servers = list(dict.fromkeys(target.server for target in targets))
    say(f"{len(targets)} pairs of case and server, about {about_s(targets, wanted.rounds, wanted.seconds):.0f} s")
    samples = rounds(targets, wanted.rounds, wanted.seconds, say)
    facts = {**machine(), **{server.name: server.version for server in servers}}
    facts |= {f"left out: {name}": reason for name, reason in left_out.items()}
    facts |= {"VMs of fleet": f"{wanted.vms:,}"} if FLEET in names else {}
    facts |= closing_facts(samples, servers)
    meanings = Table("Cases", ("case", "meaning"), [(case.name, case.meaning) for case in cases])
    shown = [*tables_of(cases, names, samples), meanings]
    Results("metadata_get", facts, shown, [asdict(sample) for sample in samples]).tell(wanted.json)


def targets_of(
    group: tuple[str, ...] | None,
    cases: Sequence[Case],
    names: Sequence[str],
    wanted: argparse.Namespace,
    folder: Path,
    stack: ExitStack,
) -> Iterator[Target]:
    """Of the servers of a fleet, or of all others. The answer all others give is notbefore's, so it always starts."""
    own = [case for case in cases if (case.only == SPREAD) == bool(group)]
    if not own:
        return
    if group:
        makers = {ONE: one_vm, FLEET: partial(fleet_of, wanted.vms)}
        for name in names:
            if name in makers:
                yield from spread_targets(own, *stack.enter_context(makers[name](folder)))
        return
    ours = stack.enter_context(notbefore(folder))
    reference = answer_to(ours.address, CASES[0].request(ours.address, ""))
    if reference.status != 200 or not json.loads(reference.body)["DocumentIncarnation"]:
        raise LoadFailed(f"notbefore does not answer as it should: {reference}")
    others = [stack.enter_context(PEERS[name](folder, reference)) for name in names if name in PEERS]
    servers = [server for server in (ours, *others) if server.name in names]
    for server in servers:
        if server.checks:
            refuses_strangers(server)
    pairs = [(case, server) for case in own for server in servers if suits(case, server.name)]
    yield from (verified(*pair, reference) for pair in pairs if pair[1].keeps or not pair[0].needs_kept)


PEERS = {
    "allow-faults": lambda folder, _: notbefore(folder, "allow-faults", "--allow-faults"),
    WORKERS: lambda folder, _: with_workers(folder, WORKERS, 2),
    PURE: lambda folder, _: pure_python(folder, PURE),
    "nginx": nginx,
    "nginx-bare": partial(nginx, name="nginx-bare", checks=""),
    "go": go,
    "bare-python": bare_python,
    "asgi": partial(python_peer, name="asgi", script="asgi_app.py", package="uvicorn"),
    "fastapi": partial(python_peer, name="fastapi", script="fastapi_app.py", package="fastapi"),
    "flask-mock": partial(python_peer, name="flask-mock", script="flask_mock.py", package="flask", keeps=False),
}


def spread_targets(
    cases: Sequence[Case], server: Server, sources: tuple[str, ...], reference: Answer
) -> Iterator[Target]:
    yield from (verified(case, server, reference, sources) for case in cases)


@contextmanager
def one_vm(folder: Path) -> Iterator[tuple[Server, tuple[str, ...], Answer]]:
    with serving(folder, ONE, folder / f"{ONE}-state") as server:
        operator = Operator(server)
        operator.declare("alone", {"vm-0": "127.0.0.1"})
        operator.close()
        yield server, *callers(server.address, CASES[0].request(server.address, ""), lambda _: "127.0.0.1", 1)


@contextmanager
def fleet_of(vms: int, folder: Path) -> Iterator[tuple[Server, tuple[str, ...], Answer]]:
    fleet = importlib.import_module("measuring.fleet")
    state = folder / f"{FLEET}-state"
    state.mkdir(mode=0o700)
    say(f"making a store of {vms:,} VMs")
    fleet.make(state / "notbefore.db", vms)
    with serving(folder, FLEET, state) as server:
        say(f"{vms:,} VMs are served with {peak_rss_mib(server.pid):.0f} MiB")
        yield server, *callers(server.address, CASES[0].request(server.address, ""), fleet.address_of, vms)


def tables_of(cases: Sequence[Case], names: Sequence[str], samples: Sequence[Sample]) -> Iterator[Table]:
    for is_spread, first in ((False, "notbefore"), (True, FLEET)):
        own = [case.name for case in cases if (case.only == SPREAD) == is_spread]
        asked = {sample.server for sample in samples if sample.case in own}
        if own and asked:
            yield from tables(samples, own, [name for name in names if name in asked], first)


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
