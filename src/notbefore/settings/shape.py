"""The sections and keys there are, with their types and defaults.

Rule 1: what a value must be beyond its type is checks.py's to say.
"""

import os
from pathlib import Path

import msgspec

from notbefore.core.errors import Invalid
from notbefore.core.kinds import EventType
from notbefore.settings.proxy_keys import key_bytes
from notbefore.state_dir import default_state_dir
from notbefore.tls import Certificate

NO_SINK = "none"


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file."""


class ListenerSettings(Section, frozen=True):
    address: str
    vm: str = ""


class LimitSettings(Section, frozen=True):
    """What connections of the data plane may cost."""

    connections_max: int = 10_000
    connections_per_vm_max: int = 64
    head_timeout_s: float = 10.0
    body_timeout_s: float = 10.0
    idle_timeout_s: float = 75.0
    long_polls_max: int = 8_000


class MetadataSettings(Section, frozen=True):
    listeners: tuple[ListenerSettings, ...] = (ListenerSettings("127.0.0.1:8254"),)
    rate_limit_per_s: float = 5.0
    fallback_vm: str = ""
    first_call_delay_s: float = 0.0
    headerless_post_2017: bool = False
    allow_routable: bool = False
    trusted_proxy_key: tuple[str, ...] = ()
    trusted_proxy_key_file: str = ""
    limits: LimitSettings = LimitSettings()

    @property
    def proxy_keys(self) -> tuple[bytes, ...]:
        """The keys a trusted proxy may sign with; two while one takes over from the other."""
        return tuple(key_bytes(text) for text in self.trusted_proxy_key)

    def __repr__(self) -> str:
        # It may hold keys, and a repr ends up in logs and tracebacks.
        return "MetadataSettings(...)"


class ControlSettings(Section, frozen=True):
    address: str = "127.0.0.1:8255"
    tls_cert: str = ""
    tls_key: str = ""

    @property
    def certificate(self) -> Certificate | None:
        return Certificate(self.tls_cert, self.tls_key) if self.tls_cert else None


class StoreSettings(Section, frozen=True):
    url: str = ""


class SimulateSettings(Section, frozen=True):
    duration_s: dict[EventType, float] = {}
    failure_rate: dict[EventType, float] = {}
    checks_s: dict[EventType, float] = {}


class ExecutorSettings(Section, frozen=True):
    default: str = "simulate"
    simulate: SimulateSettings = SimulateSettings()


class ClockSettings(Section, frozen=True):
    kind: str = "real"

    @property
    def name(self) -> str:
        """`real`, `manual` or `rate`."""
        return self.kind.partition(":")[0]


class HistorySettings(Section, frozen=True):
    keep_days: int = 0
    sink: str = ""

    @property
    def directory(self) -> Path | None:
        """Where old records go; nowhere when they may be let go, or are kept for ever."""
        return Path(self.sink).expanduser() if self.sink not in ("", NO_SINK) else None


class WebhookSettings(Section, frozen=True):
    name: str
    url: str
    secret: tuple[str, ...] = ()
    secret_file: str = ""
    scopes: tuple[str, ...] = ()
    what: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"WebhookSettings({self.name!r}, ...)"


class AppriseSettings(Section, frozen=True):
    name: str
    url: str = ""
    url_file: str = ""
    scopes: tuple[str, ...] = ()
    what: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"AppriseSettings({self.name!r}, ...)"


class NotifySettings(Section, frozen=True):
    source: str = "/notbefore"
    timeout_s: float = 10.0
    retry_first_s: float = 1.0
    retry_max_s: float = 300.0
    webhook: tuple[WebhookSettings, ...] = ()
    apprise: tuple[AppriseSettings, ...] = ()


class LogSettings(Section, frozen=True):
    format: str = "text"
    level: str = "info"


class Settings(Section, frozen=True):
    state: str = ""
    demo: bool = False
    allow_faults: bool = False
    workers: int = 1
    metadata: MetadataSettings = MetadataSettings()
    control: ControlSettings = ControlSettings()
    store: StoreSettings = StoreSettings()
    executor: ExecutorSettings = ExecutorSettings()
    clock: ClockSettings = ClockSettings()
    history: HistorySettings = HistorySettings()
    notify: NotifySettings = NotifySettings()
    log: LogSettings = LogSettings()

    @property
    def has_workers(self) -> bool:
        """Faults are orders to one data plane, so they keep it in one process."""
        return self.workers > 1 and not self.allow_faults and bool(self.metadata.listeners)

    @property
    def state_dir(self) -> Path:
        return Path(self.state).expanduser() if self.state else default_state_dir(os.environ)

    @property
    def store_path(self) -> Path:
        scheme, colon, path = (self.store.url or f"sqlite:{self.state_dir / 'notbefore.db'}").partition(":")
        if scheme != "sqlite" or not colon or not path:
            raise Invalid(
                f"Store {self.store.url!r} is not one this program can open.",
                "Write sqlite:PATH.",
                {"store": self.store.url},
            )
        return Path(path).expanduser()


def is_section(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


def leaves_of(section: type[Section]) -> list[tuple[str, ...]]:
    """The path of every key, sections opened."""
    paths: list[tuple[str, ...]] = []
    for field in msgspec.structs.fields(section):
        if is_section(field.type):
            paths += [(field.name, *deeper) for deeper in leaves_of(field.type)]
        else:
            paths.append((field.name,))
    return paths


def value_at(settings: Section, path: tuple[str, ...]) -> object:
    value: object = settings
    for name in path:
        value = getattr(value, name)
    return value
