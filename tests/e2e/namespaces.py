"""A hypervisor and its VMs as network namespaces: 169.254.169.254 is real there and nowhere else.

Rule 1: every name begins with a prefix of this process, and all are deleted at the end.
Rule 2: nothing is ever sent to the link-local address from the root namespace.
"""

import os
import subprocess
from contextlib import contextmanager

LINK_LOCAL = "169.254.169.254"


class Host:
    """Namespace `hv` with the link-local address, one namespace and one point-to-point link per VM."""

    def __init__(self, vms):
        self._prefix = f"nb{os.getpid()}"
        self.vms = {name: f"10.77.0.{11 + n}" for n, name in enumerate(vms)}
        self._numbers = {name: n for n, name in enumerate(vms)}

    @property
    def hypervisor(self):
        return f"{self._prefix}-hv"

    def namespace_of(self, vm):
        return f"{self._prefix}-vm{self._numbers[vm]}"

    def up(self):
        hv = self.hypervisor
        ip("netns", "add", hv)
        ip("-n", hv, "link", "set", "lo", "up")
        ip("-n", hv, "addr", "add", f"{LINK_LOCAL}/32", "dev", "lo")
        for where in ("all", "default"):
            run("ip", "netns", "exec", hv, "sh", "-c", f"echo 1 > /proc/sys/net/ipv4/conf/{where}/rp_filter")
        for name, address in self.vms.items():
            vm, link = self.namespace_of(name), f"{self._prefix}v{self._numbers[name]}"
            ip("netns", "add", vm)
            ip("-n", vm, "link", "set", "lo", "up")
            ip("link", "add", link, "netns", hv, "type", "veth", "peer", "name", "eth0", "netns", vm)
            ip("-n", hv, "link", "set", link, "up")
            ip("-n", hv, "route", "add", f"{address}/32", "dev", link)
            ip("-n", vm, "addr", "add", f"{address}/32", "dev", "eth0")
            ip("-n", vm, "link", "set", "eth0", "up")
            ip("-n", vm, "route", "add", f"{LINK_LOCAL}/32", "dev", "eth0")

    def down(self):
        for name in (self.hypervisor, *map(self.namespace_of, self.vms)):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def inside(self, vm=None):
        return ["ip", "netns", "exec", self.namespace_of(vm) if vm else self.hypervisor]

    def run_in(self, vm, *argv, **options):
        """Run something as that VM: its network and its hostname."""
        named = ["unshare", "--uts", "sh", "-c", 'echo "$0" > /proc/sys/kernel/hostname && exec "$@"', vm]
        return run(*self.inside(vm), *named, *argv, **options)

    def shell_in(self, vm, line):
        return self.run_in(vm, "bash", "-c", line)


def ip(*words):
    run("ip", *words)


def run(*argv, **options):
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60, **options)


@contextmanager
def host_with(*vms):
    host = Host(vms)
    try:
        host.up()
        yield host
    finally:
        host.down()
