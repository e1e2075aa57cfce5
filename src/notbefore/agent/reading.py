"""agent.toml, read: every key checked, and what is wrong said with file, line and key.

Rule 1: nothing is guessed: an unknown key, word or kind is refused.
Rule 2: a rule that was journaled is read by the same code as one from the file (`rule_in`).
Rule 3: tomllib is imported while a file is read, and by nobody who does not read one.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from notbefore.agent.settings import (
    ALERT_ON,
    BUDGET_SHARE,
    LIMIT_S,
    STOP_GRACE_S,
    TAKEOVER_SHARE,
    AlertOn,
    Among,
    Approve,
    Log,
    Of,
    Rule,
    Settings,
    Status,
    StepRule,
)
from notbefore.agent.steps.step import WrongSetting, made_step
from notbefore.agent.toml_table import DAY_S, TomlTable, Wrong
from notbefore.core.errors import Invalid
from notbefore.toml_lines import KeyPath, line_of, lines_of_keys
from notbefore.wire.api_versions import API_VERSIONS, NEWEST

NAME = "notbefore-agent"
FILE_MAX_BYTES = 1024 * 1024
ALERT_KINDS = ("webhook", "mail", "command", "log", "notify")
# These tell somebody; each event is told of, whatever else is in force.
TELLING_KINDS = frozenset({"log", "mail", "notify", "webhook"})
FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")
PORT_MAX = 65535


def settings_in(file: Path) -> Settings:
    """Everything in the file; Invalid with a sentence that says where it is wrong."""
    text = _text_of(file)
    try:
        return _settings(TomlTable(_parsed(text, file), ()), file)
    except Wrong as wrong:
        raise _refusal(wrong, file, text) from None


def _text_of(file: Path) -> str:
    try:
        if file.stat().st_size > FILE_MAX_BYTES:
            raise Invalid(f"{file} is larger than any settings, {FILE_MAX_BYTES} bytes.")
        return file.read_text(encoding="utf-8")
    except OSError as error:
        hint = "`notbefore-agent example` prints one to begin with."
        raise Invalid(f"{file} cannot be read: {error.strerror}.", hint) from None
    except UnicodeDecodeError:
        raise Invalid(f"{file} is not UTF-8.") from None


def _parsed(text: str, file: Path) -> Mapping[str, Any]:
    import tomllib  # noqa: PLC0415  rule 3

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{file} is not TOML: {error}.") from None
    except RecursionError:
        raise Invalid(f"{file} has lists within lists, deeper than any settings.") from None


def _refusal(wrong: Wrong, file: Path, text: str) -> Invalid:
    line = line_of(lines_of_keys(text), wrong.path)
    where = f"{file}:{line}" if line else str(file)
    return Invalid(f"{where}: {dotted(wrong.path)}: {wrong.sentence}.", facts={"file": str(file), "line": line})


def dotted(path: KeyPath) -> str:
    """`rule[0].step[1].limit`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".") or "the file"


def _settings(top: TomlTable, file: Path) -> Settings:
    agent, log, status = top.table("agent"), top.table("log"), top.table("status")
    base = file.absolute().parent
    settings = Settings(
        file=file,
        state=base / (agent.text("state") or _default_state(agent)),
        endpoint=agent.checked("endpoint", _endpoint_fault) or None,
        vm=agent.text("vm") or None,
        api_version=_api_version(agent),
        stop_grace_s=agent.number("stop_grace_s", STOP_GRACE_S, 0, DAY_S),
        alert_on=_alert_on(agent),
        log=Log(_word(log, "format", FORMATS, "text"), _word(log, "level", LEVELS, "info")),
        status=Status(status.checked("listen", _listen_fault), _path(status, "textfile", base)),
        rules=_named_apart(top, "rule", [rule_in(one, base) for one in top.tables("rule")]),
        alerts=tuple(_alert(one, base) for one in top.tables("alert")),
    )
    for table in (agent, log, status, top):
        table.refuse_the_rest()
    return settings


def _default_state(agent: TomlTable) -> Path:
    try:
        return default_state_dir(os.environ)
    except RuntimeError:
        raise agent.wrong("state", "is needed: this user has no home to keep it in") from None


