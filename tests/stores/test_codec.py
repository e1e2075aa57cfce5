"""Bodies outlive programs: what an older or a newer one wrote."""

import msgspec
import pytest

from notbefore.core.errors import ScopeTooLarge
from notbefore.core.history import HistoryRecord
from notbefore.core.kinds import EventType
from notbefore.core.model import Recovery, Scope
from notbefore.core.scope_settings import ScopeSettings
from notbefore.core.times import Moment, Now
from notbefore.stores.codec import (
    SCOPE_BODY_MAX_BYTES,
    BodyUnreadable,
    decode_record,
    decode_scope,
    encode_record,
    encode_scope,
)


def test_a_field_that_an_older_program_did_not_write_gets_its_default():
    """New fields with defaults decode from old bodies."""
    assert decode_scope(b'{"name":"web","incarnation":7}') == Scope("web", incarnation=7)


def test_a_field_that_only_a_newer_program_knows_is_passed_over():
    """A body from a newer writer may carry more than this program reads."""
    assert decode_scope(b'{"name":"web","mood":{"today":["good"]},"settings":{"colour":1}}') == Scope("web")


def test_event_types_as_keys_come_back_as_event_types():
    """JSON knows only strings as keys; the core asks with its own words."""
    scope = decode_scope(encode_scope(Scope("web", settings=ScopeSettings(notice_s={EventType.FREEZE: 5}))))

    assert [type(key) for key in scope.settings.notice_s] == [EventType]


def test_a_record_comes_back_equal():
    """What is decoded equals what was encoded."""
    record = HistoryRecord("web", 1, "a-request", 2, ())

    assert decode_record(encode_record(record)) == record


def test_a_promise_comes_back_equal_whatever_its_maker_had_learned_of_others():
    """What is decoded equals what was encoded: a bare reading of the clock."""
    knowing = Now(5, 3, "a-boot", {Moment(4, 9, "another-boot"): 2})
    scope = Scope("web", recovery=Recovery(1, knowing.promise(until_ms=60_005)))

    assert decode_scope(encode_scope(scope)) == scope
    assert b"learned" not in encode_scope(scope)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"kind":"standalone"}', b'{"name":"web","kind":"palace"}', b"\xff"]
)
@pytest.mark.parametrize("decode", [decode_scope, decode_record])
def test_bytes_that_are_no_body_are_told_so(decode, body):
    """One exception says so, whatever is wrong with them."""
    with pytest.raises(BodyUnreadable):
        decode(body)


def test_a_body_of_exactly_the_limit_is_encoded_and_one_byte_more_is_refused():
    """A scope's body may be at most 512 KiB."""
    around = len(msgspec.json.encode(Scope("")))
    longest = Scope("x" * (SCOPE_BODY_MAX_BYTES - around))

    assert len(encode_scope(longest)) == SCOPE_BODY_MAX_BYTES
    with pytest.raises(ScopeTooLarge):
        encode_scope(Scope(longest.name + "x"))
