"""Which hosts or scopes a rollout is over: chosen by a pattern on their names, and in which order they come.

Rule 1: a pattern is `*`, `?` and `[a-c]` on whole names, in any letter case; one that fits nothing is refused.
Rule 2: what has no running VM is left out: there is nothing to touch.
Rule 3: names count as people count: h2 comes before h10.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate

from notbefore.core.errors import Invalid, LimitReached
from notbefore.core.kinds import VmState
from notbefore.core.model import Scope, name_key
from notbefore.core.rollout import TARGETS_MAX, Order, Over

GLOB_MAX = 200
NAMED_MAX = 10


@dataclass(frozen=True, slots=True)
class Chosen:
    """What somebody asked for; `glob` None is every host."""

    over: Over
    glob: str | None = None
    order: Order = Order.NAME
    first: tuple[str, ...] = ()


def chosen_targets(chosen: Chosen, scopes: Mapping[str, Scope], hosts: Iterable[str] = ()) -> tuple[str, ...]:
    """Names in order. `hosts` are those that are declared, which may have no VMs."""
    running = running_on(chosen.over, scopes)
    there = {**{name_key(name): name for name in names_there(chosen.over, scopes, hosts)}, **names_of(running)}
    fitting = fitting_keys(chosen, there)
    counts = {key: running[key][1] for key in fitting if key in running}
    if not counts:
        raise Invalid(
            f"None of the {len(fitting)} {chosen.over} has a running VM.",
            f"`notbefore {chosen.over}` shows what there is.",
            {"field": chosen.over},
        )
    if len(counts) > TARGETS_MAX:
        raise LimitReached(
            f"A rollout is over at most {TARGETS_MAX} {chosen.over}, and these are {len(counts)}.",
            "Roll out over one part after the other.",
            {"limit": TARGETS_MAX, chosen.over: len(counts)},
        )
    return tuple(there[key] for key in ordered(chosen, counts))


def running_on(over: Over, scopes: Mapping[str, Scope]) -> dict[str, tuple[str, int]]:
    """By key: the name, and how many running VMs there are."""
    found: dict[str, tuple[str, int]] = {}
    for scope in scopes.values():
        for vm in scope.vms:
            name = vm.host if over is Over.HOSTS else scope.name
            if name and vm.state is VmState.RUNNING:
                known, count = found.get(name_key(name), (name, 0))
                found[name_key(name)] = (known, count + 1)
    return found


def names_of(running: Mapping[str, tuple[str, int]]) -> dict[str, str]:
    return {key: name for key, (name, _) in running.items()}


def names_there(over: Over, scopes: Mapping[str, Scope], hosts: Iterable[str]) -> Iterable[str]:
    if over is Over.SCOPES:
        return [scope.name for scope in scopes.values()]
    return [*hosts, *(vm.host for scope in scopes.values() for vm in scope.vms if vm.host)]


def fitting_keys(chosen: Chosen, there: Mapping[str, str]) -> list[str]:
    if not there:
        raise Invalid(f"There are no {chosen.over}.", "`notbefore apply` declares them.", {"field": chosen.over})
    if chosen.glob is None:
        return list(there)
    if not 0 < len(chosen.glob) <= GLOB_MAX:
        raise Invalid(f"{chosen.over} is a pattern of 1 to {GLOB_MAX} characters.", facts={"field": chosen.over})
    fits = pattern_of(name_key(chosen.glob)).match
    fitting = [key for key in there if fits(key)]
    if not fitting:
        raise Invalid(
            f"No name of the {chosen.over} fits {chosen.glob!r}.",
            f"There are: {named([there[key] for key in sorted(there, key=counted)])}.",
            {"field": chosen.over, "glob": chosen.glob},
        )
    return fitting


def pattern_of(glob: str) -> re.Pattern[str]:
    """`translate` makes a pattern that looks at each place of a name once for each star, and names are short."""
    return re.compile(translate(glob))


def ordered(chosen: Chosen, counts: Mapping[str, int]) -> list[str]:
    first = list(dict.fromkeys(map(name_key, chosen.first)))
    for given in chosen.first:
        if name_key(given) not in counts:
            raise Invalid(
                f"first names {given!r}, which is not among the {chosen.over} of this rollout.",
                f"They are: {named(sorted(counts, key=counted))}.",
                {"field": "first", "name": given},
            )
    sign = {Order.NAME: 0, Order.SMALLEST: 1, Order.LARGEST: -1}[chosen.order]
    rest = sorted(set(counts) - set(first), key=lambda key: (sign * counts[key], *counted(key)))
    return [*first, *rest]


def counted(key: str) -> tuple[tuple[tuple[int, int, str], ...], str]:
    """A key to sort names by: runs of digits by what they count."""
    parts = re.split(r"([0-9]+)", key)
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part), key


def named(names: Sequence[str]) -> str:
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
