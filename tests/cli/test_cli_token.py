"""notbefore token create | list | revoke: the secret alone on stdout, the sentence on stderr, and where tokens are read from."""

import pytest

SECRET = "nbt_0123456789"
SHIFT = {
    "name": "shift",
    "role": "operator",
    "scopes": ["shop", "db"],
    "created_at": "2026-09-19T18:29:47Z",
    "created_by": "admin",
    "expires_at": "2026-12-18T18:29:47Z",
    "expired": False,
}
DASHBOARD = {**SHIFT, "name": "dashboard", "role": "viewer", "scopes": None, "expires_at": None}
GONE = {**DASHBOARD, "name": "gone", "expires_at": "2026-09-20T18:29:47Z", "expired": True}


def test_a_created_tokens_secret_is_all_of_stdout(cli, server):
    """So that `> file` works; the sentence about it goes to stderr."""
    server.answers("POST", "/v1/tokens", {**SHIFT, "secret": SECRET}, status=201)

    ran = cli("token", "create", "shift", "--role", "Operator", "--scope", "shop", "--scope", "db", "--expires", "90d")

    assert (ran.code, ran.out) == (0, f"{SECRET}\n")
    assert ran.err == (
        "Token shift is created: operator for shop, db, until 2026-12-18T18:29:47Z. The secret is shown only now.\n"
    )
    assert server.requests[-1].body == {
        "name": "shift",
        "role": "operator",
        "scopes": ["shop", "db"],
        "expires_in_s": 90 * 24 * 3600,
    }


def test_a_token_without_limits_says_so(cli, server):
    """For the whole fleet and without end, as nothing else was asked for."""
    server.answers("POST", "/v1/tokens", {**DASHBOARD, "secret": SECRET}, status=201)

    ran = cli("token", "create", "dashboard", "--role", "viewer")

    assert "viewer for the whole fleet, without end." in ran.err
    assert server.requests[-1].body == {"name": "dashboard", "role": "viewer"}


def test_a_created_token_as_json(cli, server):
    """For programs: the whole answer, with the secret, on stdout."""
    server.answers("POST", "/v1/tokens", {**SHIFT, "secret": SECRET}, status=201)

    assert cli("token", "create", "shift", "--role", "operator", "--json").json == {**SHIFT, "secret": SECRET}


def test_tokens_are_listed_without_secrets(cli, server):
    """One row each: what it opens, and until when."""
    server.answers("GET", "/v1/tokens", {"tokens": [DASHBOARD, GONE, SHIFT]})

    ran = cli("token", "list")

    assert [line.split()[:2] for line in ran.lines] == [
        ["NAME", "ROLE"],
        ["dashboard", "viewer"],
        ["gone", "viewer"],
        ["shift", "operator"],
    ]
    assert "shop, db" in ran.lines[3]
    assert ran.lines[1].endswith("never")
    assert ran.lines[2].endswith("(expired)")
    assert cli("token", "list", "--json").json == [DASHBOARD, GONE, SHIFT]


def test_no_tokens_is_a_sentence(cli, server):
    server.answers("GET", "/v1/tokens", {"tokens": []})

    assert cli("token", "list").out == "No tokens but the server's own.\n"


def test_a_token_is_revoked_by_name(cli, server):
    """Percent-encoded in the path, as every name."""
    server.answers("DELETE", "/v1/tokens/night%40shift", b"", status=204)

    ran = cli("token", "revoke", "night@shift")

    assert (ran.code, ran.out) == (0, "Token night@shift is revoked.\n")


@pytest.mark.parametrize(
    "words",
    [
        ("create", "x"),
        ("create", "x", "--role", "root"),
        ("create", "x", "--role", "viewer", "--expires", "soon"),
        ("create", "--role", "viewer"),
        ("revoke",),
    ],
)
def test_wrong_words_are_wrong_usage_and_ask_nothing(cli, server, words):
    """Exit code 2, and no request."""
    cli("token", *words).is_wrong_usage_of()

    assert server.requests == []


def test_the_token_is_read_from_a_file(cli, server, tmp_path):
    """NOTBEFORE_TOKEN beats NOTBEFORE_TOKEN_FILE beats the state directory."""
    server.answers("GET", "/v1/tokens", {"tokens": []})
    file = tmp_path / "shift.token"
    file.write_text(f"{SECRET}\n")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "admin.token").write_text("of-the-state\n")

    cli("token", "list", NOTBEFORE_TOKEN_FILE=str(file), NOTBEFORE_TOKEN="of-the-environment")
    cli("token", "list", NOTBEFORE_TOKEN_FILE=str(file), NOTBEFORE_TOKEN=None)
    cli("token", "list", NOTBEFORE_TOKEN_FILE=None, NOTBEFORE_TOKEN=None)

    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == ["Bearer of-the-environment", f"Bearer {SECRET}", "Bearer of-the-state"]


@pytest.mark.parametrize("content", [None, "", "two\nlines\n", "ü", "x" * 5000])
def test_a_token_file_that_holds_no_token_is_refused_without_showing_it(cli, server, tmp_path, content):
    """The sentence names the file and nothing of what is in it."""
    file = tmp_path / "odd.token"
    if content is not None:
        file.write_text(content)

    ran = cli("token", "list", NOTBEFORE_TOKEN_FILE=str(file), NOTBEFORE_TOKEN=None)

    ran.is_refused_with(str(file))
    assert "two" not in ran.err
    assert server.requests == []
