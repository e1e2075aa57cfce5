"""One letter handed to an SMTP server, with what went wrong in a sentence.

Rule 1: what may pass (no connection, 4xx) is `ComeBack`, what will not (5xx, no TLS) is `Trouble`.
Rule 2: the name this machine greets with is its own, as it knows it: nobody is asked for it.
"""

import smtplib
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from email.message import EmailMessage
from typing import TYPE_CHECKING

from notbefore.agent.steps.aside import ComeBack, done_aside
from notbefore.agent.steps.attempt import Trouble, Until
from notbefore.agent.steps.trust import tls_context
from notbefore.agent.steps.wording import one_line

if TYPE_CHECKING:
    from notbefore.agent.steps.mail import Post

TRY_MAX_S = 15.0
SAID_MAX = 200
READY = 220
PERMANENT = 500


def delivered(post: "Post", message: EmailMessage, recipients: Sequence[str], until: Until) -> None:
    line = line_to(post, min(TRY_MAX_S, max(until.left_s(), 0.001)))
    try:
        refused = done_aside(lambda: spoken(line, post, message, recipients), until, lambda: broken_off(line))
    except smtplib.SMTPRecipientsRefused as error:
        refused = error.recipients
    except smtplib.SMTPResponseException as error:
        raise judged(post, error.smtp_code, error.smtp_error) from None
    except (smtplib.SMTPNotSupportedError, ssl.SSLCertVerificationError) as error:
        raise Trouble(
            f"{post.host}: {one_line(getattr(error, 'verify_message', '') or str(error), SAID_MAX)}"
        ) from None
    except (OSError, smtplib.SMTPException) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise ComeBack(f"{post.host} did not take the mail: {reason}") from None
    for who, (code, said) in refused.items():
        raise judged(post, code, said, f" for {who}")


class LateSMTP(smtplib.SMTP):
    """Made with the name of its server, which TLS checks; connected later, so that it can be broken off meanwhile."""

    def connect(self, host: str = "", port: int = 0, source_address: object = None) -> tuple[int, bytes]:  # noqa: ARG002
        return READY, b""

    def reach(self, post: "Post") -> tuple[int, bytes]:
        return super().connect(post.host, post.port)


class LateSMTPS(LateSMTP, smtplib.SMTP_SSL):
    """The same, encrypted from the first byte."""


def line_to(post: "Post", timeout_s: float) -> LateSMTP:
    name = socket.gethostname() or "localhost"
    if post.security == "tls":
        return LateSMTPS(post.host, local_hostname=name, timeout=timeout_s, context=tls_context(post.ca_file))
    return LateSMTP(post.host, local_hostname=name, timeout=timeout_s)


def spoken(
    line: LateSMTP, post: "Post", message: EmailMessage, recipients: Sequence[str]
) -> dict[str, tuple[int, bytes]]:
    """Whom it was not taken for."""
    try:
        code, said = line.reach(post)
        if code != READY:
            raise smtplib.SMTPConnectError(code, said)
        if post.security == "starttls":
            line.starttls(context=tls_context(post.ca_file))
        if post.user:
            line.login(post.user, post.password)
        refused = line.send_message(message, message["From"], list(recipients))
        with suppress(smtplib.SMTPException, OSError):
            line.quit()
        return refused
    finally:
        line.close()


def broken_off(line: smtplib.SMTP) -> None:
    held = line.sock
    if held is not None:
        with suppress(OSError):
            socket.socket.shutdown(held, socket.SHUT_RDWR)


def judged(post: "Post", code: int, said: bytes | str, whom: str = "") -> Exception:
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    sentence = f"{post.host} answered {code}{whom}: {one_line(text, SAID_MAX)}"
    return Trouble(sentence) if code >= PERMANENT else ComeBack(sentence)
