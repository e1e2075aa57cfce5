"""The recorder: carries the plan of listening.py out and writes the lines, until it is told to stop or its time is up.

Rule 1: a line is written whole and flushed at once. Who tells it to stop interrupts a question or a rest, never a line.
Rule 2: a question that only its own time limit ended says nothing of the endpoint.
Rule 3: standard library, client, wire and core only: it runs in a VM.
"""

import select
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO

from notbefore.client.blocking import taken
from notbefore.client.clock import Clock, SystemClock
from notbefore.client.endpoint import Endpoint
from notbefore.client.retries import Patience
from notbefore.client.steps import Ask, Lost, Outcome, Wait
from notbefore.client.transport import Lines
from notbefore.core.errors import Refusal
from notbefore.core.times import SECOND_MS
from notbefore.recording.flow import OK, Change, End, Header, Line, as_line
from notbefore.recording.listening import Began, Noted, listening
from notbefore.wire.api_versions import PATH


class Stopped(BaseException):
    """Raised where a question or a rest was interrupted; no error, so nothing below takes it for one."""


class Stop:
    """How a signal reaches the recorder: at once while it waits, else as soon as the line is written."""

    def __init__(self) -> None:
        self.is_wanted = False
        self._is_waiting = False

    def want(self) -> None:
        self.is_wanted = True
        if self._is_waiting:
            self._is_waiting = False
            raise Stopped

    @contextmanager
    def waiting(self) -> Iterator[None]:
        self._is_waiting = True
        try:
            if self.is_wanted:
                raise Stopped
            yield
        finally:
            self._is_waiting = False


@dataclass(slots=True)
class Summary:
    changes: int = 0
    troubles: int = 0
    lasted_s: float = 0.0


class Recorder:
    """`every_s`: how often to ask where questions are not held. `for_s`: when to end by itself."""

    def __init__(
        self,
        endpoint: Endpoint,
        api_version: str,
        out: IO[bytes],
        stop: Stop,
        *,
        every_s: float,
        for_s: float | None = None,
        patience: Patience | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._api_version = api_version
        self._out = out
        self._stop = stop
        self._every_s = every_s
        self._patience = patience or Patience()
        self._clock = clock or SystemClock()
        self._until_s = None if for_s is None else self._clock.steady_s() + for_s
        self._began_s: float | None = None
        self._summary = Summary()

    def run(self) -> Summary:
        """Until told to stop, or the time is up; BrokenPipeError when nobody reads any more."""
        lines = Lines(self._endpoint, self._clock, self._patience.connect_s)
        try:
            self._listen(lines)
        except Stopped:
            pass
        finally:
            lines.close()
        self._end()
        return self._summary

    def _listen(self, lines: Lines) -> None:
        now_s = self._clock.steady_s()
        plan = listening(self._endpoint, self._api_version, self._every_s, self._patience, now_s)
        outcome: Outcome | None = None
        while True:
            step = plan.send(outcome)
            if isinstance(step, Began | Noted):
                self._note(step)
                outcome = None
                continue
            if self._reader_is_gone():
                raise BrokenPipeError
            with self._stop.waiting():
                outcome = taken(self._within_time(step), lines, self._clock)
            if self._time_is_up() and (outcome is None or isinstance(outcome, Lost)):
                return

    def _note(self, step: Began | Noted) -> None:
        if isinstance(step, Began):
            self._began_s = step.at_s
            began_s = self._clock.wall_s() - (self._clock.steady_s() - step.at_s)
            path = self._endpoint.prefix + PATH
            self._write(Header(round(began_s * SECOND_MS), path, self._api_version, step.vm))
            return
        assert self._began_s is not None
        self._write(Change(max(0.0, step.at_s - self._began_s), step.shown))
        self._summary.changes += 1
        self._summary.troubles += step.shown.status != OK

    def _end(self) -> None:
        if self._began_s is not None:
            self._summary.lasted_s = self._clock.steady_s() - self._began_s
            self._write(End(self._summary.lasted_s))

    def _write(self, line: Line) -> None:
        try:
            self._out.write(as_line(line))
            self._out.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise Refusal(f"The recording cannot be written: {error.strerror}.") from None

    def _within_time(self, step: Ask | Wait) -> Ask | Wait:
        if self._until_s is None:
            return step
        left_s = max(0.0, self._until_s - self._clock.steady_s())
        if isinstance(step, Ask):
            return replace(step, timeout_s=min(step.timeout_s, left_s))
        return step if self._rest_s(step) <= left_s else Wait(left_s, left_s)

    def _rest_s(self, wait: Wait) -> float:
        return wait.seconds(self._clock.steady_s(), 1.0)

    def _time_is_up(self) -> bool:
        return self._until_s is not None and self._clock.steady_s() >= self._until_s

    def _reader_is_gone(self) -> bool:
        """A pipe without a reader says so when it is asked, not only when it is written to, which may be days later."""
        try:
            out = select.poll()
            out.register(self._out.fileno(), 0)
        except (OSError, ValueError, AttributeError):
            return False
        return any(said & (select.POLLERR | select.POLLNVAL) for _, said in out.poll(0))
