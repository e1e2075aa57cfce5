"""The memo: from the exact bytes of a request to its verdict, so that a repeated question is not parsed again.

Rule 1: a key is exactly one whole GET without a body, at a message boundary, at most 1 KiB.
Rule 2: a verdict depends on the bytes alone; nothing of any VM is in here.
Rule 3: never with the proxy's header, `Prefer` or `Expect`, whose meaning lies outside the bytes.
Rule 4: cleared when full, so hostile variety can neither grow it nor slow it down.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from notbefore.metadata.verdict import RequestHead, Verdict

REQUEST_MAX_BYTES = 1024
ENTRIES_MAX = 4096
NEVER_WITH = frozenset((b"x-notbefore-vm", b"prefer", b"expect", b"upgrade", b"content-length", b"transfer-encoding"))


@dataclass(frozen=True, slots=True)
class Remembered:
    verdict: Verdict
    close: bool
    counted: defaultdict[int, int] = field(compare=False)
    """How often it was answered, by status: the row of its method and route."""


class Memo:
    def __init__(self) -> None:
        self._verdicts: dict[bytes, Remembered] = {}
        self.get = self._verdicts.get

    def learn(
        self,
        request: bytes,
        head: RequestHead,
        verdict: Verdict,
        *,
        close: bool,
        counted: defaultdict[int, int] | None = None,
    ) -> None:
        """Remember a request that came as one piece and was one whole message."""
        if len(request) > REQUEST_MAX_BYTES or head.method != "GET":
            return
        if any(name in NEVER_WITH for name, _ in head.headers):
            return
        if len(self._verdicts) >= ENTRIES_MAX:
            self._verdicts.clear()
        self._verdicts[request] = Remembered(verdict, close, defaultdict(int) if counted is None else counted)

    def forget(self) -> None:
        """Settings that verdicts depend on have changed."""
        self._verdicts.clear()

    def __len__(self) -> int:
        return len(self._verdicts)
