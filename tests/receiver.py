"""A receiver of webhooks on a real socket, which can be down, slow to please, and asked what came.

Rule 1: signatures are verified with the function that the how-to page gives to its readers.
Rule 2: whoever waits for what comes is woken when it comes.
"""

import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs/how-to/webhooks.md"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER_SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
WAIT_MAX_S = 60


def page_function():
    """`verified`, as the page has it."""
    (source,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names = {}
    exec(compile(source, str(PAGE), "exec"), names)
    return names["verified"]


verified = page_function()


@dataclass(frozen=True)
class Came:
    """One request, and what was answered."""

    headers: dict
    body: bytes
    status: int

    @property
    def event(self):
        return json.loads(self.body)

    @property
    def id(self):
        return self.event["id"]


class Receiver:
    """`answers`: what to answer to each request, by its event; a status, or a status with headers."""

    def __init__(self):
        self.came = []
        self.answers = lambda _event: 204
        self._news = threading.Condition()
        self._server = None
        self.port = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook?key=in-the-query"

    def up(self):
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = receiver.answers(json.loads(body))
                if answer is None:
                    self.close_connection = True
                    receiver.note(Came(dict(self.headers), body, 0))
                    return
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                receiver.note(Came(dict(self.headers), body, status))
                self.send_response(status)
                for name, value in {"Content-Length": "0", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._server = Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def down(self):
        """Nobody listens any more; a connection that is open gets one last answer of 503."""
        self.answers = lambda _event: 503
        self._server.shutdown()
        self._server.server_close()

    def note(self, came):
        with self._news:
            self.came.append(came)
            self._news.notify_all()

    def wait(self, holds):
        """Until this holds of what came; what came."""
        with self._news:
            assert self._news.wait_for(lambda: holds(self.came), WAIT_MAX_S), [one.event for one in self.came]
            return list(self.came)

    def taken(self):
        """What was answered 2xx, the first time each."""
        return list({one.id: one for one in self.came if 200 <= one.status < 300}.values())


@contextmanager
def receiving():
    receiver = Receiver().up()
    try:
        yield receiver
    finally:
        receiver._server.shutdown()
        receiver._server.server_close()
