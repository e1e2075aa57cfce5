"""Loading: from file, environment and flags to settings that are known to be right."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from notbefore.core.errors import Invalid
from notbefore.settings.checks import shape_problems, value_problems
from notbefore.settings.given import Given
from notbefore.settings.notify import with_secrets_from_files
from notbefore.settings.proxy_keys import keys_in
from notbefore.settings.shape import Settings


class SettingsRefused(Invalid):
    """Settings with something wrong in them: each problem is a sentence of its own."""

    def __init__(self, problems: Sequence[str]) -> None:
        more = len(problems) - 1
        and_more = f" ({more} more {'problem' if more == 1 else 'problems'} in the settings.)" if more else ""
        super().__init__(problems[0] + and_more, "docs/reference/settings.md lists every key.")
        self.problems = tuple(problems)


def load_settings(file: Path | None, env: Mapping[str, str], flags: Mapping[str, Any]) -> Settings:
    """`flags` are the words of `notbefore serve` (given.FLAGS)."""
    given = Given(file, env, flags)
    refuse_any(given, shape_problems(given.tree, Settings))
    settings = msgspec.convert(given.tree, Settings)
    refuse_any(given, value_problems(settings))
    return with_notify_secrets(with_keys_from_file(settings))


def refuse_any(given: Given, found: Any) -> None:
    problems = [given.told(problem) for problem in found]
    if problems:
        raise SettingsRefused(problems)


def with_keys_from_file(settings: Settings) -> Settings:
    """The keys take their place beside the file's name, so that a reload sees when they changed."""
    file = settings.metadata.trusted_proxy_key_file
    if not file:
        return settings
    try:
        keys = keys_in(Path(file).expanduser())
    except ValueError as wrong:
        raise SettingsRefused([f"metadata.trusted_proxy_key_file: {wrong}."]) from None
    metadata = msgspec.structs.replace(settings.metadata, trusted_proxy_key=keys)
    return msgspec.structs.replace(settings, metadata=metadata)


def with_notify_secrets(settings: Settings) -> Settings:
    """As above, for the targets of [notify]."""
    try:
        notify = with_secrets_from_files(settings.notify)
    except ValueError as wrong:
        raise SettingsRefused([f"notify: {wrong}."]) from None
    return msgspec.structs.replace(settings, notify=notify)
