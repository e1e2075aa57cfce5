"""The endpoint under test, with the questions that checks ask again and again."""

import json
from dataclasses import dataclass
from typing import Any

from notbefore.conformance.exchange import METADATA, Answer, Endpoint, Headers

NEWEST = "2020-07-01"
UNKNOWN_ID = "00000000-0000-0000-0000-00000000DEAD"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    endpoint: Endpoint
    version: str = NEWEST

    @property
    def target(self) -> str:
        return self.target_of(self.version)

    def target_of(self, version: str) -> str:
        return f"{self.endpoint.path}?api-version={version}"

    def beside(self, name: str) -> str:
        """The path of a neighbour."""
        return f"{self.endpoint.path.rpartition('/')[0]}/{name}"

    def get(self, *, target: str | None = None, version: str | None = None, headers: Headers = METADATA) -> Answer:
        return self.endpoint.send("GET", target or self.target_of(version or self.version), headers)

    def post(self, body: bytes | None, headers: Headers = METADATA, version: str | None = None) -> Answer:
        return self.endpoint.send("POST", self.target_of(version or self.version), headers, body or b"")

    def approve(self, *event_ids: str, extra: Json | None = None, headers: Headers = METADATA) -> Answer:
        body = {**(extra or {}), "StartRequests": [{"EventId": one} for one in event_ids]}
        return self.post(json.dumps(body).encode(), headers)

    def document(self, version: str | None = None) -> Json:
        """The document; empty when there is none to be had, which other checks tell of."""
        told = self.get(version=version).json()
        return told if isinstance(told, dict) else {}

    def events(self, version: str | None = None) -> list[Json]:
        events = self.document(version).get("Events")
        return [one for one in events if isinstance(one, dict)] if isinstance(events, list) else []
