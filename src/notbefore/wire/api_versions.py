"""Where the document is, and the seven api-versions with what each knows (SPEC §2.2), as a table.

A field or type that a version does not know is left out, not sent empty.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from notbefore.core.kinds import MAINTENANCE_TYPES, EventType


@dataclass(frozen=True, slots=True)
class ApiVersion:
    name: str
    types: frozenset[EventType]
    iso_dates: bool = False
    legacy_names: bool = False
    description: bool = False
    event_source: bool = False
    duration: bool = False


_BASE = frozenset(MAINTENANCE_TYPES)
_WITH_PREEMPT = _BASE | {EventType.PREEMPT}
_ALL = _WITH_PREEMPT | {EventType.TERMINATE}

PATH = "/metadata/scheduledevents"

API_VERSIONS: Mapping[str, ApiVersion] = {
    version.name: version
    for version in (
        ApiVersion("2017-03-01", _BASE, iso_dates=True, legacy_names=True),
        ApiVersion("2017-08-01", _BASE),
        ApiVersion("2017-11-01", _WITH_PREEMPT),
        ApiVersion("2019-01-01", _ALL),
        ApiVersion("2019-04-01", _ALL, description=True),
        ApiVersion("2019-08-01", _ALL, description=True, event_source=True),
        ApiVersion("2020-07-01", _ALL, description=True, event_source=True, duration=True),
    )
}
NEWEST = "2020-07-01"
NEWEST_THREE = tuple(sorted(API_VERSIONS, reverse=True)[:3])
