"""How soon a watching VM is told of a change: held question against one question a second.

Run: .venv/bin/python benchmarks/client_watch.py [--changes 20] [--json FILE]

Rule 1: a real server in a process of its own, a real client here; from before the operator's request to the callback.
Rule 2: figures are for people. Nothing is asserted about time.
"""

import argparse
import http.client
import json
import logging
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import Queue
from time import perf_counter, sleep  # noqa: TID251  a benchmark measures real time

from measuring.cpu import machine
from measuring.results import Results, take_json
from measuring.table import Table, spread

from notbefore.client import Change, Patience, ScheduledEvents

PROGRAM = Path(sys.executable).parent / "notbefore"
WAYS = {"held question": Patience(), "one question a second": Patience(later_s=2.0)}  # too short to have one held


class Server:
    def __init__(self, state: str) -> None:
        words = ["serve", "--demo", "--clock", "manual", "--state", state]
        words += ["--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0"]
        self.process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        banner = ""
        for line in self.process.stdout or ():
            banner += line
            if line.startswith("Try it"):
                break
        self.metadata = re.search(r"metadata +(http://\S+)", banner)[1]
        self.control = re.search(r"control +http://(\S+)", banner)[1]
        self.token = (Path(state) / "admin.token").read_text().strip()

    def post(self, path: str) -> dict:
        line = http.client.HTTPConnection(self.control, timeout=10)
        line.request("POST", path, "{}", {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        answer = json.loads(line.getresponse().read())
        line.close()
        return answer


def watch(url: str, patience: Patience, told: Queue[tuple[Change, float]]) -> None:
    for change in ScheduledEvents(url, source_address="127.0.0.2", patience=patience).watch():
        told.put((change, perf_counter()))


def measured(server: Server, patience: Patience, changes: int) -> list[float]:
    told: Queue[tuple[Change, float]] = Queue()
    threading.Thread(target=watch, args=(server.metadata, patience, told), daemon=True).start()
    sleep(6)  # it has found out by now whether questions are held
    taken = []
    for n in range(changes):
        sleep(0.137 * (n % 7) + 0.1)
        start = perf_counter()
        event = server.post("/v1/scopes/demo/vms/FrontEnd_IN_0/restart")
        taken.append((told.get(timeout=10)[1] - start) * 1000)
        server.post(f"/v1/events/{event['id']}/cancel")
        told.get(timeout=10)
    return taken


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", type=int, default=20)
    take_json(parser)
    wanted = parser.parse_args(words)
    logging.getLogger("notbefore.client").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="notbefore-bench-") as state:
        server = Server(state)
        try:
            taken = {name: measured(server, patience, wanted.changes) for name, patience in WAYS.items()}
        finally:
            server.process.terminate()
            server.process.wait(20)
    title = f"Milliseconds from before the operator's request to the callback, median [min..max] of {wanted.changes}"
    rows = [[name, spread(figures, 1)] for name, figures in taken.items()]
    samples = [{"way": name, "ms": figures} for name, figures in taken.items()]
    Results("client_watch", machine(), [Table(title, ("way", "ms"), rows)], samples).tell(wanted.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
