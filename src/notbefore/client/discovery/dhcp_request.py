"""The active way: ask the network's DHCP servers for option 245, with a socket of our own (REFERENCE §7.2).

Rule 1: ten seconds in all, whatever comes. Asked on every Ethernet interface that is up, three times.
Rule 2: nothing of the machine is changed: no lease, no address, no firewall rule.
Rule 3: it needs the right to use port 68; without it, that is logged and no address is found.
"""

import os
import select
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from notbefore.client.clock import SystemClock
from notbefore.client.discovery.dhcp_packet import MAC_BYTES, address_offered, discover_packet
from notbefore.client.endpoint import log

CLIENT_PORT, SERVER_PORT = 68, 67
EVERYBODY = "255.255.255.255"
LIMIT_S = 10.0
SENT_AT_S = (0.0, 2.0, 5.0)
PACKET_MAX_BYTES = 4096
INTERFACES_MAX = 8
_FLAGS, _HARDWARE_ADDRESS = 0x8913, 0x8927
_UP, _LOOPBACK, _ETHERNET = 0x1, 0x8, 1


@dataclass(frozen=True, slots=True)
class Interface:
    name: str
    mac: bytes


@dataclass(frozen=True, slots=True)
class Asking:
    """One interface, its socket, and the question it asks."""

    interface: Interface
    line: socket.socket
    transaction: int

    def send(self) -> None:
        try:
            self.line.sendto(discover_packet(self.interface.mac, self.transaction), (EVERYBODY, SERVER_PORT))
        except OSError as error:
            log.info("no DHCP question went out on %s: %s", self.interface.name, error.strerror)

    def received(self) -> str | None:
        try:
            packet = self.line.recv(PACKET_MAX_BYTES)
        except OSError:
            return None
        return address_offered(packet, self.interface.mac, self.transaction)


def addresses(limit_s: float = LIMIT_S) -> Iterator[str]:
    with ExitStack() as opened:
        asking = [
            Asking(interface, opened.enter_context(line), int.from_bytes(os.urandom(4), "big"))
            for interface in interfaces()[:INTERFACES_MAX]
            if (line := _line_on(interface))
        ]
        if asking:
            log.info("asked DHCP on %s, for up to %g s", ", ".join(one.interface.name for one in asking), limit_s)
            yield from _answers(asking, limit_s)


def _answers(asking: list[Asking], limit_s: float) -> Iterator[str]:
    clock = SystemClock()
    start_s = clock.steady_s()
    to_send = list(SENT_AT_S)
    by_line = {one.line: one for one in asking}
    while (passed_s := clock.steady_s() - start_s) < limit_s:
        if to_send and passed_s >= to_send[0]:
            to_send.pop(0)
            for one in asking:
                one.send()
        until_s = min([limit_s, *to_send[:1]])
        ready, _, _ = select.select(list(by_line), [], [], max(0.0, until_s - passed_s))
        for line in ready:
            if address := by_line[line].received():
                log.info("a DHCP server on %s says %s", by_line[line].interface.name, address)
                yield address


def _line_on(interface: Interface) -> socket.socket | None:
    line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        if interface.name and hasattr(socket, "SO_BINDTODEVICE"):
            line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.name.encode())
        line.setblocking(False)
        line.bind(("0.0.0.0", CLIENT_PORT))  # noqa: S104  answers are broadcast
    except OSError as error:
        log.info("DHCP cannot be asked on %s: %s", interface.name or "this machine", error.strerror)
        line.close()
        return None
    return line


def interfaces() -> list[Interface]:
    if sys.platform == "linux":
        return _linux_interfaces()
    import uuid  # noqa: PLC0415  elsewhere the one hardware address that Python knows

    return [Interface("", uuid.getnode().to_bytes(MAC_BYTES, "big"))]


def _linux_interfaces() -> list[Interface]:
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        for _, name in socket.if_nameindex():
            flags = int.from_bytes(_told(line, _FLAGS, name)[:2], sys.byteorder)
            hardware = _told(line, _HARDWARE_ADDRESS, name)
            is_ethernet = int.from_bytes(hardware[:2], sys.byteorder) == _ETHERNET
            if flags & _UP and not flags & _LOOPBACK and is_ethernet:
                found.append(Interface(name, hardware[2 : 2 + MAC_BYTES]))
    return found


def _told(line: socket.socket, question: int, name: str) -> bytes:
    """What the kernel says of an interface, after the 16 bytes of its name; nothing when it has gone."""
    import fcntl  # noqa: PLC0415  Linux only, like its caller

    try:
        return fcntl.ioctl(line, question, name.encode().ljust(256, b"\0"))[16:]
    except OSError:
        return bytes(16)
