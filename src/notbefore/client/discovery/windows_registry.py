"""Option 245 in the Windows registry: the value `DhcpInterfaceOptions` of each interface (REFERENCE §7.4).

Rule 1: the value is a row of records, little endian: code, zero, length, vendor flag and end in Unix time, each of
four bytes; then the data, filled up to a multiple of four.
Rule 2: a record that has expired, or that does not fit, is not taken.
"""

import struct
import sys
from collections.abc import Iterator
from typing import Any

from notbefore.client.discovery.option_245 import CODE, address_in_bytes
from notbefore.client.endpoint import log

INTERFACES = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces"
VALUE = "DhcpInterfaceOptions"
KEYS_MAX = 256
_HEAD = struct.Struct("<IIIII")


def addresses(now_s: float) -> Iterator[str]:
    registry = _registry()
    return addresses_in(registry, now_s) if registry else iter(())


def _registry() -> Any:
    if sys.platform != "win32":
        return None
    import winreg  # noqa: PLC0415  there is none elsewhere

    return winreg


def addresses_in(registry: Any, now_s: float) -> Iterator[str]:
    """Of a registry as the module `winreg` shows it."""
    try:
        with registry.OpenKey(registry.HKEY_LOCAL_MACHINE, INTERFACES) as interfaces:
            names = [
                registry.EnumKey(interfaces, n) for n in range(min(registry.QueryInfoKey(interfaces)[0], KEYS_MAX))
            ]
            for name in names:
                yield from addresses_in_options(_value(registry, interfaces, name), now_s)
    except OSError as error:
        log.info("the registry cannot be read: %s", error)


def addresses_in_options(options: bytes, now_s: float) -> Iterator[str]:
    at = 0
    while at + _HEAD.size <= len(options):
        code, _, length, _, ends_s = _HEAD.unpack_from(options, at)
        at += _HEAD.size
        data = options[at : at + length]
        address = address_in_bytes(data) if code == CODE and ends_s > now_s else None
        if address:
            yield address
        at += -(-length // 4) * 4


def _value(registry: Any, interfaces: Any, name: str) -> bytes:
    try:
        with registry.OpenKey(interfaces, name) as interface:
            value = registry.QueryValueEx(interface, VALUE)[0]
    except OSError:
        return b""
    return value if isinstance(value, bytes) else b""
