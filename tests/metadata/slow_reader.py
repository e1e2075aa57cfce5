"""A client that takes its time over a document that is longer than any buffer."""

import socket


def declare_long(lab):
    others = [f"{n:0>120}" for n in range(900)]
    lab.declare("long", {"name": "asking", "addresses": ["127.0.0.1"]}, *others, listening="always")


def long_document(lab):
    """Some hundreds of kilobytes: more than any buffer on the way takes at once."""
    declare_long(lab)
    lab.maintain("long", "Freeze")


def narrow(lab):
    line = socket.socket()
    for which in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        line.setsockopt(socket.SOL_SOCKET, which, 4096)
    # Small segments, and so a small buffer at the other end: the loopback's would take the document at once.
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    line.settimeout(20)
    line.connect(lab.metadata)
    return line
