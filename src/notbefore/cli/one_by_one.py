"""Several requests of one command, one after the other, and an honest word when one of them is refused."""

from collections.abc import Callable, Sequence

from notbefore.cli.control_api import Json
from notbefore.core.errors import Refusal


def one_by_one(names: Sequence[str], ask: Callable[[str], Json], show: Callable[[Sequence[Json]], None]) -> list[Json]:
    """The answers in order. A refusal ends it: what was done is shown, and the sentence says what was not."""
    answers: list[Json] = []
    for name in names:
        try:
            answers.append(ask(name))
        except Refusal as refusal:
            if len(names) == 1:
                raise
            show(answers)
            raise Refusal(f"{refusal.message} {_how_far(names, len(answers))}", refusal.hint, refusal.facts) from None
    return answers


def _how_far(names: Sequence[str], done: int) -> str:
    before = f"Done before it: {', '.join(names[:done])}." if done else "Nothing was done before it."
    left = names[done + 1 :]
    return f"{before} Not tried: {', '.join(left)}." if left else before
