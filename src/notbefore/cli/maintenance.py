"""maintain: platform maintenance of a scope, of a host, or of many of either (SPEC §3.4).

Rule 1: it is asked for with exactly one of --scope, --host, --all, --hosts, --scopes; an option that has no meaning
there is wrong usage, never left aside.
Not here: what is said of an operation or rollout (operation_lines.py, rollout_lines.py), limits (rollout_options.py).
"""

from typing import Annotated

import typer

from notbefore.cli import maintenance_asked as asked
from notbefore.cli import rollout_options as limits
from notbefore.cli.control_api import connect
from notbefore.cli.local_times import Utc
from notbefore.cli.options import AsJson, Description, Duration, NotBefore, given, word_of
from notbefore.cli.vm_operations import operation_body
from notbefore.core.kinds import MAINTENANCE_TYPES

Type = Annotated[str, typer.Argument(metavar="TYPE", help="Freeze, Reboot or Redeploy.")]
Scope = Annotated[str | None, typer.Option("--scope", metavar="SCOPE", help="This scope.")]
UpdateDomains = Annotated[
    list[int] | None,
    typer.Option("--update-domain", metavar="N", help="With --scope: only this update domain; may be repeated."),
]
Hosts = Annotated[
    list[str] | None,
    typer.Option(
        "--host", metavar="HOST", help="This host, all scopes on it; with --scope only VMs on it, repeatable."
    ),
]
Vms = Annotated[
    list[str] | None, typer.Option("--vm", metavar="VM", help="With --scope: only this VM; may be repeated.")
]
All = Annotated[bool, typer.Option("--all", help="Every host that has VMs, as a rollout.")]
HostsLike = Annotated[
    str | None, typer.Option("--hosts", metavar="GLOB", help='Hosts by a pattern such as "rack1-*", as a rollout.')
]
ScopesLike = Annotated[
    str | None, typer.Option("--scopes", metavar="GLOB", help='Scopes by a pattern such as "shop-*", as a rollout.')
]
Wait = Annotated[
    bool, typer.Option("--wait", help="Follow it and return when it is over; 1 when it did not complete or has halted.")
]
Plan = Annotated[bool, typer.Option("--plan", help="Only say what would happen, and when; change nothing.")]


def maintain(
    type_: Type,
    *,
    scope: Scope = None,
    update_domain: UpdateDomains = None,
    vm: Vms = None,
    host: Hosts = None,
    every: All = False,
    hosts: HostsLike = None,
    scopes: ScopesLike = None,
    not_before: NotBefore = None,
    duration: Duration = None,
    description: Description = None,
    max_hosts: limits.MaxHosts = None,
    max_scopes: limits.MaxScopes = None,
    max_vms: limits.MaxVms = None,
    recovery: limits.Recovery = None,
    window: limits.Windows = None,
    impacts: limits.Impacts = None,
    vm_rest: limits.VmRest = None,
    max_failed: limits.MaxFailed = None,
    order: limits.Ordered = None,
    first: limits.First = None,
    plan: Plan = False,
    wait: Wait = False,
    utc: Utc = False,  # noqa: ARG001  its callback took it
    as_json: AsJson = False,
) -> None:
    """Maintain as the platform: Freeze, Reboot or Redeploy the VMs of a scope, of a host, or of many.

    --scope: one event per update domain (and host, when hosts are known), one update domain at a time. --host: every
    scope with VMs on it, in waves of at most one update domain of each, which start together when all have approved or
    at their common NotBefore. --all, --hosts and --scopes: a rollout, host by host or scope by scope, within limits; it
    goes on by itself, also when this command is stopped. Look at it with --plan first.

    Example: `notbefore maintain Reboot --scope demo --update-domain 0 --plan`

    Example: `notbefore maintain Freeze --host rack1-a --wait`

    Example: `notbefore maintain Reboot --hosts "rack1-*" --max-hosts 2 --recovery 5m --window "Sat,Sun 22:00-04:00"`
    """
    event_type = word_of(type_, MAINTENANCE_TYPES, "TYPE")
    of_scope = given(update_domains=update_domain, vms=vm)
    kept = limits.limits_of(
        max_hosts=max_hosts,
        max_scopes=max_scopes,
        max_vms=max_vms,
        recovery=recovery,
        window=window,
        impacts=impacts,
        vm_rest=vm_rest,
        max_failed=max_failed,
    )
    of_rollout = given(order=limits.order_of(order), first=first, limits=kept or None)
    over = given(hosts=hosts, scopes=scopes, all=every or None)
    asked.refuse_unless_one(scope, host, over)
    asked.refuse_misplaced(scope, over, of_scope, of_rollout, not_before)
    api = connect()
    how = asked.How(plan=plan, wait=wait, as_json=as_json)
    wanted = {"type": event_type, **operation_body(api, not_before, duration, description), **given(plan=plan or None)}
    if scope is not None:
        asked.of_scope(api, scope, {**wanted, **of_scope, **given(hosts=host)}, how)
    elif host:
        asked.of_host(api, host[0], wanted, how)
    else:
        asked.rolled_out(api, {**wanted, **over, **of_rollout}, how)
