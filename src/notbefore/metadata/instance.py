"""Who a VM is, as its neighbour of the events tells it: `/metadata/instance` (SPEC §2.7).

Rule 1: all values are strings; what nobody knows is `""`, never left out. A version leaves out what came after it.
Rule 2: a VM's tags named `notbefore.<field>` say what a scope cannot know (DECLARED); they are not shown as tags.
Rule 3: a route walks the tree, names in any letter case, places of a list by number. Values are told as text only,
the rest as JSON or, as text, by the names below it [real].
Not here: who asks and how often (service.py). Pure.
"""

import json
import re
from collections.abc import Mapping
from ipaddress import ip_address
from uuid import UUID, uuid5

from notbefore.core.kinds import Kind
from notbefore.core.model import Scope, Vm, name_key
from notbefore.metadata.answers import JSON_TYPE, HttpAnswer, error
from notbefore.metadata.verdict import ReadInstance

TEXT_TYPE = (b"content-type", b"text/plain; charset=utf-8")
TAG_PREFIX = "notbefore."
DECLARED = ("computerName", "location", "osType", "resourceGroupName", "subscriptionId", "vmSize", "zone")
# From which version on a field of `compute` is there; the others always are [real].
SINCE: Mapping[str, str] = {
    "placementGroupId": "2017-08-01",
    "resourceGroupName": "2017-08-01",
    "subscriptionId": "2017-08-01",
    "tags": "2017-08-01",
    "vmScaleSetName": "2017-12-01",
    "zone": "2017-12-01",
    "resourceId": "2019-03-11",
    "tagsList": "2019-06-04",
    "osProfile": "2020-07-15",
    "evictionPolicy": "2020-12-01",
    "priority": "2020-12-01",
}
OURS = UUID("5d1f7a52-6c1e-5f0b-9a41-0c6b3f2e8d77")
BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
INSTANCE_DIGITS = 6

NO_SUCH_ELEMENT = error(404, "Not found. The requested element does not exist")
LEAF_IS_TEXT = error(400, "Bad request. This element is a single value: ask for it with format=text")

Tree = str | list["Tree"] | dict[str, "Tree"]


def instance_answer(scope: Scope, vm: Vm, wanted: ReadInstance) -> HttpAnswer:
    return element_answer(tree_of(scope, vm, wanted.version), wanted)


def element_answer(tree: Tree, wanted: ReadInstance) -> HttpAnswer:
    found = element_at(tree, wanted.route)
    if found is None:
        return NO_SUCH_ELEMENT
    if wanted.text:
        return HttpAnswer(200, (TEXT_TYPE,), as_text(found).encode())
    if isinstance(found, str):
        return LEAF_IS_TEXT
    return HttpAnswer(200, (JSON_TYPE,), json.dumps(found, separators=(",", ":"), ensure_ascii=False).encode())


def element_at(tree: Tree, route: tuple[str, ...]) -> Tree | None:
    for name in route:
        found: Tree | None = None
        if isinstance(tree, dict):
            found = next((inner for key, inner in tree.items() if key.lower() == name), None)
        elif isinstance(tree, list):
            found = next((inner for place, inner in enumerate(tree) if str(place) == name), None)
        if found is None:
            return None
        tree = found
    return tree


def as_text(tree: Tree) -> str:
    """A value by itself; else the names below, those with more below them with a slash behind."""
    if isinstance(tree, str):
        return tree
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree)
    return "\n".join(f"{name}" if isinstance(one, str) else f"{name}/" for name, one in inner)


def tree_of(scope: Scope, vm: Vm, version: str) -> dict[str, Tree]:
    compute = {name: value for name, value in compute_of(scope, vm).items() if version >= SINCE.get(name, "")}
    return {"compute": compute, "network": network_of(vm)}


def compute_of(scope: Scope, vm: Vm) -> dict[str, Tree]:
    declared = {field: vm.tags.get(TAG_PREFIX + field, "") for field in DECLARED}
    shown = {name: value for name, value in vm.tags.items() if not name.startswith(TAG_PREFIX)}
    in_scale_set = scope.kind is Kind.SCALE_SET
    return {
        "evictionPolicy": scope.settings.eviction.capitalize() if vm.spot else "",
        "location": declared["location"],
        "name": vm.name,
        "osProfile": {"computerName": declared["computerName"] or computer_name(scope, vm)},
        "osType": declared["osType"],
        "placementGroupId": guid_of(scope.key) if in_scale_set else "",
        "platformFaultDomain": "" if vm.fault_domain is None else str(vm.fault_domain),
        "platformUpdateDomain": str(vm.update_domain),
        "priority": "Spot" if vm.spot else "Regular",
        "resourceGroupName": declared["resourceGroupName"],
        "resourceId": resource_id(scope, vm, declared["subscriptionId"], declared["resourceGroupName"]),
        "subscriptionId": declared["subscriptionId"],
        "tags": ";".join(f"{name}:{value}" for name, value in shown.items()),
        "tagsList": [{"name": name, "value": value} for name, value in shown.items()],
        "vmId": guid_of(f"{scope.key}/{name_key(vm.name)}"),
        "vmScaleSetName": scope.name if in_scale_set else "",
        "vmSize": declared["vmSize"],
        "zone": declared["zone"],
    }


def network_of(vm: Vm) -> dict[str, Tree]:
    """One interface with all addresses the VM is known by; none when it has none."""
    if not vm.addresses:
        return {"interface": []}
    v4 = [one for one in vm.addresses if ip_address(one).version == 4]  # noqa: PLR2004  the protocol's own number
    ipv4: list[Tree] = [{"privateIpAddress": one, "publicIpAddress": ""} for one in v4]
    ipv6: list[Tree] = [{"privateIpAddress": one} for one in vm.addresses if one not in v4]
    interface: dict[str, Tree] = {
        "ipv4": {"ipAddress": ipv4, "subnet": [{"address": "", "prefix": ""}]},
        "ipv6": {"ipAddress": ipv6},
        "macAddress": "",
    }
    return {"interface": [interface]}


def computer_name(scope: Scope, vm: Vm) -> str:
    """Of instance 12 of a scale set `web` it is `web00000c`: its number in base 36 [real]; else the VM's name."""
    numbered = re.fullmatch(r"(.*)_([0-9]{1,9})", vm.name)
    if scope.kind is not Kind.SCALE_SET or numbered is None:
        return vm.name
    return numbered[1] + in_base_36(int(numbered[2])).rjust(INSTANCE_DIGITS, "0")


def in_base_36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, len(BASE36))
        digits = BASE36[digit] + digits
    return digits


def resource_id(scope: Scope, vm: Vm, subscription: str, group: str) -> str:
    """Known when the subscription and the group are; an instance of a scale set goes by its number there [real]."""
    if not (subscription and group):
        return ""
    above = f"/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Compute"
    if scope.kind is Kind.SCALE_SET:
        return f"{above}/virtualMachineScaleSets/{scope.name}/virtualMachines/{vm.name.rpartition('_')[2]}"
    return f"{above}/virtualMachines/{vm.name}"


def guid_of(key: str) -> str:
    """The same for the same name, on every server and after every restart; names hold no slash."""
    return str(uuid5(OURS, key))
