"""`ScheduledEvents`: a VM's own view, for programs that wait for one thing at a time (SPEC §2, DESIGN §7).

Rule 1: it carries out the plans of conversation.py with a blocking hand, and decides nothing itself.
Rule 2: whatever goes wrong is one EndpointError with a sentence.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Self

from notbefore.client.blocking import carried_out, taken
from notbefore.client.caller import Caller
from notbefore.client.changes import Change
from notbefore.client.conversation import Conversation
from notbefore.client.document import Document
from notbefore.client.steps import Outcome, Tell

if TYPE_CHECKING:
    from notbefore.client.transport import Lines


class ScheduledEvents(Caller):
    """The metadata endpoint, asked as a VM asks it."""

    def document(self) -> Document:
        """The events scheduled for the VM's scope, now."""
        talk, lines = self._talk()
        return carried_out(talk.document(self._clock.steady_s()), lines, self._clock)

    def approve(self, *event_ids: str) -> tuple[str, ...]:
        """Say that these events may start. Ids that are gone are dropped; those that were approved are returned."""
        if not event_ids:
            return ()
        talk, lines = self._talk()
        return carried_out(talk.approval(event_ids, self._clock.steady_s()), lines, self._clock)

    def watch(self) -> Iterator[Change]:
        """Every change as it is seen, beginning with what is scheduled now; without end."""
        talk, lines = self._talk()
        outcome: Outcome | None = None
        with closing(talk.watch(self._clock.steady_s())) as plan:
            while True:
                step = plan.send(outcome)
                if isinstance(step, Tell):
                    yield step.change
                    outcome = None
                else:
                    outcome = taken(step, lines, self._clock)

    def whoami(self) -> str:
        """The VM's own name as events use it; an EndpointError where nobody says."""
        talk, lines = self._talk()
        return carried_out(talk.name(self._clock.steady_s()), lines, self._clock)

    def close(self) -> None:
        """Close the kept connection; another question opens it again."""
        if self._ready is not None:
            self._ready[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _talk(self) -> tuple[Conversation, "Lines"]:
        if self._ready is None:
            self._ready = self._discovered()
        return self._ready
