"""Tokens over the control API (SPEC §5): made, shown once, listed, refused at once when revoked or expired, and told in history."""

import json
import re
import socket
from hashlib import sha256

import msgspec
import pytest

from lab import lab_settings, open_lab
from notbefore.core.tokens import TOKENS_MAX
from notbefore.settings.shape import StoreSettings

YEAR_S = 365 * 24 * 3600


def create(lab, name="ann", role="operator", **wanted):
    return lab.control("POST", "/v1/tokens", {"name": name, "role": role, **wanted})


def secret_of(lab, *args, **wanted):
    reply = create(lab, *args, **wanted)
    assert reply.status == 201, reply
    return reply.json["secret"]


def status_for(lab, secret, path="/v1/scopes"):
    return lab.control("GET", path, token=secret).status


def error_of(reply):
    return reply.status, reply.json["error"]["code"]


def test_a_token_is_created_with_a_secret_that_is_shown_once(lab):
    """`nbt_` and 32 random bytes, in the answer that creates it and in no other."""
    reply = create(lab, scopes=["shop", "SHOP", "db"], expires_in_s=3600)

    assert reply.status == 201
    assert reply.headers["cache-control"] == "no-store"
    made = reply.json
    assert re.fullmatch(r"nbt_[A-Za-z0-9_-]{43}", made.pop("secret"))
    assert (made["name"], made["role"], made["scopes"]) == ("ann", "operator", ["shop", "db"])
    assert (made["created_by"], made["expired"]) == ("admin", False)
    assert lab.control("GET", "/v1/tokens").json == {"tokens": [made]}


def test_secrets_are_never_alike(lab):
    """Each is drawn anew, also for a name that was there before."""
    secrets = set()
    for _ in range(5):
        secrets.add(secret_of(lab))
        assert lab.control("DELETE", "/v1/tokens/ann").status == 204

    assert len(secrets) == 5


def test_a_token_opens_what_its_role_allows_and_signs_what_is_done(lab):
    """Every change is recorded by token name."""
    lab.declare("shop", "web-1")
    secret = secret_of(lab)

    made = lab.control("POST", "/v1/scopes/shop/vms/web-1/restart", {}, token=secret)

    assert (made.status, made.json["made_by"]) == (202, "operator ann")
    assert lab.history("limit=1")[0]["changes"][0]["by"] == "operator ann"


def test_only_the_digest_is_kept(lab):
    """Hashed at rest: the store's files hold the SHA-256 of a secret and no part of it."""
    secret = secret_of(lab)
    kept = b"".join(file.read_bytes() for file in lab.server.token_file.parent.glob("notbefore.db*") if file.is_file())

    assert sha256(secret.encode()).hexdigest().encode() in kept
    assert secret.encode() not in kept
    for at in range(len(secret) - 8):
        assert secret[at : at + 8].encode() not in kept


def test_a_revoked_token_is_refused_at_once(lab):
    """Before the DELETE is answered: on a connection that is open, on a new one, and under the same name made anew."""
    secret = secret_of(lab)
    other = secret_of(lab, "bob")
    assert status_for(lab, secret) == 200

    for _ in range(3):
        assert lab.control("DELETE", "/v1/tokens/ANN").status == 204
        assert status_for(lab, secret) == 401
        secret_of(lab)
        assert status_for(lab, secret) == 401

    assert status_for(lab, other) == 200


def test_a_token_survives_a_restart_and_so_does_its_revocation(tmp_path):
    """They are in the store; the admin token is in its file."""
    settings = lab_settings(tmp_path / "state")
    with open_lab(settings) as lab:
        kept, gone = secret_of(lab), secret_of(lab, "bob")
        assert lab.control("DELETE", "/v1/tokens/bob").status == 204
    with open_lab(settings) as lab:
        assert (status_for(lab, kept), status_for(lab, gone), status_for(lab, lab.server.token)) == (200, 401, 200)


def test_servers_on_one_store_have_the_same_tokens(tmp_path):
    """Made on one, good on the other; revoked on one, refused on the other as soon as it follows. Admin tokens stay apart."""
    first = lab_settings(tmp_path / "first")
    second = msgspec.structs.replace(
        lab_settings(tmp_path / "second"), store=StoreSettings(url=f"sqlite:{first.store_path}")
    )
    with open_lab(first) as here, open_lab(second) as there:
        secret = secret_of(here)
        while not there.control("GET", "/v1/tokens").json["tokens"]:
            pass
        assert status_for(there, secret) == 200
        assert status_for(there, here.server.token) == 401

        assert here.control("DELETE", "/v1/tokens/ann").status == 204

        while status_for(there, secret) == 200:
            pass
        assert status_for(there, there.server.token) == 200


def test_a_stream_ends_when_its_token_is_revoked(lab):
    """An answer that goes on for ever is no way around a revocation."""
    secret = secret_of(lab)
    with socket.create_connection(lab.control_address, timeout=30) as line:
        line.sendall(
            f"GET /v1/stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {secret}\r\n\r\n".encode()
        )
        assert line.recv(65536).startswith(b"HTTP/1.1 200")

        assert lab.control("DELETE", "/v1/tokens/ann").status == 204
        lab.declare("later", "web-1")

        rest = b"".join(iter(lambda: line.recv(65536), b""))
    assert b"later" not in rest


def test_a_token_expires_by_real_time_alone(lab):
    """SPEC §4: token expiry stays on real time, whatever the emulator's clock shows."""
    hour, second = secret_of(lab, expires_in_s=3600), secret_of(lab, "brief", expires_in_s=1)

    assert lab.control("POST", "/v1/clock", {"advance_s": YEAR_S}).status == 200
    assert status_for(lab, hour) == 200
    while (reply := lab.control("GET", "/v1/scopes", token=second)).status == 200:
        pass

    assert error_of(reply) == (401, "unauthorized")
    assert "'brief' expired at" in reply.json["error"]["message"]
    shown = {one["name"]: one["expired"] for one in lab.control("GET", "/v1/tokens").json["tokens"]}
    assert shown == {"ann": False, "brief": True}


