"""A server as its own process, started by the program a user starts; perhaps inside a network namespace."""

import http.client
import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

PROGRAM = str(Path(sys.executable).parent / "notbefore")


class ServerProcess:
    def __init__(self, state, *words, inside=(), metadata="127.0.0.1:0", control="127.0.0.1:0", env=None):
        self.state = state
        self._inside = list(inside)
        self._words = ["serve", "--state", str(state), "--metadata", metadata, "--control", control, *words]
        self._env = {**os.environ, **(env or {})}
        self.log = Path(f"{state}.log")

    def start(self):
        """Start, and wait until it says where it serves."""
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*self._inside, PROGRAM, *self._words], stdout=subprocess.PIPE, stderr=log, env=self._env, text=True
            )
        said = []
        for line in self.process.stdout:
            said.append(line)
            if line.startswith("Try it"):
                break
        else:
            raise AssertionError(f"the server did not start: {''.join(said)}{self.log.read_text()}")
        self.banner = "".join(said)
        self.metadata = address(re.search(r"metadata +(http://\S+)", self.banner).group(1))
        self.control_address = address(re.search(r"control +(https?://\S+)", self.banner).group(1))
        self.token = (self.state / "admin.token").read_text().strip()
        return self

    def kill(self):
        """As a crash does it. Its workers end by themselves: nobody has the store open when this returns."""
        ends = [os.pidfd_open(pid) for pid in self._children()]
        self.process.send_signal(signal.SIGKILL)
        self._wait()
        for end in ends:
            select.select([end], [], [])
            os.close(end)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._wait()

    def _children(self):
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(pid) for task in tasks for pid in task.read_text().split()]

    def _wait(self):
        try:
            return self.process.wait(20)
        finally:
            self.process.kill()
            self.process.stdout.close()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def control(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return exchange(self.control_address, method, path, None if body is None else json.dumps(body), headers)

    def ask(self, method="GET", body=None, version="2020-07-01"):
        target = f"/metadata/scheduledevents?api-version={version}"
        return exchange(self.metadata, method, target, body, {"Metadata": "true"})


def exchange(to, method, target, body, headers):
    line = http.client.HTTPConnection(*to, timeout=20)
    try:
        line.request(method, target, body, headers)
        answer = line.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    finally:
        line.close()


def address(url):
    host, _, port = url.partition("://")[2].rpartition(":")
    return host.strip("[]"), int(port)
