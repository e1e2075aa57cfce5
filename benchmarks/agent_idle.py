"""What the agent costs a VM while nothing happens: memory, processor, cold start; beside two bare loops.

Run: .venv/bin/python benchmarks/agent_idle.py [--seconds 60] [--rounds 3] [--only NAME …] [--json FILE]

Rule 1: everybody asks servers of ours on loopback, at the same time and for as long: one that does not hold questions,
so that there is one a second, and one that does. The interpreter is the same, isolated, outside any environment.
Rule 2: they are started one after the other, in another order each round. A cold start is from before the process is
made to its saying that it was answered; on a busy machine the processor time in it says more.
Rule 3: processor time is the kernel's own count for the whole process, in nanoseconds, over the same seconds for all;
memory is what is resident at the end of them.
Rule 4: figures are for people. Nothing is asserted about them: other work on the machine shows in them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from measuring.cpu import machine, own_cpu_s, rss_mib
from measuring.load import LoadFailed, pause, stopwatch_s
from measuring.results import Results, take_json
from measuring.table import Table, spread

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = str(Path(sys.executable).parent / "notbefore")
PYTHON = getattr(sys, "_base_executable", None) or sys.executable
# Isolated, and without what this machine may add to every start (site-packages).
BARE = ("-I", "-S")
WITHIN_S = 30.0
GOALS = {"RSS MiB": "<= 24", "CPU %": "<= 0.15, held 0.02", "cold start s": "<= 0.3", "of that CPU s": ""}
COLUMNS = (("rss_mib", 1), ("cpu_percent", 3), ("start_s", 2), ("start_cpu_s", 2))
UNHELD = {"NOTBEFORE_METADATA_LIMITS_LONG_POLLS_MAX": "0"}
EVERYBODY = {"NOTBEFORE_METADATA_RATE_LIMIT_PER_S": "0"}

PATH = "/metadata/scheduledevents?api-version=2020-07-01"
URLLIB = f"""
import sys, time, urllib.request
request = urllib.request.Request(sys.argv[1] + {PATH!r}, headers={{"Metadata": "true"}})
said = False
while True:
    with urllib.request.urlopen(request, timeout=10) as answer:
        answer.read()
    said = said or print("answered", file=sys.stderr, flush=True) or True
    time.sleep(1)
"""
HTTP_CLIENT = f"""
import http.client, sys, time
line = http.client.HTTPConnection(sys.argv[1].removeprefix("http://"), timeout=10)
said = False
while True:
    line.request("GET", {PATH!r}, headers={{"Metadata": "true"}})
    line.getresponse().read()
    said = said or print("answered", file=sys.stderr, flush=True) or True
    time.sleep(1)
