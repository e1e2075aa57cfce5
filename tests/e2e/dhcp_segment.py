"""A VM and its host on one network segment, as two namespaces; there DHCP and 169.254.169.254 may be used freely.

Rule 1: every name begins with a prefix of this process, and all are deleted at the end.
"""

import os
import subprocess
from contextlib import contextmanager

from namespaces import LINK_LOCAL, ip

HOST_ADDRESS, VM_ADDRESS = "10.78.0.1", "10.78.0.11"


class Segment:
    """`inside_host` and `inside_vm` are the words that run a command there."""

    def __init__(self):
        prefix = f"nbd{os.getpid()}"
        self._host, self._vm = f"{prefix}-host", f"{prefix}-vm"
        self.link = f"{prefix}h"[:15]

    @property
    def inside_host(self):
        return ["ip", "netns", "exec", self._host]

    @property
    def inside_vm(self):
        return ["ip", "netns", "exec", self._vm]

    def up(self):
        for name in (self._host, self._vm):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("link", "add", self.link, "netns", self._host, "type", "veth", "peer", "name", "eth0", "netns", self._vm)
        for name, link, address in ((self._host, self.link, HOST_ADDRESS), (self._vm, "eth0", VM_ADDRESS)):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", link)
            ip("-n", name, "link", "set", link, "up")

    def down(self):
        for name in (self._host, self._vm):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    @contextmanager
    def link_local(self):
        """The usual address is there, on the host."""
        ip("-n", self._host, "addr", "add", f"{LINK_LOCAL}/32", "dev", "lo")
        ip("-n", self._vm, "route", "add", f"{LINK_LOCAL}/32", "via", HOST_ADDRESS)
        try:
            yield
        finally:
            ip("-n", self._vm, "route", "del", f"{LINK_LOCAL}/32")
            ip("-n", self._host, "addr", "del", f"{LINK_LOCAL}/32", "dev", "lo")

    @contextmanager
    def dhcp_server(self, directory, *options):
        """A real DHCP server on the host's end of the link."""
        words = [
            *(
                "dnsmasq",
                "--keep-in-foreground",
                "--conf-file=/dev/null",
                "--port=0",
                "--user=root",
                "--log-facility=-",
            ),
            *(f"--interface={self.link}", "--bind-interfaces", "--dhcp-authoritative", "--no-ping", "--pid-file="),
            *("--dhcp-range=10.78.0.50,10.78.0.99,255.255.255.0,1h", f"--dhcp-leasefile={directory}/leases"),
            *(f"--dhcp-option={option}" for option in options),
        ]
        with subprocess.Popen([*self.inside_host, *words], stderr=subprocess.PIPE, text=True) as server:
            try:
                for line in server.stderr:
                    if "sockets bound exclusively" in line:
                        break
                else:
                    raise AssertionError("dnsmasq did not start")
                yield
            finally:
                server.terminate()


@contextmanager
def segment():
    made = Segment()
    try:
        made.up()
        yield made
    finally:
        made.down()
