"""Tokens as values: roles in order, secrets by digest, names, and their end."""

from hashlib import sha256

import pytest

from notbefore.core.errors import Invalid
from notbefore.core.tokens import Role, Token, check_token_name, described, digest_of


def test_a_role_includes_those_below_it():
    """SPEC §5: roles viewer, operator, admin."""
    included = {role: [other for other in Role if role.includes(other)] for role in Role}

    assert included == {
        Role.VIEWER: [Role.VIEWER],
        Role.OPERATOR: [Role.VIEWER, Role.OPERATOR],
        Role.ADMIN: [Role.VIEWER, Role.OPERATOR, Role.ADMIN],
    }


def test_a_digest_is_sha_256_of_whatever_was_sent():
    """Also of what no encoding takes: a wrong token is wrong, never a breakdown."""
    assert digest_of("nbt_x") == sha256(b"nbt_x").hexdigest()
    assert digest_of("\ud800") != digest_of("\ud801")


@pytest.mark.parametrize("name", ["a", "night-shift", "ann@example.org", "A.b_c-9", "0", "x" * 64])
def test_a_name_is_one_plain_word(name):
    check_token_name(name)


@pytest.mark.parametrize("name", ["", " ", "a b", "a/b", ".a", "-a", "ä", "a\n", "x" * 65, "admin", "ADMIN"])
def test_other_names_are_refused(name):
    """Names stand in logs and history, and `admin` is the server's own."""
    with pytest.raises(Invalid):
        check_token_name(name)


def test_a_token_ends_at_its_time_and_not_before():
    """One without an end never does."""
    token = Token("ann", Role.VIEWER, "", 0, "", expires_at_ms=1000)

    assert [token.is_expired(at) for at in (0, 999, 1000, 1001)] == [False, False, True, True]
    assert not Token("ann", Role.VIEWER, "", 0, "").is_expired(10**15)


def test_a_token_is_described_by_what_it_opens():
    """For history: role, scopes, end."""
    assert described(Token("a", Role.ADMIN, "", 0, ""), "") == "role admin, for the whole fleet, without end"
    limited = Token("a", Role.VIEWER, "", 0, "", ("shop", "db"), 1)
    assert described(limited, "noon") == "role viewer, limited to shop, db, until noon"
