"""Listening sockets, bound before anything is served, and the server that runs on them.

Rule 1: a taken port is an error at start, never a surprise later.
Rule 2: a server that is told to stop does so at once: what it began it finishes within the grace, and who is then still
there is cut off.
Used by: metadata/, control/, recording/, wiring.py.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from ipaddress import ip_address
from typing import Any

import uvicorn

from notbefore.core.errors import Invalid, NotAllowed
from notbefore.tls import Certificate

BACKLOG = 2048
GRACE_S = 5.0
TICK_S = 1.0
LOOK_FIRST_S = 0.001
LOOK_LATER_S = 0.1
EARLY_S = 0.002
KEEP_ALIVE_S = 75
# uvicorn counts its ticks, and renews the date with each of these.
EACH_SECOND = 0
PORTS = range(65536)

log = logging.getLogger("notbefore")


def parse_address(text: str) -> tuple[str, int]:
    """`127.0.0.1:8254`, `[::1]:8254`."""
    host, _, port = text.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    try:
        return str(ip_address(host)), PORTS.index(int(port))
    except ValueError:
        raise Invalid(
            f"{text!r} is not an address to listen on.",
            "Write ADDRESS:PORT, such as 127.0.0.1:8254 or [::1]:8254.",
            {"address": text},
        ) from None


def bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, because asyncio sends answers without delay only where it is told that this is TCP.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind((host, port))
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise NotAllowed(
            f"Cannot listen on {host}:{port}: {error.strerror}.",
            "Choose another address, or stop whoever has it.",
            {"address": f"{host}:{port}"},
        ) from None
    bound.setblocking(False)
    return bound


def next_beat_s(now_s: float, every_s: float) -> float:
    """The next of the moments that are so far apart; not the one that a loop has just woken up for a trifle early."""
    return ((now_s + EARLY_S) // every_s + 1) * every_s


class QuietServer(uvicorn.Server):
    """uvicorn's server without its own signal handlers: the process has one owner, and it is not this."""

    def __init__(self, config: uvicorn.Config) -> None:
        self._told = asyncio.Event()
        super().__init__(config)
        self.up = asyncio.Event()
        self.grace_s = GRACE_S

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.up.set()

    @property
    def should_exit(self) -> bool:
        return self._told.is_set()

    @should_exit.setter
    def should_exit(self, wanted: bool) -> None:
        """uvicorn's way to be told."""
        if wanted:
            self._told.set()

    async def main_loop(self) -> None:
        """A tick when something is due; but who is told to stop does not wait for the next one."""
        loop = asyncio.get_running_loop()
        while not await self.on_tick(EACH_SECOND):
            with suppress(TimeoutError):
                # All servers at the same moments: an idle process is woken half as often.
                async with asyncio.timeout_at(next_beat_s(loop.time(), self.tick_s())):
                    await self._told.wait()

    def tick_s(self) -> float:
        """How far the next moment is at most when something may be due."""
        return TICK_S

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """What uvicorn's does, without its waits of a tenth of a second."""
        for listening in self.servers:
            listening.close()
        for bound in sockets or []:
            bound.close()
        try:
            async with asyncio.timeout(self.grace_s):
                await self._finished()
        except TimeoutError:
            await self._cut_off()

    async def _finished(self) -> None:
        """Told more than once: a connection may have been accepted just before."""
        state, rest_s = self.server_state, 0.0
        while True:
            for connection in list(state.connections):
                connection.shutdown()
            await asyncio.sleep(rest_s)
            if not (state.connections or state.tasks):
                return
            rest_s = min(2 * rest_s or LOOK_FIRST_S, LOOK_LATER_S)

    async def _cut_off(self) -> None:
        state = self.server_state
        log.warning("cut off who was not done when the server stopped", extra={"connections": len(state.connections)})
        for connection in list(state.connections):
            cut_off = getattr(connection, "cut_off", None) or connection.transport.abort
            cut_off()
        await asyncio.sleep(0)
        tasks = list(state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def config_for(
    app: Any, http: type[asyncio.Protocol] | str = "httptools", certificate: Certificate | None = None
) -> uvicorn.Config:
    """uvicorn with everything left out that neither plane wants."""
    return uvicorn.Config(
        app,
        http=http,
        ws="none",
        lifespan="off",
        interface="asgi3",
        proxy_headers=False,
        access_log=False,
        log_config=None,
        server_header=False,
        headers=[("server", "notbefore")],
        timeout_keep_alive=KEEP_ALIVE_S,
        backlog=BACKLOG,
        ssl_certfile=certificate.chain if certificate else None,
        ssl_keyfile=certificate.key if certificate else None,
    )


@asynccontextmanager
async def serving(*servers: tuple[QuietServer, list[socket.socket]]) -> AsyncIterator[None]:
    """Run servers on their sockets until the block ends; what they began, they finish."""
    tasks = [asyncio.create_task(server.serve(sockets=sockets)) for server, sockets in servers]
    try:
        for (server, _), task in zip(servers, tasks, strict=True):
            await up_or_broken(server, task)
        yield
    finally:
        for server, _ in servers:
            server.should_exit = True
        await asyncio.gather(*tasks)


async def up_or_broken(server: QuietServer, serves: asyncio.Task[None]) -> None:
    """Once it is up; what kept it from that is raised."""
    up = asyncio.ensure_future(server.up.wait())
    await asyncio.wait({up, serves}, return_when=asyncio.FIRST_COMPLETED)
    up.cancel()
    if serves.done():
        serves.result()


def address_of(bound: socket.socket) -> tuple[str, int]:
    host, port = bound.getsockname()[:2]
    return host, port


def url_of(bound: socket.socket, scheme: str = "http") -> str:
    host, port = address_of(bound)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
