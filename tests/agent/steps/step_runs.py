"""Runs of steps as the agent makes them: an event, an errand, and an end that is waited for."""

import threading
from datetime import UTC, datetime
from pathlib import Path

from notbefore.agent.steps.step import Errand, Phase, made_step
from notbefore.client import EventView

NOT_BEFORE = datetime(2036, 9, 19, 18, 29, 47, tzinfo=UTC)
# Long enough for a machine that is busy; no test comes near it.
LONG_S = 60.0
WAIT_MAX_S = 60.0
MAIL = {"host": "127.0.0.1", "from": "agent@example.com", "to": ["admin@example.com"]}
HAPROXY = {"socket": "/run/haproxy.sock", "servers": ["web/one"]}
GOOD = {
    "command": {"do": ["true"]},
    "scripts": {"directory": "scripts"},
    "systemd": {"units": ["nginx.service"]},
    "haproxy": HAPROXY,
    "webhook": {"url": "https://ops.example/hook"},
    "mail": MAIL,
    "log": {},
    "notify": {"url": "json://127.0.0.1/x"},
}


def event_of(**facts):
    given = {
        "id": "602D9444-D2CD-49C7-8624-8643E7171297",
        "status": "Scheduled",
        "type": "Reboot",
        "resources": ("web-1", "web-2"),
        "not_before": NOT_BEFORE,
        "description": "Host server is undergoing maintenance.",
        "source": "Platform",
        "duration_s": 9,
    }
    return EventView(**{**given, **facts})


def errand_of(phase=Phase.DO, sentence="", **facts):
    return Errand(phase, event_of(**facts), "web-1", "reboots", "drain", NOT_BEFORE, sentence)


def made(kind, base="/", **table):
    return made_step(kind, table, Path(base))


def run(step, phase=Phase.DO, limit_s=LONG_S, cut_off=None, **facts):
    return step.run(errand_of(phase, **facts), limit_s, cut_off or threading.Event())


class Aside:
    """A run on a thread of its own, to be looked at while it is under way."""

    def __init__(self, step, errand=None, limit_s=LONG_S):
        self.cut_off = threading.Event()
        self._result = []
        run_it = lambda: self._result.append(step.run(errand or errand_of(), limit_s, self.cut_off))  # noqa: E731
        self._thread = threading.Thread(target=run_it, daemon=True)
        self._thread.start()

    @property
    def is_over(self):
        return not self._thread.is_alive()

    def result(self):
        self._thread.join(WAIT_MAX_S)
        assert self._result, "the run has no end"
        return self._result[0]


def is_alive(pid):
    """Running, not merely unburied."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def until(holds):
    """Look again until it holds."""
    pause = threading.Event()
    for _ in range(6000):
        if found := holds():
            return found
        pause.wait(0.01)
    raise AssertionError("it never came to hold")
