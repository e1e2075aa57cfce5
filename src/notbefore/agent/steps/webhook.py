"""`webhook`: the errand as JSON in one POST; a 2xx is the receiver's word that it has it.

Rule 1: one run has one `webhook-id`, however often it is tried, so a receiver can tell a try from news.
Rule 2: tried again while there is time: no connection, no answer, 5xx, 408, 425, 429. Any other answer is a refusal.
Rule 3: neither secret, header nor path is shown or logged: chats put their secret into the path.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from notbefore import __version__
from notbefore.agent.steps.aside import ComeBack, done_aside, tried
from notbefore.agent.steps.attempt import Attempt, Trouble, Until
from notbefore.agent.steps.step import Errand, Phase, Result, WrongSetting
from notbefore.agent.steps.table import Table, is_text
from notbefore.agent.steps.wording import encoded, errand_json

TRY_MAX_S = 10.0
RETRY_AFTER_DIGITS_MAX = 6
ENVIRONMENT = "environment"
COME_BACK = (408, 425, 429)
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
OURS = ("host", "content-length", "transfer-encoding", "connection", "expect")


@dataclass(frozen=True, slots=True)
class Receiver:
    url: str = field(repr=False)
    secrets: tuple[bytes, ...] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    ca_file: Path | None
    proxy: str

    @property
    def shown(self) -> str:
        """Where it is, without what may be secret."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}/{'…' if parts.path.strip('/') or parts.query else ''}"


class WebhookStep(Attempt):
    kind = "webhook"

    def __init__(self, receiver: Receiver, *, undo: bool) -> None:
        self._receiver = receiver
        self._undo = undo

    def problems(self) -> list[str]:
        """Whether anybody listens can be told without sending anything; behind a proxy it cannot."""
        from notbefore.agent.steps.reach import reach_problem  # noqa: PLC0415  only `check` asks
        from notbefore.agent.steps.trust import trust_problem  # noqa: PLC0415  so does this

        parts = urlsplit(self._receiver.url)
        is_tls = parts.scheme == "https"
        found = trust_problem(self._receiver.ca_file) if is_tls else []
        if self._receiver.proxy != ENVIRONMENT:
            found += reach_problem(parts.hostname or "", parts.port or (443 if is_tls else 80))
        return found

    def has_undo(self) -> bool:
        return self._undo

    def attempt(self, errand: Errand, until: Until) -> Result:
        message_id, body = f"msg_{os.urandom(16).hex()}", encoded(errand_json(errand))
        status = tried(lambda: self._posted(message_id, body, until), until)
        return Result(True, f"{self._receiver.shown} answered {status}")

    def shown(self, phase: Phase) -> str:
        signed = ", signed" if self._receiver.secrets else ""
        return f"POST phase {phase} to {self._receiver.shown}{signed}"

    def _posted(self, message_id: str, body: bytes, until: Until) -> int:
        from http.client import HTTPException  # noqa: PLC0415  HTTP comes when there is somebody to tell

        from notbefore.agent.steps.http_line import HttpLine, is_lasting, proxy_for, reason_of  # noqa: PLC0415  so does TLS

        to = self._receiver
        line = HttpLine(
            to.url,
            min(TRY_MAX_S, max(until.left_s(), 0.001)),
            to.ca_file,
            proxy_for(to.url) if to.proxy == ENVIRONMENT else "",
        )
        headers = headers_of(to, message_id, body, until)
        try:
            answer = done_aside(lambda: line.posted(body, headers), until, line.break_off)
        except (OSError, HTTPException) as error:
            kind = Trouble if is_lasting(error) else ComeBack
            raise kind(f"{to.shown} was not reached: {reason_of(error)}") from None
        judge(answer.status, answer.retry_after, to.shown)
        return answer.status


def headers_of(to: Receiver, message_id: str, body: bytes, until: Until) -> dict[str, str]:
    from notbefore.agent.steps.signature import signed_headers  # noqa: PLC0415  hashes come with the first message

    return {
        "Content-Type": "application/json",
        "User-Agent": f"notbefore-agent/{__version__}",
        **to.headers,
        **signed_headers(message_id, int(until.clock.wall_s()), body, to.secrets),
    }


def judge(status: int, retry_after: str, receiver: str) -> None:
    """ComeBack or Trouble for anything but a 2xx. Seconds in Retry-After are honoured, a date is not."""
    if 200 <= status < 300:  # noqa: PLR2004  what success is
        return
    sentence = f"{receiver} answered {status}"
    if status < 500 and status not in COME_BACK:  # noqa: PLR2004  what is the sender's fault
        raise Trouble(sentence)
    is_number = retry_after.isascii() and retry_after.isdecimal()
    raise ComeBack(sentence, float(retry_after[:RETRY_AFTER_DIGITS_MAX]) if is_number else 0.0)


def made(table: Table) -> WebhookStep:
    url = table.text("url")
    if problem := url_problem(url):
        raise WrongSetting("url", problem)
    secrets: tuple[bytes, ...] = ()
    if table.has("secret_file"):
        from notbefore.agent.steps.signature import secrets_in  # noqa: PLC0415  where there is one

        secrets = secrets_in("secret_file", table.path("secret_file"))
    ca_file = table.path("ca_file") if table.has("ca_file") else None
    proxy = table.choice("proxy", ("none", ENVIRONMENT), "none")
    to = Receiver(url, secrets, good_headers(table.texts("headers")), ca_file, proxy)
    return WebhookStep(to, undo=table.flag("undo", default=True))


def url_problem(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "it is no URL"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "it is an http or https URL with a host"
    if parts.username is not None or parts.password is not None or parts.fragment:
        return "it has neither a user nor a fragment; a header Authorization can say who you are"
    return "" if url.isascii() and " " not in url else "it is printable ASCII, without spaces"


def good_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or name.lower() in OURS or name.lower().startswith("webhook-"):
            raise WrongSetting("headers", f"a header {name!r:.80} cannot be set")
        if not is_text(value) or not value.isascii():
            raise WrongSetting("headers", f"{name} is printable ASCII in one line")
    return headers
