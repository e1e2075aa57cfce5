"""From the text of a file to a scenario: line by line, in the order that people read it in.

Rule 1: first what the scenario is and the fleet, then what happens: the first `at` ends the one and begins the other.
Rule 2: what is wrong is an Invalid with file, line and what was expected there; nothing is played then.
Rule 3: white space before a line is for people; `#` begins a comment, unless it is quoted.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from notbefore.core.errors import Invalid
from notbefore.core.hosts import checked_host
from notbefore.core.kinds import EventType, Kind
from notbefore.scenarios.expectations import (
    Expectation,
    history,
    no_longer_seen_by,
    seen_by,
    state_of,
)
from notbefore.scenarios.names import Names
from notbefore.scenarios.scenario import FleetScope, FleetVm, Line, Scenario
from notbefore.scenarios.spans import SPAN_MAX_S, shown_span
from notbefore.scenarios.steps import HostFails, Step, VmApproves, VmAsks, operators_step, refusal_at_end
from notbefore.scenarios.words import Unexpected, Words

FILE_MAX_BYTES = 256 * 1024
LINES_MAX = 2000
TEXT_MAX = 1000
VMS_MAX = 64
EXECUTOR = "simulate"
_COMMENT = re.compile(r'^((?:[^"#]|"(?:[^"\\]|\\.)*")*)#.*$')
_SETTING = re.compile(r"([A-Za-z_]+)\s*=\s*(.+)")
HEAD_WORDS = "`title:`, `about:`, `host`, `scope`, `setting`, `vm`, a type such as Freeze, or `at`"
SAID_WORDS = "`operator`, `host`, `history of`, `at`, `after` or a VM of this scenario"


def read_scenario(source: str, text: str) -> Scenario:
    """`source` is how the file is called in what is said of it."""
    reading = Reading(source)
    lines = text.splitlines()
    if len(lines) > LINES_MAX:
        raise reading.invalid(LINES_MAX + 1, f"a scenario has at most {LINES_MAX} lines")
    for number, line in enumerate(lines, 1):
        reading.line(number, line)
    return reading.whole(len(lines))


class Reading:
    """What was read so far."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._texts: dict[str, str] = {}
        self._scopes: list[FleetScope] = []
        self._names = Names()
        self._duration_s: dict[str, int] = {}
        self._checks_s: dict[str, int] = {}
        self._lines: list[Line] = []
        self._at_s: int | None = None

    def invalid(self, number: int, says: str) -> Invalid:
        return Invalid(
            f"{self._source}, line {number}: {says}.",
            "`notbefore play --show NAME` prints one that is right; docs/reference/scenarios.md has every line.",
            {"file": self._source, "line": number},
        )

    def line(self, number: int, text: str) -> None:
        said = _COMMENT.sub(r"\1", text).strip()
        if not said:
            return
        try:
            if not said.isprintable() or len(said) > TEXT_MAX:
                raise Unexpected(f"a line of up to {TEXT_MAX} characters that can be printed", "")  # noqa: TRY301
            self._read(number, said)
        except Unexpected as wrong:
            raise self.invalid(number, f"{wrong}") from None

    def whole(self, lines: int) -> Scenario:
        for key in ("title", "about"):
            if key not in self._texts:
                raise self.invalid(1, f"expected `{key}: TEXT` somewhere before the first `at`")
        if not self._names.vms:
            raise self.invalid(max(lines, 1), "expected a `scope` with at least one `vm`")
        if not self._lines:
            raise self.invalid(max(lines, 1), "expected `at TIME`, and something that happens then")
        return Scenario(
            source=self._source,
            title=self._texts["title"],
            about=self._texts["about"],
            scopes=self._scopes,
            hosts=list(self._names.hosts.values()),
            duration_s=self._duration_s,
            checks_s=self._checks_s,
            lines=self._lines,
        )

    def _read(self, number: int, said: str) -> None:
        key, colon, rest = said.partition(":")
        if self._at_s is None and colon and key.lower() in ("title", "about"):
            self._text(key.lower(), rest.strip())
            return
        if self._at_s is None and said.lower().startswith("setting "):
            self._setting(said[len("setting ") :].strip())
            return
        words = Words(said)
        if words.take("at"):
            self._move_to(words.span_s(), words)
        elif self._at_s is not None and words.take("after"):
            self._move_to(self._at_s + words.span_s(), words)
        elif self._at_s is None:
            self._head(number, words)
            return
        if not words.is_over:
            assert self._at_s is not None
            self._lines.append(Line(self._at_s, number, _without_time(said), self._said(words)))

    # -- What it is, and the fleet

    def _text(self, key: str, text: str) -> None:
        if not text or key in self._texts:
            raise Unexpected(f"one `{key}: TEXT`", "none" if not text else "a second one")
        self._texts[key] = text

    def _head(self, number: int, words: Words) -> None:
        heads: Mapping[str, Callable[[Words], None]] = {
            "host": self._host,
            "scope": lambda words: self._scope(number, words),
            "vm": self._vm,
            **{event_type: self._timing_of(event_type) for event_type in EventType},
        }
        for word, read in heads.items():
            if words.take(word):
                read(words)
                words.need_end()
                return
        raise words.unexpected(HEAD_WORDS)

    def _host(self, words: Words) -> None:
        name = words.name("the name of a host")
        try:
            checked_host(name, EXECUTOR)
        except Invalid as wrong:
            raise Unexpected("the name of a host", f"{name!r}: {wrong.message}".rstrip(".")) from None
        self._names.bring_in(self._names.hosts, name, "host")

    def _scope(self, number: int, words: Words) -> None:
        name = self._names.bring_in(self._names.scopes, words.name("the name of a scope"), "scope")
        kind = words.one_of(Kind) if words.take(",") else Kind.STANDALONE
        self._scopes.append(FleetScope(name, number, str(kind)))

    def _setting(self, said: str) -> None:
        """Written as in fleet.toml."""
        found = _SETTING.fullmatch(said)
        if not found or not self._scopes:
            raise Unexpected("`setting NAME = VALUE` after its `scope`", "" if found else said)
        self._scopes[-1].settings[found[1]] = _toml_value(found[2])

    def _vm(self, words: Words) -> None:
        if not self._scopes:
            raise Unexpected("a `scope` before its first `vm`", "")
        if len(self._names.vms) >= VMS_MAX:
            raise Unexpected(f"at most {VMS_MAX} VMs", "")
        name = self._names.bring_in(self._names.vms, words.name("the name of a VM"), "VM")
        facts: dict[str, Any] = {}
        while words.take(","):
            if words.take("update domain"):
                facts["update_domain"] = words.number("the number of an update domain")
            elif words.take("fault domain"):
                facts["fault_domain"] = words.number("the number of a fault domain")
            elif words.take("host"):
                facts["host"] = self._names.host(words)
            elif words.take("spot"):
                facts["spot"] = True
            else:
                raise words.unexpected("`update domain N`, `fault domain N`, `host NAME` or `spot`")
        self._scopes[-1].vms.append(FleetVm(name, **facts))

    def _timing_of(self, event_type: str) -> Callable[[Words], None]:
        """`Freeze takes 10s, then 5m of checks`, or one of both."""

        def read(words: Words) -> None:
            if words.take("has"):
                self._checks_s[event_type] = words.span_s()
                words.need("of checks")
                return
            words.need("takes")
            self._duration_s[event_type] = words.span_s()
            if words.take(", then"):
                self._checks_s[event_type] = words.span_s()
                words.need("of checks")

        return read

    # -- What happens, and what is expected

    def _move_to(self, at_s: int, words: Words) -> None:
        if at_s > SPAN_MAX_S:
            raise Unexpected(f"times up to {shown_span(SPAN_MAX_S)} after the start", shown_span(at_s))
        if at_s < (self._at_s or 0):
            raise Unexpected(f"a time that is not before {shown_span(self._at_s or 0)}", shown_span(at_s))
        self._at_s = at_s
        words.take(",")

    def _said(self, words: Words) -> Step | Expectation:
        names = self._names
        if words.take("operator"):
            return operators_step(words, names)
        if words.take("history of"):
            return history(words, names)
        if words.take("host"):
            host = names.host(words)
            words.need("fails")
            words.need_end()
            return HostFails(host)
        return self._said_of_vm(words)

    def _said_of_vm(self, words: Words) -> Step | Expectation:
        names = self._names
        try:
            vm = names.vm(words)
        except Unexpected as wrong:
            raise Unexpected(SAID_WORDS, wrong.found) from None
        if words.take("sees"):
            return seen_by(vm, words, names)
        if words.take("no longer sees"):
            return no_longer_seen_by(vm, words, names)
        if words.take("is"):
            return state_of(vm, words, names)
        if words.take("approves"):
            events = names.event_list(words)
            return VmApproves(vm, events, refused=refusal_at_end(words))
        words.one_of(("asks",), "`asks`, `approves`, `sees`, `no longer sees` or `is`")
        words.need_end()
        return VmAsks(vm)


def _without_time(said: str) -> str:
    return re.sub(r"^(?:at|after)\s+\S+\s+", "", said, flags=re.IGNORECASE).strip()


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        raise Unexpected('a value as in fleet.toml, such as "always", 60 or { Freeze = 60 }', text) from None
