"""The server's settings: flag beats environment beats file beats default (DESIGN §6).

Rule 1: an unknown key or a wrong value is refused with file, line and key, or with its variable or flag.
Rule 2: every key of the file is also `NOTBEFORE_<SECTION>_<KEY>`, its value written as TOML (a bare word is a string).
Rule 3: a secret is checked and handed on, never shown: not in an error, not in a log, not by `serve --check`.
Not here: settings of a scope (core/scope_settings.py); acting on any of this (wiring.py).
"""

from notbefore.settings.load import SettingsRefused, load_settings
from notbefore.settings.shape import (
    AppriseSettings,
    ClockSettings,
    ControlSettings,
    ExecutorSettings,
    HistorySettings,
    LimitSettings,
    ListenerSettings,
    LogSettings,
    MetadataSettings,
    NotifySettings,
    Settings,
    SimulateSettings,
    StoreSettings,
    WebhookSettings,
)

__all__ = [
    "AppriseSettings",
    "ClockSettings",
    "ControlSettings",
    "ExecutorSettings",
    "HistorySettings",
    "LimitSettings",
    "ListenerSettings",
    "LogSettings",
    "MetadataSettings",
    "NotifySettings",
    "Settings",
    "SettingsRefused",
    "SimulateSettings",
    "StoreSettings",
    "WebhookSettings",
    "load_settings",
]
