"""Where the endpoint's address may be written: each keeper of leases in its own real form (REFERENCE §7.3, §7.4)."""

import os
import struct

import pytest

from notbefore.client.discovery import dhcp_request, isc_leases, network_manager, networkd, windows_registry
from notbefore.client.discovery.dhcp_packet import COOKIE, address_offered, discover_packet
from notbefore.client.discovery.option_245 import address_in_text

NOW_S = 1_772_453_700.0  # 2026-03-02T12:15:00Z
WIRE = "168.63.129.16"


def lease(option="  option unknown-245 a8:3f:81:10;", expire="2 2154/01/01 08:18:55"):
    return f"""lease {{
  interface "eth0";
  fixed-address 172.16.3.4;
  server-name "SG20103202064";
  option subnet-mask 255.255.255.0;
  option dhcp-lease-time 4294967295;
  option routers 172.16.3.1;
  option dhcp-message-type 5;
  option dhcp-server-identifier 168.63.129.16;
  option domain-name-servers 168.63.129.16;
  option dhcp-renewal-time 4294967295;
  option rfc3442-classless-static-routes 0,172,16,3,1,32,168,63,129,16,172,16,3,1,32,169,254,169,254,172,16,3,1;
{option}
  option dhcp-rebinding-time 4294967295;
  option domain-name "ta1qcq3khvnelp4p0x3q10hsjh.ix.internal.cloudapp.net";
  renew 2 2154/01/01 08:18:55;
  rebind 2 2154/01/01 08:18:55;
  expire {expire};
}}
"""


def other(number, **changed):
    return lease(f"  option unknown-245 0a:4d:0:{number:x};", **changed)


# -- dhclient


@pytest.mark.parametrize(
    ("leases", "found"),
    [
        (lease(), WIRE),
        (lease(expire="never"), WIRE),
        (lease(expire="epoch 5806009135; # Tue Jan 1 08:18:55 2154"), WIRE),
        (lease(expire="6 2017/11/25 01:48:29"), None),
        (lease(expire="epoch 1511574509; # Sat Nov 25 01:48:29 2017"), None),
        (lease(expire="6 2017/99/99 01:48:29"), None),
        (lease(""), None),
        (other(1) + other(2), "10.77.0.2"),
        (other(1) + other(2, expire="6 2017/11/25 01:48:29"), "10.77.0.1"),
        (other(1) + lease(""), "10.77.0.1"),
        (lease('  option unknown-245 "bL6 ";'), "98.76.54.32"),
        (lease('  option unknown-245 "b\\"\\006\\\\";'), "98.34.6.92"),
        (lease("  option unknown-245 12:34;"), None),
        ("", None),
        ("lease {", None),
    ],
)
def test_the_last_unexpired_lease_that_has_it(leases, found):
    """Times are UTC; a lease without an end is over; four printable bytes are written as a string."""
    assert isc_leases.address_in_leases(leases, NOW_S) == found


@pytest.mark.parametrize(
    "file",
    [
        "var/lib/dhcp/dhclient.eth0.leases",
        "var/lib/dhcp/dhclient.leases",
        "var/lib/dhclient/dhclient-eth0.leases",
        "var/lib/dhclient/dhclient--eth0.lease",
        "var/lib/dhclient/dhclient.leases",
    ],
)
def test_where_distributions_keep_them(tmp_path, file):
    written(tmp_path, file, lease())

    assert list(isc_leases.addresses(tmp_path, NOW_S)) == [WIRE]


def test_the_file_written_last_comes_first(tmp_path):
    for number in (1, 2):
        path = written(tmp_path, f"var/lib/dhcp/dhclient.eth{number}.leases", other(number))
        os.utime(path, (number, number))

    assert list(isc_leases.addresses(tmp_path, NOW_S)) == ["10.77.0.2", "10.77.0.1"]


def test_what_cannot_be_read_is_passed_over(tmp_path):
    """A directory in a file's place, say."""
    (tmp_path / "var/lib/dhcp/dhclient.eth0.leases").mkdir(parents=True)

    assert list(isc_leases.addresses(tmp_path, NOW_S)) == []


# -- systemd-networkd

