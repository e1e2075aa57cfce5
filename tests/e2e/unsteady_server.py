"""An endpoint that has a bad day: `python unsteady_server.py ADDRESS`. Says when it serves, then what it was asked.

Rule 1: each caller, known by its address, is played the same acts in order; the last one for ever.
Rule 2: a line for each question: the caller, what was asked, the answer's status, and the ids of an approval.
"""

import http.server
import json
import sys
import threading
from collections import defaultdict
from copy import deepcopy

ME = "web-1"
MINE = "602D9444-D2CD-49C7-8624-8643E7171297"
OTHERS = "F020BA2E-3BC0-4C40-A10B-86575A9EABD5"
SUDDEN = "28512AF7-C957-4500-9BC4-842D6FB531E4"


def event(event_id, vm, status="Scheduled"):
    return {
        "EventId": event_id,
        "EventStatus": status,
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": [vm],
        "NotBefore": "Mon, 02 Mar 2026 12:15:00 GMT" if status == "Scheduled" else "",
    }


def shows(incarnation, *events):
    return 200, json.dumps({"DocumentIncarnation": incarnation, "Events": events})


CUT = 0
BOTH = shows(1, event(MINE, ME.upper()), event(OTHERS, "web-2"))
ACTS = {
    "instance": [(410, ""), (200, '{"compute":{"name":""}}'), (200, json.dumps({"compute": {"name": ME}}))],
    "events": [
        (429, '{"error":"Too many requests"}'),
        shows(0),
        BOTH,
        (302, ""),
        (200, "<html>Sign in to the network</html>"),
        (200, '{"error":"no"}'),
        (CUT, BOTH[1]),
        (500, ""),
        BOTH,
        shows(2, event(OTHERS, "web-2")),
        shows(3, event(SUDDEN, ME, "Started")),
        shows(4),
    ],
    "approval": [(500, ""), (200, "")],
}


class Unsteady(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    left = defaultdict(lambda: deepcopy(ACTS))
    guard = threading.Lock()

    def do_GET(self):
        self.play("instance" if "/metadata/instance" in self.path else "events")

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.play("approval", *(request["EventId"] for request in asked["StartRequests"]))

    def play(self, what, *said):
        caller = self.client_address[0]
        with self.guard:
            acts = self.left[caller][what]
            status, text = acts.pop(0) if len(acts) > 1 else acts[0]
            what = "elsewhere" if "elsewhere" in self.path else what
            sys.stdout.write(" ".join((caller, what, str(status), *said)) + "\n")
            sys.stdout.flush()
        raw = text.encode()
        self.send_response(status or 200)
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(raw if status else raw[:50])
        self.close_connection = not status

    def log_message(self, *args):
        """What was asked is said already."""


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer((sys.argv[1], 80), Unsteady)
    sys.stdout.write("serves\n")
    sys.stdout.flush()
    server.serve_forever()