def default_state_dir(env: Mapping[str, str]) -> Path:
    """What systemd made for the unit; else where a service of this system keeps such things, or the user does."""
    if given := env.get("STATE_DIRECTORY", "").partition(":")[0]:
        return Path(given)
    if sys.platform == "win32":
        return Path(env.get("PROGRAMDATA") or r"C:\ProgramData") / NAME
    if os.geteuid() == 0:
        return Path("/var/lib") / NAME
    return Path(env.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / NAME


def rule_in(table: TomlTable, base: Path) -> Rule:
    rule = Rule(
        name=_needed(table, "name"),
        types=table.words("type"),
        sources=table.words("source"),
        statuses=table.words("status"),
        min_duration_s=table.integer("min_duration_s"),
        max_duration_s=table.integer("max_duration_s"),
        description=table.text("description"),
        vm=table.text("vm"),
        of=table.one_of("of", Of, Of.MINE),
        approve=table.one_of("approve", Approve, Approve.ON_SUCCESS),
        among=table.one_of("among", Among, Among.LEADER),
        takeover_share=table.share("takeover_share", TAKEOVER_SHARE),
        budget_share=table.share("budget_share", BUDGET_SHARE),
        approve_peer_terminate=table.flag("approve_peer_terminate", default=False),
        drain=table.flag("drain", default=True),
        steps=_named_apart(table, "step", [step_in(one, base) for one in table.tables("step")]),
        table=table.given,
    )
    table.refuse_the_rest()
    return rule


def step_in(table: TomlTable, base: Path) -> StepRule:
    kind = _needed(table, "kind")
    own = {key: value for key, value in table.given.items() if key != "shared"}
    try:
        step = made_step(kind, own, base)
    except WrongSetting as wrong:
        raise table.wrong(wrong.key, wrong.sentence.rstrip(".")) from None
    shared = table.flag("shared", default=step.has_undo() and kind not in TELLING_KINDS)
    return StepRule(
        name=table.text("name") or kind,
        step=step,
        limit_s=table.seconds("limit", LIMIT_S),
        repeatable=table.flag("repeatable", default=False),
        goes_on=_word(table, "on_failure", ("stop", "go-on"), "stop") == "go-on",
        key=_key_of(kind, own) if shared else "",
    )


def _key_of(kind: str, own: Mapping[str, Any]) -> str:
    """The same for every step that does the same, whatever its name and limit."""
    meant = {key: own[key] for key in own if key not in ("name", "limit", "repeatable", "on_failure")}
    return f"{kind}:{json.dumps(meant, sort_keys=True, default=str)}"


def _alert(table: TomlTable, base: Path) -> StepRule:
    if _needed(table, "kind") not in ALERT_KINDS:
        raise table.wrong("kind", f"an alert is one of {', '.join(ALERT_KINDS)}")
    return step_in(table, base)


def _named_apart(table: TomlTable, key: str, listed: list[Any]) -> tuple[Any, ...]:
    names: set[str] = set()
    for n, one in enumerate(listed):
        if one.name in names:
            raise Wrong((*table.path, key, n, "name"), f"two have the name {one.name!r}")
        names.add(one.name)
    return tuple(listed)


def _needed(table: TomlTable, key: str) -> str:
    if not (text := table.text(key)):
        raise table.wrong(key, "is needed")
    return text


def _word(table: TomlTable, key: str, words: tuple[str, ...], default: str) -> str:
    word = table.text(key) or default
    if word not in words:
        raise table.wrong(key, f"is one of {', '.join(words)}, not {word!r}")
    return word


def _api_version(table: TomlTable) -> str:
    return _word(table, "api_version", tuple(API_VERSIONS), NEWEST)


def _alert_on(table: TomlTable) -> tuple[str, ...]:
    if table.raw("alert_on") is None:
        return ALERT_ON
    words = table.words("alert_on")
    for word in words:
        if word not in set(AlertOn):
            raise table.wrong("alert_on", f"knows {', '.join(AlertOn)}, not {word!r}")
    return words


def _endpoint_fault(url: str) -> str:
    from notbefore.client.endpoint import EndpointError, checked_endpoint  # noqa: PLC0415  only where one is given

    try:
        checked_endpoint(url)
    except EndpointError as error:
        return f"{error.message.rstrip('.')} {error.hint.rstrip('.')}"
    return ""


def _listen_fault(address: str) -> str:
    host, _, port = address.rpartition(":")
    fine = host and port.isascii() and port.isdecimal() and int(port) <= PORT_MAX
    return "" if fine else f'is an address and a port such as "127.0.0.1:9254", not {address!r}'


def _path(table: TomlTable, key: str, base: Path) -> Path | None:
    written = table.text(key)
    return base / written if written else None
