"""Hands for servers with workers: a kept connection to each of them, and what the server says of them."""

import http.client
import json
import re
from contextlib import ExitStack, closing, contextmanager

from lab import NEWEST, PATH, start_requests
from notbefore.clock import RealTime

HEADERS = {"Metadata": "true"}
TARGET = f"{PATH}?api-version={NEWEST}"
COMES_WITHIN_S = 30.0


class KeptLine:
    """One connection of a VM that stays open; it belongs to one worker for good."""

    def __init__(self, address, source="127.0.0.1"):
        self._line = http.client.HTTPConnection(*address, timeout=30, source_address=(source, 0))

    def ask(self, method="GET", body=None):
        self._line.request(method, TARGET, body, HEADERS)
        answer = self._line.getresponse()
        return answer.status, answer.read()

    def document(self):
        status, body = self.ask()
        assert status == 200, body
        return json.loads(body)

    def approve(self, *event_ids):
        return self.ask("POST", start_requests(*event_ids))

    def wait(self, known, seconds=60):
        """Ask for what is newer than that, and wait for it."""
        headers = {**HEADERS, "If-None-Match": str(known), "Prefer": f"wait={seconds}"}
        self._line.request("GET", TARGET, None, headers)

    def answer(self):
        answer = self._line.getresponse()
        return answer.status, answer.getheader("Preference-Applied"), answer.read()

    def close(self):
        self._line.close()


def answered_by(metrics):
    """How many requests each worker answered."""
    found = re.findall(r'notbefore_worker_requests_total\{worker="(\d+)"\} (\S+)', metrics)
    return {n: float(count) for n, count in found}


def metric(metrics, name):
    """The sum over its labels, unless they are given."""
    lines = [line for line in metrics.splitlines() if line.startswith((f"{name} ", f"{name}{{"))]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def until(condition):
    """Asked until it is so: what it waits for is another process's to do."""
    clock = RealTime()
    deadline_s = clock.steady_s() + COMES_WITHIN_S
    while not condition():
        assert clock.steady_s() < deadline_s, "it did not come true"


def until_replaced(lab, restarts):
    """So many workers have been replaced, and two serve."""

    def is_so():
        page = metrics_of(lab)
        counted = metric(page, "notbefore_worker_restarts_total"), metric(page, "notbefore_workers")
        return counted == (restarts, 2)

    until(is_so)


@contextmanager
def a_line_to_each(address, metrics, count=2, source="127.0.0.1"):
    """Kept connections, one to every worker; the kernel chooses, so it is asked until it has chosen each."""
    with ExitStack() as kept:
        found = {}
        for _ in range(200):
            line = KeptLine(address, source)
            kept.callback(line.close)
            before = answered_by(metrics())
            line.ask()
            after = answered_by(metrics())
            (worker,) = [n for n in after if after[n] > before[n]]
            found.setdefault(worker, line)
            if len(found) == count:
                break
        assert len(found) == count, found
        yield [found[worker] for worker in sorted(found)]


def metrics_of(lab):
    reply = lab.control("GET", "/metrics")
    assert reply.status == 200, reply
    return reply.body.decode()


def metrics_of_process(server):
    line = http.client.HTTPConnection(*server.control_address, timeout=20)
    with closing(line):
        line.request("GET", "/metrics", headers={"Authorization": f"Bearer {server.token}"})
        return line.getresponse().read().decode()
