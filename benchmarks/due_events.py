"""How late events start when thousands are due at once, each in a scope of its own.

Run: .venv/bin/python benchmarks/due_events.py [--events 20000] [--within 60] [--json FILE]

Rule 1: the events were scheduled yesterday and nobody approves; their NotBefores are spread evenly over the seconds
given. The server starts before the first of them, as a user starts it, with its simulated impacts of 30 seconds, which
end meanwhile and are commits too.
Rule 2: a start counts when somebody else reads it in the store: lag is from NotBefore until then, looked for every
20 ms. One that is there before its NotBefore ends the run.
Rule 3: figures are for people. Nothing is asserted about time.
"""

import argparse
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from measuring import single_events
from measuring.cpu import LOAD_CORE, cpu_s, machine, on_core, peak_rss_mib
from measuring.load import LoadFailed, pause
from measuring.results import Results, take_json
from measuring.table import Table, quantile
from peers.servers import Server, serving

from notbefore.stores.sqlite.connection import connect_existing

LOOK_S = 0.02
PATIENCE_S = 600.0
MADE_PER_S = 1500  # on a slow day; the first NotBefore is as far away as making and starting take
LEAD_S = 3
IMPACT_S = -1  # as the executor has it: 30 seconds for a Reboot
STARTED = "SELECT revision, event_id FROM history_event WHERE status = 'Started' AND revision > ? ORDER BY revision"
SHARES = (("p50", 0.5), ("p99", 0.99), ("the latest", 1.0))


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=20_000, choices=range(1, 1_000_001), metavar="N")
    parser.add_argument("--within", type=int, default=60, choices=range(1, 3601), metavar="S")
    take_json(parser)
    wanted = parser.parse_args(words)
    try:
        with on_core(LOAD_CORE), ExitStack() as stack:
            measured(wanted.events, wanted.within, stack).tell(wanted.json)
    except (LoadFailed, OSError, subprocess.SubprocessError, sqlite3.Error) as failed:
        print(f"due_events: {failed}", file=sys.stderr)
        return 1
    return 0


def measured(events: int, within_s: int, stack: ExitStack) -> Results:
    server, due_of = started_in_time(events, within_s, stack)
    assert server.state is not None
    cpu_before_s = cpu_s(server.pid)
    lags_ms = list(seen_starting(server.state / "notbefore.db", due_of))
    cpu_us = (cpu_s(server.pid) - cpu_before_s) * 1e6 / events
    lags_s = sorted(lag / 1000 for lag in lags_ms)
    rows = [(name, f"{quantile(lags_s, share):.3f}") for name, share in SHARES]
    rows += [("events a second that were due", f"{events / within_s:,.0f}"), ("CPU of an event, µs", f"{cpu_us:.0f}")]
    title = f"{events:,} events due within {within_s} s: from NotBefore until the start is on disk, s"
    facts = machine() | {
        "started": f"{len(lags_s):,}, none before its NotBefore",
        "peak memory": f"{peak_rss_mib(server.pid):.0f} MiB",
    }
    points = [round(quantile(lags_s, point / 100), 3) for point in range(101)]
    sample = {"events": events, "within_s": within_s, "early": 0, "lag_s": points, "cpu_us": cpu_us}
    return Results("due_events", facts, [Table(title, ("", ""), rows)], [sample])


def started_in_time(events: int, within_s: int, stack: ExitStack) -> tuple[Server, dict[str, int]]:
    """A server that serves before the first event is due; tried again with a later one where it came up too late."""
    lead_s = LEAD_S
    while True:
        with ExitStack() as tried:
            folder = Path(tried.enter_context(tempfile.TemporaryDirectory(prefix="notbefore-bench-")))
            state = folder / "state"
            state.mkdir(mode=0o700)
            first_ms = (now_ms() // 1000 + lead_s + events // MADE_PER_S) * 1000
            due_ms = [first_ms + place * within_s // events * 1000 for place in range(events)]
            single_events.make(state / "notbefore.db", events, now_ms(), due_ms.__getitem__, IMPACT_S)
            due_of = {single_events.event_id(place): due_ms[place] for place in range(events)}
            server = tried.enter_context(serving(folder, "notbefore", state))
            ahead_s = (first_ms - now_ms()) / 1000
            if ahead_s > 0:
                print(f"{events:,} events, the first due in {ahead_s:.1f} s", flush=True)
                stack.push(tried.pop_all())
                return server, due_of
        lead_s *= 2


def seen_starting(path: Path, due_of: dict[str, int]) -> Iterator[int]:
    """The lag of each, as it is seen."""
    missing, revision, until_ms = dict(due_of), 0, max(due_of.values()) + PATIENCE_S * 1000
    with closing(connect_existing(path)) as connection:
        while missing:
            rows = connection.execute(STARTED, (revision,)).fetchall()
            seen_ms = now_ms()
            for revision, event_id in rows:  # noqa: B007  the last one is where the next look begins
                due_ms = missing.pop(event_id, None)
                if due_ms is None:
                    continue
                if seen_ms < due_ms:
                    raise LoadFailed(f"event {event_id} started {due_ms - seen_ms} ms before its NotBefore")
                yield seen_ms - due_ms
            if seen_ms > until_ms:
                raise LoadFailed(f"{len(missing)} events have not started")
            pause(LOOK_S)


def now_ms() -> int:
    return time.time_ns() // 1_000_000  # noqa: TID251  a benchmark is about real time


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
