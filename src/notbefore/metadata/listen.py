"""The data plane on its addresses: which are allowed, and one uvicorn server for all of them.

Rule 1: the service is not exposed outside the VM [seed]: a wildcard or globally routable address is refused
unless `allow_routable` says so.
Rule 2: a listener that is opened while serving is as good as the others, and ends with them.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from ipaddress import ip_address

from notbefore.core.errors import NotAllowed
from notbefore.metadata.app import MetadataApp
from notbefore.metadata.connections import cut_off_overdue
from notbefore.metadata.face import Service
from notbefore.metadata.fast_path import FastPath
from notbefore.metadata.identity import Listener
from notbefore.sockets import QuietServer, config_for

TICKS_PER_SECOND = 10

Through = Callable[[asyncio.Protocol], asyncio.Protocol]
"""What stands between a connection and its protocol."""


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
    """Listeners by the address a connection came in on; a wildcard listener answers for its port."""
    by_address = {("" if ip_address(one.host).is_unspecified else one.host, one.port): one for one in listeners}
    return MetadataServer(app(service, by_address))


class MetadataServer(QuietServer):
    """Looks at its connections once a second and ends those that are overdue; at held questions with every tick."""

    def __init__(self, app: MetadataApp) -> None:
        super().__init__(config_for(app, http=FastPath))
        self._app = app
        self._polls = app.polls

    async def listen(self, bound: socket.socket, listener: Listener, through: Through = lambda made: made) -> None:
        """One more listener, while serving."""

        def made() -> asyncio.Protocol:
            return through(FastPath(self.config, self.server_state, self.lifespan.state))

        self._app.add_listener(listener)
        loop = asyncio.get_running_loop()
        self.servers.append(await loop.create_server(made, sock=bound, backlog=self.config.backlog))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Its connections are told, which answers what they hold; nothing is held from now on."""
        self._polls.stopping = True
        await super().shutdown(sockets=sockets)

    async def on_tick(self, counter: int) -> bool:
        self._polls.expire()
        if counter % TICKS_PER_SECOND == 0:
            cut_off_overdue(self.server_state.connections, asyncio.get_running_loop().time())  # type: ignore[arg-type]
        return await super().on_tick(counter)
