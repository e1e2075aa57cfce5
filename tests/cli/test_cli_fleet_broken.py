"""A broken fleet.toml names file, line and field, and changes nothing: what the file shows, and what only the server knows."""

import pytest

# Each in the midst of a file that is otherwise good; the scope before it would have been declared first.
BEFORE = """[scopes.first]
kind = "standalone"

"""
TEN = {
    "no TOML": ("[scopes.shop]\nkind = availability-set\n", 5, "kind"),
    "unknown key": ("[scopes.shop]\nkin = 'standalone'\n", 5, "scopes.shop.kin"),
    "wrong type": ("[[scopes.shop.vms]]\nname = 'a'\nupdate_domain = 1.5\n", 6, "scopes.shop.vms[0].update_domain"),
    "no name": ("[[scopes.shop.vms]]\nname = 'a'\n[[scopes.shop.vms]]\nhost = 'h'\n", 6, "scopes.shop.vms[1].name"),
    "named twice": (
        "[[scopes.shop.vms]]\nname = 'a'\n[[scopes.shop.vms]]\nname = 'A'\n",
        7,
        "scopes.shop.vms[1].name",
    ),
    "address twice in the file": (
        "[[scopes.shop.vms]]\nname = 'a'\naddresses = ['10.0.0.1']\n[[scopes.lab.vms]]\nname = 'b'\naddresses = [\n  '10.0.0.2',\n  '::ffff:10.0.0.1',\n]\n",
        11,
        "scopes.lab.vms[0].addresses[1]",
    ),
    "word the server does not know": (
        "[scopes.shop.settings]\nlistening = 'often'\n",
        5,
        "scopes.shop.settings.listening",
    ),
    "value out of bounds": (
        "[scopes.shop.settings]\nnotice_s = { Reboot = 60, Terminate = 901 }\n",
        5,
        "scopes.shop.settings.notice_s.Terminate",
    ),
    "address of a VM that is there": (
        "[[scopes.shop.vms]]\nname = 'a'\naddresses = ['10.0.0.3', '10.0.0.99']\n",
        6,
        "scopes.shop.vms[0].addresses[1]",
    ),
    "executor nobody knows": ("[hosts.h]\nexecutor = 'magic'\n[scopes.shop]\n", 5, "hosts.h.executor"),
}
MORE = {
    "not closed": ("[scopes.shop\n", 4, "scopes.shop"),
    "twice the same key": ("[scopes.shop]\nkind = 'standalone'\nkind = 'standalone'\n", 6, "kind"),
    "no table": ("[scopes]\nshop = 3\n", 1, "scopes"),
    "text for a number": ("[scopes.shop.settings]\nnotice_s = { Reboot = '9' }\n", 5, "scopes.shop.settings.notice_s"),
    "list for a policy": ("[scopes.shop.settings]\napproval = ['any']\n", 5, "scopes.shop.settings.approval"),
    "policy that is none": (
        "[scopes.shop.settings]\napproval = { Terminate = 'most' }\n",
        5,
        "scopes.shop.settings.approval.Terminate",
    ),
    "rule that is none": (
        "[scopes.shop.settings]\nauto_approve = ['Reboot']\n",
        5,
        "scopes.shop.settings.auto_approve",
    ),
    "number too large": (
        "[[scopes.shop.vms]]\nname = 'a'\nfault_domain = 99999\n",
        6,
        "scopes.shop.vms[0].fault_domain",
    ),
    "state that is none": ("[[scopes.shop.vms]]\nname = 'a'\nstate = 'tired'\n", 6, "scopes.shop.vms[0].state"),
    "name with a slash": ("[[scopes.shop.vms]]\nname = 'a/b'\n", 5, "scopes.shop.vms[0].name"),
    "no address": ("[[scopes.shop.vms]]\nname = 'a'\naddresses = ['10.0.0']\n", 6, "scopes.shop.vms[0].addresses[0]"),
    "letter case": ("[scopes.shop]\n[scopes.SHOP]\n", 5, "scopes.SHOP"),
    "more than can be stored": (
        "\n".join(
            f"[[scopes.shop.vms]]\nname = 'vm-{n}'\ntags = {{ {', '.join(f'k{k} = {chr(39)}{700 * chr(120)}{chr(39)}' for k in range(8))} }}"
            for n in range(120)
        ),
        4,
        "scopes.shop",
    ),
    "kind that is none": ("[scopes.'shop.eu']\nkind = 'heap'\n", 5, 'scopes."shop.eu".kind'),
}
CASES = {**TEN, **MORE}
# Pruned with its scope, the address is free.
PRUNED = [case for case in CASES if case != "address of a VM that is there"]


@pytest.fixture
def state_of(lab):
    lab.declare("there", {"name": "vm", "addresses": ["10.0.0.99"]})

    def state():
        return [lab.control("GET", path).json for path in ("/v1/scopes", "/v1/hosts", "/v1/history?limit=1000")]

    return state


@pytest.mark.parametrize(("case", "flags"), [*((one, ()) for one in CASES), *((one, ("--prune",)) for one in PRUNED)])
def test_a_broken_file_names_file_line_and_field_and_changes_nothing(real, fleet, state_of, case, flags):
    """Issue: ten broken files each name file, line and field and change nothing. (Here are some more.)"""
    text, line, field = CASES[case]
    before = state_of()

    sentence = real("apply", fleet(BEFORE + text), *flags).is_refused_with()

    assert f"fleet.toml, line {line}, {field}: " in sentence
    assert state_of() == before


def test_there_are_at_least_ten_of_them():
    assert len(TEN) == 10


def test_an_empty_file_declares_nothing(real, fleet):
    real("apply", fleet("# later\n")).is_refused_with("fleet.toml, line 1, scopes: it declares no scopes")


def test_a_file_that_is_no_text_is_refused_with_its_line(real, tmp_path):
    file = tmp_path / "fleet.toml"
    file.write_bytes(b"[scopes.shop]\nkind = '\xff'\n")

    real("apply", str(file)).is_refused_with("fleet.toml, line 2: it is not TOML")


def test_shapes_are_checked_before_anything_is_sent(cli, server, fleet):
    """What the file shows needs no server."""
    cli("apply", fleet("[scopes.shop]\nkin = 'x'")).is_refused_with("scopes.shop.kin")

    assert server.requests == []
