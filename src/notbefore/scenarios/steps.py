"""What somebody does in a scenario: the steps there are, and how their lines are read.

Rule 1: a step says who: the operator, a host that fails, or a VM, which speaks over the wire.
Rule 2: a step that ends in `refused` has to be; any other must not be.
Not here: carrying them out (acting.py).
"""

from dataclasses import dataclass

from notbefore.core.kinds import MAINTENANCE_TYPES
from notbefore.core.vm_operations import VM_OPERATIONS
from notbefore.scenarios.names import Names
from notbefore.scenarios.words import Words

VERBS = {f"{operation}s": operation for operation in VM_OPERATIONS}
ACTIONS = {"approves": "approve", "cancels": "cancel", "completes": "complete"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is said about an event that is asked for; None is left to the server. `not_before_s` is since the start."""

    not_before_s: int | None = None
    duration_s: int | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Operate:
    """One VM is restarted, redeployed, frozen, evicted or terminated."""

    operation: str
    vm: str
    wanted: Wanted
    called: str
    refused: bool


@dataclass(frozen=True, slots=True)
class Target:
    """A scope, some of its update domains, some VMs of one scope, or a host with all that is on it."""

    scope: str = ""
    update_domains: tuple[int, ...] = ()
    vms: tuple[str, ...] = ()
    host: str = ""


@dataclass(frozen=True, slots=True)
class Maintain:
    """Maintenance by the platform."""

    type: str
    of: Target
    wanted: Wanted
    refused: bool


@dataclass(frozen=True, slots=True)
class Act:
    """The operator approves, cancels or completes an event."""

    action: str
    event: str
    refused: bool


@dataclass(frozen=True, slots=True)
class HostFails:
    host: str


@dataclass(frozen=True, slots=True)
class VmAsks:
    vm: str


@dataclass(frozen=True, slots=True)
class VmApproves:
    vm: str
    events: tuple[str, ...]
    refused: bool


Step = Operate | Maintain | Act | HostFails | VmAsks | VmApproves


def operators_step(words: Words, names: Names) -> Step:
    """The rest of a line that begins with `operator`."""
    verb = words.one_of([*VERBS, "maintains", *ACTIONS])
    if verb in ACTIONS:
        event = names.event(words)
        return Act(ACTIONS[verb], event, refused=refusal_at_end(words))
    if verb == "maintains":
        return maintenance(words, names)
    vm = names.vm(words)
    wanted, called, refused = options(words, names)
    return Operate(VERBS[verb], vm, wanted, called, refused)


def maintenance(words: Words, names: Names) -> Maintain:
    event_type = words.one_of(MAINTENANCE_TYPES)
    words.need("of")
    target = target_of(words, names)
    wanted, _, refused = options(words)
    return Maintain(event_type, target, wanted, refused)


def target_of(words: Words, names: Names) -> Target:
    if words.take("scope"):
        return Target(scope=names.scope(words))
    if words.take("host"):
        return Target(host=names.host(words))
    if words.take("update domain"):
        domains = numbers(words, "the number of an update domain")
        words.need("of scope")
        return Target(scope=names.scope(words), update_domains=domains)
    return Target(vms=names.vm_list(words))


def numbers(words: Words, what: str) -> tuple[int, ...]:
    found = [words.number(what)]
    while words.take("and"):
        found.append(words.number(what))
    return tuple(found)


def options(words: Words, names: Names | None = None) -> tuple[Wanted, str, bool]:
    """`, not before 7d, duration 5, "why", as NAME, refused`, each if it is wanted; a name only where `names` are."""
    not_before_s = duration_s = description = None
    called, refused = "", False
    while words.take(","):
        if words.take("not before"):
            not_before_s = words.span_s()
        elif words.take("duration"):
            duration_s = words.number("seconds, or -1")
        elif words.is_quoted:
            description = words.quoted("a description")
        elif names and words.take("as"):
            called = names.named_event(words)
        elif words.take("refused"):
            refused = True
        else:
            as_name = ", `as NAME`" if names else ""
            raise words.unexpected(f'`not before TIME`, `duration SECONDS`, "a description"{as_name} or `refused`')
    words.need_end()
    return Wanted(not_before_s, duration_s, description), called, refused


def refusal_at_end(words: Words) -> bool:
    refused = words.take(", refused")
    words.need_end()
    return refused
