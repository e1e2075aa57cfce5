"""The signed header of a trusted proxy (SPEC §5): who it vouches for, and what it is not believed."""

import time

import pytest
from polling import line_of

from lab import PATH, lab_settings, open_lab
from notbefore.metadata.proxy import signed, vm_vouched_for
from notbefore.runtime.snapshot import VmRef

KEY, NEXT, OTHER = b"k" * 32, b"n" * 32, b"o" * 32
NOW = 1_800_000_000


def vouched(value, keys=(KEY,), now=NOW):
    return vm_vouched_for(value.encode(), keys, now)


def test_a_signed_header_identifies_the_vm_it_names():
    """SPEC §5 (2): `v1 <scope>/<vm> <unix seconds> <hex HMAC-SHA256 of the first three fields>`."""
    assert vouched(signed("Shop", "Web-0", NOW, KEY)) == VmRef("shop", "web-0")


def test_names_are_percent_encoded_so_that_they_may_hold_anything():
    """SPEC §1: names are printable characters; in the header a space would end the field."""
    assert vouched(signed("my scope", "vm ü%1", NOW, KEY)) == VmRef("my scope", "vm ü%1")


@pytest.mark.parametrize("skew", [-61, 61, -10_000, 10_000])
def test_a_stale_or_early_header_identifies_nobody(skew):
    """SPEC §5 (2): ±60 s; Issue: stale, replayed-after-60-s: 403."""
    assert vouched(signed("s", "vm", NOW, KEY), now=NOW + skew) is None


@pytest.mark.parametrize("skew", [-60, 0, 60])
def test_a_header_within_sixty_seconds_counts(skew):
    assert vouched(signed("s", "vm", NOW, KEY), now=NOW + skew) == VmRef("s", "vm")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda value: value[:-1] + ("0" if value[-1] != "0" else "1"),
        lambda value: value.replace("s/vm", "s/wm"),
        lambda value: value.replace("v1", "v2"),
        lambda value: value.replace(" ", "  ", 1),
        lambda value: value + " x",
        lambda value: value.rsplit(" ", 1)[0],
        lambda value: value.upper(),
        lambda value: value.replace(str(NOW), "+" + str(NOW)),
        lambda value: "",
        lambda value: "v1 s/vm 99999999999999999999999999 00",
    ],
)
def test_a_forged_or_malformed_header_identifies_nobody(spoil):
    """Issue: a forged … proxy header is 403."""
    assert vouched(spoil(signed("s", "vm", NOW, KEY))) is None


def test_only_the_keys_in_force_count():
    """Issue: wrongly keyed: 403; key rotation: two keys valid at once."""
    old, new = signed("s", "vm", NOW, KEY), signed("s", "vm", NOW, NEXT)

    assert vouched(old, (KEY, NEXT)) == vouched(new, (KEY, NEXT)) == VmRef("s", "vm")
    assert vouched(old, (NEXT,)) is None
    assert vouched(new, ()) is None


@pytest.fixture
def behind_a_proxy(tmp_path):
    """A server whose callers all come from one proxy, with two VMs that have no address of their own."""
    keys = [KEY.hex(), NEXT.hex()]
    with open_lab(lab_settings(tmp_path, trusted_proxy_key=keys)) as lab:
        lab.declare("s", "a", "b", listening="always", approval="leader")
        yield lab


def ask(lab, value, **wanted):
    return lab.ask(headers={"Metadata": "true", "X-Notbefore-Vm": value}, **wanted)


def now_s():
    return int(time.time())  # noqa: TID251  the proxy's own clock


def test_the_service_believes_the_proxy_and_nobody_else(behind_a_proxy):
    """SPEC §5: (2) before (3); a header that cannot be verified is 403, and falls back to nobody."""
    lab = behind_a_proxy
    good = signed("s", "a", now_s(), KEY)

    assert ask(lab, good).status == 200
    assert ask(lab, signed("s", "b", now_s(), NEXT)).status == 200
    assert ask(lab, signed("s", "none", now_s(), KEY)).status == 403
    assert ask(lab, signed("s", "a", now_s(), OTHER)).status == 403
    assert ask(lab, signed("s", "a", now_s() - 120, KEY)).status == 403
    assert lab.ask().status == 403


def test_each_vm_behind_the_proxy_is_itself(behind_a_proxy):
    """SPEC §5: a VM sees and approves as itself, on one connection of the proxy or several."""
    lab = behind_a_proxy
    event = lab.maintain("s", "Freeze")["events"][0]
    body = '{"StartRequests":[{"EventId":"%s"}]}' % event["id"]  # noqa: UP031  braces

    for vm in ("b", "a"):
        assert ask(lab, signed("s", vm, now_s(), KEY), method="POST", body=body).status == 200

    assert [approval["vm"] for approval in lab.event(event["id"])["approvals"]] == ["b", "a"]
    assert lab.event(event["id"])["status"] == "Started"


def test_a_header_given_twice_is_spoilt(behind_a_proxy):
    """SPEC §5: two words for two VMs are no word."""
    value = signed("s", "a", now_s(), KEY)
    request = (
        f"GET {PATH}?api-version=2020-07-01 HTTP/1.1\r\nMetadata: true\r\nConnection: close\r\n"
        f"X-Notbefore-Vm: {value}\r\nX-Notbefore-Vm: {value}\r\n\r\n"
    )

    assert behind_a_proxy.raw(request.encode()).startswith(b"HTTP/1.1 403")


def test_on_one_connection_the_proxy_may_speak_for_one_vm_after_the_other(behind_a_proxy):
    """DESIGN §2: the memo never holds a request with the proxy header: its meaning lies outside the bytes."""
    with line_of(behind_a_proxy) as line:
        for vm, status in (("a", 200), ("none", 403), ("b", 200), ("none", 403), ("a", 200)):
            line.socket.sendall(
                f"GET {PATH}?api-version=2020-07-01 HTTP/1.1\r\nMetadata: true\r\n"
                f"X-Notbefore-Vm: {signed('s', vm, now_s(), KEY)}\r\n\r\n".encode()
            )
            assert line.answer()[0] == status


def test_without_a_key_the_header_is_not_believed(demo):
    """SPEC §5: from a *trusted* proxy; a VM that sends the header itself gains nothing."""
    assert ask(demo, signed("demo", "FrontEnd_IN_1", now_s(), KEY)).status == 403
