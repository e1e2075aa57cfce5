"""Tests of a VM's agent, against a real service whose clock they turn: copy this, and put your own agent in.

Run: pip install notbefore pytest, then `pytest test_my_agent.py`, or in parallel with pytest-xdist: `pytest -n 2 …`.
The fixture `scheduled_events` comes with notbefore; docs/how-to/test-your-agent.md explains it.
"""

import asyncio
import threading
from contextlib import suppress

import pytest

from notbefore.client import Document, EndpointError, EventView, ScheduledEvents
from notbefore.testing import EmulatedVm, Emulator


class Agent:
    """Drains its VM before an event, says so to the service, and takes the VM back when the event is over."""

    def __init__(self, service: ScheduledEvents, vm: str) -> None:
        self.service = service
        self.vm = vm
        self.busy = False
        self.done: list[str] = []
        self.stopped = threading.Event()
        self._known: dict[str, EventView] = {}

    def look(self) -> None:
        """Once: what is new is prepared for, what is gone is over."""
        self.react_to(self.service.document())

    def react_to(self, document: Document) -> None:
        for event in document.events:
            if event.is_mine(self.vm) and event.id not in self._known and not self.busy:
                self._known[event.id] = event
                self.prepare(event)
        for gone in [event for key, event in self._known.items() if document.event(key) is None]:
            del self._known[gone.id]
            self.done.append(f"back after {gone.type}")

    def prepare(self, event: EventView) -> None:
        self.done.append(f"drained for {event.type}")
        if not event.is_started:
            self.service.approve(event.id)

    def run(self) -> None:
        while not self.stopped.wait(0.01):
            with suppress(EndpointError):  # an error is not "no events"
                self.look()


@pytest.fixture
def vm(scheduled_events: Emulator) -> EmulatedVm:
    return scheduled_events.vm("web-0", spot=True)


@pytest.fixture
def agent(vm: EmulatedVm) -> Agent:
    return Agent(vm.client(), vm.name)


# -- what is announced


@pytest.mark.parametrize("event_type", ["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"])
def test_it_drains_and_approves(scheduled_events: Emulator, agent: Agent, event_type: str) -> None:
    event = scheduled_events.schedule(event_type, "web-0")

    agent.look()

    assert agent.done == [f"drained for {event_type}"]
    scheduled_events.assert_approved(event, by="web-0")
    scheduled_events.assert_status(event, "Started")


def test_it_approves_once(scheduled_events: Emulator, agent: Agent, vm: EmulatedVm) -> None:
    scheduled_events.scope(approval="all")
    scheduled_events.schedule("Freeze", "web-0", "web-1")

    agent.look()
    agent.look()

    assert [request.method for request in vm.requests] == ["GET", "POST", "GET"]


def test_it_leaves_the_events_of_others_alone(scheduled_events: Emulator, agent: Agent) -> None:
    event = scheduled_events.schedule("Reboot", "web-1")

    agent.look()

    assert agent.done == []
    scheduled_events.assert_not_approved(event)


def test_its_word_counts_for_every_vm_of_the_event(scheduled_events: Emulator, agent: Agent) -> None:
    event = scheduled_events.schedule("Freeze", "web-1", "web-0")

    agent.look()

    assert set(event.vms) == {"web-0", "web-1"}
    scheduled_events.assert_status(event, "Started")


def test_an_event_of_several_waits_for_all_where_that_is_the_policy(scheduled_events: Emulator, agent: Agent) -> None:
    scheduled_events.scope(approval="all")
    event = scheduled_events.schedule("Freeze", "web-0", "web-1")

    agent.look()
    scheduled_events.assert_status(event, "Scheduled")
    scheduled_events.vm("web-1").approve(event)

    scheduled_events.assert_status(event, "Started")


def test_an_agent_that_is_busy_is_not_waited_for(scheduled_events: Emulator, agent: Agent) -> None:
    agent.busy = True
    event = scheduled_events.schedule("Reboot", "web-0")

    agent.look()
    scheduled_events.advance("14m59s")
    scheduled_events.assert_status(event, "Scheduled")
    scheduled_events.advance("1s")

    scheduled_events.assert_not_approved(event)
    scheduled_events.assert_status(event, "Started")


def test_it_drains_also_when_there_was_no_notice(scheduled_events: Emulator, agent: Agent) -> None:
    scheduled_events.vm("web-0", host="rack-7")
    scheduled_events.fail_host("rack-7")

    agent.look()

    assert agent.done == ["drained for Reboot"]


# -- what is over


def test_it_takes_the_vm_back_when_the_event_is_over(scheduled_events: Emulator, agent: Agent) -> None:
    event = scheduled_events.schedule("Reboot", "web-0")
    agent.look()

    scheduled_events.advance_until("completed", event)
    agent.look()

    assert agent.done == ["drained for Reboot", "back after Reboot"]


def test_it_takes_the_vm_back_when_the_event_is_cancelled(scheduled_events: Emulator, agent: Agent) -> None:
    scheduled_events.scope(approval="all")
    event = scheduled_events.schedule("Redeploy", "web-0", "web-1")
    agent.look()

    scheduled_events.cancel(event)
    agent.look()

    assert agent.done == ["drained for Redeploy", "back after Redeploy"]


# -- agents that run by themselves


def test_it_works_on_a_thread(scheduled_events: Emulator, agent: Agent) -> None:
    thread = threading.Thread(target=agent.run)
    thread.start()
    try:
        event = scheduled_events.schedule("Reboot", "web-0")
        scheduled_events.wait_until("approved", event)
        scheduled_events.advance_until("completed", event)
        scheduled_events.wait_until(lambda: "back after Reboot" in agent.done)
    finally:
        agent.stopped.set()
        thread.join()


def test_it_works_on_a_loop(scheduled_events: Emulator, agent: Agent, vm: EmulatedVm) -> None:
    async def story() -> None:
        event = scheduled_events.schedule("Reboot", "web-0")
        async with vm.async_client() as service:
            agent.react_to(await service.document())
        await scheduled_events.wait_until_async("started", event)

    asyncio.run(story())


# -- tricks of the service


@pytest.mark.parametrize("kind", ["410", "503", "cut-body"])
def test_it_gets_over_what_passes(scheduled_events: Emulator, agent: Agent, kind: str) -> None:
    event = scheduled_events.schedule("Reboot", "web-0")

    with scheduled_events.fault(kind, times=2, on="get") as fault:
        agent.look()
        assert fault.struck == 2  # noqa: PLR2004  as often as ordered

    scheduled_events.assert_approved(event, by="web-0")


def test_it_knows_itself_in_any_letter_case(scheduled_events: Emulator, agent: Agent) -> None:
    scheduled_events.fault("letter-case")
    event = scheduled_events.schedule("Reboot", "web-0")

    agent.look()

    scheduled_events.assert_approved(event, by="web-0")


def test_it_drains_for_an_event_that_is_first_seen_as_started(
    scheduled_events: Emulator, agent: Agent, vm: EmulatedVm
) -> None:
    scheduled_events.fault("skip-scheduled")
    event = scheduled_events.schedule("Reboot", "web-0")
    scheduled_events.wait_until("started", event)

    agent.look()

    assert agent.done == ["drained for Reboot"]
    assert [request.method for request in vm.requests] == ["GET"]
