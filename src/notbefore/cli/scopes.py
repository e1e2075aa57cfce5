"""scopes and vms: what is declared, and who listens."""

from notbefore.cli.control_api import ControlApi, Json, connect
from notbefore.cli.listing import Listing, show_list
from notbefore.cli.local_times import Utc, shown_time
from notbefore.cli.options import AsJson, OfScope, Watch
from notbefore.control_client import Scope, Vm
from notbefore.control_client.shapes import shaped

SCOPE_COLUMNS = ("scope", "kind", "vms", "incarnation", "listens", "last asked")
VM_COLUMNS = ("vm", "scope", "update domain", "host", "addresses", "state", "last asked")
NOTHING = "No scopes. Declare some with `notbefore apply fleet.toml`."


def scopes(*, watch: Watch = False, utc: Utc = False, as_json: AsJson = False) -> None:  # noqa: ARG001  its callback took it
    """List scopes: the sets of VMs that see each other's events.

    A scope listens while one of its VMs asked for its events within a day; one that does not gets no notice.

    Example: `notbefore scopes --json`
    """
    api = connect()
    listing = Listing(SCOPE_COLUMNS, _scope_row, NOTHING, volatile=("last asked",))
    show_list(listing, lambda: list(api.get("scopes")["scopes"]), as_json=as_json, watch=watch)


def vms(
    *,
    scope: OfScope = None,
    watch: Watch = False,
    utc: Utc = False,  # noqa: ARG001  its callback took it
    as_json: AsJson = False,
) -> None:
    """List VMs, with their update domain, addresses and when they last asked.

    The VMs of one update domain may go down together. An address is how the metadata service knows a VM.

    Example: `notbefore vms --scope demo --watch`
    """
    api = connect()
    listing = Listing(VM_COLUMNS, _vm_row, "No VMs.", key_columns=2, volatile=("last asked",))
    show_list(listing, lambda: _vms_of(api, scope), as_json=as_json, watch=watch)


def _vms_of(api: ControlApi, scope: str | None) -> list[Json]:
    found = api.get("scopes")["scopes"] if scope is None else [api.get("scopes", scope)]
    return [{"scope": one["name"], **vm} for one in found for vm in one["vms"]]


def _scope_row(raw: Json) -> list[str]:
    scope = shaped(Scope, raw)
    listens = "yes" if scope.listens else "no"
    asked = shown_time(scope.last_asked, "never")
    return [scope.name, scope.kind, str(len(scope.vms)), str(scope.incarnation), listens, asked]


def _vm_row(raw: Json) -> list[str]:
    vm = shaped(Vm, raw)
    addresses = ", ".join(vm.addresses) or "-"
    asked = shown_time(vm.last_asked, "never")
    return [vm.name, str(raw["scope"]), str(vm.update_domain), vm.host or "-", addresses, vm.state, asked]
