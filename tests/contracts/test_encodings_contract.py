"""Contract of every encoding: how operations and rollouts are kept as documents, whoever wrote them."""

import json

import pytest
from store_samples import OPERATION, ROLLOUT, rich_operation, rich_rollout

from notbefore.core.operation import Operation
from notbefore.core.rollout import Rollout
from notbefore.stores.codec import ENCODINGS, BodyUnreadable

RICH = [(ENCODINGS.operations, rich_operation()), (ENCODINGS.rollouts, rich_rollout())]
MADE = {"type": "Reboot", "made_by": {"kind": "operator", "name": "ann"}, "made_at_ms": 1}
BARE = [
    (ENCODINGS.operations, {"id": OPERATION, **MADE}),
    (ENCODINGS.rollouts, {"id": ROLLOUT, "over": "hosts", **MADE}),
]

every_encoding = pytest.mark.parametrize(("encoding", "value"), RICH, ids=["operation", "rollout"])
every_bare_body = pytest.mark.parametrize(("encoding", "body"), BARE, ids=["operation", "rollout"])


@every_encoding
def test_what_is_decoded_equals_what_was_encoded(encoding, value):
    """Every field, and every value in it of its own type."""
    assert encoding.decode(encoding.encode(value)) == value


@every_encoding
def test_the_same_value_is_always_the_same_bytes(encoding, value):
    """A body that is compared is compared as a value would be."""
    assert encoding.encode(encoding.decode(encoding.encode(value))) == encoding.encode(value)


@every_encoding
def test_a_field_that_only_a_newer_program_knows_is_passed_over(encoding, value):
    """A body from a newer writer may carry more than this program reads, however deep."""
    newer = as_newer(json.loads(encoding.encode(value)))

    assert encoding.decode(json.dumps(newer).encode()) == value


def as_newer(value):
    if isinstance(value, dict):
        return {"mood": {"today": ["good"]}, **{key: as_newer(one) for key, one in value.items()}}
    return [as_newer(one) for one in value] if isinstance(value, list) else value


@every_bare_body
def test_a_field_that_an_older_program_did_not_write_gets_its_default(encoding, body):
    """New fields with defaults decode from old bodies: all that must be there is what was always there."""
    decoded = encoding.decode(json.dumps(body).encode())

    assert decoded == type(decoded)(**{name: getattr(decoded, name) for name in body})
    assert isinstance(decoded, Operation | Rollout)
    assert not decoded.is_over


@every_bare_body
def test_a_body_without_what_was_always_there_is_unreadable(encoding, body):
    """One exception says so."""
    for missing in body:
        with pytest.raises(BodyUnreadable):
            encoding.decode(json.dumps({key: one for key, one in body.items() if key != missing}).encode())


@every_encoding
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b'{"status":"Dreaming"}'])
def test_bytes_that_are_no_body_are_told_so(encoding, value, body):
    """One exception says so, whatever is wrong with them."""
    with pytest.raises(BodyUnreadable):
        encoding.decode(body)
