"""Who says that an event may start, and when.

Rule 1: no I/O. Fail-closed: where anything speaks against it, nobody speaks, and there is a sentence why.
Rule 2: an approval counts for every VM of an event. `leader`: the first in Resources speaks; the others follow
one by one, each in its slot of the notice, as long as the event is still Scheduled.
Rule 3: whoever is not in Resources speaks only under `any`, and never for a Terminate unless the rule says so.
"""

from dataclasses import dataclass

from notbefore.agent.life import Life, Word
from notbefore.agent.settings import Among, Approve
from notbefore.client import same_vm
from notbefore.core.kinds import EventType

MARGIN_SHARE = 0.1
MARGIN_MIN_S = 2.0
MARGIN_MAX_S = 30.0
AGAIN_MIN_S = 5.0
AGAIN_MAX_S = 60.0
DOUBLINGS_MAX = 5


@dataclass(frozen=True, slots=True)
class Speak:
    """Approve at this time."""

    at_s: float
    why: str


@dataclass(frozen=True, slots=True)
class Silent:
    why: str


def word_on(life: Life, vm: str) -> Speak | Silent:
    """Whether and when this VM approves the event, as things stand."""
    if silence := _silence(life) or _not_ready(life):
        return Silent(silence)
    turn = _turn(life, vm)
    if isinstance(turn, Silent):
        return turn
    at_s = max(turn.at_s, _not_earlier_than(life, vm), _after_refusals(life))
    return Speak(at_s, turn.why)


def _silence(life: Life) -> str:
    rule, event = life.rule, life.event
    if rule.approve is Approve.NEVER:
        return "the rule never approves"
    if life.word in (Word.GIVEN, Word.GONE, Word.ASKING):
        return "it has been said" if life.word is Word.GIVEN else "there is nothing more to say"
    if not life.is_scheduled:
        return f"it is {'over' if life.ended else event.status or 'in no status'}, not Scheduled"
    is_terminate = event.type.lower() == EventType.TERMINATE.lower()
    if not life.mine and is_terminate and not rule.approve_peer_terminate:
        return "a peer's Terminate is the peer's to approve"
    if rule.approve is Approve.AT_DEADLINE and life.deadline_s is None:
        return "nobody knows its NotBefore, so there is no deadline to approve at"
    return ""


def _not_ready(life: Life) -> str:
    if life.under_way is not None or life.next_step is not None:
        return "its steps are not done yet"
    if life.fault and life.rule.approve is not Approve.ALWAYS:
        return f"step {life.fault!r} failed"
    return ""


def _turn(life: Life, vm: str) -> Speak | Silent:
    names, among = life.event.resources, life.rule.among
    if among is Among.OWN_ONLY:
        alone = bool(names) and all(same_vm(vm, name) for name in names)
        return Speak(0.0, "it is this VM's alone") if alone else Silent("it is not this VM's alone")
    if among is Among.ANY:
        return Speak(0.0, "whoever is ready may")
    place = _place(life, vm)
    if place is None:
        return Silent("this VM is not among its Resources")
    if place == 0:
        return Speak(0.0, "this VM is the first of its Resources")
    if life.deadline_s is None:
        return Silent(f"{names[0]} is the first of its Resources, and without NotBefore nobody takes over")
    return Speak(
        _slot_s(life, place, life.deadline_s), f"{names[0]}, the first of its Resources, has the word until then"
    )


def _slot_s(life: Life, place: int, deadline_s: float) -> float:
    """The second has its slot after takeover_share of the notice; the others share what is left before the deadline."""
    first = life.rule.takeover_share
    share = first + (1 - first) * (place - 1) / len(life.event.resources)
    return life.appeared_s + share * max(deadline_s - life.appeared_s, 0.0)


def _place(life: Life, vm: str) -> int | None:
    return next((n for n, name in enumerate(life.event.resources) if same_vm(vm, name)), None)


def _not_earlier_than(life: Life, vm: str) -> float:
    """With `at-deadline` the VMs of an event share the margin before it, so that the first speaks first."""
    if life.rule.approve is not Approve.AT_DEADLINE or life.deadline_s is None:
        return 0.0
    notice_s = max(life.deadline_s - life.appeared_s, 0.0)
    margin_s = min(max(MARGIN_SHARE * notice_s, MARGIN_MIN_S), MARGIN_MAX_S)
    return life.deadline_s - margin_s * (1 - (_place(life, vm) or 0) / max(len(life.event.resources), 1))


def _after_refusals(life: Life) -> float:
    if life.word is not Word.FAILED:
        return 0.0
    doublings = min(max(life.refusals - 1, 0), DOUBLINGS_MAX)
    return life.failed_s + min(AGAIN_MIN_S * (1 << doublings), AGAIN_MAX_S)
