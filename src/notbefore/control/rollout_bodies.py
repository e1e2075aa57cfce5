"""What the control API accepts of host maintenance and rollouts (rules: bodies.py)."""

import re
from typing import Annotated

from pydantic import Field, StrictBool, StrictInt, StrictStr

from notbefore.control import rollout_examples as examples
from notbefore.control.bodies import Body, Duration, Name, OperationBody, Text, one_of, told, word
from notbefore.core.errors import Invalid
from notbefore.core.kinds import MAINTENANCE_TYPES, EventType
from notbefore.core.rollout import RATE_MAX_S, TARGETS_MAX, VM_REST_MAX_S, Limits, Order, Over, check_limits
from notbefore.core.rollout_targets import GLOB_MAX, Chosen
from notbefore.core.scope_settings import RECOVERY_MAX_S
from notbefore.core.windows import DAYS, WINDOWS_MAX, Window

LIMIT_MAX = 1_000_000
TIME_OF_DAY = re.compile(r"([0-9]{2}):([0-5][0-9])")
TIME_OF_DAY_PATTERN = "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"

Most = Annotated[StrictInt, Field(ge=1, le=LIMIT_MAX)]
Glob = Annotated[StrictStr, told(minLength=1, maxLength=GLOB_MAX)]
TimeOfDay = Annotated[StrictStr, Field(max_length=5, json_schema_extra={"pattern": TIME_OF_DAY_PATTERN})]
Day = Annotated[StrictStr, one_of(DAYS)]


class HostMaintenanceBody(OperationBody, json_schema_extra={"examples": [examples.HOST_MAINTENANCE_BODY]}):
    type: Annotated[StrictStr, one_of(MAINTENANCE_TYPES)]
    plan: Annotated[StrictBool, told("Make nothing: say what would happen when nobody approves.")] = False


class WindowBody(Body):
    """Hours of the week, by clocks as they go in its time zone."""

    days: Annotated[list[Day], Field(min_length=1, max_length=len(DAYS), description="On which it begins.")]
    from_: Annotated[TimeOfDay, Field(alias="from")]
    to: Annotated[TimeOfDay, told("At or before `from`: on the next day.")]
    time_zone: Annotated[StrictStr, Field(max_length=64, description="Of the tz database.")] = "UTC"

    def window(self, place: str) -> Window:
        days = tuple(day for day in DAYS if day in self.days)
        if strangers := [day for day in self.days if day not in DAYS]:
            raise Invalid(
                f"{place}.days cannot have {strangers[0]!r}.",
                f"It is some of: {', '.join(DAYS)}.",
                {"field": f"{place}.days"},
            )
        return Window(days, minutes(self.from_, f"{place}.from"), minutes(self.to, f"{place}.to"), self.time_zone)


class LimitsBody(Body):
    max_hosts: Most | None = Field(default=None, description="Hosts in hand at once.")
    max_scopes: Most | None = Field(default=None, description="Scopes in hand at once.")
    max_vms: Most | None = Field(default=None, description="VMs at once, from announcement to the impact's end.")
    recovery_s: Annotated[
        StrictInt, told("Between update domains of a scope; its own, when longer.", minimum=0, maximum=RECOVERY_MAX_S)
    ] = 0
    windows: Annotated[
        list[WindowBody], Field(max_length=WINDOWS_MAX, description="A wave has to fit into one whole; none: always.")
    ] = []
    impacts_max: Most | None = Field(default=None, description="Impacts in any `impacts_per_s`.")
    impacts_per_s: Annotated[StrictInt, told(minimum=1, maximum=RATE_MAX_S)] = 3600
    vm_rest_s: Annotated[StrictInt, told("No VM is hit again within this.", minimum=0, maximum=VM_REST_MAX_S)] = 0
    failed_max: Annotated[StrictInt, told("More failed impacts halt it.", minimum=0, maximum=LIMIT_MAX)] = 0

    def limits(self, over: Over) -> Limits:
        """Where nothing says how much at once, it is one host or scope."""
        is_bounded = any(most is not None for most in (self.max_hosts, self.max_scopes, self.max_vms))
        limits = Limits(
            max_hosts=1 if not is_bounded and over is Over.HOSTS else self.max_hosts,
            max_scopes=1 if not is_bounded and over is Over.SCOPES else self.max_scopes,
            max_vms=self.max_vms,
            recovery_s=self.recovery_s,
            windows=tuple(one.window(f"limits.windows.{place}") for place, one in enumerate(self.windows)),
            impacts_max=self.impacts_max,
            impacts_per_s=self.impacts_per_s,
            vm_rest_s=self.vm_rest_s,
            failed_max=self.failed_max,
        )
        try:
            check_limits(limits)
        except Invalid as wrong:
            facts = {**wrong.facts, "field": f"limits.{wrong.facts.get('field', '')}".rstrip(".")}
            raise Invalid(wrong.message, wrong.hint, facts) from None
        return limits


class RolloutBody(Body, json_schema_extra={"examples": list(examples.ROLLOUT_BODIES)}):
    """Exactly one of `hosts`, `scopes` and `all`."""

    type: Annotated[StrictStr, one_of(MAINTENANCE_TYPES)]
    hosts: Glob | None = Field(default=None, description="A pattern on the names of hosts, such as `rack-7-*`.")
    scopes: Glob | None = Field(default=None, description="A pattern on the names of scopes.")
    all: Annotated[StrictBool, told("Every host.")] = False
    order: Annotated[StrictStr, one_of(Order, "Which comes first; by size means running VMs.")] = Order.NAME
    first: Annotated[list[Name], Field(max_length=TARGETS_MAX, description="These before all others.")] = []
    limits: LimitsBody = LimitsBody()
    duration_s: Duration | None = Field(default=None, description="Expected length of an impact; -1 is unknown.")
    description: Text | None = Field(default=None, description="Shown to VMs instead of the usual one.")
    plan: Annotated[StrictBool, told("Begin nothing: say what would happen when nobody approves.")] = False

    def chosen(self) -> Chosen:
        given = [name for name in ("hosts", "scopes", "all") if getattr(self, name) not in (None, False)]
        if len(given) != 1:
            raise Invalid(
                f"A rollout is over one of hosts, scopes and all, not {' and '.join(given) or 'none of them'}.",
                '`{"all": true}` is every host.',
                {"field": given[1] if given else "hosts"},
            )
        over = Over.SCOPES if given == ["scopes"] else Over.HOSTS
        glob = self.scopes if over is Over.SCOPES else self.hosts
        return Chosen(over, glob, word(Order, self.order, "order"), tuple(self.first))


def maintenance_type(given: str) -> EventType:
    found = word(EventType, given, "type")
    if found not in MAINTENANCE_TYPES:
        allowed = ", ".join(MAINTENANCE_TYPES)
        raise Invalid(f"Platform maintenance is one of {allowed}, not {found}.", facts={"field": "type", "type": found})
    return found


def minutes(text: str, field: str) -> int:
    found = TIME_OF_DAY.fullmatch(text)
    if found is None or int(found[1]) * 60 + int(found[2]) > 24 * 60:
        raise Invalid(f"{field} is no time of day: {text!r}.", "Write HH:MM, 00:00 to 24:00.", {"field": field})
    return int(found[1]) * 60 + int(found[2])