def test_creating_and_revoking_are_told_in_history_without_the_secret(lab):
    """By whom and why, in a record that concerns no scope; neither the secret nor its digest."""
    secret = secret_of(lab, scopes=["shop"], expires_in_s=3600)
    lab.control("DELETE", "/v1/tokens/ann")

    records = lab.history()

    (made,), (gone,) = (record["changes"] for record in records)
    assert [record["scope"] for record in records] == ["", ""]
    assert (made["what"], gone["what"]) == ("token created", "token revoked")
    assert made["by"] == gone["by"] == "operator admin"
    assert "token ann created by operator admin: role operator, limited to shop, until 20" in made["why"]
    assert gone["why"] == "token ann revoked by operator admin"
    told = json.dumps(records)
    assert secret not in told
    assert sha256(secret.encode()).hexdigest() not in told


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "-a"}, "name"),
        ({"name": "a" * 65}, "name"),
        ({"name": "ä"}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "Admin"}, "name"),
        ({"name": "nbt_x"}, "name"),
        ({"role": "root"}, "role"),
        ({"role": None}, "role"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["a/b"]}, None),
        ({"scopes": [""]}, None),
        ({"scopes": ["a"] * 101}, "scopes"),
        ({"scopes": "shop"}, "scopes"),
        ({"expires_in_s": 0}, "expires_in_s"),
        ({"expires_in_s": "90d"}, "expires_in_s"),
        ({"expires_in_s": 10**12}, "expires_in_s"),
        ({"secret": "mine"}, "secret"),
    ],
    ids=str,
)
def test_a_wrong_token_is_refused_by_field_and_none_is_made(shared_demo, wanted, field):
    """Bad input changes nothing."""
    before = shared_demo.history("limit=1")

    reply = (
        create(shared_demo, **wanted)
        if "name" in wanted
        else create(shared_demo, "ann", **{"role": "viewer", **wanted})
    )

    assert error_of(reply) == (400, "invalid")
    assert field is None or reply.json["error"]["facts"]["field"] == field
    assert shared_demo.control("GET", "/v1/tokens").json == {"tokens": []}
    assert shared_demo.history("limit=1") == before


def test_a_name_is_taken_once_in_any_letter_case(lab):
    """409, and the first one goes on being good."""
    secret = secret_of(lab)

    reply = create(lab, "ANN", "admin")

    assert error_of(reply) == (409, "not_allowed")
    assert status_for(lab, secret) == 200
    assert len(lab.history()) == 1


def test_a_token_that_is_not_there_cannot_be_revoked(lab):
    """404; and the server's own token is none of them."""
    for name in ("nobody", "admin"):
        assert error_of(lab.control("DELETE", f"/v1/tokens/{name}")) == (404, "unknown_token")

    assert lab.history() == []
    assert status_for(lab, lab.server.token) == 200


def test_a_secret_in_a_names_place_is_not_said_back(lab):
    """Somebody pastes the wrong thing: refused, and neither the answer nor history has it."""
    secret = secret_of(lab)
    for pasted in (secret, lab.server.token):
        refused = [lab.control("DELETE", f"/v1/tokens/{pasted}"), create(lab, pasted)]

        for reply in refused:
            assert error_of(reply) == (400, "invalid")
            assert pasted.encode() not in reply.body
    assert len(lab.history()) == 1


def test_there_are_only_so_many_tokens(lab):
    """A limit on everything; the server's own token is good whatever else there is."""

    async def fill():
        kept = {"role": "viewer", "digest": "0" * 64, "created_at_ms": 0, "created_by": ""}
        for n in range(TOKENS_MAX):
            body = json.dumps({"name": f"t-{n}", **kept}).encode()
            await lab.server.node.store.put_document("token", f"t-{n}", body, 0, None)

    lab.run(fill())

    assert error_of(create(lab)) == (409, "limit_reached")
    assert status_for(lab, lab.server.token) == 200


def test_a_token_that_cannot_be_read_opens_nothing_and_stops_nobody(lab):
    """One of a newer program, perhaps: the others go on."""

    odd = {"name": "odd", "role": "viewer", "digest": "ü", "created_at_ms": 0, "created_by": ""}

    async def put_nonsense():
        for n, body in enumerate((b"{}", b"\xff", json.dumps({**odd, "role": "emperor"}).encode())):
            await lab.server.node.store.put_document("token", f"odd-{n}", body, 0, None)
        await lab.server.node.store.put_document("token", "odd", json.dumps(odd).encode(), 0, None)

    lab.run(put_nonsense())
    secret = secret_of(lab)

    assert status_for(lab, secret) == 200
    assert status_for(lab, "wrong") == 401
    assert [one["name"] for one in lab.control("GET", "/v1/tokens").json["tokens"]] == ["ann", "odd"]


@pytest.mark.parametrize("method", ["PUT", "POST", "GET", "DELETE", "PATCH"])
def test_without_a_token_not_even_the_body_is_looked_at(shared_demo, method):
    """A body that is no JSON, or none at all, is nobody's business before it is known who asks."""
    for path in ("/v1/scopes/x", "/v1/tokens", "/v1/nothing"):
        reply = shared_demo.request(
            shared_demo.control_address, method, path, "{broken", {"Content-Type": "application/json"}
        )
        assert error_of(reply) == (401, "unauthorized")
