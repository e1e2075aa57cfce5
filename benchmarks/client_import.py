"""What `import notbefore.client` costs over a bare interpreter, in processor time and memory; and others beside it.

Run: .venv/bin/python benchmarks/client_import.py [--rounds 15] [--json FILE]

Rule 1: interpreters take turns, each fresh and isolated. Time is the processor's (user and system), from start to end.
Rule 2: figures are for people. Nothing is asserted about them: other work on the machine shows in the median.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from measuring.cpu import machine
from measuring.results import Results, take_json
from measuring.table import Table, spread

SOURCES = str(Path(__file__).parent.parent / "src")
ASK = "c = notbefore.client.ScheduledEvents('http://127.0.0.1:1')"
BARE = "bare interpreter"
CASES = {
    BARE: "pass",
    "import notbefore.client": "import notbefore.client",
    "and be ready to ask": f"import notbefore.client; {ASK}",
    "and AsyncScheduledEvents": "from notbefore.client import AsyncScheduledEvents",
    "import http.client": "import http.client",
    "import asyncio": "import asyncio",
}
# The peak of this program alone: what getrusage says is also the peak of whoever started it.
USED = """
import time
used = time.process_time() * 1000
with open("/proc/self/status") as status:
    print(used, next(line for line in status if line.startswith("VmHWM")).split()[1])
"""


def run(line: str) -> tuple[float, float]:
    """Milliseconds of a processor, and MiB at the most."""
    code = f"import sys; sys.path.insert(0, {SOURCES!r}); {line}\n{USED}"
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    ms, kib = ran.stdout.split()
    return float(ms), int(kib) / 1024


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    take_json(parser)
    wanted = parser.parse_args(words)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in CASES}
    for _ in range(wanted.rounds):
        for name, line in CASES.items():
            taken[name].append(run(line))
    bare_ms, bare_mib = min(ms for ms, _ in taken[BARE]), median(mib for _, mib in taken[BARE])
    facts = {**machine(), BARE: f"{bare_ms:.0f} ms, {bare_mib:.1f} MiB"}
    rows = [
        [name, spread([ms - bare_ms for ms, _ in own], 1), spread([mib - bare_mib for _, mib in own], 1)]
        for name, own in taken.items()
    ]
    title = f"More than the least a bare interpreter takes, median [min..max] of {wanted.rounds}"
    samples = [{"case": name, "ms": ms, "mib": mib} for name, own in taken.items() for ms, mib in own]
    Results("client_import", facts, [Table(title, ("", "CPU ms", "MiB"), rows)], samples).tell(wanted.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
