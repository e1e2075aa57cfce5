"""restart, redeploy, freeze, evict, terminate: operations on VMs, one event and one request per VM (SPEC §3.3)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated

import typer

from notbefore.cli.control_api import ControlApi, Json, connect
from notbefore.cli.durations import not_before
from notbefore.cli.event_lines import show_events
from notbefore.cli.local_times import Utc
from notbefore.cli.one_by_one import one_by_one
from notbefore.cli.options import AsJson, Description, Duration, NotBefore, given
from notbefore.cli.vm_names import full_names
from notbefore.cli.waiting import refuse_bad_ends, until_ended

Vms = Annotated[list[str], typer.Argument(metavar="VM", help="VMs, as `vm` or `scope/vm`, in any letter case.")]
InScope = Annotated[str | None, typer.Option("--scope", metavar="SCOPE", help="The scope the VMs are in.")]
Wait = Annotated[
    bool,
    typer.Option(
        "--wait", help="Count the notice down and return when the events have ended; 1 when one did not complete."
    ),
]

HELP: Mapping[str, str] = {
    "restart": """Restart VMs, as their owner: a Reboot of each.

    Each VM gets 15 minutes of notice unless its scope says otherwise; the restart begins when a VM of the scope
    approves it or the notice ends. Memory is lost.

    Example: `notbefore restart FrontEnd_IN_0 --not-before +20m --wait`
    """,
    "redeploy": """Redeploy VMs to another host, as their owner: a Redeploy of each.

    Each VM gets 10 minutes of notice unless its scope says otherwise. Ephemeral disks are lost.

    Example: `notbefore redeploy demo/BackEnd_IN_0`
    """,
    "freeze": """Freeze VMs for seconds, as the platform: a Freeze of each.

    Memory, files and connections are kept; 15 minutes of notice unless the scope says otherwise.

    Example: `notbefore freeze FrontEnd_IN_0 --duration 9`
    """,
    "evict": """Evict spot VMs, as the platform: a Preempt of each.

    30 seconds of notice unless the scope says otherwise; afterwards the VM is deallocated, or deleted if the scope
    says so. A VM that was not declared with `spot = true` is refused.

    Example: `notbefore evict shop/batch-0 --wait`
    """,
    "terminate": """Delete VMs, as their owner: a Terminate of each.

    5 minutes of notice unless the scope says otherwise; afterwards the VM is no longer in its scope.

    Example: `notbefore terminate BackEnd_IN_1 --description "scaling in"`
    """,
}


def command_for(operation: str) -> Callable[..., None]:
    """The five take the same words, and differ in what they do."""

    def command(
        vms: Vms,
        *,
        scope: InScope = None,
        not_before: NotBefore = None,
        duration: Duration = None,
        description: Description = None,
        wait: Wait = False,
        utc: Utc = False,  # noqa: ARG001  its callback took it
        as_json: AsJson = False,
    ) -> None:
        api = connect()
        names = full_names(api, vms, scope)
        wanted = operation_body(api, not_before, duration, description)
        shown = partial(show_events, as_json=as_json)
        events = one_by_one(names, lambda name: operate(api, name, operation, wanted), shown)
        if not wait:
            shown(events)
            return
        if not as_json:
            shown(events)
        ended = until_ended(api, events, as_json=as_json)
        shown(ended)
        refuse_bad_ends(ended)

    command.__doc__ = HELP[operation]
    return command


def operation_body(api: ControlApi, when: str | None, duration: int | None, description: str | None) -> Json:
    at = None if when is None else not_before(when, api)
    return given(not_before=at, duration_s=duration, description=description)


def operate(api: ControlApi, full_name: str, operation: str, wanted: Json) -> Json:
    scope, _, vm = full_name.partition("/")
    return api.post("scopes", scope, "vms", vm, operation, body=wanted)
