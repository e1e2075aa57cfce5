"""A DHCP question for option 245, and what an answer says (RFC 2131, REFERENCE §7.2).

Rule 1: a DISCOVER. It asks every server and takes nothing: no lease is requested, none is changed.
Rule 2: an answer is one to this question only: its transaction, this hardware address, the cookie, an OFFER or ACK.
"""

import struct

from notbefore.client.discovery.option_245 import CODE, address_in_bytes

REQUEST, REPLY = 1, 2
ETHERNET, MAC_BYTES = 1, 6
# Answers are broadcast: the machine's own DHCP client holds the port too, and would get those to the address alone.
BROADCAST = 0x8000
COOKIE = bytes((99, 130, 83, 99))
PAD, MESSAGE_TYPE, PARAMETERS, END = 0, 53, 55, 255
DISCOVER, OFFER, ACK = 1, 2, 5
ROUTER = 3
_HEAD = struct.Struct("!BBBBIHH4s4s4s4s16s64s128s")
NOWHERE = bytes(4)
MIN_BYTES = 300


def discover_packet(mac: bytes, transaction: int) -> bytes:
    head = _HEAD.pack(
        REQUEST, ETHERNET, MAC_BYTES, 0, transaction, 0, BROADCAST, NOWHERE, NOWHERE, NOWHERE, NOWHERE, mac, b"", b""
    )
    options = bytes((MESSAGE_TYPE, 1, DISCOVER, PARAMETERS, 2, ROUTER, CODE, END))
    return (head + COOKIE + options).ljust(MIN_BYTES, b"\0")


def address_offered(packet: bytes, mac: bytes, transaction: int) -> str | None:
    """The address in option 245 of an answer to this question."""
    if len(packet) < _HEAD.size + len(COOKIE):
        return None
    op, _, _, _, answers, _, _, _, _, _, _, hardware, _, _ = _HEAD.unpack_from(packet)
    is_ours = op == REPLY and answers == transaction and hardware[:MAC_BYTES] == mac
    if not is_ours or packet[_HEAD.size : _HEAD.size + len(COOKIE)] != COOKIE:
        return None
    options = _options(packet[_HEAD.size + len(COOKIE) :])
    if options.get(MESSAGE_TYPE) not in (bytes((OFFER,)), bytes((ACK,))):
        return None
    return address_in_bytes(options.get(CODE, b""))


def _options(field: bytes) -> dict[int, bytes]:
    options: dict[int, bytes] = {}
    at = 0
    while at < len(field) and field[at] != END:
        if field[at] == PAD:
            at += 1
            continue
        if at + 1 >= len(field):
            break
        length = field[at + 1]
        options.setdefault(field[at], field[at + 2 : at + 2 + length])
        at += 2 + length
    return options
