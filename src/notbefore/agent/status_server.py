"""The HTTP server of the status pages, imported by whoever has it switched on: http.server is dear."""

import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, Final

from notbefore.agent.picture import Picture, health, metrics
from notbefore.client.transport import TimedSocket
from notbefore.core.errors import NotAllowed

CONNECTIONS_MAX: Final = 16
CONNECTION_S: Final = 5.0
# How soon it sees that it is to end, where the end of its socket does not wake it (Windows); each look costs the VM.
LOOK_S: Final = 5.0
TEXT: Final = "text/plain; charset=utf-8"
PROMETHEUS: Final = "text/plain; version=0.0.4; charset=utf-8"
OK, NOT_FOUND = 200, 404


class StatusServer(ThreadingHTTPServer):
    """So many connections at once, each for a few seconds however slowly it drips; the others are hung up on.

    Bound when it is made, so that an address that is taken is known at once. It answers from its first picture on;
    who asks before that waits: a load balancer must not hear of a VM that is well before anybody has looked.
    """

    daemon_threads = True

    def __init__(self, address: str, look_s: float = LOOK_S) -> None:
        host, _, port = address.rpartition(":")
        host = host.strip("[]")
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._look_s = look_s
        self._picture: Picture | None = None
        self._room = threading.Semaphore(CONNECTIONS_MAX)
        try:
            super().__init__((host, int(port)), Handler)
        except OSError as error:
            raise NotAllowed(f"status.listen: {address} cannot be listened on: {error.strerror or error}.") from None

    def server_bind(self) -> None:
        """Without asking for the name of the address, which waits for a name server that may be away."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://[{host!s}]:{port}" if self.address_family == socket.AF_INET6 else f"http://{host!s}:{port}"

    @property
    def picture(self) -> Picture:
        assert self._picture is not None, "nobody is answered before"
        return self._picture

    def show(self, picture: Picture) -> None:
        is_first, self._picture = self._picture is None, picture
        if is_first:
            threading.Thread(target=self.serve_forever, args=(self._look_s,), name="status", daemon=True).start()

    def close(self) -> None:
        if self._picture is not None:
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
            self.shutdown()
        self.server_close()

    def get_request(self) -> tuple[TimedSocket, Any]:
        plain, address = super().get_request()
        line = TimedSocket(plain.family, plain.type, plain.proto, plain.detach())
        line.deadline_s = line.time.steady_s() + CONNECTION_S
        return line, address

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked has gone away; nobody else needs to know."""


class Handler(BaseHTTPRequestHandler):
    server: StatusServer
    timeout = CONNECTION_S
    server_version = "notbefore-agent"
    sys_version = ""

    def do_GET(self) -> None:
        status, kind, text = answer(self.path, self.server.picture)
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815  http.server's name for it

    def log_message(self, *_: Any) -> None:
        """A load balancer asks every second."""


def answer(path: str, picture: Picture) -> tuple[int, str, str]:
    """Status, content type and page for a path."""
    where = path.partition("?")[0]
    if where == "/healthz":
        status, text = health(picture)
        return status, TEXT, text
    if where == "/metrics":
        return OK, PROMETHEUS, metrics(picture)
    return NOT_FOUND, TEXT, "There are /healthz and /metrics.\n"
