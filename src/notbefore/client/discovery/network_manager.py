"""Option 245 as NetworkManager keeps it, whichever DHCP client it uses.

Rule 1: with dhclient there are lease files in ISC's form; older internal clients wrote networkd's form; newer ones
tell over D-Bus only, where `nmcli` asks for us: `private_245 = a8:3f:81:10`, `unknown_245` in older versions.
Rule 2: nmcli belongs to the running machine, so it is asked only when the files are the machine's own.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from notbefore.client.discovery.isc_leases import address_in_leases
from notbefore.client.discovery.networkd import addresses_in
from notbefore.client.discovery.option_245 import address_in_text, texts_of
from notbefore.client.endpoint import log

DHCLIENT_FILES = ("var/lib/NetworkManager/dhclient-*.lease",)
INTERNAL_FILES = ("var/lib/NetworkManager/internal-*.lease",)
NMCLI = ("nmcli", "--terse", "--fields", "DHCP4", "device", "show")
NMCLI_MAX_S = 5
_OPTION = re.compile(r"\b(?:private|unknown)_245\s*=\s*(\S+)")


def addresses(root: Path, now_s: float) -> Iterator[str]:
    for _, text in texts_of(root, DHCLIENT_FILES):
        if address := address_in_leases(text, now_s):
            yield address
    for _, text in texts_of(root, INTERNAL_FILES):
        yield from addresses_in(text)
    if root == Path("/"):
        yield from addresses_shown(_asked_nmcli())


def addresses_shown(text: str) -> Iterator[str]:
    """In what nmcli prints; its terse form puts a backslash before each colon."""
    for written in _OPTION.findall(text.replace("\\", "")):
        if address := address_in_text(written):
            yield address


def _asked_nmcli() -> str:
    program = shutil.which(NMCLI[0])
    if program is None:
        return ""
    import subprocess  # noqa: PLC0415  only where there is an nmcli

    try:
        ran = subprocess.run(  # noqa: S603  a fixed command line
            [program, *NMCLI[1:]], capture_output=True, text=True, timeout=NMCLI_MAX_S, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        log.info("nmcli did not tell: %s", error)
        return ""
    return ran.stdout