NETWORKD = """# This is private data. Do not parse.
ADDRESS=10.0.0.4
NETMASK=255.255.255.0
ROUTER=10.0.0.1
SERVER_ADDRESS=168.63.129.16
NEXT_SERVER=168.63.129.16
T1=4294967295
T2=4294967295
LIFETIME=4294967295
DNS=168.63.129.16
DOMAINNAME=reddog.microsoft.com
ROUTES=0.0.0.0/0,10.0.0.1 168.63.129.16/32,10.0.0.1 169.254.169.254/32,10.0.0.1
CLIENTID=ffc845c1ac00020000ab11d5e1a5d8c4cc5a0b
OPTION_245=a83f8110
"""


def test_networkd_writes_eight_digits(tmp_path):
    written(tmp_path, "run/systemd/netif/leases/2", NETWORKD)
    written(tmp_path, "run/systemd/netif/leases/3", NETWORKD.replace("OPTION_245=a83f8110\n", ""))

    assert list(networkd.addresses(tmp_path)) == [WIRE]


# -- NetworkManager

NMCLI = r"""DHCP4.OPTION[1]:dhcp_client_identifier = 01\:00\:0d\:3a\:5c\:1e\:9f
DHCP4.OPTION[2]:dhcp_lease_time = 4294967295
DHCP4.OPTION[3]:dhcp_server_identifier = 168.63.129.16
DHCP4.OPTION[4]:domain_name_servers = 168.63.129.16
DHCP4.OPTION[5]:ip_address = 10.0.0.4
DHCP4.OPTION[6]:private_245 = a8\:3f\:81\:10
DHCP4.OPTION[7]:requested_routers = 1
"""


def test_networkmanager_with_dhclient_keeps_its_leases(tmp_path):
    written(tmp_path, "var/lib/NetworkManager/dhclient-5fb06bd0-0bb0-7ffb-45f1-d6edd65f3e03-eth0.lease", lease())

    assert list(network_manager.addresses(tmp_path, NOW_S)) == [WIRE]


def test_an_older_internal_client_of_networkmanager_wrote_as_networkd_does(tmp_path):
    written(tmp_path, "var/lib/NetworkManager/internal-5fb06bd0-0bb0-7ffb-45f1-d6edd65f3e03-eth0.lease", NETWORKD)

    assert list(network_manager.addresses(tmp_path, NOW_S)) == [WIRE]


@pytest.mark.parametrize("shown", [NMCLI, NMCLI.replace("\\", ""), NMCLI.replace("private_", "unknown_")])
def test_nmcli_shows_it_among_the_options(shown):
    assert list(network_manager.addresses_shown(shown)) == [WIRE]