"""
AGENT = f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); from notbefore.agent.main import main; main()"
STATUS = 'listen = "127.0.0.1:0"'


@dataclass(frozen=True, slots=True)
class Case:
    """`more` is further settings of the agent; `answered` and `settled` are what it says when it is so far."""

    words: tuple[str, ...]
    is_held: bool = False
    is_agent: bool = True
    more: str = ""

    @property
    def answered(self) -> str:
        return "this VM is" if self.is_agent else "answered"

    @property
    def settled(self) -> str:
        if not self.is_agent:
            return self.answered
        return "holds questions" if self.is_held else "is asked every second"


CASES = {
    "urllib loop": Case(("-c", URLLIB), is_agent=False),
    "http.client loop": Case(("-c", HTTP_CLIENT), is_agent=False),
    "agent, a question a second": Case(("-c", AGENT)),
    "agent, question held": Case(("-c", AGENT), is_held=True),
    "agent with [status] listen, held": Case(("-c", AGENT), is_held=True, more=STATUS),
    "agent as .pyz, held": Case(("PYZ",), is_held=True),
}


@dataclass(frozen=True, slots=True)
class Sample:
    case: str
    rss_mib: float
    cpu_percent: float
    start_s: float
    start_cpu_s: float


class Runner:
    """One process of a case, and what it has said."""

    def __init__(self, case: Case, url: str, place: Path) -> None:
        self._case = case
        self._place = place
        began_s = stopwatch_s()
        self.process = subprocess.Popen(
            [PYTHON, *BARE, *self._words(url)], stderr=subprocess.PIPE, text=True, env=self._env(url), cwd=place
        )
        self._said: list[str] = []
        self._is_told = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()
        self.says(case.answered)
        self.start_s = stopwatch_s() - began_s
        self.start_cpu_s = self.cpu_s()

    def _words(self, url: str) -> list[str]:
        words = [str(self._place.parent / "agent.pyz") if word == "PYZ" else word for word in self._case.words]
        if not self._case.is_agent:
            return [*words, url]
        # The example has the table's head, and nothing in it.
        text = example().replace("[status]", f"[status]\n{self._case.more}", 1)
        config = self._place / "agent.toml"
        config.write_text(text.replace("[agent]", f'[agent]\nstate = "{self._place / "state"}"', 1))
        return [*words, "run", "--config", str(config)]

    def _env(self, url: str) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "NOTBEFORE_ENDPOINT": url}

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._is_told:
                self._said.append(line)
                self._is_told.notify_all()

    def says(self, wanted: str) -> None:
        with self._is_told:
            if not self._is_told.wait_for(lambda: any(wanted in line for line in self._said), WITHIN_S):
                raise LoadFailed(f"it never said {wanted!r}, but: {''.join(self._said)}")

    def settle(self) -> None:
        self.says(self._case.settled)

    def cpu_s(self) -> float:
        return own_cpu_s(self.process.pid)

    def rss_mib(self) -> float:
        return rss_mib(self.process.pid)

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(WITHIN_S)


_examples: list[str] = []


def example() -> str:
    """The agent.toml that everybody begins with."""
    if not _examples:
        ran = subprocess.run([PYTHON, *BARE, "-c", AGENT, "example"], capture_output=True, text=True, check=True)
        _examples.append(ran.stdout)
    return _examples[0]


@contextmanager
def serving(state: Path, env: dict[str, str]) -> Iterator[str]:
    """`notbefore serve --demo`; the address of its metadata service."""
    words = ["serve", "--demo", "--state", str(state), "--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0"]
    process = subprocess.Popen(
        [PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, **env}
    )
    assert process.stdout is not None
    try:
        urls = [line.split()[1] for line in (process.stdout.readline() for _ in range(3)) if "metadata" in line]
        if not urls:
            raise LoadFailed("the server did not start")
        yield urls[0]
    finally:
        process.terminate()
        process.wait(WITHIN_S)
        process.stdout.close()


def one_round(names: Sequence[str], urls: tuple[str, str], place: Path, seconds: float) -> Iterator[Sample]:
    with ExitStack() as ends:
        runners = {}
        for name in names:
            own = place / f"{name.replace(' ', '-').replace(',', '')}"
            own.mkdir(exist_ok=True)
            runners[name] = Runner(CASES[name], urls[CASES[name].is_held], own)
            ends.callback(runners[name].end)
        for runner in runners.values():
            runner.settle()
        before = {name: (runner.cpu_s(), stopwatch_s()) for name, runner in runners.items()}
        pause(seconds)
        for name, runner in runners.items():
            cpu_s, at_s = before[name]
            share = (runner.cpu_s() - cpu_s) / (stopwatch_s() - at_s)
            yield Sample(name, runner.rss_mib(), share * 100, runner.start_s, runner.start_cpu_s)


def measured(names: Sequence[str], rounds: int, seconds: float) -> list[Sample]:
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory(prefix="notbefore-bench-") as folder, ExitStack() as servers:
        place = Path(folder)
        subprocess.run([sys.executable, str(ROOT / "scripts/agent-pyz"), str(place / "agent.pyz")], check=True)
        plain = servers.enter_context(serving(place / "plain", EVERYBODY | UNHELD))
        held = servers.enter_context(serving(place / "held", EVERYBODY))
        for turn in range(rounds):
            order = [*names[turn % len(names) :], *names[: turn % len(names)]]
            samples += one_round(order, (plain, held), place, seconds)
    return samples


def results(samples: Sequence[Sample], names: Sequence[str], seconds: float) -> Results:
    rows = []
    for name in names:
        own = [sample for sample in samples if sample.case == name]
        rows.append([name, *(spread([getattr(one, field) for one in own], digits) for field, digits in COLUMNS)])
    rows.append(["the agent's goals", *GOALS.values()])
    facts = {name: fact for name, fact in machine().items() if name != "cores"}
    title = f"At rest, all at the same time for {seconds:g} s, median [min..max]"
    shown = [Table(title, ("", *GOALS), rows)]
    return Results("agent_idle", facts, shown, [asdict(sample) for sample in samples])


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=3, choices=range(1, 101), metavar="N")
    parser.add_argument("--only", nargs="+", default=list(CASES), choices=list(CASES), metavar="NAME")
    take_json(parser)
    wanted = parser.parse_args(words)
    print(f"{wanted.rounds} rounds of {wanted.seconds:g} s", flush=True)
    try:
        samples = measured(wanted.only, wanted.rounds, wanted.seconds)
        results(samples, wanted.only, wanted.seconds).tell(wanted.json)
    except (LoadFailed, OSError, subprocess.SubprocessError) as failed:
        print(f"agent_idle: {failed}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
