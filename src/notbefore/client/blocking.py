"""The blocking hand: carries plans out one step after the other."""

from typing import TYPE_CHECKING

from notbefore.client.clock import Clock
from notbefore.client.steps import Ask, Outcome, Plan, Result, Tell, Wait

if TYPE_CHECKING:
    from notbefore.client.transport import Lines


def carried_out(plan: Plan[Result], lines: "Lines", clock: Clock) -> Result:
    """Take every step of a plan that tells nothing on its way; what it comes to."""
    outcome: Outcome | None = None
    while True:
        try:
            step = plan.send(outcome)
        except StopIteration as done:
            result: Result = done.value
            return result
        assert not isinstance(step, Tell)
        outcome = taken(step, lines, clock)


def taken(step: Ask | Wait, lines: "Lines", clock: Clock) -> Outcome | None:
    if isinstance(step, Ask):
        return lines.exchange(step)
    seconds = step.seconds(clock.steady_s(), clock.chance())
    if seconds > 0:
        clock.sleep(seconds)
    return None
