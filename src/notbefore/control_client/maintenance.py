"""Host maintenance and rollouts: what ControlClient can ask of the whole fleet (rules: client.py)."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict, Unpack

from notbefore.control_client.control_api import ControlApi, Json
from notbefore.control_client.given import given, time_text
from notbefore.control_client.rollout_shapes import BegunRollout, Operation, Plan, Rollout
from notbefore.control_client.shapes import shaped

# The plan of a rollout over thousands of hosts takes its time.
PLAN_MAX_S = 600.0


class RolloutWanted(TypedDict, total=False):
    """What may be said about a rollout; what is left out the server decides.

    One of `hosts` and `scopes`, which are patterns, and `all_hosts`. `limits` as DESIGN and the reference have them.
    """

    hosts: str | None
    scopes: str | None
    all_hosts: bool
    order: str | None
    first: Sequence[str]
    limits: Json | None
    duration_s: int | None
    description: str | None


class FleetMaintenance:
    """The part of ControlClient that is about more than one scope."""

    raw: ControlApi

    def maintain_host(
        self,
        host: str,
        event_type: str,
        *,
        not_before: datetime | str | None = None,
        duration_s: int | None = None,
        description: str | None = None,
    ) -> Operation:
        """Platform maintenance of a host, over every scope that has VMs on it."""
        wanted = given(
            type=event_type, not_before=time_text(not_before), duration_s=duration_s, description=description
        )
        return shaped(Operation, self.raw.post("hosts", host, "maintenance", body=wanted).get("operation"))

    def plan_host(
        self,
        host: str,
        event_type: str,
        *,
        not_before: datetime | str | None = None,
        duration_s: int | None = None,
    ) -> Plan:
        """What maintenance of the host would be; nothing is made."""
        wanted = given(type=event_type, not_before=time_text(not_before), duration_s=duration_s, plan=True)
        answer = self.raw.post("hosts", host, "maintenance", body=wanted, timeout_s=PLAN_MAX_S)
        return shaped(Plan, answer.get("plan"))

    def operations(self, status: str | None = None) -> tuple[Operation, ...]:
        """All that are known; `live` are those that are not over."""
        answer = self.raw.get("operations", query={"status": status})
        return tuple(shaped(Operation, one) for one in answer["operations"])

    def operation(self, operation_id: str) -> Operation:
        return shaped(Operation, self.raw.get("operations", operation_id))

    def cancel_operation(self, operation_id: str) -> Operation:
        return shaped(Operation, self.raw.post("operations", operation_id, "cancel"))

    def rollouts(self, status: str | None = None) -> tuple[Rollout, ...]:
        answer = self.raw.get("rollouts", query={"status": status})
        return tuple(shaped(Rollout, one) for one in answer["rollouts"])

    def rollout(self, rollout_id: str) -> Rollout:
        return shaped(Rollout, self.raw.get("rollouts", rollout_id))

    def begin_rollout(self, event_type: str, **wanted: Unpack[RolloutWanted]) -> BegunRollout:
        answer = self.raw.post("rollouts", body=_body(event_type, wanted), timeout_s=PLAN_MAX_S)
        return shaped(BegunRollout, answer)

    def plan_rollout(self, event_type: str, **wanted: Unpack[RolloutWanted]) -> Plan:
        """What such a rollout would be; nothing is begun."""
        body = {**_body(event_type, wanted), "plan": True}
        return shaped(Plan, self.raw.post("rollouts", body=body, timeout_s=PLAN_MAX_S).get("plan"))

    def plan_of_rollout(self, rollout_id: str) -> Plan:
        """From where it is now to its end."""
        return shaped(Plan, self.raw.get("rollouts", rollout_id, "plan", timeout_s=PLAN_MAX_S).get("plan"))

    def pause_rollout(self, rollout_id: str) -> Rollout:
        return shaped(Rollout, self.raw.post("rollouts", rollout_id, "pause"))

    def resume_rollout(self, rollout_id: str) -> Rollout:
        return shaped(Rollout, self.raw.post("rollouts", rollout_id, "resume"))

    def cancel_rollout(self, rollout_id: str) -> Rollout:
        return shaped(Rollout, self.raw.post("rollouts", rollout_id, "cancel"))


def _body(event_type: str, wanted: RolloutWanted) -> Json:
    plain = {name: value for name, value in wanted.items() if name not in ("all_hosts", "first")}
    first = list(wanted.get("first", ()))
    return given(type=event_type, **plain, all=wanted.get("all_hosts") or None, first=first or None)
