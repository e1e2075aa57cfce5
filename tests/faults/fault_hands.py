"""Hands to order faults with, and a plain curl to see them by."""

import json
import subprocess
from dataclasses import dataclass

from lab import NEWEST, PATH

CUT_SHORT = 18
NO_ANSWER = 52
ATTEMPTS = 5000


@dataclass(frozen=True)
class Curled:
    """How curl ended, and what it had got by then."""

    code: int
    status: int | None
    headers: dict[str, str]
    body: str

    @property
    def json(self):
        return json.loads(self.body)


class Hands:
    """A lab with faults allowed: as an operator and, by curl, as a VM."""

    def __init__(self, lab):
        self.lab = lab

    def order(self, kind, **wanted):
        reply = self.lab.control("POST", "/v1/faults", {"kind": kind, **wanted})
        assert reply.status == 201, reply
        return reply.json

    def refused(self, kind, **wanted):
        """The refusal; and nothing is set."""
        before = self.faults()
        reply = self.lab.control("POST", "/v1/faults", {"kind": kind, **wanted})
        assert reply.status >= 400, reply
        assert self.faults() == before
        return reply.json["error"]

    def faults(self):
        return self.lab.control("GET", "/v1/faults").json["faults"]

    def struck(self, fault):
        return next(one["struck"] for one in self.faults() if one["id"] == fault["id"])

    def clear(self, query=""):
        reply = self.lab.control("DELETE", f"/v1/faults{query}")
        assert reply.status == 200, reply
        return reply.json["cleared"]

    def words(self, *more, source="127.0.0.1", version=NEWEST):
        url = f"{self.lab.server.metadata_urls[0]}{PATH}?api-version={version}"
        return ["curl", "-s", "-i", "--interface", source, "-H", "Metadata:true", *more, url]

    def curl(self, *more, **who):
        return ended(self.start(*more, **who))

    def start(self, *more, **who):
        return subprocess.Popen(self.words(*more, **who), stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def given_up(self, fault, *more, **who):
        """A curl that the fault has in hand, and that goes without waiting any longer: what it had got by then."""
        before = self.struck(fault)
        asking = self.start(*more, **who)
        until(lambda: self.struck(fault) > before)
        assert asking.poll() is None
        asking.terminate()
        return ended(asking)

    def post(self, event_id, *more, **who):
        body = json.dumps({"StartRequests": [{"EventId": event_id}]})
        return self.curl("-d", body, *more, **who)

    def shown(self, source="127.0.0.1"):
        """The events as a VM sees them, and the document's number."""
        got = self.curl(source=source)
        assert got.status == 200, got
        assert got.headers["etag"] == str(got.json["DocumentIncarnation"])
        return got.json["Events"], got.json["DocumentIncarnation"]


def ended(process):
    out, _ = process.communicate(timeout=30)
    head, _, body = out.decode().partition("\r\n\r\n")
    lines = head.split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    return Curled(process.returncode, int(lines[0].split()[1]) if lines[0] else None, headers, body)


def until(holds):
    """The server sees what a client does a moment later; it is asked until it has."""
    assert any(holds() for _ in range(ATTEMPTS))
