"""An operator's hands on a server of ours: the control API over one kept connection."""

import http.client
import json
import re
from typing import Any

from measuring.load import LoadFailed, pause
from peers.servers import Server

ANSWER_TIMEOUT_S = 20.0
LOOK_S = 0.02
REQUESTS = re.compile(r'^notbefore_worker\w*requests\w*\{[^}]*worker="([^"]+)"[^}]*\} (\S+)$', re.MULTILINE)


class Operator:
    def __init__(self, server: Server) -> None:
        if server.control is None or server.state is None:
            raise LoadFailed(f"nobody operates {server.name}")
        self.token = (server.state / "admin.token").read_text().strip()
        self._headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        self._line = http.client.HTTPConnection(*server.control, timeout=ANSWER_TIMEOUT_S)

    def command(self, method: str, path: str, body: object = None) -> Any:
        return json.loads(self.text(method, path, body))

    def text(self, method: str, path: str, body: object = None) -> str:
        self._line.request(method, path, None if body is None else json.dumps(body), self._headers)
        answer = self._line.getresponse()
        said = answer.read().decode()
        if answer.status >= 400:
            raise LoadFailed(f"{method} {path}: {answer.status} {said}")
        return said

    def declare(self, scope: str, addresses: dict[str, str]) -> None:
        """A scope that always listens, of VMs with an address each."""
        vms = [{"name": name, "addresses": [address]} for name, address in addresses.items()]
        body = {"kind": "availability-set", "settings": {"listening": "always"}, "vms": vms}
        self.command("PUT", f"/v1/scopes/{scope}", body)

    def held(self) -> int:
        """How many questions wait."""
        page = self.text("GET", "/metrics")
        return int(float(page.partition("\nnotbefore_metadata_long_polls ")[2].partition("\n")[0]))

    def wait_until_held(self, count: int) -> None:
        while self.held() < count:
            pause(LOOK_S)

    def requests_by_worker(self) -> dict[str, float]:
        return {worker: float(count) for worker, count in REQUESTS.findall(self.text("GET", "/metrics"))}

    def close(self) -> None:
        self._line.close()
