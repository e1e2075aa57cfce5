"""What the control API accepts: bodies, field by field. An unknown field is refused by name (DESIGN §5).

Rule 1: scalars are strict: "5" is no number and 1 is no truth.
Rule 2: a body becomes core values here, and a wrong one an Invalid with the field's name.
"""

from enum import StrEnum
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from notbefore.core.declare import VMS_PER_SCOPE_MAX
from notbefore.core.errors import Invalid
from notbefore.core.kinds import EventType, Eviction, Kind, Listening, Policy, VmState
from notbefore.core.model import Vm
from notbefore.core.scope_settings import DEFAULT_POLICY, ScopeSettings
from notbefore.wire.times import parse_iso

DURATION_MAX_S = 30 * 24 * 3600
DOMAIN_MAX = 10_000
ADVANCE_MAX_S = 366 * 24 * 3600
TEXT_MAX = 1000
TAGS_MAX = 64

Text = Annotated[StrictStr, Field(max_length=TEXT_MAX)]
Domain = Annotated[StrictInt, Field(ge=0, le=DOMAIN_MAX)]
Duration = Annotated[StrictInt, Field(ge=-1, le=DURATION_MAX_S)]
Seconds = Annotated[StrictInt, Field(ge=0, le=DURATION_MAX_S)]
Word = TypeVar("Word", bound=StrEnum)


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class VmBody(Body):
    name: StrictStr
    update_domain: Domain = 0
    fault_domain: Domain | None = None
    host: Annotated[StrictStr, Field(max_length=128)] = ""
    addresses: list[StrictStr] = []
    tags: Annotated[dict[StrictStr, Text], Field(max_length=TAGS_MAX)] = {}
    spot: StrictBool = False
    state: StrictStr | None = None
    # Shown by GET, so that what was read can be put back; not for anyone to set.
    last_asked: StrictStr | None = Field(default=None, exclude=True)

    def vm(self) -> Vm:
        state = word(VmState, self.state, "state") if self.state else VmState.RUNNING
        return Vm(
            name=self.name,
            update_domain=self.update_domain,
            fault_domain=self.fault_domain,
            host=self.host,
            addresses=tuple(self.addresses),
            tags=dict(self.tags),
            spot=self.spot,
            state=state,
        )


class SettingsBody(Body):
    listening: StrictStr = Listening.AUTO
    approval: StrictStr | dict[StrictStr, StrictStr] = Policy.ANY
    auto_approve: Annotated[list[StrictStr], Field(max_length=20)] = []
    notice_s: dict[StrictStr, Seconds] = {}
    user_events: StrictBool = True
    user_operations_max: StrictInt = 10
    recovery_s: StrictInt = 0
    legacy_underscore: StrictBool = False
    eviction: StrictStr = Eviction.DEALLOCATE

    def settings(self) -> ScopeSettings:
        approval = self.approval if isinstance(self.approval, dict) else {DEFAULT_POLICY: self.approval}
        return ScopeSettings(
            listening=word(Listening, self.listening, "settings.listening"),
            approval={name: word(Policy, policy, f"settings.approval.{name}") for name, policy in approval.items()},
            auto_approve=tuple(dict.fromkeys(self.auto_approve)),
            notice_s={word(EventType, name, "settings.notice_s"): s for name, s in self.notice_s.items()},
            user_events=self.user_events,
            user_operations_max=self.user_operations_max,
            recovery_s=self.recovery_s,
            legacy_underscore=self.legacy_underscore,
            eviction=word(Eviction, self.eviction, "settings.eviction"),
        )


class ScopeBody(Body):
    kind: StrictStr = Kind.STANDALONE
    settings: SettingsBody = SettingsBody()
    vms: Annotated[list[VmBody], Field(max_length=VMS_PER_SCOPE_MAX)] = []


class OperationBody(Body):
    not_before: StrictStr | None = None
    duration_s: Duration | None = None
    description: Text | None = None

    def not_before_ms(self) -> int | None:
        return time_of(self.not_before)


class MaintenanceBody(OperationBody):
    type: StrictStr
    vms: Annotated[list[StrictStr], Field(max_length=VMS_PER_SCOPE_MAX)] = []
    update_domains: Annotated[list[Domain], Field(max_length=VMS_PER_SCOPE_MAX)] = []
    hosts: Annotated[list[StrictStr], Field(max_length=VMS_PER_SCOPE_MAX)] = []
    plan: StrictBool = False


class ClockBody(Body):
    advance_s: Annotated[StrictInt | StrictFloat, Field(ge=0, le=ADVANCE_MAX_S)] | None = None
    to_next: StrictBool = False


def word(words: type[Word], given: str, field: str) -> Word:
    try:
        return words(given)
    except ValueError:
        raise Invalid(
            f"{field} cannot be {given!r}.", f"It is one of: {', '.join(words)}.", {"field": field, "value": given}
        ) from None


def time_of(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_iso(text)
    except (ValueError, OverflowError):
        raise Invalid(
            f"not_before is no time: {text!r}.",
            "Write ISO 8601, such as 2026-09-19T18:29:47Z.",
            {"field": "not_before"},
        ) from None
