"""Who is asking (SPEC §5), as far as listeners, addresses and the loopback fallback say."""

import pytest
from claims import declare_behind_the_api

from lab import address_of, lab_settings, open_lab, start_requests
from notbefore.core.errors import Invalid, NotAllowed
from notbefore.metadata.identity import canonical_peer, is_loopback, vm_ref
from notbefore.metadata.listen import refuse_routable
from notbefore.sockets import parse_address
from notbefore.wiring import listen_for

A = {"name": "a", "addresses": ["127.0.1.1"]}
B = {"name": "b", "addresses": ["127.0.1.2"]}


def test_the_source_address_identifies_the_vm(lab):
    """SPEC §5 (3): the source address, when registered to exactly one VM."""
    lab.declare("s", A, B, listening="always", approval="leader")
    event = lab.maintain("s", "Freeze", vms=["a"])["events"][0]

    lab.approve(event["id"], source="127.0.1.2")
    assert lab.event(event["id"])["approvals"][0]["vm"] == "b"
    lab.approve(event["id"], source="127.0.1.1")
    assert lab.event(event["id"])["status"] == "Started"


def test_a_listener_bound_to_a_vm_identifies_it_before_the_address(tmp_path):
    """SPEC §5 (1): the listener the request came in on, when that listener is bound to one VM."""
    listeners = ["127.0.0.1:0", {"address": "127.0.0.1:0", "vm": "S/B"}]
    with open_lab(lab_settings(tmp_path / "state", listeners=listeners)) as lab:
        lab.declare("s", A, B, listening="always")
        event = lab.made("s", "a", "restart")
        lab.metadata = address_of(lab.server.metadata_urls[1])

        lab.approve(event["id"], source="127.0.1.1")

        assert lab.event(event["id"])["approvals"][0]["vm"] == "b"


def test_a_listener_that_is_opened_while_serving_is_as_good_as_the_others(lab):
    """SPEC §5 (1); only on loopback, and closed with the server."""
    lab.declare("s", A, B, listening="always")
    event = lab.made("s", "a", "restart")

    lab.metadata = address_of(lab.run(listen_for(lab.server, "S/B")))
    lab.approve(event["id"], source="127.0.1.1")

    assert lab.metadata[0] == "127.0.0.1"
    assert lab.event(event["id"])["approvals"][0]["vm"] == "b"


def test_a_listener_bound_to_a_vm_that_is_not_there_identifies_nobody(tmp_path):
    """SPEC §5: else 403."""
    listeners = [{"address": "127.0.0.1:0", "vm": "s/gone"}]
    with open_lab(lab_settings(tmp_path / "state", listeners=listeners)) as lab:
        lab.declare("s", A)

        assert lab.ask("127.0.1.1").status == 403


def test_the_fallback_vm_answers_for_unknown_loopback_callers_only_when_set(tmp_path):
    """SPEC §5 (4): the emulator's fallback VM, only when peer and listener are both loopback and it is set."""
    with open_lab(lab_settings(tmp_path / "one", fallback_vm="s/a")) as lab:
        lab.declare("s", A, B, listening="always")
        event = lab.made("s", "a", "restart")

        lab.approve(event["id"], source="127.7.7.7")
        assert lab.event(event["id"])["approvals"][0]["vm"] == "a"
        lab.control("DELETE", "/v1/scopes/s?force=true")
        assert lab.ask("127.7.7.7").status == 403


def test_an_address_of_two_scopes_is_refused_by_put(lab):
    """SPEC §5: an address claimed by two VMs identifies nobody: PUT refuses what it can see."""
    lab.declare("s", A)
    reply = lab.control("PUT", "/v1/scopes/t", {"vms": [{"name": "x", "addresses": ["::ffff:127.0.1.1"]}]})

    assert reply.status == 409
    assert reply.json["error"]["code"] == "address_taken"
    assert reply.json["error"]["facts"]["address"] == "127.0.1.1"


def test_an_address_claimed_by_two_vms_all_the_same_is_403(lab):
    """SPEC §5: … and the service answers 403 and warns. (Two servers may each have let one in.)"""
    lab.declare("s", A)
    lab.declare("t", B)
    assert lab.ask("127.0.1.1").status == 200
    declare_behind_the_api(lab, "t", "127.0.1.1")

    assert lab.ask("127.0.1.1").status == 403


