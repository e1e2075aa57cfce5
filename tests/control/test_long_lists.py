"""Lists of any length (DESIGN §5): the same JSON, whether it goes out at once or piece by piece."""

import asyncio
import json

import pytest

from notbefore.control.long_lists import PIECE, PLAIN_MAX, listed

COUNTS = (0, 1, PLAIN_MAX - 1, PLAIN_MAX, PLAIN_MAX + 1, PLAIN_MAX + PIECE, PLAIN_MAX + 3 * PIECE + 1)


async def body_of(answer):
    return b"".join([bytes(piece) async for piece in answer.body_iterator])


@pytest.mark.parametrize("count", COUNTS)
async def test_a_list_is_the_same_json_however_long(count):
    """One object with one list in it."""
    things = [{"name": f"vm-{n} žluťoučký", "place": n} for n in range(count)]

    answer = listed("things", iter(things))

    told = answer if count < PLAIN_MAX else json.loads(await body_of(answer))
    assert told == {"things": things}


async def test_others_have_their_turn_between_the_pieces():
    """A list of everything holds nobody up."""
    turns = 0

    async def neighbour():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(neighbour())
    await body_of(listed("things", iter(range(PLAIN_MAX + 10 * PIECE))))
    task.cancel()

    assert turns >= 10


async def test_nothing_is_made_before_its_piece_is_sent():
    """However many there are, a reader that leaves has cost no more than it took."""
    made = []

    def things():
        for number in range(1000):
            made.append(number)
            yield number

    pieces = listed("things", things()).body_iterator
    await anext(pieces)
    await anext(pieces)

    assert len(made) == PLAIN_MAX + PIECE


def test_many_scopes_hosts_and_events_are_listed_whole_and_in_order(lab):
    """DESIGN §5: GET /v1/scopes, /v1/hosts, /v1/events: everything there is, by name."""
    names = [f"scope-{n:03d}" for n in range(PLAIN_MAX + 2 * PIECE)]
    for number, name in enumerate(names):
        vm = {"name": "vm", "host": f"Host-{number:03d}", "addresses": [f"127.9.1.{number + 1}"]}
        lab.declare(name, vm, listening="always")
        lab.made(name, "vm", "restart")

    assert [scope["name"] for scope in lab.control("GET", "/v1/scopes").json["scopes"]] == names
    hosts = lab.control("GET", "/v1/hosts").json["hosts"]
    assert [(host["name"], host["vms"]) for host in hosts] == [
        (f"Host-{number:03d}", {name: 1}) for number, name in enumerate(names)
    ]
    assert [event["scope"] for event in lab.control("GET", "/v1/events").json["events"]] == names
    one = lab.control("GET", f"/v1/events?scope={names[70].upper()}").json["events"]
    assert [event["scope"] for event in one] == [names[70]]
