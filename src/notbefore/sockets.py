"""Listening sockets, bound before anything is served, and the server that runs on them.

Rule 1: a taken port is an error at start, never a surprise later.
Used by: metadata/, control/, wiring.py.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

import uvicorn

from notbefore.core.errors import Invalid, NotAllowed
from notbefore.tls import Certificate

BACKLOG = 2048
GRACE_S = 5
KEEP_ALIVE_S = 75
PORTS = range(65536)


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
    bound = socket.socket(family, socket.SOCK_STREAM)
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


class QuietServer(uvicorn.Server):
    """uvicorn's server without its own signal handlers: the process has one owner, and it is not this."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.up.set()

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
        timeout_graceful_shutdown=GRACE_S,
        backlog=BACKLOG,
        ssl_certfile=certificate.chain if certificate else None,
        ssl_keyfile=certificate.key if certificate else None,
    )
