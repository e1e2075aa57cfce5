"""Scopes and history records as bytes: compact JSON, the same in every store.

Rule 1: what is decoded equals what was encoded.
Rule 2: bodies outlive programs. A field added later needs a default, so that old bodies decode; a field this
program does not know is passed over.
Rule 3: a scope stays small enough for every store, and says so when it would not.
Not here: checksums, versions and where the bytes go (each store), JSON for VMs and operators (wire/, control/).
"""

from typing import Final, Generic

import msgspec

from notbefore.core.errors import ScopeTooLarge
from notbefore.core.history import HistoryRecord
from notbefore.core.model import Scope
from notbefore.core.operation import Operation
from notbefore.core.rollout import Rollout
from notbefore.ports import Encodings, Value

# Small enough for one etcd transaction (1.5 MiB) together with its history record.
SCOPE_BODY_MAX_BYTES: Final = 512 * 1024

_encoder = msgspec.json.Encoder()
_scopes = msgspec.json.Decoder(Scope)
_records = msgspec.json.Decoder(HistoryRecord)


class BodyUnreadable(Exception):
    """These bytes are no scope or record that this program understands; the message says where."""


def encode_scope(scope: Scope) -> bytes:
    body = _encoder.encode(scope)
    if len(body) > SCOPE_BODY_MAX_BYTES:
        raise ScopeTooLarge(
            f"Scope '{scope.name}' would take {len(body)} bytes, and at most {SCOPE_BODY_MAX_BYTES} may be stored.",
            "Split it into smaller scopes, or shorten its tags and descriptions.",
            {"scope": scope.name, "bytes": len(body), "limit": SCOPE_BODY_MAX_BYTES},
        )
    return body


def decode_scope(body: bytes) -> Scope:
    try:
        return _scopes.decode(body)
    except msgspec.MsgspecError as error:
        raise BodyUnreadable(str(error)) from error


class JsonEncoding(Generic[Value]):
    """One type's values as documents."""

    def __init__(self, of: type[Value]) -> None:
        self._decoder = msgspec.json.Decoder(of)

    def encode(self, value: Value) -> bytes:
        return _encoder.encode(value)

    def decode(self, body: bytes) -> Value:
        try:
            return self._decoder.decode(body)
        except msgspec.MsgspecError as error:
            raise BodyUnreadable(str(error)) from error


ENCODINGS: Final = Encodings(JsonEncoding(Operation), JsonEncoding(Rollout))


def encode_record(record: HistoryRecord) -> bytes:
    return _encoder.encode(record)


def decode_record(body: bytes) -> HistoryRecord:
    try:
        return _records.decode(body)
    except msgspec.MsgspecError as error:
        raise BodyUnreadable(str(error)) from error
