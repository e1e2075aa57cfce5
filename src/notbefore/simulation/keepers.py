"""Operators who keep hosts and tokens: declare and remove, create and revoke, and show tokens to every process.

Rule 1: what found no store or no answer is asked again, as people do.
"""

from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from notbefore.core.errors import Refusal, StoreUnavailable
from notbefore.core.hosts import Host
from notbefore.core.model import Actor, ActorKind
from notbefore.core.tokens import Role, Token, digest_of
from notbefore.simulation.fleet import Fleet, Server
from notbefore.simulation.plan import Act
from notbefore.simulation.scheduler import SECOND_US, Scheduler
from notbefore.simulation.steps import HandAnswered, Step, TokenShown

OPERATOR = Actor(ActorKind.OPERATOR, "ops")
HOSTS = ("h1", "h2", "h3", "H4")
TOKENS = ("alice", "bob", "CI")
TRIES = 6


class Keepers:
    def __init__(self, scheduler: Scheduler, fleet: Fleet, tell: Callable[[Step], None]) -> None:
        self._scheduler = scheduler
        self._fleet = fleet
        self._tell = tell

    async def carry_out(self, act: Act) -> None:
        chance = act.chance()
        name = chance.choice(TOKENS if "token" in act.word else HOSTS)
        if act.word == "show_token":
            self._show(name)
            return
        for _ in range(TRIES):
            working = self._fleet.working
            server = chance.choice(working) if working else None
            answer = await self._asked(server, act.word, name, chance) if server else None
            if answer and not isinstance(answer[0], StoreUnavailable):
                return
            await self._scheduler.sleep(chance.randrange(1, 20) * SECOND_US)

    async def _asked(self, server: Server, word: str, name: str, chance: Random) -> tuple[Refusal | None] | None:
        def tell(answer: tuple[Refusal | None]) -> None:
            self._tell(HandAnswered(self._scheduler.now_us, server.facts.name, word, name, answer[0]))
            self._show(name)

        return await self._fleet.inside(server, self._done(server, word, name, chance), tell)

    def _show(self, name: str) -> None:
        for server in self._fleet.working:
            opens = server.tokens.match(secret_of(name)) is not None
            self._tell(TokenShown(self._scheduler.now_us, server.facts.name, name, opens))

    async def _done(self, server: Server, word: str, name: str, chance: Random) -> tuple[Refusal | None]:
        """In a tuple, because nothing at all is what a dead process answers."""
        try:
            await self._work(server, word, name, chance)
        except Refusal as refusal:
            return (refusal,)
        return (None,)

    def _work(self, server: Server, word: str, name: str, chance: Random) -> Coroutine[Any, Any, object]:
        match word:
            case "declare_host":
                return server.node.hosts.declare(Host(name, "simulate"), OPERATOR)
            case "remove_host":
                return server.node.hosts.remove(name, OPERATOR)
            case "create_token":
                role = chance.choice(tuple(Role))
                return server.tokens.create(Token(name, role, digest_of(secret_of(name)), 0, "ops"), OPERATOR)
            case _:
                return server.tokens.revoke(name, OPERATOR)


def secret_of(name: str) -> str:
    return f"secret of {name}"
