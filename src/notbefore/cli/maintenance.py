"""maintain: platform maintenance of a scope, one update domain at a time (SPEC §3.4)."""

from typing import Annotated

import typer

from notbefore.cli.control_api import connect
from notbefore.cli.event_lines import show_events
from notbefore.cli.operations import operation_body
from notbefore.cli.options import AsJson, Description, Duration, NotBefore, given, word_of
from notbefore.cli.tables import show_json
from notbefore.core.kinds import MAINTENANCE_TYPES

Type = Annotated[str, typer.Argument(metavar="TYPE", help="Freeze, Reboot or Redeploy.")]
Scope = Annotated[str, typer.Option("--scope", metavar="SCOPE", help="The scope to maintain.")]
UpdateDomains = Annotated[
    list[int] | None, typer.Option("--update-domain", metavar="N", help="Only this update domain; may be repeated.")
]
Hosts = Annotated[list[str] | None, typer.Option("--host", metavar="HOST", help="Only VMs on it; may be repeated.")]
Vms = Annotated[list[str] | None, typer.Option("--vm", metavar="VM", help="Only this VM; may be repeated.")]
Plan = Annotated[bool, typer.Option("--plan", help="Only say what would be scheduled; change nothing.")]


def maintain(
    type_: Type,
    *,
    scope: Scope,
    update_domain: UpdateDomains = None,
    host: Hosts = None,
    vm: Vms = None,
    not_before: NotBefore = None,
    duration: Duration = None,
    description: Description = None,
    plan: Plan = False,
    as_json: AsJson = False,
) -> None:
    """Maintain a scope as the platform: Freeze, Reboot or Redeploy its VMs.

    One event per update domain (and host, when hosts are known). The first update domain is announced at once; the
    next ones queue until the one before has ended. Without --update-domain, --host or --vm it is the whole scope.

    Example: `notbefore maintain Reboot --scope demo --update-domain 0 --plan`
    """
    event_type = word_of(type_, MAINTENANCE_TYPES, "TYPE")
    api = connect()
    wanted = operation_body(api, not_before, duration, description)
    chosen = given(update_domains=update_domain, hosts=host, vms=vm, plan=plan or None)
    answer = api.post("scopes", scope, "maintenance", body={"type": event_type, **chosen, **wanted})
    if as_json:
        show_json(answer)
        return
    if plan:
        print("Planned; nothing is scheduled.")
    show_events([*answer["events"], *answer["queued"]], planned=plan)
