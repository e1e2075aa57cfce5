"""docs/reference/agent-steps.md names every kind and key, and nothing that there is not."""

import json
import re
from pathlib import Path

import pytest
from step_runs import GOOD, errand_of

from notbefore.agent.steps.step import COMMON_KEYS, KINDS, WrongSetting, made_step
from notbefore.agent.steps.systemd import VERBS
from notbefore.agent.steps.wording import errand_json, variables_of
from notbefore.client.clock import SystemClock

PAGE = (Path(__file__).parents[3] / "docs/reference/agent-steps.md").read_text()
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def first_cells(text):
    """The names in the first column of every table."""
    cells = re.findall(r"^\| (`[^|]*)\|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def keys_of(kind):
    """Every key that the kind asks for, as its refusal of another one lists them."""
    with pytest.raises(WrongSetting) as caught:
        made_step(kind, {**GOOD[kind], "no_such": 1}, Path("/"))
    return set(caught.value.sentence.partition("there are ")[2].split(", "))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_section_with_every_key(kind):
    """Each setting has its place in its reference page."""
    variables = set(variables_of(errand_of(), SystemClock())) if kind == "command" else set()

    assert first_cells(SECTIONS[kind]) == keys_of(kind) | variables


def test_what_every_step_may_say_is_on_the_page():
    assert first_cells(PAGE.partition("## ")[0]) == COMMON_KEYS


def test_the_verbs_of_systemd_are_all_there():
    assert all(f"`{verb}`" in SECTIONS["systemd"] for verb in VERBS)


def test_the_webhooks_body_on_the_page_has_the_shape_of_the_real_one():
    (shown,) = re.findall(r"```json\n(.*?)```", SECTIONS["webhook"], re.DOTALL)
    real = errand_json(errand_of())

    assert list(json.loads(shown)) == list(real)
    assert list(json.loads(shown)["event"]) == list(real["event"])
