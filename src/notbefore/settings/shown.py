"""Settings for people to read: `serve --check`, and a value in the log. The one place that hides secrets.

Rule 1: what is shown is TOML that reads back, with every key at its effective value.
"""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from notbefore.executors.simulate import DEFAULT_DURATION_S
from notbefore.settings.notify import REDACTED, shown_target
from notbefore.settings.shape import AppriseSettings, Section, Settings, WebhookSettings, is_section

SECRETS = frozenset({("metadata", "trusted_proxy_key")})


def as_toml(settings: Settings) -> str:
    store = msgspec.structs.replace(settings.store, url=f"sqlite:{settings.store_path}")
    durations = {**DEFAULT_DURATION_S, **settings.executor.simulate.duration_s}
    simulate = msgspec.structs.replace(settings.executor.simulate, duration_s=durations)
    executor = msgspec.structs.replace(settings.executor, simulate=simulate)
    effective = msgspec.structs.replace(settings, state=str(settings.state_dir), store=store, executor=executor)
    return "\n".join(_lines(effective, ())).strip() + "\n"


def shown_value(path: tuple[str, ...], value: Any) -> str:
    return _toml([REDACTED for _ in value]) if path in SECRETS else _toml(value)


def _lines(section: Section, path: tuple[str, ...]) -> list[str]:
    plain: list[str] = []
    nested: list[str] = []
    for field in msgspec.structs.fields(section):
        value, here = getattr(section, field.name), (*path, field.name)
        if is_section(field.type):
            nested += ["", f"[{'.'.join(here)}]", *_lines(value, here)]
        elif here not in SECRETS or not getattr(section, f"{field.name}_file"):
            # Keys that came from a file are that file's to hold: both together would be refused.
            plain.append(f"{field.name} = {shown_value(here, value)}")
    return plain + nested


def _toml(value: Any) -> str:
    if isinstance(value, WebhookSettings | AppriseSettings):
        return _toml(shown_target(value))
    if isinstance(value, Section):
        given = {name: one for name, one in msgspec.structs.asdict(value).items() if one != ""}
        return _toml(given)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key} = {_toml(one)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(_toml(one) for one in value)}]"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return json.dumps(value, ensure_ascii=False)
