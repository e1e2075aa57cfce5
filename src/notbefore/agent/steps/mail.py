"""`mail`: a plain letter to the administrator, by SMTP.

Rule 1: text of the event cannot add a header or a recipient: subject and body are lines of printable characters.
Rule 2: a password goes only over TLS, or to this machine itself; it stands in no sentence.
Rule 3: a letter that not everybody was taken for has failed. What the server refuses for now is tried again.
"""

import re
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path

from notbefore.agent.steps.aside import tried
from notbefore.agent.steps.attempt import Attempt, Until
from notbefore.agent.steps.secret_file import secret_line
from notbefore.agent.steps.step import Errand, Phase, Result, WrongSetting
from notbefore.agent.steps.table import Table
from notbefore.agent.steps.wording import errand_json, line_of, one_line

PORTS = {"starttls": 587, "tls": 465, "none": 25}
PORT_MAX = 65535
SUBJECT_MAX = 200
LINE_MAX = 2000
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/^_`{|}~.-]+@[A-Za-z0-9.-]+")
_HOST = re.compile(r"[A-Za-z0-9.:-]+")


@dataclass(frozen=True, slots=True)
class Post:
    """The server, and what it takes to send by it."""

    host: str
    port: int
    security: str
    user: str
    password: str = field(repr=False)
    ca_file: Path | None


@dataclass(frozen=True, slots=True)
class Letter:
    sender: str
    recipients: tuple[str, ...]
    subject: str


class MailStep(Attempt):
    kind = "mail"

    def __init__(self, post: Post, letter: Letter, *, undo: bool) -> None:
        self._post = post
        self._letter = letter
        self._undo = undo

    def problems(self) -> list[str]:
        from notbefore.agent.steps.reach import reach_problem  # noqa: PLC0415  only `check` asks
        from notbefore.agent.steps.trust import trust_problem  # noqa: PLC0415  so does this

        found = [] if self._post.security == "none" else trust_problem(self._post.ca_file)
        return found + reach_problem(self._post.host, self._post.port)

    def has_undo(self) -> bool:
        return self._undo

    def attempt(self, errand: Errand, until: Until) -> Result:
        from notbefore.agent.steps.smtp import delivered  # noqa: PLC0415  SMTP comes with the first letter

        message = written(self._letter, errand, until.clock.wall_s())
        tried(lambda: delivered(self._post, message, self._letter.recipients, until), until)
        return Result(True, f"{self._post.host} has taken the mail to {', '.join(self._letter.recipients)}")

    def shown(self, phase: Phase) -> str:
        to = ", ".join(self._letter.recipients)
        return f"mail phase {phase} to {to} by {self._post.host}:{self._post.port} ({self._post.security})"


def written(letter: Letter, errand: Errand, at_s: float) -> EmailMessage:
    from email.policy import SMTP  # noqa: PLC0415  see above
    from email.utils import formatdate, make_msgid  # noqa: PLC0415  see above

    message = EmailMessage(policy=SMTP)
    message["From"] = letter.sender
    message["To"] = ", ".join(letter.recipients)
    message["Subject"] = subject_line(f"{letter.subject} {line_of(errand)}".lstrip())
    message["Date"] = formatdate(at_s)
    # The domain is given, because finding one out asks the network.
    message["Message-ID"] = make_msgid(domain=letter.sender.partition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n".join(body_lines(errand)) + "\n")
    return message


def subject_line(text: str) -> str:
    """Without encoded words: Python's email decodes them, and some releases then write line ends into the head."""
    return one_line(text, SUBJECT_MAX).replace("=?", "= ?")


def body_lines(errand: Errand) -> list[str]:
    told = errand_json(errand)
    event = told.pop("event") or {}
    lines = [line_of(errand), ""]
    lines += [f"{name}: {value}" for name, value in told.items() if value]
    lines += [""]
    lines += [f"{name}: {', '.join(value) if name == 'Resources' else value}" for name, value in event.items()]
    return [one_line(line, LINE_MAX) for line in lines]


def made(table: Table) -> MailStep:
    security = table.choice("security", tuple(PORTS), "starttls")
    host = table.text("host")
    if not _HOST.fullmatch(host):
        raise WrongSetting("host", "it is a name or an address")
    user, password = table.text("user", ""), ""
    if table.has("password_file"):
        password = secret_line("password_file", table.path("password_file"))
    if bool(user) != bool(password):
        raise WrongSetting("password_file" if user else "user", "it is missing: user and password_file come together")
    if password and security == "none" and host not in LOOPBACK:
        raise WrongSetting("security", "a password goes over starttls or tls, unless the server is this machine")
    ca_file = table.path("ca_file") if table.has("ca_file") else None
    post = Post(host, table.whole("port", PORTS[security], 1, PORT_MAX), security, user, password, ca_file)
    letter = Letter(address("from", table.text("from")), recipients_in(table), table.text("subject", "[notbefore]"))
    return MailStep(post, letter, undo=table.flag("undo", default=True))


def recipients_in(table: Table) -> tuple[str, ...]:
    return tuple(address("to", one) for one in table.words("to", needed=True))


def address(key: str, text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise WrongSetting(key, "an address is plain, such as admin@example.com")
    return text
