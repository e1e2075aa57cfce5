"""The fleet: VMs that nobody could recognise, addresses that identify nobody, scopes that would get no notice."""

from collections.abc import Iterator, Sequence

from notbefore.cli.doctor.finding import Finding, fail, ok, warn
from notbefore.control_client import ControlClient, Host, Scope
from notbefore.core.errors import Refusal
from notbefore.core.hosts import EXECUTORS

NAMED_MAX = 5


def fleet_findings(client: ControlClient) -> Iterator[Finding]:
    scopes = client.scopes()
    if not scopes:
        yield warn("scopes", "No scope is declared, so no VM is known.", "`notbefore apply fleet.toml` declares some.")
        return
    yield address_finding(scopes)
    yield from twice_claimed(scopes)
    yield listening_finding(scopes)
    try:
        yield executor_finding(client.hosts())
    except Refusal as refusal:
        yield ok("executors", f"Not looked at: {refusal.message}")


def address_finding(scopes: Sequence[Scope]) -> Finding:
    bare = [f"{scope.name}/{vm.name}" for scope in scopes for vm in scope.vms if not vm.addresses]
    if not bare:
        return ok("addresses", "Every VM has an address.")
    do = "Declare its addresses, unless a listener of its own or a trusted proxy says who it is."
    return warn("addresses", f"{named(bare)} {verb(bare)} no address to be recognised by.", do)


def twice_claimed(scopes: Sequence[Scope]) -> Iterator[Finding]:
    owners: dict[str, list[str]] = {}
    for scope in scopes:
        for vm in scope.vms:
            for address in vm.addresses:
                owners.setdefault(address, []).append(f"{scope.name}/{vm.name}")
    for address, vms in owners.items():
        if len(vms) > 1:
            says = f"{address} is claimed by {named(vms)}, so it identifies nobody and both are answered 403."
            yield fail("addresses", says, "Give each VM its own address.")


def listening_finding(scopes: Sequence[Scope]) -> Finding:
    deaf = [scope.name for scope in scopes if scope.vms and not scope.listens]
    if not deaf:
        return ok("listening", "Every scope listens.")
    do = 'Let one of its VMs ask (`notbefore ask` in it), or set listening = "always".'
    return warn("listening", f"Nobody listens in {named(deaf)}: events there start without notice.", do)


def executor_finding(hosts: Sequence[Host]) -> Finding:
    strange = [f"{host.name} ({host.executor})" for host in hosts if host.executor not in EXECUTORS]
    if not strange:
        return ok("executors", "Every host has an executor that is known.")
    do = f"Declare one of: {', '.join(EXECUTORS)}."
    return fail("executors", f"{named(strange)} {verb(strange)} an executor nobody knows.", do)


def named(names: Sequence[str]) -> str:
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def verb(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"
