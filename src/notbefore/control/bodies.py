"""What the control API accepts: bodies, field by field. An unknown field is refused by name (DESIGN §5).

Rule 1: scalars are strict: "5" is no number and 1 is no truth.
Rule 2: a body becomes core values here, and a wrong one an Invalid with the field's name.
Rule 3: what the core checks, and says better, is only published here (`json_schema_extra`).
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StrictFloat, StrictInt, StrictStr

from notbefore.clock import RATE_MAX
from notbefore.control import examples
from notbefore.core.declare import ADDRESSES_PER_VM_MAX, NAME_MAX, VMS_PER_SCOPE_MAX
from notbefore.core.errors import Invalid
from notbefore.core.kinds import MAINTENANCE_TYPES, EventType, Eviction, Kind, Listening, Policy, Source, VmState
from notbefore.core.model import Vm
from notbefore.core.scope_settings import DEFAULT_POLICY, RECOVERY_MAX_S, USER_OPERATIONS_MAX, ScopeSettings
from notbefore.core.times import LATEST_MS
from notbefore.wire.times import iso, parse_iso

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


def told(description: str = "", **schema: JsonValue) -> Any:
    """For the OpenAPI document alone."""
    return Field(description=description or None, json_schema_extra=schema)


def one_of(words: Iterable[str], description: str = "") -> Any:
    return told(description, enum=[str(one) for one in words])


Name = Annotated[StrictStr, told(minLength=1, maxLength=NAME_MAX)]
Later = Annotated[StrictStr, told(format="date-time")]
OnePolicy = Annotated[StrictStr, one_of(Policy)]
AutoApproved = Annotated[StrictStr, one_of(f"{source}:{kind}" for source in Source for kind in EventType)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class VmBody(Body):
    name: Annotated[Name, told("The resource name, in any letter case the same; not the hostname.")]
    update_domain: Annotated[Domain, told("VMs of one may go down together.")] = 0
    fault_domain: Annotated[Domain | None, told("VMs of one share hardware.")] = None
    host: Annotated[StrictStr, Field(max_length=128, description="What it runs on; empty when nobody knows.")] = ""
    addresses: Annotated[list[StrictStr], told("IP addresses it asks from.", maxItems=ADDRESSES_PER_VM_MAX)] = []
    tags: Annotated[dict[StrictStr, Text], Field(max_length=TAGS_MAX)] = {}
    spot: Annotated[StrictBool, told("Only spot VMs are evicted.")] = False
    state: Annotated[StrictStr, one_of(VmState)] | None = Field(
        None, description="Left out or null: it stays as it is."
    )
    # Shown by GET, so that what was read can be put back; not for anyone to set.
    last_asked: StrictStr | None = Field(default=None, exclude=True, description="Accepted and ignored.")

    def vm(self, place: str = "") -> Vm:
        """`place` is where in the whole body it stands, for the name of a field that is wrong."""
        state = word(VmState, self.state, f"{place}state") if self.state else VmState.RUNNING
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
    listening: Annotated[StrictStr, one_of(Listening, "Whether it gets notice: auto, when a VM asked within 24 h.")] = (
        Listening.AUTO
    )
    approval: Annotated[OnePolicy | dict[StrictStr, OnePolicy], told("Whose approval releases an event.")] = Policy.ANY
    auto_approve: Annotated[list[AutoApproved], Field(max_length=20, description="These start at once.")] = []
    notice_s: Annotated[dict[StrictStr, Seconds], told("Least notice of an event type, in seconds.")] = {}
    user_events: Annotated[StrictBool, told("Whether user operations give events.")] = True
    user_operations_max: Annotated[
        StrictInt, told("Of user operations Scheduled at once.", minimum=0, maximum=USER_OPERATIONS_MAX)
    ] = 10
    recovery_s: Annotated[
        StrictInt, told("Between one update domain and the next.", minimum=0, maximum=RECOVERY_MAX_S)
    ] = 0
    legacy_underscore: Annotated[StrictBool, told("Names begin with `_` in api-version 2017-03-01.")] = False
    eviction: Annotated[StrictStr, one_of(Eviction, "What is left of a spot VM afterwards.")] = Eviction.DEALLOCATE

    def settings(self) -> ScopeSettings:
        approval = self.approval if isinstance(self.approval, dict) else {DEFAULT_POLICY: self.approval}
        return ScopeSettings(
            listening=word(Listening, self.listening, "settings.listening"),
            approval={name: word(Policy, policy, f"settings.approval.{name}") for name, policy in approval.items()},
            auto_approve=tuple(dict.fromkeys(self.auto_approve)),
            notice_s={word(EventType, name, f"settings.notice_s.{name}"): s for name, s in self.notice_s.items()},
            user_events=self.user_events,
            user_operations_max=self.user_operations_max,
            recovery_s=self.recovery_s,
            legacy_underscore=self.legacy_underscore,
            eviction=word(Eviction, self.eviction, "settings.eviction"),
        )


class ScopeBody(Body, json_schema_extra={"examples": [examples.SCOPE_BODY]}):
    kind: Annotated[StrictStr, one_of(Kind, "What groups its VMs.")] = Kind.STANDALONE
    settings: SettingsBody = SettingsBody()
    vms: Annotated[list[VmBody], Field(max_length=VMS_PER_SCOPE_MAX)] = []


class OperationBody(Body, json_schema_extra={"examples": [examples.OPERATION_BODY]}):
    not_before: Later | None = Field(
        default=None, description="Later than the notice asks for; rounded up to the second."
    )
    duration_s: Duration | None = Field(default=None, description="Expected length; -1 is unknown.")
    description: Text | None = Field(default=None, description="Shown to VMs instead of the operation's own.")

    def not_before_ms(self) -> int | None:
        at_ms = time_of(self.not_before)
        if at_ms is not None and not 0 <= at_ms <= LATEST_MS:
            raise Invalid(
                f"not_before is between 1970 and {iso(LATEST_MS)}, not {self.not_before!r}.",
                facts={"field": "not_before"},
            )
        return at_ms


class MaintenanceBody(OperationBody, json_schema_extra={"examples": [examples.MAINTENANCE_BODY]}):
    type: Annotated[StrictStr, one_of(MAINTENANCE_TYPES)]
    vms: Annotated[list[StrictStr], Field(max_length=VMS_PER_SCOPE_MAX)] = []
    update_domains: Annotated[list[Domain], Field(max_length=VMS_PER_SCOPE_MAX)] = []
    hosts: Annotated[list[StrictStr], Field(max_length=VMS_PER_SCOPE_MAX)] = []
    plan: Annotated[StrictBool, told("Make nothing: say what would be made.")] = False


class ClockBody(Body, json_schema_extra={"examples": list(examples.CLOCK_BODIES)}):
    """One of the four."""

    advance_s: Annotated[StrictInt | StrictFloat, Field(ge=0, le=ADVANCE_MAX_S)] | None = None
    to_next: StrictBool = False
    rate: Annotated[
        Annotated[StrictInt | StrictFloat, Field(gt=0, le=RATE_MAX)] | None,
        told("Let it run by itself: so many seconds in a real one."),
    ] = None
    paused: Annotated[StrictBool | None, told("Let it stand, or run on at its rate.")] = None


def word(words: type[Word], given: str, field: str) -> Word:
    try:
        return words(given)
    except ValueError:
        raise Invalid(
            f"{field} cannot be {given!r}.", f"It is one of: {', '.join(words)}.", {"field": field, "value": given}
        ) from None


def time_of(text: str | None, field: str = "not_before") -> int | None:
    if text is None:
        return None
    try:
        return parse_iso(text)
    except (ValueError, OverflowError):
        raise Invalid(
            f"{field} is no time: {text!r}.",
            "Write ISO 8601, such as 2026-09-19T18:29:47Z.",
            {"field": field},
        ) from None
