"""Three VMs in one update domain, each with an endpoint of its own, and agents in them."""

from contextlib import contextmanager

from agent_process import AgentProcess

from lab import lab_settings, open_lab

VMS = ("web-1", "web-2", "web-3")


@contextmanager
def open_fleet(place):
    listeners = [{"address": "127.0.0.1:0", "vm": f"fleet/{name}"} for name in VMS]
    with open_lab(lab_settings(place / "state", listeners=listeners)) as lab:
        lab.declare("fleet", *VMS, listening="always")
        yield lab


def agents_of(fleet, place):
    """Agents that are ended with the test, whatever becomes of it; for a fixture to yield from."""
    begun = []

    def begin(text, n=0, **named):
        agent = AgentProcess(place / VMS[n], fleet.server.metadata_urls[n], text, **named)
        begun.append(agent)
        return agent

    yield begin
    for agent in begun:
        agent.end()
    for _ in range(2):  # what is still there starts, and ends
        fleet.advance(3600)


def approvals_of(fleet, event_id):
    records = fleet.history(f"event={event_id}")
    return [change["by"] for record in records for change in record["changes"] if change["what"] == "approved"]
