"""ControlClient: what an operator may ask and say, with types (DESIGN §5).

Rule 1: a method is a route; what is left out is left to the server.
Rule 2: `raw` is the same connection for whoever wants the JSON, or a route this client does not know.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Self, TypedDict, Unpack

from notbefore.control_client.control_api import ControlApi, Json
from notbefore.control_client.faults import Faults
from notbefore.control_client.following import followed
from notbefore.control_client.found import found_api
from notbefore.control_client.given import flags, given, time_text
from notbefore.control_client.maintenance import FleetMaintenance
from notbefore.control_client.shapes import (
    Clock,
    Event,
    Explanation,
    HistoryPage,
    HistoryRecord,
    Host,
    HostFailure,
    Maintenance,
    Scope,
    Token,
    shaped,
)

# Turning a clock by months carries out everything that falls due in them before it answers.
TURN_MAX_S = 600.0


class Wanted(TypedDict, total=False):
    """What may be said about an operation; what is left out the server decides."""

    not_before: datetime | str | None
    duration_s: int | None
    description: str | None


class ControlClient(FleetMaintenance, Faults):
    """`ControlClient("http://127.0.0.1:8255", token)`; `connect()` finds both as the command line does."""

    def __init__(self, url: str, token: str) -> None:
        self.raw = ControlApi(url, token)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.raw.close()

    # -- Scopes

    def scopes(self) -> tuple[Scope, ...]:
        return tuple(shaped(Scope, one) for one in self.raw.get("scopes")["scopes"])

    def scope(self, name: str) -> Scope:
        return shaped(Scope, self.raw.get("scopes", name))

    def put_scope(
        self, name: str, declaration: Json, *, force: bool = False, plan: bool = False, releasing: Sequence[str] = ()
    ) -> Scope:
        """Declare a scope as a whole: `{"kind", "settings", "vms"}`.

        With `plan` nothing is changed, and addresses of the scopes that are `releasing` theirs count as free.
        """
        query = {**flags(force=force, plan=plan), "releasing": list(releasing)}
        return shaped(Scope, self.raw.put("scopes", name, body=declaration, query=query))

    def remove_scope(self, name: str, *, force: bool = False, plan: bool = False) -> None:
        self.raw.delete("scopes", name, query=flags(force=force, plan=plan))

    # -- Making something happen

    def restart(self, scope: str, vm: str, **wanted: Unpack[Wanted]) -> Event:
        return self.operate(scope, vm, "restart", **wanted)

    def redeploy(self, scope: str, vm: str, **wanted: Unpack[Wanted]) -> Event:
        return self.operate(scope, vm, "redeploy", **wanted)

    def freeze(self, scope: str, vm: str, **wanted: Unpack[Wanted]) -> Event:
        return self.operate(scope, vm, "freeze", **wanted)

    def evict(self, scope: str, vm: str, **wanted: Unpack[Wanted]) -> Event:
        return self.operate(scope, vm, "evict", **wanted)

    def terminate(self, scope: str, vm: str, **wanted: Unpack[Wanted]) -> Event:
        return self.operate(scope, vm, "terminate", **wanted)

    def operate(
        self,
        scope: str,
        vm: str,
        operation: str,
        **wanted: Unpack[Wanted],
    ) -> Event:
        """restart, redeploy, freeze, evict or terminate one VM: one event."""
        body = given(**{**wanted, "not_before": time_text(wanted.get("not_before"))})
        return shaped(Event, self.raw.post("scopes", scope, "vms", vm, operation, body=body))

    def maintain(
        self,
        scope: str,
        event_type: str,
        *,
        vms: Sequence[str] = (),
        update_domains: Sequence[int] = (),
        hosts: Sequence[str] = (),
        not_before: datetime | str | None = None,
        duration_s: int | None = None,
        description: str | None = None,
        plan: bool = False,
    ) -> Maintenance:
        """Platform maintenance of a scope, one update domain at a time. With `plan` nothing is made."""
        wanted = given(
            type=event_type,
            vms=list(vms) or None,
            update_domains=list(update_domains) or None,
            hosts=list(hosts) or None,
            not_before=time_text(not_before),
            duration_s=duration_s,
            description=description,
            plan=plan or None,
        )
        return shaped(Maintenance, self.raw.post("scopes", scope, "maintenance", body=wanted))

    # -- Events

    def events(self, scope: str | None = None, statuses: Iterable[str] = ()) -> tuple[Event, ...]:
        """The live ones, unless statuses are named."""
        answer = self.raw.get("events", query={"scope": scope, "status": list(statuses)})
        return tuple(shaped(Event, one) for one in answer["events"])

    def event(self, event_id: str) -> Event:
        return shaped(Event, self.raw.get("events", event_id))

    def approve(self, event_id: str) -> Event:
        return self.act(event_id, "approve")

    def cancel(self, event_id: str) -> Event:
        return self.act(event_id, "cancel")

    def complete(self, event_id: str) -> Event:
        return self.act(event_id, "complete")

    def act(self, event_id: str, action: str) -> Event:
        return shaped(Event, self.raw.post("events", event_id, action))

    def explain(self, event_id: str) -> Explanation:
        """Why it waits, on whom, until when, by which rule, and what would release it."""
        return shaped(Explanation, self.raw.get("events", event_id, "explain"))

    # -- History

    def history(
        self,
        scope: str | None = None,
        event: str | None = None,
        *,
        after: int | None = None,
        limit: int | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        **filters: str | None,
    ) -> HistoryPage:
        """The newest records, or those after a revision. Filters: `vm`, `by`, `what`, `operation`, `rollout`."""
        times = {"since": time_text(since), "until": time_text(until)}
        query = {"scope": scope, "event": event, "after": after, "limit": limit, **times, **filters}
        return shaped(HistoryPage, self.raw.get("history", query=query))

    def follow(
        self, scope: str | None = None, event: str | None = None, *, after: int | None = None, **filters: str | None
    ) -> Iterator[HistoryRecord]:
        """Records as they come, after a revision or from now on; across restarts of the server, for ever."""
        query = {"scope": scope, "event": event, **filters}
        return (shaped(HistoryRecord, record) for record in followed(self.raw, query, after))

    # -- Hosts

    def hosts(self) -> tuple[Host, ...]:
        return tuple(shaped(Host, one) for one in self.raw.get("hosts")["hosts"])

    def put_host(self, name: str, declaration: Json) -> Host:
        """Declare a host as a whole: `{"executor"}`."""
        return shaped(Host, self.raw.put("hosts", name, body=declaration))

    def remove_host(self, name: str) -> None:
        self.raw.delete("hosts", name)

    def host_failed(self, name: str) -> HostFailure:
        """The host is gone: its VMs reboot now. To say it again does only what is left."""
        return shaped(HostFailure, self.raw.post("hosts", name, "failed"))

    # -- Tokens

    def tokens(self) -> tuple[Token, ...]:
        return tuple(shaped(Token, one) for one in self.raw.get("tokens")["tokens"])

    def create_token(
        self, name: str, role: str, *, scopes: Sequence[str] = (), expires_in_s: int | None = None
    ) -> Token:
        """A new one, with its `secret`, which nobody will show again."""
        wanted = given(name=name, role=role, scopes=list(scopes) or None, expires_in_s=expires_in_s)
        return shaped(Token, self.raw.post("tokens", body=wanted))

    def revoke_token(self, name: str) -> None:
        self.raw.delete("tokens", name)

    # -- The clock

    def clock(self) -> Clock:
        return shaped(Clock, self.raw.get("clock"))

    def advance(self, seconds: float) -> Clock:
        """Turn a manual clock; `happened` is what came of it."""
        return shaped(Clock, self.raw.post("clock", body={"advance_s": seconds}, timeout_s=TURN_MAX_S))

    def to_next(self) -> Clock:
        return shaped(Clock, self.raw.post("clock", body={"to_next": True}, timeout_s=TURN_MAX_S))

    def run_clock_at(self, rate: float) -> Clock:
        """Let an emulator's clock run by itself: so many seconds in a real one."""
        return shaped(Clock, self.raw.post("clock", body={"rate": rate}))

    def pause_clock(self, *, paused: bool = True) -> Clock:
        """Let it stand; or run on at its rate."""
        return shaped(Clock, self.raw.post("clock", body={"paused": paused}))


def connect(env: Mapping[str, str] = os.environ) -> ControlClient:
    """The server that NOTBEFORE_URL and NOTBEFORE_TOKEN name; else the local one, with its own token."""
    client = ControlClient.__new__(ControlClient)
    client.raw = found_api(env)
    return client