def test_an_ipv6_listener_serves_and_identifies(tmp_path):
    """SPEC §5 (3): the source address counts in IPv6 too."""
    with open_lab(lab_settings(tmp_path / "state", listeners=["[::1]:0"])) as lab:
        lab.declare("s", {"name": "six", "addresses": ["0:0:0:0:0:0:0:1"]})

        assert lab.ask("::1").status == 200


@pytest.mark.parametrize(
    ("peer", "canonical"), [("::ffff:10.0.0.7", "10.0.0.7"), ("fe80::1%eth0", "fe80::1"), ("10.0.0.7", "10.0.0.7")]
)
def test_an_ipv4_mapped_address_counts_as_ipv4(peer, canonical):
    """SPEC §5 (3): IPv4-mapped IPv6 counts as IPv4."""
    assert canonical_peer(peer) == canonical


@pytest.mark.parametrize(
    ("host", "loopback"), [("127.3.2.1", True), ("::1", True), ("::ffff:127.0.0.1", True), ("10.0.0.1", False)]
)
def test_loopback_is_known_in_every_spelling(host, loopback):
    """SPEC §5 (4): only when peer and listener are both loopback."""
    assert is_loopback(host) is loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "8.8.8.8", "2600::1"])
def test_a_routable_listener_is_refused(host):
    """SPEC §2: `serve` refuses a metadata listener on 0.0.0.0, `::` or a globally routable address."""
    with pytest.raises(NotAllowed, match="may not listen"):
        refuse_routable(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "169.254.169.254", "10.1.2.3", "::1", "fe80::1"])
def test_a_listener_that_is_not_routable_is_allowed(host):
    """SPEC §2: plain HTTP on a non-routable address, so that it is not exposed outside the VM [seed]."""
    refuse_routable(host)


def test_serving_on_the_wildcard_needs_allow_routable(tmp_path):
    """SPEC §2: … unless `allow_routable = true`."""
    with pytest.raises(NotAllowed), open_lab(lab_settings(tmp_path / "a", listeners=["0.0.0.0:0"])):
        pass
    with open_lab(lab_settings(tmp_path / "b", listeners=["0.0.0.0:0"], allow_routable=True, demo=True)) as lab:
        lab.metadata = ("127.0.0.1", lab.metadata[1])

        assert lab.ask().status == 200


def test_a_taken_port_is_an_error_at_start(tmp_path, demo):
    """DESIGN §2: a taken port is still an error."""
    taken = f"127.0.0.1:{demo.metadata[1]}"

    with pytest.raises(NotAllowed, match="Cannot listen"), open_lab(lab_settings(tmp_path / "b", listeners=[taken])):
        pass


@pytest.mark.parametrize("text", ["", "8254", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "host:80"])
def test_what_is_no_address_is_refused_in_a_sentence(text):
    with pytest.raises(Invalid, match="not an address to listen on"):
        parse_address(text)


@pytest.mark.parametrize("text", ["", "vm", "/vm", "scope/", "a/b/c"])
def test_what_names_no_vm_is_refused_in_a_sentence(text):
    with pytest.raises(Invalid, match="does not name a VM"):
        vm_ref(text)


def test_headerless_posts_of_2017_are_accepted_only_when_the_setting_says_so(tmp_path, demo):
    """SPEC §2.1: `headerless_post_2017 = true` accepts a POST of 2017-03-01 with Content-Type application/json without it."""
    wanted = {"version": "2017-03-01", "method": "POST", "headers": {"Content-Type": "application/json"}}
    with open_lab(lab_settings(tmp_path / "on", demo=True, headerless_post_2017=True)) as lenient:
        event = lenient.made("demo", "FrontEnd_IN_0", "restart")
        body = start_requests(event["id"])

        assert lenient.ask(**wanted, body=body).status == 200
        assert lenient.ask(**{**wanted, "version": "2017-08-01"}, body=body).status == 400
        assert lenient.ask(**{**wanted, "headers": {"Content-Type": "text/plain"}}, body=body).status == 400
        assert lenient.ask(version="2017-03-01", headers={}).status == 400
        assert demo.ask(**wanted, body=body).status == 400
