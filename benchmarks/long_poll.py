"""How soon those who wait hear of a change, and what they cost while nothing happens: up to 10,000 of one scope.

Run: .venv/bin/python benchmarks/long_poll.py [--rounds 5] [--held 1 100 1000 10000] [--idle 20] [--json FILE]

Rule 1: one clock, on the load's core. It starts before the operator's request is sent, so that the figures hold its
whole way (decision, commit with fsync, wake, answer). The commit lies between that and the operator's own answer, so
another figure counts from there. An answer's time is when it was ready to be read, to within 64 of them.
Rule 2: every answer is read whole and compared: 200, the preference applied, the next incarnation.
Rule 3: the scope has 1,000 VMs on addresses of their own, at most ten connections each. Each round has a server of its
own for each number; memory and idle processor time are compared with the same server just before.
Rule 4: figures are for people. Nothing is asserted about time.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from measuring.cpu import LOAD_CORE, machine, on_core, own_cpu_s, rss_mib
from measuring.crowd import Crowd
from measuring.load import LoadFailed, pause, stopwatch_s
from measuring.results import Results, take_json
from measuring.table import Table, quantile, spread
from peers.control import Operator
from peers.servers import Server, serving

VMS = 1000
HELD_MAX = 10 * VMS
SCOPE = "crowd"
ALONE_S = 2.0
SPARE = 100  # connections that do not wait
ENV = {
    "NOTBEFORE_METADATA_LIMITS_CONNECTIONS_MAX": str(HELD_MAX + SPARE),
    "NOTBEFORE_METADATA_LIMITS_LONG_POLLS_MAX": str(HELD_MAX),
}
POINTS = [point / 100 for point in range(101)]


@dataclass(frozen=True, slots=True)
class Sample:
    """One change: `heard_ms` says by when each hundredth of those who wait had heard, from the request on."""

    held: int
    round: int
    change: int
    operator_ms: float
    heard_ms: tuple[float, ...]
    p99_ms: float
    grown_mib: float
    idle_percent: float
    idle_alone_percent: float


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, choices=range(1, 101), metavar="N")
    parser.add_argument("--changes", type=int, default=4, choices=range(1, 1001), metavar="N", help="in each round")
    parser.add_argument("--idle", type=float, default=20.0, metavar="S", help="of the largest number; others a tenth")
    held = range(1, HELD_MAX + 1)
    parser.add_argument("--held", type=int, nargs="+", default=[1, 100, 1000, HELD_MAX], choices=held, metavar="N")
    take_json(parser)
    wanted = parser.parse_args(words)
    try:
        raise_file_limit(max(wanted.held) + 2 * SPARE)
        with on_core(LOAD_CORE):
            samples = [sample for turn in range(wanted.rounds) for sample in one_round(wanted, turn)]
    except (LoadFailed, OSError, subprocess.SubprocessError, ValueError) as failed:
        print(f"long_poll: {failed}", file=sys.stderr)
        return 1
    results(samples, sorted(set(wanted.held))).tell(wanted.json)
    return 0


def one_round(wanted: argparse.Namespace, turn: int) -> Iterator[Sample]:
    first = turn % len(wanted.held)
    for count in [*wanted.held[first:], *wanted.held[:first]]:
        idle_s = wanted.idle if count == max(wanted.held) else wanted.idle / 10
        with crowded() as (server, operator, addresses):
            taken = list(measured(server, operator, addresses, count, turn, wanted.changes, idle_s))
        worst_ms = max(sample.heard_ms[-1] for sample in taken)
        print(f"round {turn + 1}/{wanted.rounds}  {count:,} held: the last heard after {worst_ms:.1f} ms", flush=True)
        yield from taken


@contextmanager
def crowded() -> Iterator[tuple[Server, Operator, Sequence[str]]]:
    """A server with one scope, which has been asked and has changed before."""
    vms = {f"vm-{number:04}": f"127.77.{number // 250}.{number % 250 + 1}" for number in range(VMS)}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="notbefore-bench-")))
        server = stack.enter_context(serving(folder, "notbefore", folder / "state", env=ENV))
        operator = Operator(server)
        stack.callback(operator.close)
        operator.declare(SCOPE, vms)
        yield server, operator, list(vms.values())


def measured(
    server: Server, operator: Operator, addresses: Sequence[str], count: int, turn: int, changes: int, idle_s: float
) -> Iterator[Sample]:
    with Crowd(server.address, server.control, operator.token) as crowd:
        crowd.join(addresses[:1], 1)
        for _ in range(2):  # code that runs for the first time is not what a crowd costs
            crowd.park(operator)
            crowd.change(SCOPE)
        alone_mib, alone_percent = rss_mib(server.pid), busy_percent(server.pid, min(idle_s, ALONE_S))
        crowd.join(addresses, count - 1)
        crowd.park(operator)
        idle_percent = busy_percent(server.pid, idle_s)
        for change in range(changes):
            if change:
                crowd.park(operator)
            operator_s, heard_s = crowd.change(SCOPE)
            heard_ms = sorted(one * 1000 for one in heard_s)
            points = tuple(round(quantile(heard_ms, point), 3) for point in POINTS)
            grown_mib = rss_mib(server.pid) - alone_mib
            figures = (operator_s * 1000, points, quantile(heard_ms, 0.99), grown_mib, idle_percent, alone_percent)
            yield Sample(count, turn, change, *figures)


def busy_percent(pid: int, seconds: float) -> float:
    cpu_s, at_s = own_cpu_s(pid), stopwatch_s()
    pause(seconds)
    return (own_cpu_s(pid) - cpu_s) / (stopwatch_s() - at_s) * 100


def results(samples: Sequence[Sample], counts: Sequence[int]) -> Results:
    title = "Milliseconds until those who wait have heard of a change, median [min..max] of all changes"
    head = ("held", "first", "p50", "p99", "last", "p99 after the operator's answer", "operator's answer")
    heard = [[f"{count:,}", *(spread(column, 1) for column in columns(own(samples, count)))] for count in counts]
    costs = [
        [
            f"{count:,}",
            spread([max(one.grown_mib for one in each) for each in by_round(own(samples, count))], 1),
            spread([each[0].idle_percent for each in by_round(own(samples, count))], 2),
            spread([each[0].idle_alone_percent for each in by_round(own(samples, count))], 2),
        ]
        for count in counts
    ]
    cost_head = ("held", "MiB more than without", "CPU % while all wait", "CPU % of the same server with one")
    shown = [Table(title, head, heard), Table("What it costs that they wait", cost_head, costs)]
    return Results("long_poll", machine(), shown, [asdict(sample) for sample in samples])


def columns(samples: Sequence[Sample]) -> Iterator[list[float]]:
    yield [one.heard_ms[0] for one in samples]
    yield [one.heard_ms[50] for one in samples]
    yield [one.p99_ms for one in samples]
    yield [one.heard_ms[-1] for one in samples]
    yield [max(0.0, one.p99_ms - one.operator_ms) for one in samples]
    yield [one.operator_ms for one in samples]


def own(samples: Sequence[Sample], count: int) -> list[Sample]:
    return [sample for sample in samples if sample.held == count]


def by_round(samples: Sequence[Sample]) -> list[list[Sample]]:
    turns = sorted({sample.round for sample in samples})
    return [[sample for sample in samples if sample.round == turn] for turn in turns]


def raise_file_limit(wanted: int) -> None:
    """For this process and the server that it starts."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if wanted > most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))  # only root may
    else:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
