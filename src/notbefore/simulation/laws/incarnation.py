"""S3: the incarnation rises with every visible change, never repeats with other content, never falls.

Rule 1: a scope's number is counted over its whole life, removals and new declarations included.
Rule 2: it rises by one when any api-version's content changed and stays when none did; the preview's underscore may
count though the one version that has it shows none of these events.
"""

from typing import ClassVar

from notbefore.simulation.facts import Facts
from notbefore.simulation.laws.document import Content
from notbefore.simulation.laws.law import Violation
from notbefore.simulation.laws.ledger import Ledger
from notbefore.simulation.steps import Committed, Step


class Incarnation:
    code: ClassVar[str] = "S3"

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger or Ledger()
        self._last: dict[str, tuple[int, Content, bool]] = {}

    def see(self, step: Step, _facts: Facts) -> None:
        if not isinstance(step, Committed):
            return
        commit = self._ledger.read(step)
        incarnation, renames = step.after.incarnation, step.after.settings.legacy_underscore
        last = self._last.get(commit.key)
        if last is not None:
            self._judge(commit.key, incarnation - last[0], commit.content != last[1], renames is not last[2])
        if self._ledger.shown[commit.key, incarnation] != commit.content:
            raise Violation(self.code, f"incarnation {incarnation} had another content before", commit.key)
        self._last[commit.key] = (incarnation, commit.content, renames)

    def _judge(self, key: str, rise: int, changed: bool, renamed: bool) -> None:  # noqa: FBT001  two facts of one commit
        if rise < 0:
            raise Violation(self.code, f"the incarnation fell by {-rise}", key)
        if changed and rise != 1:
            raise Violation(self.code, f"the document changed and the incarnation rose by {rise}", key)
        if not changed and rise > (1 if renamed else 0):
            raise Violation(self.code, f"the document did not change and the incarnation rose by {rise}", key)
