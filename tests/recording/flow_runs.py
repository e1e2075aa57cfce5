"""The commands `record` and `replay` at work, each a process of its own, and flows written by hand.

Rule 1: nothing is timed: who waits, waits for a line. A process that says nothing for too long is ended, which fails
whoever waits for it.
"""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

PROGRAM = str(Path(sys.executable).with_name("notbefore"))
PATH = "/metadata/scheduledevents"
NEWEST = "2020-07-01"
WITHIN_S = 60
EVENT = "602D9444-D2CD-49C7-8624-8643E7171297"
BEGAN = "2026-03-02T12:00:00.000Z"
HEADER = {"flow": 1, "began": BEGAN, "path": PATH, "api_version": NEWEST, "vm": "web-1"}


def document(incarnation, *events):
    return json.dumps({"DocumentIncarnation": incarnation, "Events": list(events)})


def event(status="Scheduled", **changed):
    not_before = "Mon, 02 Mar 2026 12:15:00 GMT" if status == "Scheduled" else ""
    common = {"EventId": EVENT, "EventStatus": status, "EventType": "Reboot", "Resources": ["web-1"]}
    return {**common, "NotBefore": not_before, **changed}


def shown(t, body, etag="", status=200, **fields):
    tag = {"etag": etag} if etag else {}
    return {"t": t, "status": status, **tag, "content_type": "application/json", "body": body, **fields}


EMPTY = shown(0, document(1), "1")
SCHEDULED = shown(5, document(2, event()), "2")
STARTED = shown(905, document(3, event("Started")), "3")
OVER = shown(935, document(4), "4")
REBOOT = (HEADER, EMPTY, SCHEDULED, STARTED, OVER)


def as_bytes(*lines):
    return b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)


def written(place, *lines):
    """A file with these lines: objects, or bytes as they are."""
    file = place / "flow.jsonl"
    file.write_bytes(as_bytes(*lines))
    return file


class Running:
    """A command at work."""

    def __init__(self, process):
        self.process = process
        self.said = []

    def line(self):
        line = self.process.stdout.readline()
        assert line, f"it ended after {self.said}: {self.process.stderr.read()}"
        self.said.append(line)
        return line

    def json_line(self):
        return json.loads(self.line())

    def until(self, text):
        while text not in (line := self.line()):
            pass
        return line

    def press_enter(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def told(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.ended()

    def ended(self):
        """Exit code, what was left of stdout, stderr."""
        # Not by communicate(), which would pass by what is read ahead of a line.
        out, err = self.process.stdout.read(), self.process.stderr.read()
        return self.process.wait(WITHIN_S), out, err


@contextmanager
def command(*words, **options):
    env = {**os.environ, "NOTBEFORE_UTC": "1", "NOTBEFORE_ENDPOINT": "http://127.0.0.1:1"}
    pipe = subprocess.PIPE
    given = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True, "env": env, **options}
    with subprocess.Popen([PROGRAM, *words], **given) as process:
        watchdog = threading.Timer(WITHIN_S, process.kill)
        watchdog.start()
        try:
            yield Running(process)
        finally:
            watchdog.cancel()
            if process.poll() is None:
                process.kill()


@contextmanager
def recording(url, *words):
    with command("record", url, *words) as running:
        yield running


@contextmanager
def replaying(file, *words):
    """A replay that serves; `.url` says where."""
    with command("replay", str(file), "--metadata", "127.0.0.1:0", *words) as running:
        running.url = re.search(r"http://\S+", running.until("  metadata "))[0]
        running.until("curl ")
        running.until("+0 s")
        yield running


def ran(*words):
    """Run to its end: exit code, stdout, stderr."""
    with command(*words) as running:
        return running.ended()


class Reply:
    def __init__(self, answer):
        self.status = answer.status
        self.headers = {name.lower(): value for name, value in answer.getheaders()}
        self.body = answer.read()


def ask(url, method="GET", body=None, version=NEWEST, path=PATH, **headers):
    line = http.client.HTTPConnection(url.removeprefix("http://"), timeout=WITHIN_S)
    given = {"Metadata": "true", **{name.replace("_", "-"): value for name, value in headers.items()}}
    try:
        line.request(method, f"{path}?api-version={version}", body, given)
        return Reply(line.getresponse())
    finally:
        line.close()


def start_requests(*event_ids):
    return json.dumps({"StartRequests": [{"EventId": one} for one in event_ids]})
