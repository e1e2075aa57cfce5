"""Runs every benchmark, one after the other, and writes RESULTS.md with tables and plots. `make bench` calls it.

Run: .venv/bin/python benchmarks/run.py [--quick] [--only NAME …] [--out DIR] [--page]

Rule 1: each script is a process of its own with `--json`; it says itself what it needs. What is missing is left out and
said, and so is what fails; the others go on. A failure makes the exit code 1, a missing part does not.
Rule 2: figures are computed from what the scripts wrote; what is not met is printed as not met.
"""

import argparse
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from measuring.load import stopwatch_s
from reporting.kept import Kept, Ran
from reporting.page import page
from reporting.plan import FOLDER, SCRIPTS, Script
from reporting.surroundings import surroundings

PAGE = "RESULTS.md"
RESULTS = "results"
LIMIT_S = 300
NO_PLOTS = "no plots: needs matplotlib, which `make bench` installs"


def main(words: Sequence[str]) -> int:
    wanted = arguments(words)
    folder = wanted.out / RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    scripts = [one for one in SCRIPTS if one.name in wanted.only] or list(SCRIPTS)
    kept = Kept.at(folder) if wanted.only or wanted.page else Kept(folder)
    if not wanted.page:
        kept.surroundings = surroundings()
        run_all([one for one in scripts if not (wanted.quick and one.program)], kept, quick=wanted.quick)
    write_page(kept, wanted.out)
    failed = [name for name, ran in kept.ran.items() if ran.failed]
    if failed:
        print(f"run: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def arguments(words: Sequence[str]) -> argparse.Namespace:
    names = [one.name for one in SCRIPTS]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one short round of each, to see that everything runs")
    parser.add_argument("--only", nargs="+", default=[], choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="DIR", help=f"for {PAGE} and {RESULTS}/")
    parser.add_argument("--page", action="store_true", help="run nothing: write the page from the results there")
    return parser.parse_args(words)


def run_all(scripts: Sequence[Script], kept: Kept, *, quick: bool) -> None:
    left_s = sum(one.seconds(quick=quick) for one in scripts)
    for number, script in enumerate(scripts, 1):
        say(f"== [{number}/{len(scripts)}] {script.name}: {script.about}; about {left_s / 60:.0f} min to go in all")
        kept.forget(script.name)
        ran, printed = one_run(script, kept.json_of(script.name), quick=quick)
        kept.note(script.name, ran, printed)
        left_s -= script.seconds(quick=quick)
        if ran.left_out or ran.failed:
            say(f"== {script.name} {'is left out' if ran.left_out else 'failed'}: {ran.left_out or ran.failed}")


def one_run(script: Script, json_file: Path, *, quick: bool) -> tuple[Ran, str]:
    words = [f"benchmarks/{script.file.name}", *script.words(quick=quick)]
    command, at = shlex.join([".venv/bin/python", *words]), time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    if not script.file.exists():
        return Ran(command, at, 0.0, quick, left_out=f"needs {script.file.name}, which is not there"), ""
    began_s = stopwatch_s()
    argv = [sys.executable, str(script.file), *script.words(quick=quick), "--json", str(json_file)]
    with tempfile.TemporaryFile("w+") as errors:
        printed, code = shown(argv, errors, LIMIT_S + 3 * script.seconds(quick=quick))
        errors.seek(0)
        said = errors.read().strip()
    reason = "" if code == 0 else said or f"exit code {code}"
    by, _, what = reason.partition(": ")
    is_missing = by == script.file.stem and what.startswith("needs ")
    left_out, failed = (what, "") if is_missing else ("", reason)
    return Ran(command, at, stopwatch_s() - began_s, quick, left_out, failed), printed


def shown(argv: Sequence[str], errors: IO[str], limit_s: float) -> tuple[str, int]:
    """What it prints, printed as it comes. Past the limit it is interrupted, and ends what it has started."""
    lines = []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
        alarm = threading.Timer(limit_s, process.send_signal, (signal.SIGINT,))
        alarm.start()
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
        alarm.cancel()
    return "".join(lines), process.returncode


def write_page(kept: Kept, out: Path) -> None:
    plots, reason = [], NO_PLOTS
    if find_spec("matplotlib"):
        from reporting.plots import drawn  # noqa: PLC0415  it is there for `make bench` alone

        plots, reason = drawn(kept.found(), kept.folder), ""
    (out / PAGE).write_text(page(kept, plots, reason))
    say(f"== wrote {out / PAGE}" + (f" and {len(plots)} plots" if plots else f"; {reason or 'nothing to plot'}"))


def say(sentence: str) -> None:
    print(sentence, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("run: interrupted; what was measured is kept, and `run.py --page` writes it down")
