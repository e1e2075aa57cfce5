"""Which rule decides about an event: the first that matches.

Rule 1: no I/O. Words match in any letter case, globs too; what a rule does not say matches everything.
Rule 2: a duration that is not known (-1) matches no bound: nobody can say that it is short.
Rule 3: an event that no rule matches is left alone.
"""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from notbefore.agent.settings import Of, Rule
from notbefore.client import EventView


def first_match(rules: Iterable[Rule], event: EventView, vm: str) -> Rule | None:
    return next((rule for rule in rules if matches(rule, event, vm)), None)


def matches(rule: Rule, event: EventView, vm: str) -> bool:
    return not any(mismatches(rule, event, vm))


def mismatches(rule: Rule, event: EventView, vm: str) -> Iterator[str]:
    """Why the rule does not match, in words."""
    if rule.types and event.type.lower() not in rule.types:
        yield f"its type is {event.type}"
    if rule.sources and event.source.lower() not in rule.sources:
        yield f"its source is {event.source or 'not said'}"
    if rule.statuses and event.status.lower() not in rule.statuses:
        yield f"its status is {event.status}"
    if not _is_within(rule, event.duration_s):
        yield f"its duration is {event.duration_s} s"
    if rule.description and not _like(rule.description, event.description):
        yield "its description is another"
    if rule.vm and not any(_like(rule.vm, name) for name in event.resources):
        yield f"its VMs are {', '.join(event.resources)}"
    if rule.of is not Of.ANY and event.is_mine(vm) is not (rule.of is Of.MINE):
        yield "it is a peer's" if rule.of is Of.MINE else "it is this VM's own"


def _is_within(rule: Rule, duration_s: int) -> bool:
    if rule.min_duration_s is None and rule.max_duration_s is None:
        return True
    low = 0 if rule.min_duration_s is None else rule.min_duration_s
    return max(low, 0) <= duration_s and (rule.max_duration_s is None or duration_s <= rule.max_duration_s)


def _like(glob: str, text: str) -> bool:
    return fnmatchcase(text.lower(), glob.lower())
