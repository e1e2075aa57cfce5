"""On random journeys: whatever explain says would release an event releases it, by itself, there and then."""

import re
from datetime import datetime
from itertools import count
from uuid import UUID

from builders import SHOP, approve, cancel, complete
from journeys import MAINTENANCE, on_random_journeys

from notbefore.core.decide import decide
from notbefore.core.explain import Rule, explain, waiting_for
from notbefore.core.kinds import Status, VmState
from notbefore.core.requests import Tick
from notbefore.core.times import Moment

# What an executor has to do with takes more than words; tests/cli/test_cli_explain_releases.py has those.
NEEDS_AN_EXECUTOR = re.compile(r"executor|the end of|have ended|has ended")
RULES_OF = {
    Status.QUEUED: {Rule.QUEUE, Rule.RECOVERY},
    Status.SCHEDULED: {Rule.POLICY_ANY, Rule.POLICY_ALL, Rule.POLICY_LEADER, Rule.COUPLING, Rule.DEADLINE, Rule.GATE},
    Status.STARTED: {Rule.IMPACT, Rule.RETRY},
}
# Far from the ids that a journey gives its requests.
_numbers = count(10**9)
ACTIONS = {"approve": approve, "cancel": cancel, "complete": complete}


def fresh():
    return str(UUID(int=next(_numbers)))


def at(now, iso):
    """Both hands move on until the wall shows that time."""
    ms = max(0, int(datetime.fromisoformat(iso).timestamp() * 1000) - now.wall_ms)
    return Moment(now.wall_ms + ms, now.boot_ms + ms, now.boot_id)


def done(scope, entry, now):
    """The scope after somebody did what the entry says, and nothing else."""
    for where, command in re.findall(r"(?:in ([^`]*): )?`notbefore ([^`]*)`", entry):
        action, *words = command.split()
        if action == "ask":
            for vm in speakers(scope, where):
                scope = decide(scope, approve(words[-1], by=vm, request_id=fresh()), now).scope
            continue
        for event_id in words:
            scope = decide(scope, ACTIONS[action](event_id, request_id=fresh()), now).scope
    for seconds in re.findall(r"a rest of (\d+) s", entry):
        now = Moment(now.wall_ms + int(seconds) * 1000, now.boot_ms + int(seconds) * 1000, now.boot_id)
    for iso in re.findall(r"(?:until|the clock: at) (\S+Z)", entry):
        now = at(now, iso)
    return decide(scope, Tick(scope=SHOP, request_id=fresh()), now).scope


def speakers(scope, where):
    if where.startswith("any VM of scope "):
        return [next(vm.name for vm in scope.vms if vm.state is VmState.RUNNING)]
    return re.split(r", | and ", where.removeprefix("each of "))


@on_random_journeys(150, in_proof=3000)
def test_every_live_event_is_explained_by_a_rule_of_its_status(journey):
    """Issue: for every status and every reason to wait."""
    for turn in journey.taken:
        for event in turn.after.events:
            explanation = explain(turn.after, event, turn.now)

            assert explanation.rule in RULES_OF[event.status]
            assert explanation.waiting_for == waiting_for(turn.after, event, turn.now)
            assert explanation.released_by
            assert explanation.paragraph.startswith(f"{event.type} {event.id} of ")
            if event.status is not Status.QUEUED:
                assert explanation.waits_on


def released_as_told(journey):
    last = journey.taken[-1]
    if last.after.removed:
        return
    # What is due this moment starts by itself, whatever somebody does first.
    scope = decide(last.after, Tick(scope=SHOP, request_id=fresh()), last.now).scope
    for event in scope.events:
        for entry in explain(scope, event, last.now).released_by:
            if not NEEDS_AN_EXECUTOR.search(entry):
                then = done(scope, entry, last.now).event(event.id)
                assert then is None or then.status is not event.status, entry


@on_random_journeys(300, in_proof=3000)
def test_doing_what_an_explanation_says_releases_the_event(journey):
    """Issue: explain names it correctly, and doing what it says releases the event."""
    released_as_told(journey)


@on_random_journeys(300, in_proof=3000, words=MAINTENANCE)
def test_doing_what_an_explanation_says_gives_a_queued_event_its_turn(journey):
    """SPEC §3.4: the queue, where most of the reasons are."""
    released_as_told(journey)
