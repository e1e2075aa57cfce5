"""Any fleet: scopes, update domains, hosts, notice, rest and who listens, as hypothesis likes it."""

from dataclasses import replace
from random import Random

from driven_fleets import scopes_of
from hypothesis import given, settings
from hypothesis import strategies as st
from journeys import PROOF

from notbefore.core.kinds import EventType, Listening
from notbefore.core.model import Vm

HOSTS = ("h1", "h1", "h2", "h3")


def with_settings(scope, **changed):
    return replace(scope, settings=replace(scope.settings, **changed))


@st.composite
def random_fleets(draw):
    """Up to 5 scopes, 3 domains, 3 hosts; what each scope's notice and rest are, and who listens."""
    dice = Random(draw(st.integers(0, 2**32)))
    declared = {}
    for n in range(draw(st.integers(1, 5))):
        size = draw(st.integers(1, 6))
        declared[f"s{n}"] = [
            Vm(f"{n}-{m}", draw(st.integers(0, 2)), host=draw(st.sampled_from(HOSTS))) for m in range(size)
        ]
    scopes = scopes_of(declared)
    for key, scope in scopes.items():
        scopes[key] = with_settings(
            scope,
            recovery_s=draw(st.sampled_from([0, 0, 30, 600])),
            notice_s={EventType.REBOOT: draw(st.sampled_from([900, 900, 60, 0]))},
            listening=draw(st.sampled_from([Listening.ALWAYS, Listening.ALWAYS, Listening.ALWAYS, Listening.NEVER])),
        )
    return scopes, dice


def on_random_fleets(examples, in_proof, **more):
    """Check one law on that many random fleets; `more` are further strategies, by the names of the law's arguments."""
    how = settings(max_examples=in_proof if PROOF else examples, deadline=None, database=None, print_blob=True)
    return lambda law: how(given(case=random_fleets(), **more)(law))


def hosts_in(scopes):
    return sorted({one.host for scope in scopes.values() for one in scope.vms})


def sometimes(dice, within_s, chance):
    return lambda _event: dice.randrange(within_s * 1000) if dice.random() < chance else None
