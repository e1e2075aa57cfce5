"""A fleet's server as its own process, with an endpoint for each VM, and the agents in them."""

import re
from contextlib import contextmanager

from agent_process import AgentProcess
from served import ServerProcess

CONFIG = """
[clock]
kind = "manual"

[metadata]
rate_limit_per_s = 0
"""
LISTENER = """
[[metadata.listeners]]
address = "127.0.0.1:0"
vm = "fleet/{name}"
"""


class ServedFleet(ServerProcess):
    """One scope, `fleet`, each VM in an update domain of its own."""

    def __init__(self, place, *vms):
        super().__init__(place / "server")
        config = place / "notbefore.toml"
        config.write_text(CONFIG + "".join(LISTENER.format(name=name) for name in vms))
        self._words = ["serve", "--config", str(config), "--state", str(self.state), "--control", "127.0.0.1:0"]
        self._place = place
        self._vms = vms
        self.agents = []

    def start(self):
        super().start()
        urls = re.findall(r"metadata +(http://\S+)", self.banner)
        self.endpoints = dict(zip(self._vms, urls, strict=True))
        vms = [{"name": name, "update_domain": n} for n, name in enumerate(self._vms)]
        settings = {"listening": "always"}
        self.told("PUT", "/v1/scopes/fleet", {"kind": "availability-set", "settings": settings, "vms": vms})
        return self

    def told(self, method, path, body=None):
        status, answer = self.control(method, path, body)
        assert status in (200, 201, 202), answer
        return answer

    def agent_in(self, vm, text=None, **named):
        """An agent that watches already; its folder is `vm`, which may have been prepared."""
        agent = AgentProcess(self._place / vm, self.endpoints[vm], text, **named)
        self.agents.append(agent.start())
        assert agent.says("this VM is"), agent.log
        return agent

    def operate(self, vm, operation):
        return self.told("POST", f"/v1/scopes/fleet/vms/{vm}/{operation}", {})

    def cancel(self, event):
        return self.told("POST", f"/v1/events/{event['id']}/cancel")

    def status_of(self, event):
        return self.told("GET", f"/v1/events/{event['id']}")["status"]

    def advance(self, seconds):
        return self.told("POST", "/v1/clock", {"advance_s": seconds})

    def approvals_of(self, event):
        records = self.told("GET", f"/v1/history?event={event['id']}")["history"]
        return [change["by"] for record in records for change in record["changes"] if change["what"] == "approved"]


@contextmanager
def served_fleet(place, *vms):
    with ServedFleet(place, *vms) as fleet:
        try:
            yield fleet
        finally:
            for agent in fleet.agents:
                agent.end()
