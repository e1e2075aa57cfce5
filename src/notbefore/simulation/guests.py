"""The VMs' side: guests that ask and approve, each by its habit, over a network that may lose an answer.

Rule 1: a guest wakes when its scope's document changes, as if it polled every second, and else by the hour or day;
a patient one is told by the service instead (SPEC §2.6).
Rule 2: a guest knows only what it was told: documents, statuses, and its own name.
Not here: whether what it was told is right (laws/).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from notbefore.metadata.answers import HttpAnswer
from notbefore.metadata.identity import Listener, Peer
from notbefore.metadata.verdict import RequestHead
from notbefore.runtime.snapshot import VmRef
from notbefore.simulation.addresses import Addresses
from notbefore.simulation.fleet import Fleet, Server
from notbefore.simulation.scheduler import SECOND_US, Scheduler
from notbefore.simulation.sim_tasks import SimSignal
from notbefore.simulation.steps import Step, VmAnswered, VmAsked
from notbefore.simulation.trouble import Trouble
from notbefore.wire.api_versions import API_VERSIONS, NEWEST, PATH

HOUR_S = 3600
LISTENER = Listener("169.254.169.254", 80)
OK = 200
NOT_MODIFIED = 304
STRANGER = "6B7C1E7E-0000-4000-8000-00000000DEAD"
BAD_BODIES = (b"", b"[]", b"{", b'{"StartRequests":[]}', b'{"StartRequests":"x"}', b'{"StartRequests":[{"EventId":1}]}')


@dataclass(frozen=True, slots=True)
class Habit:
    """How a guest behaves. `every_s` is how often it asks when nothing wakes it; None: it never asks."""

    every_s: tuple[float, float] | None
    wakes: bool = True
    approves: str = ""
    lag_s: float = 5.0
    burst: int = 1
    waits: bool = False
    versions: tuple[str, ...] = (NEWEST,)


ALL_VERSIONS = tuple(API_VERSIONS)
HOURLY = (2 * HOUR_S, 8 * HOUR_S)
DAILY = (23 * HOUR_S, 26 * HOUR_S)
HABITS_BY_NAME: Mapping[str, Habit] = {
    "prompt": Habit(HOURLY, approves="own", lag_s=2),
    "slow": Habit(HOURLY, approves="own", lag_s=700),
    "reader": Habit(HOURLY),
    "mute": Habit(None, wakes=False),
    "approves everything": Habit(HOURLY, approves="all", versions=ALL_VERSIONS),
    "approves others'": Habit(HOURLY, approves="foreign", lag_s=60),
    "too fast": Habit(HOURLY, approves="own", burst=8),
    "wrong ids": Habit(HOURLY, approves="wrong", lag_s=60),
    "old versions": Habit(HOURLY, approves="all", lag_s=300, versions=("2017-03-01", "2017-08-01")),
    "once a day": Habit(DAILY, wakes=False, approves="own"),
    "patient": Habit((0.1, 20), wakes=False, approves="own", lag_s=1, versions=ALL_VERSIONS, waits=True),
}
HABITS = {
    "prompt": 6,
    "slow": 4,
    "reader": 5,
    "mute": 2,
    "approves everything": 2,
    "approves others'": 1,
    "too fast": 2,
    "wrong ids": 1,
    "old versions": 1,
    "once a day": 2,
    "patient": 2,
}


class Guest:
    def __init__(
        self,
        ref: VmRef,
        name: str,
        address: str,
        habit: str,
        chance: Random,
        scheduler: Scheduler,
        fleet: Fleet,
        tell: Callable[[Step], None],
        overheard: list[str],
        addresses: Addresses,
    ) -> None:
        self.ref = ref
        self.habit = HABITS_BY_NAME[habit]
        self.address = address
        self.bell = SimSignal(scheduler)
        self._name = name
        self._chance = chance
        self._scheduler = scheduler
        self._fleet = fleet
        self._tell = tell
        # Event ids that anybody in the world ever saw: what one may try to approve without having been told.
        self._overheard = overheard
        self._addresses = addresses
        self._home = chance.random()
        self._incarnation: str | None = None
        self._refused = False
        self._events: list[dict[str, Any]] = []

    def changed(self) -> None:
        if self.habit.wakes:
            self.bell.ring()

    async def live(self) -> None:
        if self.habit.every_s is None:
            return
        await self._scheduler.sleep(self._chance.randrange(600 * SECOND_US))
        while True:
            await self._look()
            # Who is refused need not hurry.
            every_s = HOURLY if self._refused and self.habit.waits else self.habit.every_s
            await self.bell.rung(self._chance.uniform(*every_s))
            await self._scheduler.sleep(self._chance.randrange(20_000, 1_000_000))

    async def ask_last(self) -> None:
        """Once more at the very end, with what it knew last."""
        if self.habit.every_s is not None:
            await self._get(self._chance.choice(self.habit.versions), waits=False)

    async def _look(self) -> None:
        for _ in range(self.habit.burst):
            await self._get(self._chance.choice(self.habit.versions), waits=self.habit.waits)
            if self.habit.burst > 1:
                await self._scheduler.sleep(self._chance.randrange(SECOND_US // 8))
        if not self.habit.approves:
            return
        await self._scheduler.sleep(self._chance.randrange(round(self.habit.lag_s * SECOND_US)))
        if wanted := self._wanted():
            for _ in range(3):
                answer = await self._post(wanted)
                if answer is not None:
                    # Some look at once whether it has begun.
                    if answer.status == OK and self._chance.random() < 0.5:
                        await self._get(self._chance.choice(self.habit.versions), waits=False)
                    return
                await self._scheduler.sleep(self._chance.randrange(5 * SECOND_US))

    def _wanted(self) -> bytes | None:
        scheduled = [event["EventId"] for event in self._events if event["EventStatus"] == "Scheduled"]
        own = [
            event["EventId"]
            for event in self._events
            if event["EventStatus"] == "Scheduled"
            and self._name in [name.removeprefix("_") for name in event["Resources"]]
        ]
        match self.habit.approves:
            case "own":
                return start_requests(own)
            case "all":
                return start_requests([event["EventId"].lower() for event in self._events])
            case "foreign":
                return start_requests([*scheduled[:1], self._chance.choice(self._overheard)] if self._overheard else [])
            case _:
                wrong = [*scheduled[:1], self._chance.choice((STRANGER, "x", *self._overheard[-1:]))]
                return self._chance.choice((start_requests(wrong), *BAD_BODIES))

    async def _get(self, version: str, *, waits: bool) -> None:
        known = self._incarnation if self._chance.random() < 0.7 else None
        condition = ((b"if-none-match", known.encode()),) if known else ()
        preference = ((b"prefer", b"wait=60"),) if waits else ()
        headers = ((b"metadata", b"true"), *condition, *preference)
        head = RequestHead("GET", PATH.encode(), b"api-version=" + version.encode(), headers)
        answer = await self._ask(head, b"")
        self._refused = answer is None or answer.status not in (OK, NOT_MODIFIED)
        if answer and answer.status == OK:
            document = json.loads(answer.body)
            self._incarnation = str(document["DocumentIncarnation"])
            self._events = document["Events"]
            for event in self._events:
                if event["EventId"] not in self._overheard[-20:]:
                    self._overheard.append(event["EventId"])

    async def _post(self, body: bytes) -> HttpAnswer | None:
        version = self._chance.choice(self.habit.versions)
        head = RequestHead("POST", PATH.encode(), b"api-version=" + version.encode(), ((b"metadata", b"true"),))
        return await self._ask(head, body)

    async def _ask(self, head: RequestHead, body: bytes) -> HttpAnswer | None:
        server = self._nearest()
        asked_us = self._scheduler.now_us
        if server is None or not self._addresses.may_speak(self.ref, self.address, server.facts, asked_us):
            return None
        process = server.facts.name
        self._tell(VmAsked(asked_us, process, self.ref, self.address, head, body))

        def tell(answer: HttpAnswer) -> None:
            now_us = self._scheduler.now_us
            self._tell(VmAnswered(now_us, process, asked_us, self.ref, self.address, head, body, answer))

        answer = await self._fleet.ask(server, head, body, Peer(LISTENER, self.address), tell)
        if answer is None:
            return None
        lost = self._fleet.suffers(server, Trouble.ANSWER_LOST) and self._chance.random() < 0.5
        return None if lost else answer

    def _nearest(self) -> Server | None:
        """Its own machine's server; another one while that is down."""
        working = self._fleet.working
        return working[int(self._home * len(working))] if working else None


def start_requests(ids: list[str]) -> bytes | None:
    """By hand, as guests in many languages do."""
    if not ids:
        return None
    return json.dumps({"StartRequests": [{"EventId": one} for one in ids]}).encode()
