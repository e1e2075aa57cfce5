"""The value of DHCP option 245, an IPv4 address, as each keeper of leases writes it; and the files it is kept in.

Rule 1: exactly four bytes, and an address that a host may have; anything else is nothing.
"""

import re
import socket
from collections.abc import Iterable
from pathlib import Path

from notbefore.client.endpoint import log

CODE = 245
FILE_MAX_BYTES = 1024 * 1024
FILES_MAX = 64
_HEX = re.compile(r"[0-9a-fA-F]{1,2}(?::[0-9a-fA-F]{1,2}){3}|[0-9a-fA-F]{8}")
_DOTTED = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_ESCAPE = re.compile(rb'\\([0-7]{3}|["\\])')
_MULTICAST = 224


def address_in_bytes(value: bytes) -> str | None:
    if len(value) != 4 or value[0] == 0 or value[0] >= _MULTICAST:  # noqa: PLR2004  bytes of an IPv4 address
        return None
    return socket.inet_ntoa(value)


def address_in_text(written: str) -> str | None:
    """`a8:3f:81:10`, `a83f8110`, `168.63.129.16`, or dhclient's string when all four bytes can be printed."""
    written = written.strip()
    if written.startswith('"') and written.endswith('"'):
        raw = written[1:-1].encode("latin-1", "replace")
        return address_in_bytes(_ESCAPE.sub(_unescaped, raw))
    if _HEX.fullmatch(written):
        parts = written.split(":") if ":" in written else re.findall("..", written)
        return address_in_bytes(bytes(int(part, 16) for part in parts))
    if _DOTTED.fullmatch(written):
        numbers = [int(part) for part in written.split(".")]
        return address_in_bytes(bytes(numbers)) if max(numbers) < 256 else None  # noqa: PLR2004  a byte
    return None


def texts_of(root: Path, patterns: Iterable[str]) -> Iterable[tuple[Path, str]]:
    """The files that match, the last written first."""
    found = [path for pattern in patterns for path in root.glob(pattern)]
    for path in sorted(found, key=_written_at, reverse=True)[:FILES_MAX]:
        try:
            with path.open("rb") as file:
                yield path, file.read(FILE_MAX_BYTES).decode("latin-1")
        except OSError as error:
            log.info("%s cannot be read: %s", path, error.strerror)


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _unescaped(match: re.Match[bytes]) -> bytes:
    escaped = match[1]
    return bytes([int(escaped, 8) & 0xFF]) if escaped.isdigit() else escaped
