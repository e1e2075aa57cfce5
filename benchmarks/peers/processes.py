"""Processes of ours on the server's core, and the addresses they get.

Rule 1: whoever starts a process waits for its end.
Rule 2: an address is on loopback, and below the ports that outgoing connections take.
"""

import os
import random
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measuring.cpu import SERVER_CORE, on_core
from measuring.load import Address, LoadFailed, pause

PORTS = range(10_000, 32_000)
READY_TRIES = 200
READY_PAUSE_S = 0.05
STOP_TIMEOUT_S = 20


def program(name: str) -> str | None:
    """Debian keeps servers out of a user's path."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


@contextmanager
def started(words: list[str], log: Path, env: dict[str, str], cores: set[int] | None = None) -> Iterator[int]:
    """On the server's core unless other cores are given; told to stop at the end, and waited for."""
    with log.open("w") as out, on_core(*(cores or {SERVER_CORE})):
        process = subprocess.Popen(words, stdout=out, stderr=out, env={**os.environ, **env})
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(address: Address, log: Path) -> None:
    for _ in range(READY_TRIES):
        try:
            socket.create_connection(address, 1).close()
        except OSError:
            pause(READY_PAUSE_S)
        else:
            return
    raise LoadFailed(f"a server did not start, see {log.name}")


def free_address() -> Address:
    for port in random.sample(PORTS, 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return "127.0.0.1", port
    raise LoadFailed("no port is free")


def text_of(address: Address) -> str:
    return f"{address[0]}:{address[1]}"


def said_by(*words: str) -> str:
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    return (ran.stdout or ran.stderr).strip()
