"""What is wrong with settings: every problem, each with the path of its key.

Rule 1: first the shape (known keys, right types), then the values; values are looked at only when the shape is right.
Rule 2: a sentence ends up behind the key's name, so it says what is expected, not where.
Not here: file, line or variable of a key (given.py).
"""

import math
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, get_origin

import msgspec

from notbefore.clock import pace_of
from notbefore.core.errors import Invalid
from notbefore.metadata.identity import vm_ref
from notbefore.settings.notify import notify_problems
from notbefore.settings.proxy_keys import keys_in, refuse_bad_keys
from notbefore.settings.shape import (
    NO_SINK,
    ControlSettings,
    HistorySettings,
    MetadataSettings,
    Section,
    Settings,
    is_section,
    value_at,
)
from notbefore.sockets import parse_address
from notbefore.toml_lines import KeyPath

LOG_FORMATS = ("text", "json")
LOG_LEVELS = ("debug", "info", "warning", "error")
KEEP_DAYS_MAX = 36_500
WORKERS_MAX = 64
# What must not be below zero, and what must be above it.
NOT_NEGATIVE = (
    ("metadata", "rate_limit_per_s"),
    ("metadata", "first_call_delay_s"),
    ("metadata", "limits", "long_polls_max"),
)
TIMEOUTS = (
    *(("metadata", "limits", name) for name in ("head_timeout_s", "body_timeout_s", "idle_timeout_s")),
    *(("notify", name) for name in ("timeout_s", "retry_first_s", "retry_max_s")),
)
COUNTS = tuple(("metadata", "limits", name) for name in ("connections_max", "connections_per_vm_max"))

TOML_WORDS: Mapping[str, str] = {
    "`str`": "a string",
    "`int`": "a whole number",
    "`float`": "a number",
    "`bool`": "true or false",
    "`array`": "a list",
    "`object`": "a table",
}
_WHERE = re.compile(r"\[(\d+)\]|\.(\w+)")
_UNKNOWN = re.compile(r"Object contains unknown field `(\w+)`")


class Problem(NamedTuple):
    path: KeyPath
    says: str


# -- the shape


def shape_problems(tree: Mapping[str, Any], section: type[Section], above: KeyPath = ()) -> Iterator[Problem]:
    known = {field.name: field for field in msgspec.structs.fields(section)}
    for name, value in tree.items():
        path = (*above, name)
        if name not in known:
            yield Problem(path, _unknown(name, list(known)))
        elif not is_section(known[name].type):
            yield from _type_problems(value, known[name].type, path)
        elif isinstance(value, dict):
            yield from shape_problems(value, known[name].type, path)
        else:
            yield Problem(path, "it is a section, so write it as a table")


def _unknown(name: str, known: list[str]) -> str:
    alike = get_close_matches(name, known, 1)
    return f"there is no such key (perhaps {alike[0]} is meant)" if alike else "there is no such key"


def _type_problems(value: Any, kind: Any, path: KeyPath) -> Iterator[Problem]:
    if get_origin(kind) is dict and isinstance(value, dict):
        # One entry at a time, so that a wrong one is named.
        for key, one in value.items():
            yield from _unlike({key: one}, kind, (*path, key))
    else:
        yield from _unlike(value, kind, path)


def _unlike(value: Any, kind: Any, path: KeyPath) -> Iterator[Problem]:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as wrong:
        what, _, where = str(wrong).partition(" - at ")
        deeper = tuple(int(number) if number else name for number, name in _WHERE.findall(where))
        if unknown := _UNKNOWN.match(what):
            yield Problem((*path, *deeper, unknown[1]), "there is no such key")
            return
        for word, in_toml in TOML_WORDS.items():
            what = what.replace(word, in_toml)
        yield Problem((*path, *deeper), what[0].lower() + what[1:])


# -- the values


def value_problems(settings: Settings) -> Iterator[Problem]:
    yield from _word_problems(settings)
    yield from _refused(pace_of, settings.clock.kind, ("clock", "kind"))
    yield from _number_problems(settings)
    yield from _address_problems(settings)
    yield from _key_problems(settings.metadata)
    yield from _history_problems(settings.history)
    yield from (Problem(path, says) for path, says in notify_problems(settings.notify))


