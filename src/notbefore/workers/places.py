"""The addresses that workers share, each kept for this server also while no worker listens.

Rule 1: a taken port is an error at start, whatever sockets the other one shares it with.
Rule 2: what is kept is bound and never listens; a worker's socket listens and ends with the worker. So the kernel
gives a connection only to one that lives, and the address to nobody else.
Rule 3: a socket that was handed over by a service manager listens already, and is the same for all workers.
"""

import socket
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from notbefore.metadata.identity import Listener
from notbefore.sockets import address_of, bind


@dataclass(frozen=True, slots=True)
class Place:
    listener: Listener
    kept: socket.socket

    def for_worker(self) -> socket.socket:
        """A socket for one more worker; whoever starts it closes it here."""
        is_shared = self.kept.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        return self.kept.dup() if is_shared else shared(*address_of(self.kept))


def places_of(listeners: Sequence[Listener], sockets: Sequence[socket.socket]) -> list[Place]:
    return [Place(listener, bound) for listener, bound in zip(listeners, sockets, strict=True)]


def kept(host: str, port: int) -> socket.socket:
    """The address, taken as nobody else has it, and then shared with our own workers alone."""
    with closing(bind(host, port)) as probe:
        # Only now, so that the probe itself shared it with nobody; and it goes last, so that nobody slips between.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound = shared(*address_of(probe))
    # With this set another program could bind it too while no worker listens.
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    return bound


def shared(host: str, port: int) -> socket.socket:
    """One of several sockets of an address, not listening yet."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    bound.setblocking(False)
    return bound
