"""Option 245 in the lease files of ISC's dhclient (REFERENCE §7.3).

Rule 1: the last lease of a file that has the option and has not expired. A lease without an end counts as expired.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from notbefore.client.discovery.option_245 import address_in_text, texts_of

FILES = ("var/lib/dhcp/dhclient*.leases", "var/lib/dhclient/dhclient*.lease*", "var/lib/dhcp3/dhclient*.leases")
_LEASE = re.compile(r"^\s*lease\s*\{(.*?)^\s*\}", re.DOTALL | re.MULTILINE)
_OPTION = re.compile(r'^\s*option\s+(?:unknown-|option-)?245\s+("(?:[^"\\]|\\.)*"|[^;]+);', re.MULTILINE)
_EXPIRE = re.compile(r"^\s*expire\s+(?:(never)|epoch\s+(\d+)|\d\s+(\d+)/(\d+)/(\d+)\s+(\d+):(\d+):(\d+))", re.MULTILINE)


def addresses(root: Path, now_s: float) -> Iterator[str]:
    for _, text in texts_of(root, FILES):
        if address := address_in_leases(text, now_s):
            yield address


def address_in_leases(text: str, now_s: float) -> str | None:
    for lease in reversed(_LEASE.findall(text)):
        option = _OPTION.search(lease)
        address = address_in_text(option[1]) if option else None
        if address and not _has_expired(lease, now_s):
            return address
    return None


def _has_expired(lease: str, now_s: float) -> bool:
    """Times in leases are UTC."""
    expire = _EXPIRE.search(lease)
    if expire is None:
        return True
    never, epoch, *date = expire.groups()
    if never:
        return False
    try:
        ends_s = int(epoch) if epoch else datetime(*map(int, date), tzinfo=UTC).timestamp()  # type: ignore[arg-type,misc]
    except (ValueError, OverflowError):
        return True
    return ends_s <= now_s
