"""Option 245 in the leases of systemd-networkd, one file per link: `OPTION_245=a83f8110` (REFERENCE §7.3).

A file is there only while the lease is, so there is no end to look at.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from notbefore.client.discovery.option_245 import address_in_text, texts_of

FILES = ("run/systemd/netif/leases/*",)
_OPTION = re.compile(r"^OPTION_245=(.*)$", re.MULTILINE)


def addresses(root: Path) -> Iterator[str]:
    for _, text in texts_of(root, FILES):
        yield from addresses_in(text)


def addresses_in(text: str) -> Iterator[str]:
    for written in _OPTION.findall(text):
        if address := address_in_text(written):
            yield address
