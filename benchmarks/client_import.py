"""What `import notbefore.client` costs over a bare interpreter, in processor time and memory; and others beside it.

Run: .venv/bin/python benchmarks/client_import.py [--rounds 15]

Rule 1: interpreters take turns, each fresh and isolated. Time is the processor's (user and system), from start to end.
Rule 2: figures are for people. Nothing is asserted about them: other work on the machine shows in the median.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from statistics import median

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in CASES}
    for _ in range(rounds):
        for name, line in CASES.items():
            samples[name].append(run(line))
    bare_ms, bare_mib = min(ms for ms, _ in samples[BARE]), median(mib for _, mib in samples[BARE])
    print(f"Python {sys.version.split()[0]}, {rounds} rounds; over the bare interpreter:")
    print(f"(that takes {bare_ms:.0f} ms and {bare_mib:.1f} MiB)")
    print(f"{'':26}{'least ms':>10}{'median ms':>11}{'MiB':>7}")
    for name, taken in samples.items():
        least_ms, middle_ms = min(ms for ms, _ in taken) - bare_ms, median(ms for ms, _ in taken) - bare_ms
        print(f"{name:26}{least_ms:10.1f}{middle_ms:11.1f}{median(mib for _, mib in taken) - bare_mib:7.1f}")


main()
