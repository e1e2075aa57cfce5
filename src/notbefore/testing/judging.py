"""What a test says about events: waiting until, asserting, and the story when it is otherwise.

Rule 1: a failed word is an AssertionError that tells the story of the event.
Rule 2: waiting is in real time, for what others do meanwhile; the emulator's clock stands still by itself.
"""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from notbefore.control_client import Event
from notbefore.core.errors import Invalid, Refusal
from notbefore.core.model import name_key
from notbefore.testing.event import CONDITIONS, ScheduledEvent
from notbefore.testing.lifetime import Lifetime
from notbefore.testing.story import Storyteller, event_ids_in, indented
from notbefore.testing.vm import EmulatedVm
from notbefore.testing.waiting import LOOK_AGAIN_S, Condition, waited_for, waited_for_async

TIMEOUT_S = 5.0

EventGiven = ScheduledEvent | str
"""An event, or its id."""


class Judging(Lifetime):
    @property
    def vms(self) -> Sequence[EmulatedVm]:
        return ()

    # -- waiting

    def wait_until(
        self, condition: str | Condition, event: EventGiven | None = None, *, timeout: float = TIMEOUT_S
    ) -> Any:
        """Wait, in real time, until something is so; its value is returned.

        `condition` is a callable, or a word for an event: queued, scheduled, approved, started, completed, cancelled,
        failed, over. Without `event` the word is about the only event there is.
        """
        __tracebackhide__ = True
        met, judged, look_again_s = self._meant(condition, event)
        value = waited_for(met, self._bell, timeout, look_again_s)
        if not value:
            self._fail(self._not_in_time(condition, judged, timeout), judged)
        return value

    async def wait_until_async(
        self,
        condition: str | Condition,
        event: EventGiven | None = None,
        *,
        timeout: float = TIMEOUT_S,  # noqa: ASYNC109  as `wait_until` has it
    ) -> Any:
        """The same for a test on an asyncio loop, which goes on meanwhile. The callable may be a coroutine function."""
        __tracebackhide__ = True
        met, judged, look_again_s = self._meant(condition, event)
        value = await waited_for_async(met, self._bell, timeout, look_again_s)
        if not value:
            self._fail(self._not_in_time(condition, judged, timeout), judged)
        return value

    # -- asserting

    def assert_approved(
        self, event: EventGiven | None = None, by: str | EmulatedVm | None = None, *, timeout: float = 0.0
    ) -> None:
        """Somebody approved it, or the VM `by` did; now, or within so many real seconds."""
        __tracebackhide__ = True
        judged = self._which(event)
        if not waited_for(lambda: approvals_by(judged.now, by), self._bell, timeout):
            self._fail(f"{judged} was not approved{by_whom(by)}: it is {judged.status}.", judged)

    def assert_not_approved(self, event: EventGiven | None = None, by: str | EmulatedVm | None = None) -> None:
        __tracebackhide__ = True
        judged = self._which(event)
        if approvals_by(judged.now, by):
            self._fail(f"{judged} was approved{by_whom(by)}.", judged)

    def assert_status(self, event: EventGiven, status: str, *, timeout: float = 0.0) -> None:
        """It has this status: Queued, Scheduled, Started, Completed, Cancelled or Failed."""
        __tracebackhide__ = True
        judged, has = self._which(event), condition_of(status)
        if not waited_for(lambda: has(judged.now), self._bell, timeout):
            self._fail(f"{judged} is not {status}: it is {judged.status}.", judged)

    # -- telling

    def story(self, event: EventGiven | None = None) -> str:
        """What happened to this event, or to every one: history, what it waits for, what each VM asked."""
        if not self.is_open or self._opened_at is None:
            return "The emulator is closed."
        try:
            teller = Storyteller(self.control, self._opened_at, self.now)
            if event is None:
                return teller.of_everything(self.vms)
            return teller.of_event(event if isinstance(event, str) else event.id, self.vms)
        except (Refusal, RuntimeError, OSError) as wrong:
            return f"The story cannot be told: {wrong}"

    # -- below

    def _meant(
        self, condition: str | Condition, event: EventGiven | None
    ) -> tuple[Condition, ScheduledEvent | None, float]:
        """What to look at, of which event, and how often without a change of the server."""
        if not isinstance(condition, str):
            return condition, None if event is None else self._which(event), LOOK_AGAIN_S
        judged, has = self._which(event), condition_of(condition)
        return lambda: has(judged.now), judged, float("inf")

    def _which(self, event: EventGiven | None) -> ScheduledEvent:
        if isinstance(event, ScheduledEvent):
            return event
        if event is not None:
            return ScheduledEvent(self, self.control.event(event))  # type: ignore[arg-type]  # every Judging is an Emulator
        ids = event_ids_in(self.control.history(limit=1000).history)
        if len(ids) != 1:
            raise Invalid(f"There are {len(ids)} events, so it must be said which one is meant.")
        return self._which(ids[0])

    def _not_in_time(self, condition: str | Condition, judged: ScheduledEvent | None, timeout: float) -> str:
        clock = "The emulator's clock stands unless `advance` turns it."
        if isinstance(condition, str) and judged:
            return f"{judged} was not {condition} within {timeout:g} s: it is {judged.status}. {clock}"
        return f"{name_of(condition)} did not come true within {timeout:g} s. {clock}"

    def _fail(self, sentence: str, judged: ScheduledEvent | None) -> NoReturn:
        __tracebackhide__ = True
        raise AssertionError(f"{sentence}\n{indented(self.story(judged))}")


def condition_of(word: str) -> Callable[[Event], bool]:
    if word.lower() not in CONDITIONS:
        raise Invalid(f"An event is never {word!r}.", f"It may be {', '.join(CONDITIONS)}.")
    return CONDITIONS[word.lower()]


def approvals_by(event: Event, by: str | EmulatedVm | None) -> bool:
    return any(by is None or name_key(one.vm or one.by) == name_key(str(by)) for one in event.approvals)


def by_whom(by: str | EmulatedVm | None) -> str:
    return "" if by is None else f" by {by}"


def name_of(condition: object) -> str:
    return f"The condition {getattr(condition, '__qualname__', condition)!s}"
