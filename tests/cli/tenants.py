"""Two tenants on two hosts, for commands that go beyond one scope: shop has two update domains on rack1-a."""

SHOP = (("web-0", "rack1-a", 0), ("web-1", "rack1-a", 1), ("web-2", "rack1-b", 1))
ASKED_MAX = 100_000
BANK = (("db-0", "rack1-a", 0), ("db-1", "rack1-b", 1))


def declare_tenants(lab, **settings):
    for name, vms in (("shop", SHOP), ("bank", BANK)):
        declared = [{"name": vm, "host": host, "update_domain": domain} for vm, host, domain in vms]
        lab.declare(name, *declared, listening="always", **settings)


def everything(lab):
    """What a command that changes nothing leaves as it was."""
    kinds = ("scopes", "events", "operations", "rollouts", "history")
    return {kind: lab.control("GET", f"/v1/{kind}").json for kind in kinds}


def waits_for(lab, path, is_there):
    """Asks until what should come has come, also on a busy machine; and what was seen then."""
    for _ in range(ASKED_MAX):
        if is_there(found := lab.control("GET", path).json):
            return found
    raise AssertionError(f"it did not come: {found}")
