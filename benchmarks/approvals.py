"""Approvals, each on disk before its 200, beside bare SQLite commits on the same disk and core.

Run: .venv/bin/python benchmarks/approvals.py [--rounds 5] [--each 25] [--seconds 8] [--json FILE]

Rule 1: each approval is the first of an event of its own, by a VM of its own, on a connection of its own.
Rule 2: each round has a store and a server of its own: 64 clients at once as fast as they are answered, then 100 a
second. The bare commits, one row each with synchronous=FULL, come before and after the 64, on the server's core.
Rule 3: the server is killed (-9) as soon as the last 200 is there; every approval has to be in its store.
Rule 4: figures are for people. Nothing is asserted about time.
"""

import argparse
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path

from measuring import single_events
from measuring.approving import Approval, Approved, a_second, at_a_time
from measuring.cpu import LOAD_CORE, SERVER_CORE, cpu_s, machine, on_core
from measuring.fleet import address_of
from measuring.load import LoadFailed, stopwatch_s
from measuring.results import Results, take_json
from measuring.table import Table, quantile, spread
from peers.servers import serving

from notbefore.stores.sqlite.connection import connect_existing
from notbefore.stores.sqlite.reading import scopes_after

CLIENTS = 64
RATE_PER_S = 100
BARE_S = 1.0
WARM_UP = 64
EVENTS_MAX = 10_000
FAR_MS = 30 * 24 * 3600 * 1000
DURATION_S = 24 * 3600  # no impact ends while approvals are measured
CONNECTIONS = {"NOTBEFORE_METADATA_LIMITS_CONNECTIONS_MAX": "1000"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One round; times in milliseconds."""

    round: int
    approvals: int
    approvals_per_s: float
    cpu_us: float
    times_ms: tuple[float, ...]
    bare_per_s: float
    steady_ms: tuple[float, ...]
    kept: int


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, choices=range(1, 101), metavar="N")
    parser.add_argument("--each", type=int, default=25, choices=range(1, 101), metavar="N", help="of each client")
    parser.add_argument("--seconds", type=float, default=8.0, metavar="S", help="of 100 approvals a second, 0.1 to 30")
    take_json(parser)
    wanted = parser.parse_args(words)
    if not 0.1 <= wanted.seconds <= 30:
        parser.error("--seconds is 0.1 to 30")
    try:
        with on_core(LOAD_CORE):
            samples = [one_round(turn, wanted) for turn in range(wanted.rounds)]
    except (LoadFailed, OSError, subprocess.SubprocessError, sqlite3.Error) as failed:
        print(f"approvals: {failed}", file=sys.stderr)
        return 1
    results(samples).tell(wanted.json)
    return 0


def one_round(turn: int, wanted: argparse.Namespace) -> Sample:
    at_once, steadily = CLIENTS * wanted.each, round(RATE_PER_S * wanted.seconds)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="notbefore-bench-")))
        state = folder / "state"
        state.mkdir(mode=0o700)
        now_ms = time.time_ns() // 1_000_000  # noqa: TID251  a benchmark is about real time
        far_ms = (now_ms + FAR_MS) // 1000 * 1000
        single_events.make(state / "notbefore.db", WARM_UP + at_once + steadily, now_ms, lambda _: far_ms, DURATION_S)
        server = stack.enter_context(serving(folder, "notbefore", state, env=CONNECTIONS))
        first, bare_per_s = 0, []
        at_a_time(server.address, approvals(first, WARM_UP), CLIENTS)
        bare_per_s.append(bare_commits_per_s(folder / "bare-before.db"))
        cpu_before_s = cpu_s(server.pid)
        burst = at_a_time(server.address, approvals(WARM_UP, at_once), CLIENTS)
        used_s = cpu_s(server.pid) - cpu_before_s
        bare_per_s.append(bare_commits_per_s(folder / "bare-after.db"))
        steady = a_second(server.address, approvals(WARM_UP + at_once, steadily), RATE_PER_S)
        os.kill(server.pid, signal.SIGKILL)
        kept = refuse_lost(state / "notbefore.db", WARM_UP + at_once + steadily)
    bare = sum(bare_per_s) / len(bare_per_s)
    rate = at_once / burst.seconds
    print(
        f"round {turn + 1}/{wanted.rounds}: {rate:,.0f} approvals/s of {CLIENTS} clients, {bare:,.0f} bare commits/s, "
        f"at {RATE_PER_S}/s p99 {p99_ms(steady):.1f} ms; all {kept:,} kept",
        flush=True,
    )
    return Sample(turn, at_once, rate, used_s * 1e6 / at_once, in_ms(burst), bare, in_ms(steady), kept)


def approvals(first: int, count: int) -> Iterator[Approval]:
    for place in range(first, first + count):
        yield Approval(address_of(place), single_events.event_id(place))


def bare_commits_per_s(path: Path) -> float:
    """Single rows, each on disk before the next: what this disk and this core can do at the most."""
    with on_core(SERVER_CORE), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE approval (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")
        began_s, done = stopwatch_s(), 0
        while (elapsed_s := stopwatch_s() - began_s) < BARE_S:
            connection.execute("INSERT INTO approval (body) VALUES (?)", (b"x" * 200,))
            done += 1
    return done / elapsed_s


def refuse_lost(path: Path, wanted: int) -> int:
    """Each 200 was a promise."""
    with closing(connect_existing(path)) as connection:
        scopes = [stored.scope for stored in scopes_after(connection, 0, EVENTS_MAX)]
    kept = sum(bool(event.approvals) for scope in scopes for event in scope.events)
    if kept != wanted:
        raise LoadFailed(f"of {wanted} approvals that were answered 200 only {kept} are in the store")
    return kept


def in_ms(approved: Approved) -> tuple[float, ...]:
    return tuple(round(one * 1000, 3) for one in sorted(approved.times_s))


def p99_ms(approved: Approved) -> float:
    return quantile(sorted(approved.times_s), 0.99) * 1000


def results(samples: Sequence[Sample]) -> Results:
    at_once = [
        (f"approvals a second, {CLIENTS} clients", spread([one.approvals_per_s for one in samples], 0)),
        ("bare SQLite commits a second", spread([one.bare_per_s for one in samples], 0)),
        ("the first of the second", spread([one.approvals_per_s / one.bare_per_s for one in samples], 2)),
        ("CPU of an approval, µs", spread([one.cpu_us for one in samples], 0)),
        *((f"{name}, ms", spread([quantile(one.times_ms, share) for one in samples], 1)) for name, share in SHARES),
    ]
    steady = [(f"{name}, ms", spread([quantile(one.steady_ms, share) for one in samples], 1)) for name, share in SHARES]
    shown = [
        Table(f"{CLIENTS} clients, as fast as they are answered", ("", "median [min..max] of the rounds"), at_once),
        Table(f"{RATE_PER_S} a second", ("", "median [min..max] of the rounds"), steady),
    ]
    facts = machine() | {
        "after kill -9": f"all {sum(one.kept for one in samples):,} approvals that were answered 200 are in the store"
    }
    return Results("approvals", facts, shown, [asdict(one) for one in samples])


SHARES = (("p50", 0.5), ("p99", 0.99), ("the longest", 1.0))

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
