"""Fixtures for the contract of the Store port: every test of it runs once per store."""

import subprocess
import sys
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import pytest
from store_places import OPENERS, StorePlace

CHILD = Path(__file__).with_name("store_child.py")


@pytest.fixture(params=OPENERS)
def place(request, tmp_path):
    file = str(tmp_path / "state" / "notbefore.db")
    places = {"sqlite": lambda: StorePlace("sqlite", file), "measured": lambda: StorePlace("measured", file)}
    return places[request.param]()


@pytest.fixture
async def open_store(place):
    """`await open_store("node-b")`: one more instance on the same data, closed when the test ends."""
    async with AsyncExitStack() as opened:

        async def open_one(node="node-a"):
            store = await place.open(node)
            opened.push_async_callback(store.close)
            return store

        yield open_one


@pytest.fixture
async def store(open_store):
    return await open_store()


@pytest.fixture
def start_child(place):
    """`start_child("hold", node="node-b")`: another process on the same data, gone when the test ends."""
    with ExitStack() as started:

        def start(behaviour, argument="", node="child"):
            command = [sys.executable, str(CHILD), place.kind, place.where, node, behaviour, argument]
            child = started.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            started.callback(child.kill)
            return child

        yield start


@pytest.fixture
def open_gate():
    def opened(child):
        child.stdin.write("go\n")
        child.stdin.flush()

    return opened
