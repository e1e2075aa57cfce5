"""Lists that may be long: a few go out as ever, many are sent piece by piece while others have their turn.

Rule 1: the answer is the same JSON, however long: one object with one list in it.
Rule 2: nothing of a long list is held but the piece that is being sent; a reader that is slow holds up only itself.
Rule 3: each thing is shown as it is when its turn comes. What was removed meanwhile is left out.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice
from typing import Any, Final

from fastapi import Response
from fastapi.responses import StreamingResponse

# About a millisecond's work each.
PIECE: Final = 8
PLAIN_MAX: Final = 64
JSON_TYPE: Final = "application/json"


def listed(name: str, shown: Iterable[Any]) -> Any:
    """`{name: [...]}`: as a value when it is short, else as an answer that is sent in pieces."""
    rest = iter(shown)
    first = list(islice(rest, PLAIN_MAX))
    if len(first) < PLAIN_MAX:
        return {name: first}
    response: Response = StreamingResponse(pieces(name, first, rest), media_type=JSON_TYPE)
    return response


async def pieces(name: str, first: list[Any], rest: Iterator[Any]) -> AsyncIterator[bytes]:
    yield f"{{{json.dumps(name)}:[".encode() + joined(first)
    while piece := list(islice(rest, PIECE)):
        yield b"," + joined(piece)
        await asyncio.sleep(0)
    yield b"]}"


def joined(shown: list[Any]) -> bytes:
    return ",".join(json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in shown).encode()
