"""What is asked of the kernel: namespaces of one's own, the rights to use them, and an end together with the parent.

Python 3.11 has no os.unshare; libc has. Only for processes with one thread, as a fresh command is.
Rule 1: the user stays who he is: his ids are mapped to themselves, and he may do more in his namespaces alone.
Rule 2: a refusal says which of the kernel's switches forbids it, and what works without.
"""

import ctypes
import errno
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from notbefore.core.errors import NotAllowed

CLONE_NEWUTS = 0x04000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
CAPABILITY_VERSION_3 = 0x20080522
CAPABILITIES_MAX = 64
HOST_NAME_MAX = 64

INSTEAD = "`--port-per-vm` works everywhere: a port of 127.0.0.1 for each VM, and no namespace."
SWITCHES = {
    "kernel/unprivileged_userns_clone": ("0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    "user/max_user_namespaces": ("0", "sysctl -w user.max_user_namespaces=10000"),
    "user/max_net_namespaces": ("0", "sysctl -w user.max_net_namespaces=10000"),
    "kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
}

libc = ctypes.CDLL(None, use_errno=True)


class CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class CapabilityWords(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def enter_private_network(proc_sys: Path = Path("/proc/sys")) -> None:
    """A network of its own for this process and what it starts; for an ordinary user, in a user namespace too."""
    try:
        if not (os.geteuid() == 0 and _is_given(CLONE_NEWNET)):
            uid, gid = os.geteuid(), os.getegid()
            _call("unshare", CLONE_NEWUSER | CLONE_NEWNET)
            map_ids(uid, gid)
            hand_on_capabilities()
    except OSError as error:
        raise forbidden(error, proc_sys) from None


def join(user_namespace: str, network_namespace: str) -> None:
    """Enter the namespaces of a sandbox, given as paths in /proc."""
    try:
        if not Path("/proc/self/ns/user").samefile(user_namespace):
            _enter(user_namespace, CLONE_NEWUSER)
            hand_on_capabilities()
        _enter(network_namespace, CLONE_NEWNET)
    except OSError as error:
        raise NotAllowed(
            f"Cannot enter the sandbox: {error.strerror}.", "Only the user who started a sandbox can, or root."
        ) from None


def new_network() -> int:
    """One more network, as an open file: it lives as long as that. This process stays where it is."""
    before = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("unshare", CLONE_NEWNET)
        made = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        _call("setns", before, CLONE_NEWNET)
    finally:
        os.close(before)
    return made


@contextmanager
def inside(network: int) -> Iterator[None]:
    """For a while in another network."""
    before = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("setns", network, CLONE_NEWNET)
        yield
        _call("setns", before, CLONE_NEWNET)
    finally:
        os.close(before)


def take_hostname(name: str) -> None:
    """A host name of one's own. One that the kernel does not take as such changes nothing: names of VMs are freer."""
    _call("unshare", CLONE_NEWUTS)
    if len(name) <= HOST_NAME_MAX:
        socket.sethostname(name)


def end_with_parent() -> None:
    _call("prctl", PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def adopt_orphans() -> None:
    """Processes below this one whose parent ends become its own children."""
    _call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def map_ids(uid: int, gid: int) -> None:
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def hand_on_capabilities() -> None:
    """What this process may do in its namespaces, the programs it starts may do as well, whoever their user is."""
    header = CapabilityHeader(CAPABILITY_VERSION_3, 0)
    words = (CapabilityWords * 2)()
    _call("capget", ctypes.byref(header), words)
    for word in words:
        word.inheritable = word.permitted
    _call("capset", ctypes.byref(header), words)
    permitted = words[0].permitted | words[1].permitted << 32
    for capability in range(CAPABILITIES_MAX):
        if permitted >> capability & 1:
            _call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0)


def forbidden(error: OSError, proc_sys: Path = Path("/proc/sys")) -> NotAllowed:
    """The refusal, with the switch that is set against it, if one is."""
    facts = {"errno": errno.errorcode.get(error.errno or 0, str(error.errno))}
    for name, (against, remedy) in SWITCHES.items():
        file = proc_sys / name
        if file.exists() and file.read_text().strip() == against:
            setting = name.replace("/", ".")
            return NotAllowed(
                f"The kernel gives ordinary users no namespaces here: {setting} is {against}.",
                f"`{remedy}` as root allows them. {INSTEAD}",
                {**facts, "setting": setting},
            )
    if error.errno == errno.ENOSPC:
        return NotAllowed(
            "The kernel gives no further namespace: the limit is reached.",
            f"user.max_user_namespaces and user.max_net_namespaces are the limits. {INSTEAD}",
            facts,
        )
    return NotAllowed(
        f"The kernel gives no namespaces here: {error.strerror}. In a container that is usual.",
        f"Let the container have them (with docker `--cap-add SYS_ADMIN --cap-add NET_ADMIN "
        f"--security-opt seccomp=unconfined`). {INSTEAD}",
        facts,
    )


def _enter(path: str, kind: int) -> None:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("setns", opened, kind)
    finally:
        os.close(opened)


def _is_given(flags: int) -> bool:
    return int(libc.unshare(flags)) == 0


def _call(name: str, *words: object) -> None:
    if getattr(libc, name)(*words) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
