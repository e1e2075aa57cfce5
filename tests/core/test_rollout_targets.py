"""Which hosts or scopes a rollout is over, and in which order (issue: `--all|--hosts GLOB|--scopes GLOB`, order)."""

import pytest

from notbefore.core.errors import Invalid, LimitReached
from notbefore.core.kinds import VmState
from notbefore.core.model import Scope, Vm
from notbefore.core.rollout import TARGETS_MAX, Order, Over
from notbefore.core.rollout_targets import Chosen, chosen_targets


def fleet(**vms_on):
    """One scope; so many VMs on each host."""
    vms = tuple(Vm(f"{host}-{n}", host=host) for host, count in vms_on.items() for n in range(count))
    return {"s": Scope("s", vms=vms)}


@pytest.mark.parametrize(
    ("order", "names"),
    [
        (Order.NAME, ("h1", "h2", "h10")),
        (Order.SMALLEST, ("h1", "h10", "h2")),
        (Order.LARGEST, ("h2", "h1", "h10")),
    ],
)
def test_names_count_as_people_count_and_ties_go_by_name(order, names):
    """h2 comes before h10; as many VMs: by name."""
    assert chosen_targets(Chosen(Over.HOSTS, order=order), fleet(h10=1, h2=3, h1=1)) == names


def test_a_pattern_is_in_any_letter_case_and_on_the_whole_name():
    """Names compare in any letter case, and are said as declared."""
    scopes = fleet(Rack1=1, rack12=1)

    assert chosen_targets(Chosen(Over.HOSTS, "RACK?"), scopes) == ("Rack1",)
    assert chosen_targets(Chosen(Over.HOSTS, "ra*", first=("RACK12",)), scopes) == ("rack12", "Rack1")


@pytest.mark.parametrize("glob", ["[", "[]", "[!a", "h[z-a]", "(a+)+$", "*h*h*h*h*h*h*h*h*h*h*x", "\\", "h{60}", "^h*"])
def test_a_pattern_is_no_regular_expression(glob):
    """Strange ones fit nothing, without ado, and the sentence says so."""
    with pytest.raises(Invalid, match="fits") as refused:
        chosen_targets(Chosen(Over.HOSTS, glob), fleet(**{"h" * 60: 1}))

    assert refused.value.facts == {"field": "hosts", "glob": glob}


def test_what_has_no_running_vm_is_left_out():
    """Declared hosts that are empty, and hosts whose VMs are gone."""
    scopes = {"s": Scope("s", vms=(Vm("a", host="h1"), Vm("b", host="h2", state=VmState.DEALLOCATED)))}

    assert chosen_targets(Chosen(Over.HOSTS), scopes, ["h0"]) == ("h1",)
    with pytest.raises(Invalid, match="None of the 2 hosts has a running VM"):
        chosen_targets(Chosen(Over.HOSTS, "h[02]"), scopes, ["h0"])
    with pytest.raises(Invalid, match="There are no scopes"):
        chosen_targets(Chosen(Over.SCOPES), {})


def test_so_many_targets_and_no_more():
    """A limit on everything."""
    most = {f"h{n}": 1 for n in range(TARGETS_MAX)}

    assert len(chosen_targets(Chosen(Over.HOSTS), fleet(**most))) == TARGETS_MAX
    with pytest.raises(LimitReached):
        chosen_targets(Chosen(Over.HOSTS), fleet(**most, one_more=1))
