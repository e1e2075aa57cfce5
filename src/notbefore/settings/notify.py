"""The targets of `[notify]`: what is wrong with them, their secrets from files, and how they are shown.

Rule 1: names tell targets apart, in any letter case: how far a target has been told is kept under its name.
Rule 2: no sentence quotes a secret or an address. What is shown of a webhook is its address without its query.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from notbefore.settings.proxy_keys import secret_lines
from notbefore.settings.shape import AppriseSettings, NotifySettings, WebhookSettings
from notbefore.toml_lines import KeyPath
from notbefore.wire.webhook_signature import SECRETS_MAX, secret_bytes

TARGETS_MAX = 16
REDACTED = "(redacted)"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

Target = WebhookSettings | AppriseSettings
Problems = Iterator[tuple[KeyPath, str]]


def notify_problems(notify: NotifySettings) -> Problems:
    if not notify.source or not notify.source.isascii() or not notify.source.isprintable() or " " in notify.source:
        yield ("notify", "source"), "it is a URI or a part of one, such as /notbefore"
    if notify.retry_max_s < notify.retry_first_s:
        yield ("notify", "retry_max_s"), "it is not less than retry_first_s"
    yield from _name_problems(notify)
    for n, webhook in enumerate(notify.webhook):
        yield from _webhook_problems(webhook, ("notify", "webhook", n))
    for n, person in enumerate(notify.apprise):
        yield from _apprise_problems(person, ("notify", "apprise", n))


def _name_problems(notify: NotifySettings) -> Problems:
    known: set[str] = set()
    kinds: dict[str, tuple[Target, ...]] = {"webhook": notify.webhook, "apprise": notify.apprise}
    for kind, targets in kinds.items():
        for n, target in enumerate(targets):
            path = ("notify", kind, n, "name")
            if not _NAME.fullmatch(target.name):
                yield path, "a name is 1 to 64 letters, digits, '.', '_' or '-', and begins with a letter or a digit"
            elif target.name.casefold() in known:
                yield path, f"there is another target {target.name!r}"
            known.add(target.name.casefold())
    if len(notify.webhook) + len(notify.apprise) > TARGETS_MAX:
        yield ("notify", "webhook"), f"at most {TARGETS_MAX} targets are told, those of apprise included"


def _webhook_problems(webhook: WebhookSettings, path: KeyPath) -> Problems:
    if why := _bad_url(webhook.url):
        yield (*path, "url"), why
    if bool(webhook.secret) == bool(webhook.secret_file):
        yield (*path, "secret"), "a webhook is signed: give its secret here or in secret_file, and not in both"
        return
    try:
        secrets_of(webhook)
    except ValueError as wrong:
        yield (*path, "secret_file" if webhook.secret_file else "secret"), str(wrong)


def _apprise_problems(person: AppriseSettings, path: KeyPath) -> Problems:
    if bool(person.url) == bool(person.url_file):
        yield (*path, "url"), "give it here or in url_file, and not in both"
        return
    try:
        url_of(person)
    except ValueError as wrong:
        yield (*path, "url_file"), str(wrong)


def _bad_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "it is no URL"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "it is an http or https URL with a host"
    if parts.username is not None or parts.password is not None or parts.fragment:
        return "it has neither a user nor a fragment"
    return "" if url.isascii() and url.isprintable() and " " not in url else "it is printable ASCII, without spaces"


def secrets_of(webhook: WebhookSettings) -> tuple[bytes, ...]:
    """ValueError says what is wrong with them."""
    texts = webhook.secret or secret_lines(Path(webhook.secret_file).expanduser())
    if not 1 <= len(texts) <= SECRETS_MAX:
        raise ValueError(f"there are {len(texts)} secrets; one is taken, or two while one takes over from the other")
    return tuple(_secret(n, text) for n, text in enumerate(texts, 1))


def _secret(number: int, text: str) -> bytes:
    try:
        return secret_bytes(text)
    except ValueError as wrong:
        raise ValueError(f"secret {number} {wrong}") from None


def url_of(person: AppriseSettings) -> str:
    if person.url:
        return person.url
    lines = secret_lines(Path(person.url_file).expanduser())
    if len(lines) != 1:
        raise ValueError(f"{person.url_file} holds {len(lines)} lines, and one URL is taken")
    return lines[0]


def with_secrets_from_files(notify: NotifySettings) -> NotifySettings:
    """They take their place beside the file's name, so that a reload sees when they changed."""
    webhooks = tuple(
        msgspec.structs.replace(one, secret=secret_lines(Path(one.secret_file).expanduser()))
        if one.secret_file
        else one
        for one in notify.webhook
    )
    people = tuple(msgspec.structs.replace(one, url=url_of(one)) if one.url_file else one for one in notify.apprise)
    return msgspec.structs.replace(notify, webhook=webhooks, apprise=people)


def shown_target(target: Target) -> dict[str, Any]:
    """What came from a file is that file's to hold."""
    given = {name: one for name, one in msgspec.structs.asdict(target).items() if one not in ("", ())}
    if isinstance(target, AppriseSettings):
        given["url"] = REDACTED
        hidden = "url"
    else:
        given["url"] = target.url.partition("?")[0] + (f"?{REDACTED}" if "?" in target.url else "")
        given["secret"] = [REDACTED for _ in target.secret]
        hidden = "secret"
    if given.get(f"{hidden}_file"):
        del given[hidden]
    return given
