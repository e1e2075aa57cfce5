"""What a watcher asks next, and when (SPEC §2.6).

Rule 1: `Prefer: wait` goes with every conditional question. Where the endpoint applies it, and says so, it holds the
question until something changes; else there is one question a second, from start to start.
Rule 2: it is first tried with so short a wait that an answer comes in the usual time either way.
Rule 3: at least once a minute, and after every trouble, the document is asked for whole: a service that began anew may
use a number again for something else [real]. So it is after an empty body: "not modified" would make two of one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Known:
    """A document that came whole, and how to ask whether it is still that one."""

    document: Document
    etag: str
    at_s: float

    @property
    def condition(self) -> Mapping[str, str]:
        return {"If-None-Match": self.etag}


class Shown:
    """The last document that came whole. Threads may share it: what a question is about is taken out at once."""

    def __init__(self) -> None:
        self._known: Known | None = None

    def keep(self, document: Document, answer: Answer) -> None:
        etag = answer.headers.get("etag", "")
        can_be_asked_of = document.raw.strip() and 0 < len(etag) <= ETAG_MAX_CHARS
        self._known = Known(document, etag, answer.at_s) if can_be_asked_of else None

    def forget(self) -> None:
        self._known = None

    def known(self, now_s: float) -> Known | None:
        """What a change can be asked of, when that can be trusted."""
        known = self._known
        return known if known and now_s - known.at_s < WHOLE_AGAIN_S else None


class Poll:
    """The rhythm of one watcher."""

    def __init__(self, target: str, patience: Patience, every_s: float = POLL_EVERY_S) -> None:
        self.shown = Shown()
        self._every_s = every_s
        self._target = target
        self._patience = patience
        self._answered_s: float | None = None
        self._is_held: bool | None = None
        self.known: Known | None = None
        """What the last question was about; None when it was for the whole."""

    @property
    def was_answered(self) -> bool:
        return self._answered_s is not None

    def question(self, now_s: float) -> Ask:
        self.known = self.shown.known(now_s)
        condition = self.known.condition if self.known else {}
        timeout_s = self._patience.for_answer_s(now_s, self._answered_s)
        wait_s = HELD_S if self._is_held else int(self._patience.later_s) - PROBE_MARGIN_S
        if not condition or wait_s < 1:
            return Ask("GET", self._target, timeout_s, condition)
        timeout_s = wait_s + self._patience.later_s if self._is_held else timeout_s
        return Ask("GET", self._target, timeout_s, {**condition, "Prefer": f"wait={wait_s}"})

    def took(self, answer: Answer) -> None:
        """A good answer came: does the endpoint hold questions?"""
        self._answered_s = answer.at_s
        if self.known is None:
            return
        applied = "wait" in answer.headers.get("preference-applied", "").lower()
        if applied or answer.status == NOT_MODIFIED:
            self._note(is_held=applied)

    def trouble(self) -> None:
        self.shown.forget()
        self._is_held = None

    def rest(self, answer: Answer, *, changed: bool) -> Wait:
        """Until the next question: none where the endpoint itself holds it, if there is a number to hold it for."""
        was_news = changed or self.known is None
        ask_at_once = self._is_held and was_news and self.shown.known(answer.at_s) is not None
        pause_s = 0.0 if ask_at_once else self._every_s
        return Wait(pause_s, pause_s, since_s=answer.asked_s)

    def _note(self, *, is_held: bool) -> None:
        if is_held is not self._is_held:
            log.info(
                "the endpoint %s", "holds questions until something changes" if is_held else "is asked every second"
            )
        self._is_held = is_held
