"""The servers that are compared, each its own process on the server's core: notbefore, nginx, Go's net/http.

Rule 1: notbefore runs as a user runs it (`serve --demo`), rate limit on, only high enough never to refuse; and once
more with `--allow-faults` and no fault set, which must make no difference.
Rule 2: the peers answer with notbefore's own document, type and tag: same work on the wire, less behind it.
Rule 3: whoever starts a process waits for its end.
"""

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from measuring.answer import Answer
from measuring.cpu import SERVER_CORE, on_core
from measuring.load import Address, LoadFailed, pause

PORTS = range(10_000, 32_000)  # below the ports that outgoing connections take
RATE_LIMIT_PER_S = 1_000_000
READY_TRIES = 200
READY_PAUSE_S = 0.05
STOP_TIMEOUT_S = 20
GO_SOURCE = Path(__file__).with_name("go") / "main.go"
GO_ENV = {"GO111MODULE": "off", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
NGINX_CONFIG = """\
daemon off;
worker_processes 1;
pid nginx.pid;
error_log error.log warn;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  server_tokens off;
  keepalive_requests 1000000000;
  keepalive_timeout 75s;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  types {{ }}
  default_type '{content_type}';
  add_header ETag '{tag}';
  server {{
    listen 127.0.0.1:{port} backlog=2048;
    location / {{ return 200 '{body}'; }}
  }}
  server {{
    listen 127.0.0.1:{not_modified_port} backlog=2048;
    location / {{ return 304; }}
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers: its process, and where it says 200 and 304."""

    name: str
    version: str
    pid: int
    address: Address
    not_modified_address: Address


def program(name: str) -> str | None:
    """Debian keeps servers out of a user's path."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


@contextmanager
def notbefore(folder: Path, name: str = "notbefore", *more: str) -> Iterator[Server]:
    address = free_address()
    words = ["serve", "--demo", "--state", str(folder / f"{name}-state"), *more]
    words += ["--metadata", text_of(address), "--control", text_of(free_address())]
    env = {"NOTBEFORE_METADATA_RATE_LIMIT_PER_S": str(RATE_LIMIT_PER_S)}
    log = folder / f"{name}.log"
    with started([str(Path(sys.executable).with_name("notbefore")), *words], log, env) as pid:
        wait_for(address, log)
        version = said_by(sys.executable, "-c", "import notbefore; print(notbefore.__version__)")
        yield Server(name, version, pid, address, address)


@contextmanager
def nginx(folder: Path, reference: Answer) -> Iterator[Server]:
    address, not_modified = free_address(), free_address()
    (folder / "nginx").mkdir()
    config = NGINX_CONFIG.format(
        port=address[1],
        not_modified_port=not_modified[1],
        body=in_quotes(reference.body.decode()),
        tag=in_quotes(reference.header("etag")),
        content_type=in_quotes(reference.header("content-type")),
    )
    (folder / "nginx.conf").write_text(config)
    words = [str(program("nginx")), "-p", str(folder / "nginx"), "-c", str(folder / "nginx.conf"), "-e", "error.log"]
    with started(words, folder / "nginx.log", {}) as pid:
        wait_for(address, folder / "nginx.log")
        version = said_by(words[0], "-v").rpartition("/")[2]
        yield Server("nginx", version, pid, address, not_modified)


@contextmanager
def go(folder: Path, reference: Answer) -> Iterator[Server]:
    address = free_address()
    binary = folder / "go-metadata"
    subprocess.run(["go", "build", "-o", str(binary), str(GO_SOURCE)], check=True, env={**os.environ, **GO_ENV})
    words = [str(binary), "-listen", text_of(address), "-body", reference.body.decode()]
    words += ["-etag", reference.header("etag"), "-content-type", reference.header("content-type")]
    with started(words, folder / "go.log", {"GOMAXPROCS": "1"}) as pid:
        wait_for(address, folder / "go.log")
        version = re.search(r"go(\d[\d.]*)", said_by("go", "version"))
        yield Server("go", version.group(1) if version else "?", pid, address, address)


@contextmanager
def started(words: list[str], log: Path, env: dict[str, str]) -> Iterator[int]:
    """A process of ours on the server's core; told to stop at the end, and waited for."""
    with log.open("w") as out, on_core(SERVER_CORE):
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


def in_quotes(text: str) -> str:
    """For nginx's single quotes; it would read a dollar as a variable, and has no way to write one."""
    if "$" in text:
        raise ValueError("the document holds a dollar, which nginx cannot return")
    return text.replace("\\", "\\\\").replace("'", "\\'")
