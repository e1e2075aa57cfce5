"""A real HAProxy before two real backends, each of which can be held, stopped and started again."""

import http.client
import os
import socket
import subprocess
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from step_runs import WAIT_MAX_S, until

CONFIG = """
global
  stats socket {folder}/admin.sock mode 600 level admin
  stats socket {folder}/operator.sock mode 600 level operator
  stats socket fd@{admin_fd} level admin
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  retries 0
frontend front
  bind fd@{front_fd}
  default_backend web
backend web
  server one 127.0.0.1:{one}
  server two 127.0.0.1:{two} check inter 20ms fall 1 rise 1
"""


class Backend:
    """`GET /hold` is answered when `let_go` is set; everything else at once, with the backend's name."""

    def __init__(self, name):
        self.name = name
        self.port = 0
        self.is_held = threading.Event()
        self.let_go = threading.Event()
        self.start()

    def start(self):
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                if self.path == "/hold":
                    backend.is_held.set()
                    backend.let_go.wait(WAIT_MAX_S)
                body = backend.name.encode()
                with suppress(OSError):
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                """Whoever asked has gone."""

        self._server = Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    def close(self):
        self.let_go.set()
        self.stop()


class Balanced:
    def __init__(self, folder, made_backend=Backend, config=CONFIG):
        self.folder = folder
        self.one, self.two = made_backend("one"), made_backend("two")
        with socket.create_server(("127.0.0.1", 0)) as front, socket.create_server(("127.0.0.1", 0)) as admin:
            self.port, self.admin_port = front.getsockname()[1], admin.getsockname()[1]
            fds = {"front_fd": front.fileno(), "admin_fd": admin.fileno()}
            (folder / "haproxy.cfg").write_text(
                config.format(folder=folder, one=self.one.port, two=self.two.port, **fds)
            )
            words = ["haproxy", "-db", "-f", str(folder / "haproxy.cfg")]
            self._log = (folder / "log").open("w")
            self.process = subprocess.Popen(words, pass_fds=list(fds.values()), stdout=self._log, stderr=self._log)
        until(lambda: self._status("two") == "UP" and self._status("one") == "no check")

    @property
    def socket(self):
        return str(self.folder / "admin.sock")

    def close(self):
        self.process.kill()
        self.process.wait()
        self._log.close()
        for backend in (self.one, self.two):
            backend.close()

    def said(self, command):
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(self.socket)
            line.sendall(f"{command}\n".encode())
            return b"".join(iter(lambda: line.recv(65536), b"")).decode()

    def _status(self, server):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        if not os.path.exists(self.socket):  # noqa: PTH110  it appears while we look
            return ""
        try:
            return self.status(server)
        except OSError:
            return ""

    def status(self, server):
        return self._shown(server, "status")

    def sessions(self, server):
        return int(self._shown(server, "scur"))

    def _shown(self, server, column):
        rows = [line.split(",") for line in self.said("show stat -1 4 -1").splitlines() if "," in line]
        return next(row[rows[0].index(column)] for row in rows if row[1] == server)

    def get(self, path="/"):
        """One request on a connection of its own; the name of the backend that answered."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_MAX_S)
        try:
            line.request("GET", path)
            answer = line.getresponse()
            return answer.status, answer.read().decode()
        finally:
            line.close()


class Load:
    """Requests without a pause, by a few at once, until it is over."""

    def __init__(self, balanced, at_once=3):
        self.answers = []
        self._is_over = threading.Event()
        self._balanced = balanced
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(at_once)]
        for thread in self._threads:
            thread.start()

    def _ask(self):
        while not self._is_over.is_set():
            try:
                self.answers.append(self._balanced.get())
            except (OSError, http.client.HTTPException) as error:
                self.answers.append((0, repr(error)))

    def until_more(self, count=20, name=None):
        seen = len(self.answers)
        until(lambda: len([one for one in self.answers[seen:] if name in (None, one[1])]) >= count)

    def over(self):
        self._is_over.set()
        for thread in self._threads:
            thread.join(WAIT_MAX_S)
        return self.answers


def second_goes_and_comes_back(balanced, load, fleet, agent):
    """Killed, started again when the first has carried the load alone, and answering once everything is undone."""
    balanced.two.stop()
    load.until_more(100, name="one")
    balanced.two.start()
    fleet.advance(120)
    assert agent.says("nothing is left to do"), agent.log
    load.until_more(name="two")


@contextmanager
def balanced_by_haproxy(folder, made_backend=Backend, config=CONFIG):
    balanced = Balanced(folder, made_backend, config)
    try:
        yield balanced
    finally:
        balanced.close()
