"""The wires of a sandbox: the link-local address on its loopback, and a link to each VM's own network.

Rule 1: `ip` of iproute2 does it, a batch for each network.
Rule 2: a VM's address is the only one that its link takes (strict reverse path), so nobody can take another's.
Rule 3: VMs reach the server and each other, and nothing else.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from notbefore.core.errors import NotAllowed
from notbefore.sandbox.kernel import INSTEAD, forbidden, inside, new_network
from notbefore.sandbox.machines import LINK_LOCAL, Machine

IPV4 = Path("/proc/sys/net/ipv4")


def refuse_without_ip() -> None:
    if shutil.which("ip") is None:
        raise NotAllowed(
            "A sandbox needs the program `ip`, and there is none.",
            f"Install iproute2 (`apt-get install iproute2`). {INSTEAD}",
        )


def put_up_link_local() -> None:
    """In the network this process is in."""
    ip_batch("link set lo up", f"addr add {LINK_LOCAL}/32 dev lo")


def put_up_machines(machines: Sequence[Machine]) -> dict[str, int]:
    """A network for each, linked to this one; as open files that keep them."""
    try:
        for where in ("all", "default"):
            (IPV4 / "conf" / where / "rp_filter").write_text("1")
        (IPV4 / "ip_forward").write_text("1")
        networks = {machine.name: new_network() for machine in machines}
    except OSError as error:
        raise forbidden(error) from None
    for number, machine in enumerate(machines):
        _link(machine, f"vm{number}", networks[machine.name])
    return networks


def _link(machine: Machine, link: str, network: int) -> None:
    ip_batch(
        f"link add {link} type veth peer name eth0 netns /proc/{os.getpid()}/fd/{network}",
        f"link set {link} up",
        f"route add {machine.address}/32 dev {link}",
    )
    with inside(network):
        ip_batch(
            "link set lo up",
            f"addr add {machine.address}/32 dev eth0",
            "link set eth0 up",
            f"route add {LINK_LOCAL}/32 dev eth0",
            f"route add default via {LINK_LOCAL} dev eth0",
        )


def ip_batch(*lines: str) -> None:
    ran = subprocess.run(
        ["ip", "-batch", "-"],  # noqa: S607  whichever one this system has
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        said = (ran.stderr or ran.stdout).strip().splitlines()
        raise NotAllowed(
            f"The sandbox's network could not be set up: {said[0] if said else 'ip failed'}.",
            f"The kernel may lack veth, or forbid it here. {INSTEAD}",
        )
