"""Whoever follows /v1/stream over a real socket: the bytes as the standard for server-sent events has them."""

import http.client
import json
from contextlib import contextmanager


class Follower:
    def __init__(self, address, token, query="", last_id=None):
        self.line = http.client.HTTPConnection(*address, timeout=20)
        headers = {"Authorization": f"Bearer {token}"}
        if last_id is not None:
            headers["Last-Event-ID"] = str(last_id)
        self.line.request("GET", f"/v1/stream{query}", headers=headers)
        self.response = self.line.getresponse()
        self.last_id = None

    @property
    def status(self):
        return self.response.status

    def message(self):
        """Fields of the next message, comments under the empty name; None at the end of the stream."""
        fields = {}
        while line := self.response.readline():
            if line == b"\n":
                self.last_id = fields.get("id", self.last_id)
                return fields
            name, _, value = line.decode().rstrip("\n").partition(": ")
            fields[name] = value
        return None

    def record(self):
        """The next record, whatever comes between."""
        while (fields := self.message()) is not None:
            if fields.get("event") == "history":
                record = json.loads(fields["data"])
                assert fields["id"] == str(record["revision"])
                return record
        return None

    def records(self, number):
        return [self.record() for _ in range(number)]

    def close(self):
        self.response.close()
        self.line.close()


@contextmanager
def following(lab, query="", last_id=None, token=None):
    follower = Follower(lab.control_address, token or lab.server.token, query, last_id)
    try:
        yield follower
    finally:
        follower.close()