def test_nmcli_is_asked_as_a_program(tmp_path, monkeypatch):
    """The one on the PATH, without a shell."""
    (tmp_path / "shown").write_text(NMCLI)
    program = tmp_path / "nmcli"
    program.write_text(f'#!/bin/sh\ntest "$*" = "--terse --fields DHCP4 device show" && cat {tmp_path}/shown\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    assert list(network_manager.addresses_shown(network_manager._asked_nmcli())) == [WIRE]


# -- the Windows registry

# As a machine had it: options 6, 3, 1, 54, 53, 1 (vendor), 12, 51, 252.
PUBLISHED = bytes.fromhex(
    "0600000000000000040000000000000033 17b657c0a801010300000000000000040000000000000033 17b657c0a80101"
    "0100000000000000040000000000000033 17b657ffffff003600000000000000040000000000000033 17b657c0a80101"
    "3500000000000000010000000000000033 17b657050000000100000000000000000000000100 00006f98b557"
    "0c000000000000000b0000000000000033 17b6574749474142595445 2d504300"
    "3300000000000000040000000000000033 17b6570000a8c0fc0000000000000000000000000000006c98b557".replace(" ", "")
)


def record(code, data, ends_s=int(NOW_S) + 60, vendor=0):
    return struct.pack("<IIIII", code, 0, len(data), vendor, ends_s) + data.ljust(-(-len(data) // 4) * 4, b"\0")


OURS = record(245, bytes((168, 63, 129, 16)))


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (OURS, [WIRE]),
        (PUBLISHED + OURS, [WIRE]),
        (PUBLISHED, []),
        (record(53, b"\x05") + record(12, b"GIGABYTE-PC") + OURS, [WIRE]),
        (record(245, bytes((168, 63, 129, 16)), ends_s=int(NOW_S)), []),
        (record(245, b"\xa8\x3f"), []),
        (OURS[:-2], []),
        (record(3, b"\0" * 4)[:8] + b"\xff" * 40, []),
        (b"", []),
    ],
)
def test_the_registry_keeps_options_as_records(options, found):
    """Code, zero, length, vendor flag, end, data filled up to four bytes; all of a published value is understood."""
    assert list(windows_registry.addresses_in_options(options, NOW_S)) == found


class FakeRegistry:
    """A registry of nested dicts behind the functions of `winreg` that are used."""

    HKEY_LOCAL_MACHINE = "HKLM"

    def __init__(self, interfaces):
        self.keys = {("HKLM", windows_registry.INTERFACES): interfaces}

    class Key(dict):
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    def OpenKey(self, key, name):  # noqa: N802  winreg's own name
        try:
            return self.Key(self.keys[key, name] if isinstance(key, str) else key[name])
        except KeyError:
            raise FileNotFoundError(name) from None

    def QueryInfoKey(self, key):  # noqa: N802
        return (len(key), 0, 0)

    def EnumKey(self, key, number):  # noqa: N802
        return list(key)[number]

    def QueryValueEx(self, key, name):  # noqa: N802
        try:
            return key[name], 3
        except KeyError:
            raise FileNotFoundError(name) from None


def test_every_interface_of_the_registry_is_looked_at():
    registry = FakeRegistry({"{1}": {}, "{2}": {"DhcpInterfaceOptions": "text"}, "{3}": {"DhcpInterfaceOptions": OURS}})

    assert list(windows_registry.addresses_in(registry, NOW_S)) == [WIRE]


def test_a_registry_without_interfaces_has_no_address():
    registry = FakeRegistry({})
    registry.keys.clear()

    assert list(windows_registry.addresses_in(registry, NOW_S)) == []
    assert list(windows_registry.addresses(NOW_S)) == []


# -- the option and the packet


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("a8:3f:81:10", WIRE),
        ("A83F8110", WIRE),
        (WIRE, WIRE),
        ("0.0.0.0", None),
        ("255.255.255.255", None),
        ("300.1.1.1", None),
        ("a8:3f:81", None),
        ("a8:3f:81:10:11", None),
        ("http://x", None),
        ("", None),
    ],
)
def test_an_address_is_four_bytes_that_a_host_may_have(text, address):
    assert address_in_text(text) == address


MAC = bytes.fromhex("000d3a5c1e9f")


def offer(options=bytes((53, 1, 2)) + bytes((245, 4, 168, 63, 129, 16)), mac=MAC, transaction=7, op=2, cookie=COOKIE):
    question = discover_packet(mac, transaction)
    return bytes((op,)) + question[1:236] + cookie + options + b"\xff"


@pytest.mark.parametrize(
    ("packet", "found"),
    [
        (offer(), WIRE),
        (offer(bytes((0, 0, 53, 1, 5, 0, 3, 4, 10, 0, 0, 1, 245, 4, 168, 63, 129, 16))), WIRE),
        (offer(bytes((53, 1, 2))), None),
        (offer(bytes((53, 1, 6, 245, 4, 168, 63, 129, 16))), None),
        (offer(bytes((53, 1, 2, 245, 4, 168))), None),
        (offer(bytes((53, 1, 2, 245))), None),
        (offer(transaction=8), None),
        (offer(mac=bytes(6)), None),
        (offer(op=1), None),
        (offer(cookie=bytes(4)), None),
        (b"", None),
        (b"\x02" * 240, None),
    ],
)
def test_only_an_answer_to_our_question_counts(packet, found):
    """Transaction, hardware address, cookie, OFFER or ACK; padding is skipped, nothing is read past the end."""
    assert address_offered(packet, MAC, 7) == found


def test_a_question_is_a_discover_that_asks_for_the_option():
    packet = discover_packet(MAC, 7)

    assert packet[:4] == bytes((1, 1, 6, 0))
    assert packet[4:8] == (7).to_bytes(4, "big")
    assert packet[28:34] == MAC
    assert packet[236:240] == COOKIE
    assert packet[240:247] == bytes((53, 1, 1, 55, 2, 3, 245))


def test_loopback_is_no_place_to_ask_dhcp():
    """Only Ethernet that is up."""
    assert "lo" not in [interface.name for interface in dhcp_request.interfaces()]


def written(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
