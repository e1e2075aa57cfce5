"""Hosts as values: declared ones, those that VMs merely name, and what may be done with them."""

import pytest
from builders import scope_of

from notbefore.core.errors import HostInUse, Invalid
from notbefore.core.hosts import Host, another_host, checked_host, known_hosts, refuse_while_in_use
from notbefore.core.model import Vm


def known(*declared, scope=None):
    return known_hosts(declared, [scope] if scope else [])


def test_hosts_are_those_declared_and_those_vms_name_with_their_vms_by_scope():
    """DESIGN §5: hosts; SPEC §1: names compare in any letter case, emitted as declared."""
    scope = scope_of(Vm("a", host="H1"), Vm("b", host="h1"), Vm("c", host="h0"), "d")

    hosts = known(Host("h1"), Host("h9"), scope=scope)

    assert [(one.host.name, one.declared, dict(one.vms)) for one in hosts] == [
        ("h0", False, {"shop": ["c"]}),
        ("h1", True, {"shop": ["a", "b"]}),
        ("h9", True, {}),
    ]


def test_a_host_has_an_executor_that_there_is():
    """DESIGN §6: a host names its own executor."""
    assert checked_host("h1", "simulate") == Host("h1", "simulate")
    with pytest.raises(Invalid) as refused:
        checked_host("h1", "magic")
    assert "simulate" in refused.value.hint
    assert refused.value.facts == {"field": "executor", "value": "magic"}


@pytest.mark.parametrize("name", ["", "a/b", "x" * 129, "bell\a"])
def test_a_host_has_a_name_like_everybody_else(name):
    """SPEC §1: 1 to 128 printable characters without `/`."""
    with pytest.raises(Invalid):
        checked_host(name, "simulate")


def test_a_host_that_vms_are_on_is_not_removed_and_they_are_named():
    """Refused, live or not, naming them."""
    (host,) = known(Host("h1"), scope=scope_of(*(Vm(f"vm-{n}", host="h1") for n in range(12))))

    with pytest.raises(HostInUse) as refused:
        refuse_while_in_use(host)

    assert "12 VMs are on it: shop/vm-0, shop/vm-1" in refused.value.message
    assert refused.value.message.endswith("shop/vm-9 and 2 more.")
    assert len(refused.value.facts["vms"]) == 12


def test_a_host_without_vms_may_go():
    refuse_while_in_use(known(Host("h1"))[0])


@pytest.mark.parametrize(
    ("host", "others", "expected"),
    [
        ("h1", ("h2", "h3"), "h2"),
        ("H1", ("h1", "h0"), "h0"),
        ("h1", (), None),
        ("", ("h2",), None),
    ],
)
def test_a_vm_moves_to_the_emptiest_other_host_if_there_is_one(host, others, expected):
    """SPEC §2.3: Redeploy moves to another host."""
    vm = Vm("a", host=host)

    assert another_host(vm, known(*map(Host, others), scope=scope_of(vm))) == expected


def test_the_emptiest_host_has_the_fewest_vms_of_all_scopes():
    scope = scope_of(Vm("a", host="h1"), Vm("b", host="h2"), Vm("c", host="h2"), Vm("d", host="h3"))

    assert another_host(scope.vms[0], known(scope=scope)) == "h3"
