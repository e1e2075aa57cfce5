"""The data plane on its addresses: which are allowed, and one server behind one door for all of them.

Rule 1: the service is not exposed outside the VM [seed]: a wildcard or globally routable address is refused
unless `allow_routable` says so.
Rule 2: a listener that is opened while serving is as good as the others, and ends with them.
"""

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import ip_address

from notbefore.core.errors import NotAllowed
from notbefore.metadata.app import MetadataApp
from notbefore.metadata.connections import cut_off_overdue
from notbefore.metadata.door import Door, Through
from notbefore.metadata.face import Service
from notbefore.metadata.identity import Listener
from notbefore.metadata.plane import Plane
from notbefore.sockets import QuietServer, address_of, config_for

# While held questions are about to end.
BUSY_TICK_S = 0.1


def refuse_routable(host: str, or_else: str = ", or set allow_routable = true under [metadata]") -> None:
    address = ip_address(host)
    if address.is_unspecified or address.is_global:
        raise NotAllowed(
            f"The metadata service may not listen on {host}: it must not be reachable from outside the VMs.",
            f"Use a loopback, link-local or private address{or_else}.",
            {"address": host},
        )


def metadata_server(
    service: Service, listeners: Sequence[Listener], app: type[MetadataApp] = MetadataApp
) -> "MetadataServer":
    return MetadataServer(app(service), listeners)


class MetadataServer(QuietServer):
    """Looks once a second for connections that are overdue; more often while held questions are about to end."""

    def __init__(self, app: MetadataApp, listeners: Sequence[Listener]) -> None:
        super().__init__(config_for(app))
        self._app = app
        self._listeners = {(one.host, one.port): one for one in listeners}

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, with a door of our own instead of the loop's servers."""
        self.door = Door(Plane(self.config, self.server_state, self.lifespan.state))
        for bound in sockets or []:
            self.door.open(bound, self._listeners[address_of(bound)])
        self.servers = []
        self.started = True
        self.up.set()

    async def listen(self, bound: socket.socket, listener: Listener, through: Through | None = None) -> None:
        """One more listener, while serving."""
        self.door.open(bound, listener, through)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Its connections are told, which answers what they hold; nothing is held from now on."""
        self._app.polls.stopping = True
        self.door.shut()
        await super().shutdown(sockets=sockets)

    def tick_s(self) -> float:
        # Nobody is held for less than a tick: who comes meanwhile is seen at the next.
        return BUSY_TICK_S if self._app.polls.end_within(super().tick_s()) else super().tick_s()

    async def on_tick(self, counter: int) -> bool:
        self._app.polls.expire()
        cut_off_overdue(self.server_state.connections, asyncio.get_running_loop().time())  # type: ignore[arg-type]
        ends = await super().on_tick(counter)
        self._app.renew_default_lines(self.server_state)
        return ends
