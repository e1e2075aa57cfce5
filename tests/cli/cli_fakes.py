"""A fake server for the CLI, and the things a control API answers with.

Rule 1: it answers what a test told it to and records every request; it decides nothing.
Rule 2: the shapes are the real server's; test_cli_real_server.py compares them with it.
"""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit

EVENT = "602D9444-D2CD-49C7-8624-8643E7171297"
OTHER_EVENT = "F020BA2E-3BC0-4C40-A10B-86575A9EABD5"
NOON = "2026-03-02T12:00:00Z"


@dataclass(frozen=True)
class Recorded:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: object


@dataclass
class Answer:
    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


class FakeServer:
    """An HTTP server on loopback. Several answers for one request are given one after the other, the last for ever."""

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self.asked = threading.Condition()
        self._answers: dict[tuple[str, str], list[Answer]] = {}
        fake = self

        class Handler(BaseHTTPRequestHandler):
            wbufsize = -1  # head and body in one segment; apart they wait for a delayed acknowledgement

            def answer(self) -> None:
                fake._take(self)

            do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815  names of http.server

            def log_message(self, *args: object) -> None:
                """Tests read what was recorded."""

        self._http = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def answers(self, method: str, path: str, *bodies: object, status: int = 200, **headers: str) -> None:
        """JSON when it is no bytes."""
        self._answers[method, path] = [
            Answer(status, body if isinstance(body, bytes) else json.dumps(body).encode(), headers) for body in bodies
        ]

    def answers_with_status(self, method: str, path: str, *statuses: int) -> None:
        """The statuses of answers that were told already, one by one."""
        for answer, status in zip(self._answers[method, path], statuses, strict=True):
            answer.status = status

    def refuses(self, method: str, path: str, code: str, message: str, hint: str = "", status: int = 409) -> None:
        error = {"code": code, "message": message, "hint": hint, "facts": {}}
        self.answers(method, path, {"error": error}, status=status)

    def sent(self, method: str) -> list[Recorded]:
        return [request for request in self.requests if request.method == method]

    def wait_for(self, method: str, path: str) -> None:
        with self.asked:
            arrived = self.asked.wait_for(lambda: any((r.method, r.path) == (method, path) for r in self.requests), 10)
        assert arrived

    def _take(self, handler: BaseHTTPRequestHandler) -> None:
        url = urlsplit(handler.path)
        text = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        body = json.loads(text) if text else None
        with self.asked:
            self.requests.append(Recorded(handler.command, url.path, parse_qs(url.query), headers, body))
            self.asked.notify_all()
        self._send(handler, self._answer_to(handler.command, url.path))

    def _answer_to(self, method: str, path: str) -> Answer:
        told = self._answers.get((method, path))
        if told is None:
            return Answer(404, b'{"error":{"code":"not_found","message":"Not Found.","hint":"","facts":{}}}')
        return told.pop(0) if len(told) > 1 else told[0]

    def _send(self, handler: BaseHTTPRequestHandler, answer: Answer) -> None:
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(answer.body)))
        handler.end_headers()
        handler.wfile.write(answer.body)


# -- What a control API answers with


def event(**changed: object) -> dict[str, object]:
    return {
        "id": EVENT,
        "scope": "shop",
        "type": "Reboot",
        "status": "Scheduled",
        "source": "User",
        "vms": ["web-1"],
        "not_before": "2026-03-02T12:15:00Z",
        "visible_since": NOON,
        "started_at": None,
        "ended_at": None,
        "description": "",
        "duration_s": -1,
        "approvals": [],
        "waiting_for": "the approval of any VM of scope shop, or 2026-03-02T12:15:00Z",
        "incarnation": 7,
        **changed,
    }


def vm(name: str = "web-1", **changed: object) -> dict[str, object]:
    return {
        "name": name,
        "update_domain": 0,
        "fault_domain": None,
        "host": "",
        "addresses": ["10.0.0.1"],
        "tags": {},
        "spot": False,
        "state": "running",
        "last_asked": None,
        **changed,
    }


def scope(name: str = "shop", *vms: dict[str, object], **changed: object) -> dict[str, object]:
    return {
        "name": name,
        "kind": "availability-set",
        "incarnation": 7,
        "listens": True,
        "last_asked": NOON,
        "settings": {"listening": "auto", "notice_s": {"Reboot": 900}},
        "vms": list(vms),
        **changed,
    }


def change(what: str, why: str, **changed: object) -> dict[str, object]:
    return {"what": what, "why": why, "by": "clock", "event": event(), **changed}


def record(*changes: dict[str, object], at: str = NOON, revision: int = 1) -> dict[str, object]:
    return {"revision": revision, "at": at, "scope": "shop", "incarnation": 7, "changes": list(changes)}


def clock(kind: str = "manual", **changed: object) -> dict[str, object]:
    stands = kind == "manual"
    return {"kind": kind, "now": NOON, "rate": 1, "paused": stands, "next_due": None, **changed}


def document(*events: dict[str, object], incarnation: int = 7) -> dict[str, object]:
    return {"DocumentIncarnation": incarnation, "Events": list(events)}


def shown_to_vm(**changed: object) -> dict[str, object]:
    return {
        "EventId": EVENT,
        "EventStatus": "Scheduled",
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": ["web-1", "web-2"],
        "NotBefore": "Mon, 02 Mar 2026 12:15:00 GMT",
        "Description": "Host server is undergoing maintenance.",
        "EventSource": "Platform",
        "DurationInSeconds": 9,
        **changed,
    }
