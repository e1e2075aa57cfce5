"""Scenarios of a few lines, read and played, for what is shown of them."""

from notbefore.scenarios.emulator import Stage
from notbefore.scenarios.playing import play
from notbefore.scenarios.reading import read_scenario

FLEET = """\
title: A few lines
about: They try one thing.
host rack-a
host rack-b
scope shop, availability-set
  vm web-0, update domain 0, host rack-a
  vm web-1, update domain 1, host rack-b
scope bank, scale-set
  vm teller-0, host rack-a, spot
  vm teller-1, host rack-b
"""


def played(*lines, fleet=FLEET, stage=None, expect=True, meanwhile=lambda told, endpoints: None):
    """What was told of these lines; `meanwhile` is called with each thing told, and where the VMs are."""
    scenario = read_scenario("few.txt", fleet + "\n".join(lines))
    served = {}
    return play(
        scenario,
        stage or Stage(),
        lambda told: meanwhile(told, served),
        serve=served.update,
        expect=expect,
    )


def said(outcome):
    """Lines of the file with what was seen instead, none when they were as they should be."""
    return [(one.text, one.seen if not one.met else None) for one in outcome.told if one.line]