def _word_problems(settings: Settings) -> Iterator[Problem]:
    words = {
        ("executor", "default"): ("simulate",),
        ("log", "format"): LOG_FORMATS,
        ("log", "level"): LOG_LEVELS,
    }
    for path, allowed in words.items():
        given = value_at(settings, path)
        if given not in allowed:
            yield Problem(path, f"it is {' or '.join(allowed)}, not {given!r}")


def _number_problems(settings: Settings) -> Iterator[Problem]:
    if not 1 <= settings.workers <= WORKERS_MAX:
        yield Problem(("workers",), f"it is 1 to {WORKERS_MAX}, not {settings.workers}")
    for path in (*NOT_NEGATIVE, *TIMEOUTS, *COUNTS):
        number = value_at(settings, path)
        assert isinstance(number, int | float)
        if not math.isfinite(number) or number < 0 or (number == 0 and path not in NOT_NEGATIVE):
            wanted = "0 or more" if path in NOT_NEGATIVE else "more than 0"
            yield Problem(path, f"it is {wanted}, not {number}")
    simulate = settings.executor.simulate
    for event_type, rate in simulate.failure_rate.items():
        if not 0 <= rate <= 1:
            yield Problem(("executor", "simulate", "failure_rate", str(event_type)), f"it is 0 to 1, not {rate}")
    for name, table in (("duration_s", simulate.duration_s), ("checks_s", simulate.checks_s)):
        for event_type, seconds in table.items():
            if not (math.isfinite(seconds) and seconds >= 0):
                path = ("executor", "simulate", name, str(event_type))
                yield Problem(path, f"it is 0 or more seconds, not {seconds}")


def _address_problems(settings: Settings) -> Iterator[Problem]:
    metadata = settings.metadata
    if not metadata.listeners:
        yield Problem(("metadata", "listeners"), "the metadata service needs at least one listener")
    for n, listener in enumerate(metadata.listeners):
        yield from _refused(parse_address, listener.address, ("metadata", "listeners", n, "address"))
        if listener.vm:
            yield from _refused(vm_ref, listener.vm, ("metadata", "listeners", n, "vm"))
    if metadata.fallback_vm:
        yield from _refused(vm_ref, metadata.fallback_vm, ("metadata", "fallback_vm"))
    yield from _refused(parse_address, settings.control.address, ("control", "address"))
    yield from _certificate_problems(settings.control)
    if settings.store.url:
        yield from _refused(lambda _: settings.store_path, settings.store.url, ("store", "url"))


def _certificate_problems(control: ControlSettings) -> Iterator[Problem]:
    if bool(control.tls_cert) != bool(control.tls_key):
        alone = "tls_cert" if control.tls_cert else "tls_key"
        yield Problem(("control", alone), "tls_cert and tls_key go together")
    elif certificate := control.certificate:
        yield from _refused(lambda _: certificate.refuse_if_bad(), control.tls_cert, ("control", "tls_cert"))


def _history_problems(history: HistorySettings) -> Iterator[Problem]:
    if not 0 <= history.keep_days <= KEEP_DAYS_MAX:
        yield Problem(("history", "keep_days"), f"it is 0 (for ever) to {KEEP_DAYS_MAX}, not {history.keep_days}")
    elif history.keep_days and not history.sink:
        yield Problem(
            ("history", "sink"),
            "with keep_days set, old records are deleted: name a directory to keep them in first, "
            f'or "{NO_SINK}" to let them go',
        )


def _refused(parse: Any, text: str, path: KeyPath) -> Iterator[Problem]:
    try:
        parse(text)
    except Invalid as wrong:
        yield Problem(path, f"{wrong.message} {wrong.hint}".rstrip(". "))


def _key_problems(metadata: MetadataSettings) -> Iterator[Problem]:
    key, file = ("metadata", "trusted_proxy_key"), ("metadata", "trusted_proxy_key_file")
    try:
        refuse_bad_keys(metadata.trusted_proxy_key)
    except ValueError as wrong:
        yield Problem(key, str(wrong))
    if metadata.trusted_proxy_key_file and metadata.trusted_proxy_key:
        yield Problem(file, "give the keys here or in trusted_proxy_key, not in both")
    elif metadata.trusted_proxy_key_file:
        try:
            keys_in(Path(metadata.trusted_proxy_key_file).expanduser())
        except ValueError as wrong:
            yield Problem(file, str(wrong))
