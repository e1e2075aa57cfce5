"""hosts: which there are, and who carries out impacts there; host-failed: the word that one is gone."""

from typing import Annotated

import typer

from notbefore.cli.control_api import Json, connect
from notbefore.cli.event_lines import show_events
from notbefore.cli.listing import Listing, show_list
from notbefore.cli.options import AsJson, Watch
from notbefore.cli.tables import show_json
from notbefore.core.errors import Refusal

COLUMNS = ("host", "executor", "declared", "vms", "scopes")
Host = Annotated[str, typer.Argument(metavar="HOST", help="The host, in any letter case.")]


def hosts(*, watch: Watch = False, as_json: AsJson = False) -> None:
    """List hosts: those that are declared, and those that VMs are on.

    With who carries out impacts there, and how many VMs of which scopes it has.

    Example: `notbefore hosts --json`
    """
    api = connect()
    listing = Listing(COLUMNS, _row, "No hosts. A VM's `host` in fleet.toml names one.")
    show_list(listing, lambda: list(api.get("hosts")["hosts"]), as_json=as_json, watch=watch)


def host_failed(host: Host, *, as_json: AsJson = False) -> None:
    """Say that a host has failed: its VMs reboot now, without notice.

    VMs see a Reboot as Started at once, in every scope that has VMs on the host. To say it again while they come back
    does nothing to them.

    Example: `notbefore host-failed rack1-a`
    """
    answer = connect().post("hosts", host, "failed")
    if as_json:
        show_json(answer)
    else:
        show_events(answer["events"])
        if not answer["events"] and not answer["not_done"]:
            print(f"No running VM is on {host}.")
    if not_done := answer["not_done"]:
        told = "; ".join(f"scope '{one['scope']}': {one['message']}" for one in not_done)
        raise Refusal(f"Not done for {told}", "`notbefore host-failed` again does only what is left.")


def _row(host: Json) -> list[str]:
    declared = "yes" if host["declared"] else "no"
    scopes = ", ".join(f"{scope} {count}" for scope, count in host["vms"].items())
    return [host["name"], host["executor"], declared, str(sum(host["vms"].values())), scopes or "-"]
