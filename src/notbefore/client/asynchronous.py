"""`AsyncScheduledEvents`: the same view for asyncio programs (DESIGN §7).

Rule 1: it carries out the very plans that ScheduledEvents does. Questions run on threads of its own, at most a few, so
that a question held for a minute takes no thread from the program.
Rule 2: cancelling a task cuts its question off: the thread is free at once, or when a connection attempt ends.
Rule 3: the endpoint is looked for once for all who wait. That cannot be cut off, so no program waits for its end.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Self

from notbefore.client.caller import Caller
from notbefore.client.changes import Change
from notbefore.client.conversation import Conversation
from notbefore.client.document import Document
from notbefore.client.steps import Ask, Outcome, Plan, Result, Tell, Wait

QUESTIONS_AT_ONCE = 4

if TYPE_CHECKING:
    from notbefore.client.transport import Lines


class AsyncScheduledEvents(Caller):
    """The metadata endpoint, asked as a VM asks it."""

    _discovering: "Future[tuple[Conversation, Lines]] | None" = None

    async def document(self) -> Document:
        """The events scheduled for the VM's scope, now."""
        talk, lines = await self._talk()
        return await self._carried_out(talk.document(self._clock.steady_s()), lines)

    async def approve(self, *event_ids: str) -> tuple[str, ...]:
        """Say that these events may start. Ids that are gone are dropped; those that were approved are returned."""
        if not event_ids:
            return ()
        talk, lines = await self._talk()
        return await self._carried_out(talk.approval(event_ids, self._clock.steady_s()), lines)

    async def watch(self) -> AsyncIterator[Change]:
        """Every change as it is seen, beginning with what is scheduled now; without end."""
        talk, lines = await self._talk()
        outcome: Outcome | None = None
        plan = talk.watch(self._clock.steady_s())
        while True:
            step = plan.send(outcome)
            if isinstance(step, Tell):
                yield step.change
                outcome = None
            else:
                outcome = await self._taken(step, lines)

    async def whoami(self) -> str:
        """The VM's own name as events use it; an EndpointError where nobody says."""
        talk, lines = await self._talk()
        return await self._carried_out(talk.name(self._clock.steady_s()), lines)

    async def close(self) -> None:
        """Close the kept connection and end the threads; this is the end of it."""
        if self._ready is not None:
            self._ready[1].close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(QUESTIONS_AT_ONCE, "notbefore-client")

    async def _talk(self) -> tuple[Conversation, "Lines"]:
        if self._ready is None:
            if self._discovering is None or (self._discovering.done() and self._discovering.exception()):
                self._discovering = begun(self._discovered)
            self._ready = await asyncio.wrap_future(self._discovering)
        return self._ready

    async def _carried_out(self, plan: Plan[Result], lines: "Lines") -> Result:
        outcome: Outcome | None = None
        while True:
            try:
                step = plan.send(outcome)
            except StopIteration as done:
                result: Result = done.value
                return result
            assert not isinstance(step, Tell)
            outcome = await self._taken(step, lines)

    async def _taken(self, step: Ask | Wait, lines: "Lines") -> Outcome | None:
        if isinstance(step, Ask):
            return await self._asked(step, lines)
        seconds = step.seconds(self._clock.steady_s(), self._clock.chance())
        if seconds > 0:
            await self._clock.async_sleep(seconds)
        return None

    async def _asked(self, ask: Ask, lines: "Lines") -> Outcome:
        line = lines.take()
        asking = self._threads.submit(line.exchange, ask)
        try:
            outcome = await asyncio.wrap_future(asking)
        except asyncio.CancelledError:
            line.abort()
            asking.add_done_callback(lambda _: line.close())
            raise
        lines.give_back(line)
        return outcome


def begun(work: Callable[[], Result]) -> "Future[Result]":
    """Under way on a thread that ends with the program. Whoever waits may give up; that leaves it to the others."""
    future: Future[Result] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001  it is raised to whoever waits
            future.set_exception(error)

    threading.Thread(target=run, name="notbefore-client-discovery", daemon=True).start()
    return future
