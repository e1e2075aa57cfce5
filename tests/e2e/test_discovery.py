"""Discovery on a real segment: the endpoint found from each source alone, a wrong server not taken for it."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from dhcp_segment import HOST_ADDRESS, VM_ADDRESS, segment
from served import PROGRAM, ServerProcess

pytestmark = [pytest.mark.part("netns"), pytest.mark.part("ip")]

HERE = Path(__file__).parent
DISCOVER = """
import logging, sys
from notbefore.client import ScheduledEvents, discover_endpoint
logging.basicConfig(level=logging.INFO, format="%(message)s")
url = discover_endpoint(root=sys.argv[1], active=sys.argv[2] == "active")
print(url, ScheduledEvents(url).document().incarnation)
"""
GIVE_UP = """
import asyncio, threading
from notbefore.client import AsyncScheduledEvents

async def main():
    gave_up = 0
    async with AsyncScheduledEvents() as service:
        for _ in range(2):
            try:
                await asyncio.wait_for(service.document(), 0.5)
            except TimeoutError:
                gave_up += 1
        searches = [one for one in threading.enumerate() if one.name == "notbefore-client-discovery"]
        print(f"gave up {gave_up} times in {len(searches)} search")

asyncio.run(main())
"""
FOUND = f"http://{HOST_ADDRESS} 1\n"
OPTION = "0a:4e:00:01"
LEASES = {
    "dhclient": (
        "var/lib/dhcp/dhclient.eth0.leases",
        f'lease {{\n  interface "eth0";\n  option unknown-245 {OPTION};\n  expire never;\n}}\n',
    ),
    "networkd": ("run/systemd/netif/leases/2", f"ADDRESS={VM_ADDRESS}\nOPTION_245={OPTION.replace(':', '')}\n"),
    "NetworkManager": (
        "var/lib/NetworkManager/dhclient-5fb06bd0-0bb0-7ffb-45f1-d6edd65f3e03-eth0.lease",
        f"lease {{\n  option unknown-245 {OPTION};\n  expire 2 2154/01/01 08:18:55;\n}}\n",
    ),
}


@pytest.fixture(scope="module")
def net():
    with segment() as made:
        yield made


@pytest.fixture
def service(net, tmp_path):
    """The service on the host's own address, not on the usual one."""
    with serving(net, tmp_path, f"{HOST_ADDRESS}:80") as server:
        yield server


@contextmanager
def serving(net, tmp_path, address):
    server = ServerProcess(tmp_path / "state", inside=net.inside_host, metadata=address, control="127.0.0.1:8255")
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(f'[scopes.web]\n[[scopes.web.vms]]\nname = "web-1"\naddresses = ["{VM_ADDRESS}"]\n')
    with server:
        cli = [*net.inside_host, PROGRAM, "--state", str(tmp_path / "state"), "apply", str(fleet)]
        subprocess.run(cli, check=True, capture_output=True)
        yield server


@contextmanager
def wrong_server(net, status, body):
    words = [sys.executable, HERE / "wrong_server.py", "169.254.169.254", str(status), body]
    with net.link_local(), subprocess.Popen([*net.inside_host, *words], stdout=subprocess.PIPE, text=True) as wrong:
        try:
            assert wrong.stdout.readline() == "serves\n"
            yield
        finally:
            wrong.terminate()


def discovered(net, root, way="passive"):
    words = [*net.inside_vm, sys.executable, "-c", DISCOVER, str(root), way]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


def kept_leases(root, source):
    name, text = LEASES[source]
    path = root / name
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_the_usual_address_is_enough(net, tmp_path):
    """169.254.169.254 first; `notbefore ask --discover -v` shows it."""
    with net.link_local(), serving(net, tmp_path, "169.254.169.254:80"):
        ran = subprocess.run(
            [*net.inside_vm, PROGRAM, "ask", "--discover", "-v"], capture_output=True, text=True, check=True, timeout=60
        )

    assert ran.stdout == "No events are scheduled.\nincarnation 1\n"
    assert ran.stderr == "the usual address: http://169.254.169.254 is the endpoint\n"


@pytest.mark.parametrize("source", LEASES)
def test_option_245_in_a_lease_is_enough(net, service, tmp_path, source):
    """From each source alone, in namespaces."""
    kept_leases(tmp_path / "root", source)

    ran = discovered(net, tmp_path / "root")

    assert ran.stdout == FOUND
    assert "http://169.254.169.254 is not: Nothing answers" in ran.stderr
    assert f"http://{HOST_ADDRESS} is the endpoint" in ran.stderr


@pytest.mark.part("dnsmasq")
def test_an_active_dhcp_request_is_enough(net, service, tmp_path):
    """Own socket, ten seconds at most, against a real DHCP server; no lease is taken."""
    with net.dhcp_server(tmp_path, f"245,{HOST_ADDRESS}"):
        ran = discovered(net, tmp_path / "root", "active")

    assert ran.stdout == FOUND
    assert f"a DHCP server on eth0 says {HOST_ADDRESS}" in ran.stderr
    assert (tmp_path / "leases").read_text() == ""


@pytest.mark.part("dnsmasq")
def test_a_dhcp_server_that_does_not_know_leads_nowhere(net, service, tmp_path):
    """The limit ends it, with a sentence."""
    with net.dhcp_server(tmp_path):
        ran = discovered(net, tmp_path / "root", "active")

    assert "a DHCP request: no address" in ran.stderr
    assert "No endpoint was found" in ran.stderr


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, "<html>It works!</html>"),
        (200, json.dumps({"compute": {"name": "web-1"}})),
        (200, ""),
        (403, json.dumps({"Events": []})),
        (404, "nothing here"),
    ],
)
def test_a_wrong_server_on_the_address_is_not_taken_for_the_service(net, service, tmp_path, status, body):
    """A candidate counts only if its answer is JSON with `Events`; the next one is tried."""
    kept_leases(tmp_path / "root", "networkd")
    with wrong_server(net, status, body):
        ran = discovered(net, tmp_path / "root")

    assert ran.stdout == FOUND
    assert "the usual address: http://169.254.169.254 is not: " in ran.stderr


def test_a_program_that_gives_up_the_search_need_not_wait_for_it(net):
    """Cancelled while the endpoint is looked for, on asyncio: the program ends, though an answer may take two minutes."""
    with wrong_server(net, 0, ""):
        words = [*net.inside_vm, sys.executable, "-c", GIVE_UP]
        ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)

    assert (ran.stdout, ran.stderr, ran.returncode) == ("gave up 2 times in 1 search\n", "", 0)


def test_ask_says_what_was_tried_when_nothing_is_there(net):
    """Every source with what came of it, then one sentence; and no traceback."""
    words = [*net.inside_vm, PROGRAM, "ask", "--discover", "-v"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)

    *tried, sentence, hint = ran.stderr.splitlines()
    assert ran.returncode == 1
    assert [line.partition(":")[0] for line in tried if "DHCP on" not in line] == [
        "the usual address",
        "dhclient's leases",
        "systemd-networkd's leases",
        "NetworkManager",
        "the Windows registry",
        "a DHCP request",
    ]
    assert sentence == "No endpoint was found among the 1 tried."
    assert hint.startswith("hint: ")
