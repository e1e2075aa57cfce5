"""scopes and vms: what is declared, and who listens."""

from notbefore.cli.control_api import Json, connect
from notbefore.cli.options import AsJson, OfScope
from notbefore.cli.tables import show_json, show_table

SCOPE_COLUMNS = ("scope", "kind", "vms", "incarnation", "listens", "last asked")
VM_COLUMNS = ("vm", "scope", "update domain", "host", "addresses", "state", "last asked")
NOTHING = "No scopes. Declare some with `notbefore apply fleet.toml`."


def scopes(*, as_json: AsJson = False) -> None:
    """List scopes: the sets of VMs that see each other's events.

    A scope listens while one of its VMs asked for its events within a day; one that does not gets no notice.

    Example: `notbefore scopes --json`
    """
    found = connect().get("scopes")["scopes"]
    if as_json:
        show_json(found)
    else:
        show_table(SCOPE_COLUMNS, [_scope_row(scope) for scope in found], NOTHING)


def vms(*, scope: OfScope = None, as_json: AsJson = False) -> None:
    """List VMs, with their update domain, addresses and when they last asked.

    The VMs of one update domain may go down together. An address is how the metadata service knows a VM.

    Example: `notbefore vms --scope demo`
    """
    api = connect()
    found = api.get("scopes")["scopes"] if scope is None else [api.get("scopes", scope)]
    if as_json:
        show_json([{"scope": one["name"], **vm} for one in found for vm in one["vms"]])
    else:
        show_table(VM_COLUMNS, [_vm_row(one, vm) for one in found for vm in one["vms"]], "No VMs.")


def _scope_row(scope: Json) -> list[str]:
    listens = "yes" if scope["listens"] else "no"
    count = str(len(scope["vms"]))
    return [scope["name"], scope["kind"], count, str(scope["incarnation"]), listens, scope["last_asked"] or "never"]


def _vm_row(scope: Json, vm: Json) -> list[str]:
    return [
        vm["name"],
        scope["name"],
        str(vm["update_domain"]),
        vm["host"] or "-",
        ", ".join(vm["addresses"]) or "-",
        vm["state"],
        vm["last_asked"] or "never",
    ]
