"""Other settings for a server that runs: what changed, what of it can be taken now, and who takes it.

Rule 1: a key is taken while running or needs a restart; LIVE says which, and the log says it for each changed key.
Rule 2: what needs a restart stays as it runs, so that the next reload still tells of it.
Rule 3: no value of a secret is logged.
Not here: the signal and the reading (wiring.py).
"""

import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

import msgspec

from notbefore.settings.shape import Settings, leaves_of, value_at
from notbefore.settings.shown import SECRETS, shown_value

Path = tuple[str, ...]
Take = Callable[[Settings], None]

# The beginnings of paths that can change while running.
LIVE: Final = (
    ("metadata", "rate_limit_per_s"),
    ("metadata", "fallback_vm"),
    ("metadata", "first_call_delay_s"),
    ("metadata", "headerless_post_2017"),
    ("metadata", "trusted_proxy_key"),
    ("metadata", "trusted_proxy_key_file"),
    ("metadata", "limits"),
    ("executor", "simulate"),
    ("notify",),
    ("log",),
)

log = logging.getLogger("notbefore.settings")


class Reloading:
    def __init__(self, settings: Settings) -> None:
        self.running = settings
        self._takers: list[Take] = []
        self._each_time: list[Take] = []
        self._elsewhere: list[Callable[[Settings], Awaitable[None]]] = []

    def on_change(self, take: Take) -> None:
        """`take` is called with the whole of the settings whenever a live key of them changed."""
        self._takers.append(take)

    def on_each(self, take: Take) -> None:
        """`take` is called at every reload, for what lies in files beside the settings."""
        self._each_time.append(take)

    def on_change_elsewhere(self, take: Callable[[Settings], Awaitable[None]]) -> None:
        """As `on_change`, for other processes: they have taken it before anything is said of it."""
        self._elsewhere.append(take)

    async def apply_everywhere(self, wanted: Settings) -> None:
        taken = [path for path in changed_keys(self.running, wanted) if is_live(path)]
        for take in self._elsewhere if taken else ():
            await take(with_values_of(self.running, wanted, taken))
        self.apply(wanted)

    def apply(self, wanted: Settings) -> None:
        changed = list(changed_keys(self.running, wanted))
        taken = [path for path in changed if is_live(path)]
        before, self.running = self.running, with_values_of(self.running, wanted, taken)
        if taken:
            for take in self._takers:
                take(self.running)
        for path in changed:
            narrate(path, before, wanted)
        if not changed:
            log.info("settings read again: nothing changed")
        for take in self._each_time:
            take(self.running)


def is_live(path: Path) -> bool:
    return any(path[: len(beginning)] == beginning for beginning in LIVE)


def changed_keys(before: Settings, after: Settings) -> Iterator[Path]:
    return (path for path in leaves_of(Settings) if value_at(before, path) != value_at(after, path))


def with_values_of(running: Settings, wanted: Settings, paths: list[Path]) -> Settings:
    """The running settings with the wanted values at some keys."""
    tree = msgspec.to_builtins(running)
    values = msgspec.to_builtins(wanted)
    for *sections, name in paths:
        into, of = tree, values
        for section in sections:
            into, of = into[section], of[section]
        into[name] = of[name]
    return msgspec.convert(tree, Settings)


def narrate(path: Path, before: Settings, after: Settings) -> None:
    ids = {"key": ".".join(path)}
    if path in SECRETS:
        values = "not shown"
    else:
        values = f"{shown_value(path, value_at(after, path))}, was {shown_value(path, value_at(before, path))}"
    if is_live(path):
        log.info("setting changed: %s", values, extra=ids)
    else:
        log.warning("setting needs a restart to change: %s", values, extra=ids)
