"""The support bundle: everything somebody else needs to see, and not one secret."""

import json
import stat
import tarfile

import pytest
from cli_runs import Cli

from lab import lab_settings, open_lab

KEYS = ("000102030405060708090a0b0c0d0e0f", "f0e0d0c0b0a090807060504030201000")
PEM = "-----BEGIN PRIVATE KEY-----\nMIIBVQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n"
SECRET_TAG, SECRET_TAG_NAME = "tag-value-for-nobody", "tag-name-for-nobody"
ADDRESSES = ("10.20.30.40", "2001:db8::4711", "192.0.2.55")
PASSWORD = "hunter2-in-a-url"


@pytest.fixture
def running(tmp_path):
    with open_lab(lab_settings(tmp_path / "state", "real", trusted_proxy_key=list(KEYS))) as opened:
        opened.declare(
            "shop",
            {"name": "web-1", "addresses": list(ADDRESSES[:2]), "tags": {SECRET_TAG_NAME: SECRET_TAG}},
            {"name": "web-2", "addresses": [ADDRESSES[2]]},
            listening="always",
        )
        opened.made(
            "shop",
            "web-1",
            "restart",
            description=f"asked from {ADDRESSES[0]}: see https://me:{PASSWORD}@wiki.example/1",
        )
        yield opened


@pytest.fixture
def secrets(running):
    """Every secret there is: tokens of every role, proxy keys, a private key."""
    made = [
        running.control("POST", "/v1/tokens", {"name": f"some-{role}", "role": role}).json["secret"]
        for role in ("viewer", "operator", "admin")
    ]
    return [running.server.token, *made, *KEYS, PEM.splitlines()[1], PASSWORD]


@pytest.fixture
def cli(running, secrets, tmp_path):
    config = tmp_path / "notbefore.toml"
    (tmp_path / "key.pem").write_text(PEM)
    config.write_text(f'state = "{tmp_path / "state"}"\n[metadata]\ntrusted_proxy_key = {json.dumps(KEYS)}\n')
    config.chmod(0o600)
    return Cli(
        {
            "NOTBEFORE_URL": running.server.control_url,
            "NOTBEFORE_TOKEN": secrets[3],
            "NOTBEFORE_TOKEN_FILE": None,
            "NOTBEFORE_STATE": str(tmp_path / "state"),
            "NOTBEFORE_ENDPOINT": "http://127.0.0.1:1",
            "NOTBEFORE_UTC": None,
        }
    )


def unpacked(file):
    with tarfile.open(file) as archive:
        assert all(member.mode == 0o600 for member in archive)
        return {name.rpartition("/")[2]: archive.extractfile(name).read().decode() for name in archive.getnames()}


@pytest.fixture
def bundle(cli, tmp_path):
    def made(*flags):
        file = tmp_path / "support.tar.gz"
        ran = cli("doctor", "--config", str(tmp_path / "notbefore.toml"), "--bundle", str(file), *flags)
        return ran, file

    return made


@pytest.mark.parametrize("flags", [(), ("--with-addresses",)])
def test_no_secret_is_in_the_bundle(bundle, secrets, flags):
    """Issue: a redacted support bundle. Searched for every secret, in every part of it and in what was printed."""
    ran, file = bundle(*flags)

    parts = unpacked(file)
    for secret in secrets:
        assert secret not in ran.out + ran.err
        for name, text in parts.items():
            assert secret not in text, name
    assert "BEGIN" not in "".join(parts.values())


def test_addresses_and_tags_are_cut_unless_asked_for(bundle):
    _, file = bundle()

    whole = "".join(unpacked(file).values())
    for private in (*ADDRESSES, SECRET_TAG, SECRET_TAG_NAME):
        assert private not in whole


def test_an_address_has_the_same_name_wherever_it_stands(bundle):
    """Two VMs with one address must still be seen to have one."""
    _, file = bundle()

    parts = unpacked(file)
    web_1 = json.loads(parts["scopes.json"])["scopes"][0]["vms"][0]
    assert f"asked from {web_1['addresses'][0]}: see" in parts["events.json"]
    assert web_1["addresses"][0] in parts["history.json"]
    assert web_1["tags"] == {"tag-1": "(redacted)"}


def test_addresses_and_tags_are_there_when_asked_for(bundle):
    _, file = bundle("--with-addresses")

    scopes = unpacked(file)["scopes.json"]
    for private in (*ADDRESSES, SECRET_TAG, SECRET_TAG_NAME):
        assert private in scopes


def test_the_bundle_holds_what_it_says_and_is_its_owners_alone(bundle):
    ran, file = bundle()

    parts = unpacked(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert set(parts) - {"README.txt"} == {
        *("doctor.json", "versions.json", "settings.toml", "environment.txt", "health.json", "metrics.txt"),
        *("clock.json", "scopes.json", "hosts.json", "events.json", "history.json"),
    }
    for name in set(parts) - {"README.txt"}:
        assert name in parts["README.txt"]
        assert name in ran.out
    assert json.loads(parts["history.json"])["history"]
    assert json.loads(parts["health.json"])["/readyz"]["status"] == 200
    assert "trusted_proxy_key" in parts["settings.toml"]
    assert "NOTBEFORE_TOKEN\n" in parts["environment.txt"]


def test_a_file_that_is_there_is_not_replaced(bundle):
    _, file = bundle()
    before = file.read_bytes()

    ran, _ = bundle()

    ran.is_refused_with("is there already")
    assert file.read_bytes() == before


def test_without_a_server_there_is_a_bundle_too(cli, tmp_path):
    """It is then that somebody needs help."""
    file = tmp_path / "support.tar.gz"

    ran = cli("doctor", "--bundle", str(file), NOTBEFORE_URL="http://127.0.0.1:1")

    assert ran.code == 1
    assert json.loads(unpacked(file)["scopes.json"]) == {"unavailable": "The server could not be asked."}
