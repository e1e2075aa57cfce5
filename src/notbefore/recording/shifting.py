"""NotBefore in a replay: moved to the time at which it falls there, so that a notice can be counted down.

Rule 1: a NotBefore lies so far into the flow; in the replay it lies so far from its start, at the replay's rate.
Rule 2: only the text of the date is replaced, in the form it had; every other byte stays. What is no date stays too.
Rule 3: rounded up to the second: a notice is never shorter than the recorded one.
"""

import re
from dataclasses import dataclass
from math import ceil

from notbefore.client.document import moment
from notbefore.core.times import LATEST_MS, SECOND_MS, iso, rounded_up_to_second
from notbefore.wire.times import rfc1123

# A key and its value in valid JSON. Quotes inside a string have a backslash before them, so this is never one.
_NOT_BEFORE = re.compile(r'(?<!\\)("NotBefore"\s*:\s*")([^"\\]*)(?=")')
_RFC1123 = re.compile(r"[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z")


@dataclass(frozen=True, slots=True)
class Shift:
    """A flow that began at `began_ms`, replayed from `start_ms` on at `rate` times its pace."""

    began_ms: int
    start_ms: int
    rate: float = 1.0

    def moved(self, body: bytes) -> bytes:
        """The body of a document with its NotBefores moved."""
        return _NOT_BEFORE.sub(lambda found: found[1] + self._moved_date(found[2]), body.decode()).encode()

    def _moved_date(self, written: str) -> str:
        form = rfc1123 if _RFC1123.fullmatch(written) else iso if _ISO.fullmatch(written) else None
        at = moment(written) if form else None
        if form is None or at is None:
            return written
        into_flow_ms = at.timestamp() * SECOND_MS - self.began_ms
        moved_ms = rounded_up_to_second(self.start_ms + ceil(into_flow_ms / self.rate))
        return form(min(max(0, moved_ms), LATEST_MS))
