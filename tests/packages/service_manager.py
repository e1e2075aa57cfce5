"""What a service manager is to its service: somebody to tell, sockets to hand over, signals.

Rule 1: a real NOTIFY_SOCKET and real file descriptors, as sd_notify(3) and sd_listen_fds(3) say.
Rule 2: waiting is reading what the service says.
"""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

PROGRAM = str(Path(sys.executable).with_name("notbefore"))
PATIENCE_S = 20
ANYWHERE = ("--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0")

# sd_listen_fds(3): descriptors from 3 on, and LISTEN_PID is the pid of the service itself. Copies are made high up
# first, so that none is overwritten before its turn.
HAND_OVER = """
import fcntl, os, sys
names, given, command = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]
copies = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 100) for number in given]
for place, copy in enumerate(copies, 3):
    os.dup2(copy, place)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(given)), LISTEN_FDNAMES=names)
os.execv(command[0], command)
"""


class Service:
    """One run of the program under a manager."""

    def __init__(self, manager, process):
        self._manager = manager
        self.process = process

    def says(self, word):
        """Listen until it says this; the whole message, as its lines."""
        while True:
            lines = self._manager.line.recv(4096).decode().split("\n")
            if word in lines:
                return lines

    def urls(self):
        """Where it serves, as its status says once it is ready."""
        status = self.says("READY=1")[1]
        return [address_of(url) for url in re.findall(r"http://[0-9.:]+", status)]

    def logs(self, part):
        """Read its log until a line has this."""
        for line in self.process.stderr:
            if part in line:
                return line
        raise AssertionError(f"it never logged {part!r}")

    def told(self, number):
        self.process.send_signal(number)

    def ended(self):
        """The exit code, what it printed and what it complained of."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err


class Manager:
    def __init__(self, address):
        self.address = str(address)
        self.line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.line.bind("\0" + self.address[1:] if self.address.startswith("@") else self.address)
        self.line.settimeout(PATIENCE_S)
        self._services = []

    def start(self, *words, handing_over=(), env=None, cwd=None, program=PROGRAM):
        """Start `notbefore WORDS`, perhaps with sockets: pairs of name and socket."""
        command = [program, *words]
        numbers = [one.fileno() for _, one in handing_over]
        if handing_over:
            names = ":".join(name for name, _ in handing_over)
            command = [sys.executable, "-c", HAND_OVER, names, ",".join(map(str, numbers)), *command]
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**(os.environ if env is None else env), "NOTIFY_SOCKET": self.address},
            pass_fds=numbers,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        service = Service(self, process)
        self._services.append(service)
        return service

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for service in self._services:
            if service.process.poll() is None:
                service.told(signal.SIGKILL)
            service.process.communicate(timeout=PATIENCE_S)
        self.line.close()


def address_of(url):
    host, _, port = url.removeprefix("http://").rpartition(":")
    return host, int(port)


def asked(address, path, source="127.0.0.1"):
    """Status and JSON of one GET, as a VM or as anybody."""
    line = http.client.HTTPConnection(*address, timeout=PATIENCE_S, source_address=(source, 0))
    try:
        line.request("GET", path, headers={"Metadata": "true"})
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        line.close()


def document(address, source="127.0.0.1"):
    return asked(address, "/metadata/scheduledevents?api-version=2020-07-01", source)
