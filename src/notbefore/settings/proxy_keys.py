"""The keys of trusted proxies: one, or two while one takes over from the other (SPEC §5).

Rule 1: a key is at least 16 bytes, written in hex or base64url. What is all hex digits is hex.
Rule 2: no sentence here quotes a key.
"""

import binascii
import re
import stat
from base64 import urlsafe_b64decode
from collections.abc import Sequence
from pathlib import Path

KEYS_MAX = 2
KEY_MIN_BYTES = 16
KEY_FILE_MAX_BYTES = 64 * 1024
# The owner's, perhaps readable by a group of services; nobody else's.
TOO_OPEN = stat.S_IWGRP | stat.S_IRWXO

_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_BASE64URL = re.compile(r"[A-Za-z0-9_-]+={0,2}")


def key_bytes(text: str) -> bytes:
    """ValueError says what is wrong with it."""
    if _HEX.fullmatch(text):
        key = bytes.fromhex(text)
    elif _BASE64URL.fullmatch(text):
        bare = text.rstrip("=")
        try:
            key = urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
        except binascii.Error:
            raise ValueError("is neither hex nor base64url") from None
    else:
        raise ValueError("is neither hex nor base64url")
    if len(key) < KEY_MIN_BYTES:
        raise ValueError(f"has {len(key)} bytes, and a key needs at least {KEY_MIN_BYTES}")
    return key


def refuse_bad_keys(keys: Sequence[str]) -> None:
    if len(keys) > KEYS_MAX:
        raise ValueError(f"holds {len(keys)} keys, and at most {KEYS_MAX} are taken")
    for n, text in enumerate(keys, 1):
        try:
            key_bytes(text)
        except ValueError as wrong:
            raise ValueError(f"key {n} {wrong}") from None


def keys_in(file: Path) -> tuple[str, ...]:
    """One key per line; empty lines are passed over."""
    keys = secret_lines(file)
    if not keys:
        raise ValueError(f"{file} holds no key")
    refuse_bad_keys(keys)
    return keys


def secret_lines(file: Path) -> tuple[str, ...]:
    """The lines of a file that is its owner's, or its group's to read, alone."""
    try:
        if file.stat().st_mode & TOO_OPEN:
            raise ValueError(f"{file} may be read by others; `chmod 600` it")
        with file.open() as opened:
            lines = opened.read(KEY_FILE_MAX_BYTES).splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not text") from None
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from None
    return tuple(line.strip() for line in lines if line.strip())
