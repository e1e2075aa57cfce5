"""The servers that are compared, each its own process on the server's core: notbefore, nginx, Go, and Python's others.

Rule 1: notbefore runs as a user runs it, rate limit on, only high enough never to refuse, and metrics on. Once more
with `--allow-faults` and no fault set, which must make no difference; with two workers; without its compiled part.
Rule 2: the peers check what the protocol demands and answer with notbefore's own document, type and tag: same work on
the wire, less behind it. nginx stands there twice: with the checks, and bare.
"""

import http.client
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import version as installed
from pathlib import Path

from measuring.answer import Answer
from measuring.load import Address, LoadFailed, pause, stopwatch_s
from peers.processes import READY_PAUSE_S, free_address, program, said_by, started, text_of, wait_for

from notbefore.system_calls import COMPILED, PURE_PYTHON

RATE_LIMIT_PER_S = 1_000_000
ENV = {
    "NOTBEFORE_METADATA_RATE_LIMIT_PER_S": str(RATE_LIMIT_PER_S),
    "NOTBEFORE_METADATA_LIMITS_CONNECTIONS_PER_VM_MAX": "1000",  # of one VM come as many as elsewhere of many
}
SLOW = 0.5  # the share of a sample's seconds for those that would only make the run long
READY_WITHIN_S = 120.0
HERE = Path(__file__).parent
GO_SOURCE = HERE / "go" / "main.go"
GO_ENV = {"GO111MODULE": "off", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
NGINX_CHECKS = """\
if ($http_metadata != 'true') {{ return 400; }}
      if ($is_version = 0) {{ return 400; }}"""
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
  map $args $is_version {{ default 0; {versions} }}
  server {{
    listen 127.0.0.1:{port} backlog=2048;
    location = /metadata/scheduledevents {{
      {checks}
      return 200 '{body}';
    }}
  }}
  server {{
    listen 127.0.0.1:{not_modified_port} backlog=2048;
    location = /metadata/scheduledevents {{
      {checks}
      return 304;
    }}
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers: its process, where it says 200 and 304, and where an operator asks it."""

    name: str
    version: str
    pid: int
    address: Address
    not_modified_address: Address
    state: Path | None = None
    control: Address | None = None
    keeps: bool = True  # a connection, for the next request
    checks: bool = True  # header and version
    share: float = 1.0
    workers: int = 1  # each gets as many connections as a server without


@contextmanager
def notbefore(folder: Path, name: str = "notbefore", *more: str) -> Iterator[Server]:
    """With the demo's scope."""
    with serving(folder, name, folder / f"{name}-state", "--demo", *more) as server:
        yield server


@contextmanager
def pure_python(folder: Path, name: str) -> Iterator[Server]:
    """As where it could not be compiled."""
    with serving(folder, name, folder / f"{name}-state", "--demo", env={PURE_PYTHON: "1"}) as server:
        yield server


@contextmanager
def with_workers(folder: Path, name: str, workers: int, cores: set[int] | None = None) -> Iterator[Server]:
    more = ("--demo", "--workers", str(workers))
    with serving(folder, name, folder / f"{name}-state", *more, cores=cores) as server:
        yield replace(server, workers=workers)


@contextmanager
def serving(
    folder: Path, name: str, state: Path, *more: str, cores: set[int] | None = None, env: dict[str, str] | None = None
) -> Iterator[Server]:
    address, control = free_address(), free_address()
    words = [str(Path(sys.executable).with_name("notbefore")), "serve", "--state", str(state), *more]
    words += ["--metadata", text_of(address), "--control", text_of(control)]
    log = folder / f"{name}.log"
    with started(words, log, ENV | (env or {}), cores) as pid:
        wait_until_ready(control, log)
        has_compiled = COMPILED is not None and PURE_PYTHON not in (env or {})
        version = f"{installed('notbefore')}, system calls {'compiled' if has_compiled else 'of the standard library'}"
        yield Server(name, version, pid, address, address, state, control)


def wait_until_ready(control: Address, log: Path) -> None:
    """A large store takes its time; until it is read the server says that it is not ready."""
    until_s = stopwatch_s() + READY_WITHIN_S
    while stopwatch_s() < until_s:
        with suppress(OSError), closing(http.client.HTTPConnection(*control, timeout=READY_WITHIN_S)) as line:
            line.request("GET", "/readyz")
            if line.getresponse().status == 200:
                return
        pause(READY_PAUSE_S)
    raise LoadFailed(f"a server never became ready, see {log.name}")


@contextmanager
def nginx(folder: Path, reference: Answer, name: str = "nginx", checks: str = NGINX_CHECKS) -> Iterator[Server]:
    address, not_modified = free_address(), free_address()
    (folder / name).mkdir()
    config = NGINX_CONFIG.format(
        port=address[1],
        not_modified_port=not_modified[1],
        body=in_quotes(reference.body.decode()),
        tag=in_quotes(reference.header("etag")),
        content_type=in_quotes(reference.header("content-type")),
        versions=" ".join(f"'api-version={version}' 1;" for version in VERSIONS),
        checks=checks.format(),
    )
    (folder / f"{name}.conf").write_text(config)
    words = [str(program("nginx")), "-p", str(folder / name), "-c", str(folder / f"{name}.conf"), "-e", "error.log"]
    with started(words, folder / f"{name}.log", {}) as pid:
        wait_for(address, folder / f"{name}.log")
        version = said_by(words[0], "-v").rpartition("/")[2]
        yield Server(name, version, pid, address, not_modified, checks=bool(checks))


@contextmanager
def go(folder: Path, reference: Answer) -> Iterator[Server]:
    address = free_address()
    binary = folder / "go-metadata"
    subprocess.run(["go", "build", "-o", str(binary), str(GO_SOURCE)], check=True, env={**os.environ, **GO_ENV})
    with started([str(binary), *words_for(address, reference)], folder / "go.log", {"GOMAXPROCS": "1"}) as pid:
        wait_for(address, folder / "go.log")
        version = re.search(r"go(\d[\d.]*)", said_by("go", "version"))
        yield Server("go", version.group(1) if version else "?", pid, address, address)


@contextmanager
def python_peer(
    folder: Path, reference: Answer, name: str, script: str, package: str, *, keeps: bool = True
) -> Iterator[Server]:
    address = free_address()
    words = [sys.executable, str(HERE / script), *words_for(address, reference)]
    with started(words, folder / f"{name}.log", {}) as pid:
        wait_for(address, folder / f"{name}.log")
        version = f"{package} {installed(package)}"
        yield Server(name, version, pid, address, address, keeps=keeps, share=SLOW)


@contextmanager
def bare_python(folder: Path, reference: Answer) -> Iterator[Server]:
    """The least a server on Python's own sockets can cost. It checks nothing, as `nginx-bare`."""
    with python_peer(folder, reference, "bare-python", "bare_loop.py", "notbefore") as server:
        yield replace(server, version=f"Python {platform.python_version()}", share=1.0, checks=False)


def words_for(address: Address, reference: Answer) -> list[str]:
    words = ["--listen", text_of(address), "--body", reference.body.decode(), "--etag", reference.header("etag")]
    return [*words, "--content-type", reference.header("content-type")]


def in_quotes(text: str) -> str:
    """For nginx's single quotes; it would read a dollar as a variable, and has no way to write one."""
    if "$" in text:
        raise ValueError("the document holds a dollar, which nginx cannot return")
    return text.replace("\\", "\\\\").replace("'", "\\'")
