"""What two workers carry beside one when they may use every core: requests per second, CPU per GET, the split.

Run: .venv/bin/python benchmarks/workers.py [--rounds 5] [--seconds 2.5] [--json FILE]

Rule 1: servers and load share all cores, as they come; what a GET costs on one core is in metadata_get.py. Each worker
gets as many connections.
Rule 2: the split is what /metrics says of each worker, from before the first request to the last.
Rule 3: figures are for people. Nothing is asserted about time.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from measuring.answer import answer_to
from measuring.cpu import CORES, machine
from measuring.load import LoadFailed
from measuring.results import Results, take_json
from measuring.rounds import Case, rounds, verified
from measuring.table import tables
from metadata_get import CLOSE, fresh, is_there, kept, lacking
from peers.control import Operator
from peers.servers import Server, with_workers

NUMBERS = {"workers-1": 1, "workers-2": 2}

CASES = (
    Case("keep-alive", "kept connections", kept),
    Case("close", "a connection per request, the server closes", fresh, headers=CLOSE),
)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, choices=range(1, 101), metavar="N")
    parser.add_argument("--seconds", type=float, default=2.5, metavar="S")
    take_json(parser)
    wanted = parser.parse_args(words)
    missing = [need for need in ("wrk", "--workers") if not is_there(need)]
    if missing:
        print(f"workers: {lacking(missing)}", file=sys.stderr)
        return 1
    try:
        measured(wanted.rounds, wanted.seconds).tell(wanted.json)
    except (LoadFailed, OSError, subprocess.SubprocessError) as failed:
        print(f"workers: {failed}", file=sys.stderr)
        return 1
    return 0


def measured(count: int, seconds: float) -> Results:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="notbefore-bench-")))
        servers = [
            stack.enter_context(with_workers(folder, name, number, set(CORES))) for name, number in NUMBERS.items()
        ]
        reference = answer_to(servers[0].address, CASES[0].request(servers[0].address, ""))
        targets = [verified(case, server, reference) for case in CASES for server in servers]
        samples = rounds(targets, count, seconds, lambda line: print(line, flush=True))
        facts = {**machine(), "load split of workers-2": split(servers[-1])}
    shown = tables(samples, [case.name for case in CASES], list(reversed(NUMBERS)), "workers-2", "all cores")
    return Results("workers", facts, shown, [asdict(sample) for sample in samples])


def split(server: Server) -> str:
    operator = Operator(server)
    counts = operator.requests_by_worker()
    operator.close()
    total = sum(counts.values())
    return ", ".join(f"worker {worker} {count / total:.0%}" for worker, count in sorted(counts.items())) or "not told"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
