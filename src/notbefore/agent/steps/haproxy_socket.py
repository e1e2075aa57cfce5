"""HAProxy's runtime API, as much of it as a drain needs.

Rule 1: one question, one connection; HAProxy answers and closes. A change that is done is answered with nothing;
every other answer to a change is a refusal.
Rule 2: an answer has a limit in size and time, and nobody waits for it once the run is over.
"""

import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from notbefore.agent.steps.aside import done_aside
from notbefore.agent.steps.attempt import Trouble, Until
from notbefore.agent.steps.wording import one_line

ANSWER_MAX_BYTES = 16 * 1024 * 1024
ASK_MAX_S = 5.0
SAID_MAX = 200
# Bits of srv_admin_state: maintenance and drain that somebody has asked for, not what follows from elsewhere.
MAINTENANCE = 0x01
DRAIN = 0x08
NO_CHECK = "no check"


@dataclass(frozen=True, slots=True)
class Server:
    """One server as HAProxy shows it."""

    name: str
    status: str
    sessions: int
    admin: int

    @property
    def is_drained(self) -> bool:
        return bool(self.admin & DRAIN)

    @property
    def is_in_maintenance(self) -> bool:
        return bool(self.admin & MAINTENANCE)

    @property
    def is_up(self) -> bool:
        """Takes requests: its checks say so, or there are none."""
        return self.status.startswith(("UP", NO_CHECK)) and not self.admin


class RuntimeSocket:
    def __init__(self, address: str | tuple[str, int]) -> None:
        self._address = address
        self.name = address if isinstance(address, str) else f"{address[0]}:{address[1]}"

    def change(self, command: str, until: Until) -> None:
        """Trouble unless it is done."""
        if said := self.ask(command, until).strip():
            raise Trouble(f"HAProxy refused `{command}`: {one_line(said, SAID_MAX)}")

    def ask(self, command: str, until: Until) -> str:
        try:
            return done_aside(lambda: self._asked(command), until, lambda: None)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "no answer in time"
            raise Trouble(f"HAProxy does not answer at {self.name}: {reason}") from None

    def servers(self, until: Until) -> dict[str, Server]:
        """All of them, by `backend/server`."""
        # Sessions first: who is still drained after there were none got none in between. The other way round a drain
        # that is lost between the two questions would look like one that is done.
        said = self.ask("show stat -1 4 -1", until)
        if not said.startswith("# pxname,"):
            raise Trouble(f"HAProxy refused to show its servers: {one_line(said, SAID_MAX)}")
        admin = dict(admin_states(self.ask("show servers state", until)))
        return {server.name: server for server in servers_in(said, admin)}

    def _asked(self, command: str) -> str:
        with closing(self._connected()) as line:
            line.sendall(f"{command}\n".encode())
            answer = bytearray()
            while chunk := line.recv(65536):
                answer += chunk
                if len(answer) > ANSWER_MAX_BYTES:
                    raise Trouble(f"the answer of HAProxy at {self.name} has no end")
            return answer.decode("utf-8", "replace")

    def _connected(self) -> socket.socket:
        if isinstance(self._address, tuple):
            return socket.create_connection(self._address, ASK_MAX_S)
        if sys.platform == "win32":
            raise Trouble("there are no such sockets here")
        line = socket.socket(socket.AF_UNIX)
        try:
            line.settimeout(ASK_MAX_S)
            line.connect(self._address)
        except OSError:
            line.close()
            raise
        return line


def admin_states(said: str) -> Iterator[tuple[str, int]]:
    """From `show servers state`: a version, a line of names, a line for each server."""
    names: list[str] = []
    for line in said.splitlines():
        if line.startswith("# "):
            names = line[2:].split()
        elif names and line.strip():
            row = dict(zip(names, line.split(), strict=False))
            yield f"{row.get('be_name')}/{row.get('srv_name')}", whole(row.get("srv_admin_state"))


def servers_in(said: str, admin: dict[str, int]) -> Iterator[Server]:
    from csv import DictReader  # noqa: PLC0415  for a drain, which is rare

    for row in DictReader(said.removeprefix("# ").splitlines()):
        name = f"{row.get('pxname')}/{row.get('svname')}"
        sessions = whole(row.get("scur")) + whole(row.get("qcur"))
        yield Server(name, row.get("status") or "", sessions, admin.get(name, 0))


def whole(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() else 0
