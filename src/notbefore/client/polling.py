"""What a watcher asks next, and when (SPEC §2.6).

Rule 1: `Prefer: wait` goes with every conditional question. Where the endpoint applies it, and says so, it holds the
question until something changes; else there is one question a second, from start to start.
Rule 2: it is first tried with so short a wait that an answer comes in the usual time either way.
Rule 3: at least once a minute, and after every trouble, the document is asked for whole: a service that began anew may
use a number again for something else [real].
"""

from collections.abc import Mapping

from notbefore.client.document import Document
from notbefore.client.endpoint import log
from notbefore.client.retries import Patience
from notbefore.client.steps import Answer, Ask, Wait
from notbefore.client.verdicts import NOT_MODIFIED

POLL_EVERY_S = 1.0
HELD_S = 50
WHOLE_AGAIN_S = 60.0
ETAG_MAX_CHARS = 256
PROBE_MARGIN_S = 2


class Shown:
    """The last document that came whole, and its ETag."""

    def __init__(self) -> None:
        self.document: Document | None = None
        self._etag = ""
        self._at_s = 0.0

    def keep(self, document: Document, answer: Answer) -> None:
        etag = answer.headers.get("etag", "")
        self.document, self._at_s = document, answer.at_s
        self._etag = etag if len(etag) <= ETAG_MAX_CHARS else ""

    def forget(self) -> None:
        self.document = None

    def condition(self, now_s: float) -> Mapping[str, str]:
        """The header that asks for a change only, when that can be trusted."""
        if self.document is None or not self._etag or now_s - self._at_s >= WHOLE_AGAIN_S:
            return {}
        return {"If-None-Match": self._etag}


class Poll:
    """The rhythm of one watcher."""

    def __init__(self, target: str, patience: Patience, every_s: float = POLL_EVERY_S) -> None:
        self.shown = Shown()
        self._every_s = every_s
        self._target = target
        self._patience = patience
        self._answered_s: float | None = None
        self._is_held: bool | None = None
        self._was_whole = True

    @property
    def was_answered(self) -> bool:
        return self._answered_s is not None

    def question(self, now_s: float) -> Ask:
        condition = self.shown.condition(now_s)
        self._was_whole = not condition
        timeout_s = self._patience.for_answer_s(now_s, self._answered_s)
        wait_s = HELD_S if self._is_held else int(self._patience.later_s) - PROBE_MARGIN_S
        if not condition or wait_s < 1:
            return Ask("GET", self._target, timeout_s, condition)
        timeout_s = wait_s + self._patience.later_s if self._is_held else timeout_s
        return Ask("GET", self._target, timeout_s, {**condition, "Prefer": f"wait={wait_s}"})

    def took(self, answer: Answer) -> None:
        """A good answer came: does the endpoint hold questions?"""
        self._answered_s = answer.at_s
        if self._was_whole:
            return
        applied = "wait" in answer.headers.get("preference-applied", "").lower()
        if applied or answer.status == NOT_MODIFIED:
            self._note(is_held=applied)

    def trouble(self) -> None:
        self.shown.forget()
        self._is_held = None

    def rest(self, answer: Answer, *, changed: bool) -> Wait:
        """Until the next question: none where the endpoint itself holds it."""
        ask_at_once = self._is_held and (changed or self._was_whole)
        pause_s = 0.0 if ask_at_once else self._every_s
        return Wait(pause_s, pause_s, since_s=answer.asked_s)

    def _note(self, *, is_held: bool) -> None:
        if is_held is not self._is_held:
            log.info(
                "the endpoint %s", "holds questions until something changes" if is_held else "is asked every second"
            )
        self._is_held = is_held
