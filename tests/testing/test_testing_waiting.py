"""notbefore.testing: waiting in real time for what an agent does, on threads and on loops, and what a failure tells."""

import asyncio
import threading

import pytest

from notbefore.client import AsyncScheduledEvents
from notbefore.control_client.refusals import Invalid
from notbefore.testing import Emulator


def approving(vm, ready):
    """An agent on a thread of its own: it asks until something is there, and approves it."""

    def run():
        ready.wait()
        with vm.client() as service:
            while not (events := service.document().events):
                pass
            service.approve(events[0].id)

    agent = threading.Thread(target=run)
    agent.start()
    return agent


def test_a_word_waits_for_what_an_agent_does_meanwhile(scheduled_events):
    """Issue: wait_until; woken by the change itself."""
    go = threading.Event()
    agent = approving(scheduled_events.vm("web-0"), go)
    event = scheduled_events.schedule("Reboot", "web-0")
    go.set()

    scheduled_events.wait_until("approved", event)

    scheduled_events.assert_approved(event, by="web-0")
    agent.join()


def test_an_assertion_may_wait_itself(scheduled_events):
    go = threading.Event()
    agent = approving(scheduled_events.vm("web-0"), go)
    event = scheduled_events.schedule("Reboot", "web-0")
    go.set()

    scheduled_events.assert_approved(event, by="web-0", timeout=5)
    scheduled_events.assert_status(event, "Started", timeout=5)
    agent.join()


@pytest.mark.parametrize("waiting", ["wait_until", "advance_until"])
def test_a_condition_that_nobody_awaits_is_refused_instead_of_taken_for_true(scheduled_events, waiting):
    """A coroutine is true whatever comes of it: a test would pass that never looked."""

    async def never():
        return False

    with pytest.raises(Invalid, match="wait_until_async"):
        getattr(scheduled_events, waiting)(never)


def test_a_callable_is_waited_for_too_and_its_value_is_returned(scheduled_events):
    """Also when it is about something that the server knows nothing of."""
    done = []
    timer = threading.Timer(0.05, done.append, ["drained"])
    timer.start()

    assert scheduled_events.wait_until(lambda: done) == ["drained"]
    timer.join()


def test_the_only_event_need_not_be_named(scheduled_events):
    with pytest.raises(Invalid, match="There are 0 events"):
        scheduled_events.wait_until("started")
    scheduled_events.schedule("Reboot", "web-0")

    assert scheduled_events.wait_until("scheduled")

    scheduled_events.schedule("Reboot", "web-1")
    with pytest.raises(Invalid, match="There are 2 events"):
        scheduled_events.assert_approved()
    with pytest.raises(Invalid, match="never 'gone'"):
        scheduled_events.wait_until("gone", scheduled_events.control.events()[0].id)


async def test_an_async_test_waits_without_holding_its_loop_up(scheduled_events):
    """Issue: sync and async tests. The agent runs on the loop that waits."""
    event = scheduled_events.schedule("Reboot", "web-0")

    async def agent():
        async with AsyncScheduledEvents(scheduled_events.vm("web-0").endpoint) as service:
            document = await service.document()
            await service.approve(document.events[0].id)

    working = asyncio.create_task(agent())
    await scheduled_events.wait_until_async("approved", event)
    await working

    scheduled_events.assert_approved(event, by="web-0")
    assert await scheduled_events.wait_until_async(working.done)


async def test_a_coroutine_function_may_be_the_condition(scheduled_events):
    vm = scheduled_events.vm("web-0")

    async def is_there():
        async with vm.async_client() as service:
            return (await service.document()).events

    waiting = asyncio.create_task(scheduled_events.wait_until_async(is_there))
    await asyncio.to_thread(scheduled_events.schedule, "Reboot", "web-0")

    assert len(await waiting) == 1


async def test_an_emulator_is_opened_and_closed_by_async_with():
    """Issue: the same as a context manager."""
    async with Emulator() as emulator:
        event = emulator.schedule("Reboot", "web-0")
        with pytest.raises(AssertionError, match="not started within 0 s"):
            await emulator.wait_until_async("started", event, timeout=0)

    assert not emulator.is_open


def test_a_failed_assertion_tells_the_events_story(scheduled_events):
    """Issue: failure messages that show the event's story: history, what it waits for, what each VM asked."""
    scheduled_events.vm("web-1")
    scheduled_events.advance("1m")
    event = scheduled_events.schedule("Reboot", "web-0")
    scheduled_events.vm("web-0").document()

    with pytest.raises(AssertionError) as failed:
        scheduled_events.assert_approved(event, by="web-0")

    told = [line.strip() for line in str(failed.value).splitlines()]
    assert told[0] == "Reboot of web-0 was not approved by web-0: it is Scheduled."
    assert told[1] == f"Reboot of web-0, Scheduled  (test, {event.id})"
    assert told[2] == "+1m  scheduled: restart asked for by operator admin"
    assert told[3].startswith("now: ")
    assert "waits for the approval of any VM" in told[3]
    assert "web-0 asked once, last at +1m: GET 200" in told
    assert "web-1 never asked" in told
    assert told[-1].startswith("The clock stands at +1m: ")
    assert event.story() in "\n".join(line[2:] for line in str(failed.value).splitlines())


def test_what_is_never_going_to_happen_says_so(scheduled_events):
    event = scheduled_events.cancel(scheduled_events.schedule("Reboot", "web-0"))

    with pytest.raises(AssertionError, match="was not started, and nothing more is due"):
        scheduled_events.advance_until("started", event)
    with pytest.raises(AssertionError, match="is not Started: it is Cancelled"):
        scheduled_events.assert_status(event, "Started")
    with pytest.raises(AssertionError, match=r"was not started within 0 s.*`advance` turns it"):
        scheduled_events.wait_until("started", event, timeout=0)
    with pytest.raises(AssertionError, match="did not come true within 0 s"):
        scheduled_events.wait_until(lambda: False, timeout=0)


def test_the_story_of_everything_is_bounded(scheduled_events):
    for number in range(23):
        scheduled_events.cancel(scheduled_events.schedule("Freeze", f"web-{number}"))

    told = scheduled_events.story()

    assert "(3 earlier events are left out)" in told
    assert told.count("cancelled: ") == 20


def test_a_story_counts_refused_and_unanswered_requests(scheduled_events):
    """What was wrong is seen at a glance."""
    vm = scheduled_events.vm("web-0")
    scheduled_events.schedule("Reboot", vm)

    assert vm.approve("0E45D8A2-6D0F-4B13-8C02-4E9E3F1B7D11") == ()

    assert "web-0 asked 2 times, last at +0s: POST 400, GET 200" in scheduled_events.story()
    assert [one.status for one in vm.requests if one.method == "POST"] == [400]


def test_threads_speak_to_one_emulator_side_by_side(scheduled_events):
    """Issue: in parallel."""
    made = []

    def one(number):
        event = scheduled_events.schedule("Freeze", scheduled_events.vm(f"web-{number}", scope=f"scope-{number}"))
        scheduled_events.vm(f"web-{number}").approve(event)
        made.append(event)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [event.status for event in made] == ["Started"] * 8
