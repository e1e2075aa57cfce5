"""A server in its own process with two scopes, one event in each, and many strangers around it."""

import asyncio
import json
import socket
import struct
from pathlib import Path

from answers_read import RECV_BYTES, Answers
from hostile_case import EVENT, LAST
from served import ServerProcess

STRANGERS = tuple(f"127.0.7.{n}" for n in range(1, 9))
DEMO_VMS = tuple(f"127.0.0.{n}" for n in range(1, 5))
HONEST = "127.0.9.9"
HANGING_S = 20
MEANT = {200, 304, 400, 403, 404, 405, 413, 431}


class Attacked(ServerProcess):
    """The demo scope, attacked by its own VMs and by strangers, and the scope of an honest VM beside it."""

    def __init__(self, state, **limits):
        env = {f"NOTBEFORE_METADATA_LIMITS_{name.upper()}": str(value) for name, value in limits.items()}
        env["NOTBEFORE_METADATA_RATE_LIMIT_PER_S"] = "0"
        super().__init__(state, "--demo", "--clock", "manual", env=env)

    def start(self):
        super().start()
        vms = [{"name": "honest", "addresses": [HONEST]}]
        self.done("PUT", "/v1/scopes/other", {"kind": "standalone", "settings": {"listening": "always"}, "vms": vms})
        self.of_demo = self.done("POST", "/v1/scopes/demo/vms/FrontEnd_IN_0/restart", {})["id"]
        self.of_other = self.done("POST", "/v1/scopes/other/vms/honest/restart", {})["id"]
        return self

    def done(self, method, path, body=None):
        status, answer = self.control(method, path, body)
        assert status < 300, answer
        return answer

    def state_of_events(self):
        return [self.done("GET", f"/v1/events/{one}") for one in (self.of_demo, self.of_other)]

    def foreign_to(self, source):
        """An event that this source may not approve: the other scope's; for a stranger any is."""
        return self.of_other if source in DEMO_VMS else self.of_demo

    def peak_kib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))

    def open_files_max(self):
        limits = Path(f"/proc/{self.process.pid}/limits").read_text()
        return next(int(line.split()[3]) for line in limits.splitlines() if line.startswith("Max open files"))

    async def suffer(self, attack):
        """Carry out one attack; what came back, and nothing is left hanging."""
        reader, writer = await self._line(attack.source)
        answers = Answers()
        try:
            async with asyncio.timeout(HANGING_S):
                for piece in attack.pieces:
                    writer.write(piece.replace(EVENT, self.foreign_to(attack.source).encode()))
                    await asyncio.sleep(0)
                await self._end(attack.end, reader, writer, answers)
        except TimeoutError:
            raise  # it hangs
        except OSError:
            pass  # the server was first to close
        finally:
            writer.transport.abort()
        return answers

    async def _end(self, end, reader, writer, answers):
        if end == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        if end in ("reset", "close"):
            return
        if end == "half close":
            writer.write_eof()
        while received := await reader.read(RECV_BYTES):
            answers.feed(received)

    async def ask_honestly(self):
        """A fresh connection of the honest VM: the document it gets."""
        reader, writer = await self._line(HONEST)
        try:
            async with asyncio.timeout(HANGING_S):
                writer.write(LAST)
                answers = Answers()
                while received := await reader.read(RECV_BYTES):
                    answers.feed(received)
        finally:
            writer.transport.abort()
        assert answers.statuses == [200], answers.final
        return answers.final[0].json

    async def _line(self, source):
        return await asyncio.open_connection(*self.metadata, local_addr=(source, 0))


def fault_in(answers):
    """What is wrong with answers to an attack; None when nothing is."""
    for one in answers.final:
        if one.status not in MEANT:
            return f"status {one.status}"
        if one.status == 200 and not one.body:
            return "an approval was taken"
        if one.status >= 400 and one.whole and not isinstance(json.loads(one.body)["error"], str):
            return "an error without a sentence"
    return None
