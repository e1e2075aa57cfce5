"""A real server in this process, on its own thread and loop, with blocking hands to touch it.

Rule 1: real sockets on 127.0.0.0/8, a real SQLite file, the event loop of `serve`; nothing is replaced.
Rule 2: ports are the kernel's choice, so labs stand beside each other.
"""

import asyncio
import http.client
import json
import os
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote

import msgspec

from notbefore import event_loop
from notbefore.settings import Settings
from notbefore.wiring import running_server

NEWEST = "2020-07-01"
PATH = "/metadata/scheduledevents"


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Lab:
    def __init__(self, server, loop):
        self.server = server
        self.loop = loop
        self.metadata = address_of(server.metadata_urls[0])
        self.control_address = address_of(server.control_url)

    # -- as a VM

    def ask(self, source="127.0.0.1", version=NEWEST, method="GET", body=None, headers=None, path=PATH, query=None):
        """One request on a fresh connection, with the Metadata header unless other headers are given."""
        query = f"api-version={version}" if query is None else query
        target = f"{path}?{query}" if query else path
        given = {"Metadata": "true"} if headers is None else headers
        return self.request(self.metadata, method, target, body, given, source)

    def document(self, source="127.0.0.1", version=NEWEST):
        reply = self.ask(source, version)
        assert reply.status == 200, reply
        return reply.json

    def approve(self, *event_ids, source="127.0.0.1", version=NEWEST):
        return self.ask(source, version, "POST", start_requests(*event_ids))

    def raw(self, sent, source="127.0.0.1", *, half_close=False):
        """Bytes in, bytes out, until the server closes."""
        with socket.create_connection(self.metadata, timeout=15, source_address=(source, 0)) as line:
            line.sendall(sent)
            if half_close:
                line.shutdown(socket.SHUT_WR)
            received = b""
            while part := line.recv(65536):
                received += part
            return received

    # -- as an operator

    def control(self, method, path, body=None, token=None):
        headers = {"Authorization": f"Bearer {self.server.token if token is None else token}"}
        text = None if body is None else json.dumps(body)
        if text is not None:
            headers["Content-Type"] = "application/json"
        return self.request(self.control_address, method, path, text, headers)

    def declare(self, scope, *vms, force=False, kind="availability-set", **settings):
        """VMs as dicts, or names alone."""
        body = {"kind": kind, "settings": settings, "vms": [{"name": v} if isinstance(v, str) else v for v in vms]}
        reply = self.control("PUT", f"/v1/scopes/{quote(scope, safe='')}?force={str(force).lower()}", body)
        assert reply.status in (200, 201), reply
        return reply.json

    def make_spot(self, scope, *vms):
        """Declare these VMs of a scope as spot VMs: only those are evicted."""
        declared = self.control("GET", f"/v1/scopes/{quote(scope, safe='')}").json
        body = {name: declared[name] for name in ("kind", "settings", "vms")}
        body["vms"] = [{**vm, "spot": vm["spot"] or vm["name"] in vms} for vm in declared["vms"]]
        reply = self.control("PUT", f"/v1/scopes/{quote(scope, safe='')}", body)
        assert reply.status == 200, reply

    def operate(self, scope, vm, operation, **wanted):
        return self.control("POST", f"/v1/scopes/{quote(scope, safe='')}/vms/{quote(vm, safe='')}/{operation}", wanted)

    def made(self, scope, vm, operation, **wanted):
        reply = self.operate(scope, vm, operation, **wanted)
        assert reply.status == 202, reply
        return reply.json

    def maintain(self, scope, event_type, **wanted):
        reply = self.control("POST", f"/v1/scopes/{scope}/maintenance", {"type": event_type, **wanted})
        assert reply.status in (200, 202), reply
        return reply.json

    def event(self, event_id):
        return self.control("GET", f"/v1/events/{event_id}").json

    def history(self, query=""):
        return self.control("GET", f"/v1/history?{query}").json["history"]

    def advance(self, seconds):
        reply = self.control("POST", "/v1/clock", {"advance_s": seconds})
        assert reply.status == 200, reply
        return reply.json

    # -- below

    def request(self, address, method, target, body, headers, source="127.0.0.1"):
        line = http.client.HTTPConnection(*address, timeout=30, source_address=(source, 0))
        try:
            line.request(method, target, body, headers)
            answer = line.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            line.close()

    def run(self, coroutine):
        """Run something on the server's own loop; workers have seen what came of it."""

        async def in_step():
            done = await coroutine
            if self.server.crew:
                await self.server.crew.in_step()
            return done

        return asyncio.run_coroutine_threadsafe(in_step(), self.loop).result(30)


def start_requests(*event_ids):
    return json.dumps({"StartRequests": [{"EventId": event_id} for event_id in event_ids]})


def address_of(url):
    host, _, port = url.removeprefix("http://").rpartition(":")
    return host.strip("[]"), int(port)


def lab_settings(
    state,
    clock="manual",
    *,
    demo=False,
    allow_faults=False,
    listeners=("127.0.0.1:0",),
    executor=None,
    notify=None,
    workers=None,
    **metadata,
):
    """As many workers as are said here, else in the environment, as for `serve`."""
    listeners = [{"address": one} if isinstance(one, str) else one for one in listeners]
    tree = {
        "state": str(state),
        "demo": demo,
        "allow_faults": allow_faults,
        "workers": int(os.environ.get("NOTBEFORE_WORKERS", "1")) if workers is None else workers,
        "clock": {"kind": clock},
        "control": {"address": "127.0.0.1:0"},
        "metadata": {"listeners": listeners, "rate_limit_per_s": 0, **metadata},
        "executor": executor or {},
        "notify": notify or {},
    }
    return msgspec.convert(tree, Settings)


@contextmanager
def open_lab(settings):
    started = threading.Event()
    box = {}

    async def serve():
        async with running_server(settings) as server:
            stop = asyncio.Event()
            box.update(lab=Lab(server, asyncio.get_running_loop()), stop=stop)
            started.set()
            await stop.wait()

    def run():
        try:
            event_loop.run(serve())
        except BaseException as error:  # noqa: BLE001  handed to the test, whatever it is
            box["error"] = error
        finally:
            started.set()

    thread = threading.Thread(target=run, name="lab")
    thread.start()
    started.wait()
    try:
        if "lab" in box:
            yield box["lab"]
    finally:
        if "lab" in box:
            box["lab"].loop.call_soon_threadsafe(box["stop"].set)
        thread.join()
    if "error" in box:
        raise box["error"]
