"""How long a GET takes while changes are committed, beside the same server when nothing changes.

Run: .venv/bin/python benchmarks/get_under_writes.py [--rounds 5] [--seconds 3] [--json FILE]

Rule 1: one thread on the load's core sends GETs on 16 kept connections of as many VMs: 2,000 a second, evenly, or one
after the other on each. It does the same with and without changes, in turns.
Rule 2: changes are whole lives of events: a restart ordered over the control API, the VM's approval, the end of the
impact; three commits each, so that the server commits 200 a second. How many there really were is read from the store.
Rule 3: the same once more with two workers, on the same core.
Rule 4: figures are for people. Nothing is asserted about time.
"""

import argparse
import math
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from measuring.cpu import LOAD_CORE, cpu_s, machine, on_core
from measuring.fleet import address_of
from measuring.load import LoadFailed, pause, stopwatch_s
from measuring.paced import IMPACT_S, LINES, Paced
from measuring.results import Results, take_json
from measuring.table import Table, hundredths, quantile, spread
from peers.control import Operator
from peers.servers import Server, serving

from notbefore.stores.sqlite.connection import connect_existing

SCOPES = 400
COMMITS_PER_S = 200
COMMITS_PER_LIFE = 3
WARM_UP_S = 1.0
KINDS = {"one process": (), "two workers": ("--workers", "2")}
LOADS = {"2,000 GETs a second": 2000.0, f"{LINES} GETs at a time": math.inf}
SHARES = (("p50", 0.5), ("p99", 0.99), ("the longest", 1.0))


@dataclass(frozen=True, slots=True)
class Sample:
    """One turn of one server; `times_ms` says within how long each hundredth of the GETs was answered."""

    server: str
    load: str
    round: int
    is_idle: bool
    gets: int
    commits_per_s: float
    cpu_percent: float
    times_ms: tuple[float, ...]


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, choices=range(1, 101), metavar="N")
    parser.add_argument("--seconds", type=float, default=3.0, metavar="S", help="of each turn, 0.1 to 60")
    take_json(parser)
    wanted = parser.parse_args(words)
    if not 0.1 <= wanted.seconds <= 60:
        parser.error("--seconds is 0.1 to 60")
    try:
        with on_core(LOAD_CORE), ExitStack() as stack:
            samples = list(measured(wanted, stack))
    except (LoadFailed, OSError, subprocess.SubprocessError, sqlite3.Error) as failed:
        print(f"get_under_writes: {failed}", file=sys.stderr)
        return 1
    results(samples).tell(wanted.json)
    return 0


def measured(wanted: argparse.Namespace, stack: ExitStack) -> Iterator[Sample]:
    asked = [(name, *stack.enter_context(asking(more))) for name, more in KINDS.items()]
    for _, _, paced in asked:
        paced.run(min(WARM_UP_S, wanted.seconds), LOADS["2,000 GETs a second"], COMMITS_PER_S / COMMITS_PER_LIFE)
    pause(2 * IMPACT_S)
    for turn in range(wanted.rounds):
        halves = (True, False) if turn % 2 else (False, True)
        for load in LOADS:
            taken = [one_turn(*one, load, turn, wanted.seconds, is_idle=is_idle) for one in asked for is_idle in halves]
            told = ", ".join(
                f"{one.server} {'idle' if one.is_idle else 'busy'} {quantile(one.times_ms, 0.99):.2f}" for one in taken
            )
            print(f"round {turn + 1}/{wanted.rounds}, {load}: p99 ms: {told}", flush=True)
            yield from taken


@contextmanager
def asking(more: Sequence[str]) -> Iterator[tuple[Server, Paced]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="notbefore-bench-")))
        server = stack.enter_context(serving(folder, "notbefore", folder / "state", *more))
        operator = Operator(server)
        stack.callback(operator.close)
        vms = [(f"scope-{place}", f"vm-{place}", address_of(place)) for place in range(SCOPES + LINES)]
        for scope, vm, address in vms:
            operator.declare(scope, {vm: address})
        askers = [address for _, _, address in vms[SCOPES:]]
        assert server.control is not None
        yield server, Paced(server.address, server.control, operator.token, askers, vms[:SCOPES])


def one_turn(name: str, server: Server, paced: Paced, load: str, turn: int, seconds: float, *, is_idle: bool) -> Sample:
    before: list[tuple[int, float, float]] = []

    def begin() -> None:
        before.append((revision_of(server), cpu_s(server.pid), stopwatch_s()))

    paced.run(seconds, LOADS[load], 0 if is_idle else COMMITS_PER_S / COMMITS_PER_LIFE, begin)
    revision, cpu_before_s, began_s = before[0]
    passed_s = stopwatch_s() - began_s
    busy_percent = (cpu_s(server.pid) - cpu_before_s) / passed_s * 100
    commits_per_s = (revision_of(server) - revision) / passed_s
    if not is_idle:
        pause(2 * IMPACT_S)  # what was begun ends before the next turn
    times_ms = hundredths([one * 1000 for one in paced.times_s])
    return Sample(name, load, turn, is_idle, len(paced.times_s), commits_per_s, busy_percent, times_ms)


def revision_of(server: Server) -> int:
    """Every commit has its number."""
    assert server.state is not None
    with closing(connect_existing(server.state / "notbefore.db")) as connection:
        revision: int = connection.execute("SELECT revision FROM revision_counter").fetchone()[0]
    return revision


def results(samples: Sequence[Sample]) -> Results:
    tables = []
    for name, load in product(KINDS, LOADS):
        own = [one for one in samples if (one.server, one.load) == (name, load)]
        idle, busy = ([one for one in own if one.is_idle is is_idle] for is_idle in (True, False))
        rows = [
            (
                f"{share_name}, ms",
                *(spread([quantile(one.times_ms, share) for one in half], 2) for half in (idle, busy)),
                spread(ratios(idle, busy, share), 2),
            )
            for share_name, share in SHARES
        ]
        rows += [("commits a second", *(spread([one.commits_per_s for one in half], 0) for half in (idle, busy)), "")]
        rows += [("GETs", *(spread([one.gets for one in half], 0) for half in (idle, busy)), "")]
        rows += [("CPU, % of a core", *(spread([one.cpu_percent for one in half], 0) for half in (idle, busy)), "")]
        title = f"{load}, {name}: median [min..max] of the rounds"
        tables.append(Table(title, ("", "idle", "under changes", "ratio of one round"), rows))
    return Results("get_under_writes", machine(), tables, [asdict(one) for one in samples])


def ratios(idle: Sequence[Sample], busy: Sequence[Sample], share: float) -> list[float]:
    pairs = zip(idle, busy, strict=True)
    return [quantile(two.times_ms, share) / quantile(one.times_ms, share) for one, two in pairs]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
