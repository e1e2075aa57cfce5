"""Another process on the same store, for the contracts that speak of processes. Run by `start_child`.

It says what it has done on stdout, a line each, and waits for a line on stdin where a test holds the gate.
Usage: store_child.py KIND WHERE NODE BEHAVIOUR [ARGUMENT]
"""

import asyncio
import os
import signal
import sys
from dataclasses import replace

from store_places import StorePlace
from store_samples import record_of

from notbefore.core.model import Scope
from notbefore.ports import Store, VersionConflict

COUNTED = "commits"


def say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def wait_at_gate() -> None:
    sys.stdin.readline()


async def hold(store: Store, argument: str) -> None:
    say("open")
    wait_at_gate()


async def commit_at_gate(store: Store, argument: str) -> None:
    """One commit of the scope named by the argument, when the gate opens."""
    say("open")
    wait_at_gate()
    say((await store.commit(Scope(argument), 0, record_of(argument))).revision)


async def commit_and_die(store: Store, argument: str) -> None:
    """Killed by itself in the instruction after the commit: nothing is closed, flushed or said."""
    await store.commit(Scope(argument), 0, record_of(argument))
    os.kill(os.getpid(), signal.SIGKILL)


async def put_document_and_die(store: Store, argument: str) -> None:
    await store.put_document("token", argument, b"{}", 0, record_of(""))
    os.kill(os.getpid(), signal.SIGKILL)


async def commit_until_killed(store: Store, argument: str) -> None:
    while True:
        say((await count_one_more(store, argument, "")).version)


async def contend(store: Store, argument: str) -> None:
    """So many successful compare-and-sets, racing others on the same scope; says its request ids."""
    say("open")
    wait_at_gate()
    for n in range(int(argument)):
        request_id = f"{os.getpid()}/{n}"
        while True:
            try:
                await count_one_more(store, "contended", request_id)
            except VersionConflict:
                continue
            break
        say(request_id)


async def count_one_more(store: Store, name: str, request_id: str):
    """A read-modify-write that loses a count when an update is lost."""
    stored = await store.load(name.casefold())
    scope, version = (stored.scope, stored.version) if stored else (Scope(name), 0)
    counted = replace(scope, asked_ms={COUNTED: scope.asked_ms.get(COUNTED, 0) + 1})
    return await store.commit(counted, version, record_of(name, request_id=request_id))


BEHAVIOURS = {
    behaviour.__name__: behaviour
    for behaviour in (hold, commit_at_gate, commit_and_die, put_document_and_die, commit_until_killed, contend)
}


async def main(kind: str, where: str, node: str, behaviour: str, argument: str = "") -> None:
    store = await StorePlace(kind, where).open(node)
    try:
        await BEHAVIOURS[behaviour](store, argument)
    finally:
        await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
