"""What a law is, and how it says that it was broken."""

from typing import ClassVar, Protocol

from notbefore.simulation.facts import Facts
from notbefore.simulation.steps import Step


class Violation(BaseException):
    """A law was broken: which, by what, and in which scope.

    Like a kill, it passes through `except Exception`: the code under test must not take it for a failure of its own.
    """

    def __init__(self, law: str, sentence: str, scope: str = "", event_id: str = "") -> None:
        super().__init__(f"{law}: {sentence}")
        self.law = law
        self.sentence = sentence
        self.scope = scope
        self.event_id = event_id

    def __reduce__(self) -> tuple[type["Violation"], tuple[str, str, str, str]]:
        """So that it travels between processes."""
        return Violation, (self.law, self.sentence, self.scope, self.event_id)


class Law(Protocol):
    code: ClassVar[str]

    def see(self, step: Step, facts: Facts, /) -> None:
        """Judge one step. Raises Violation."""
