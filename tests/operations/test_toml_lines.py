"""On which line a key of a TOML file stands."""

import tomllib

import pytest

from notbefore.toml_lines import line_of, lines_of_keys

FILE = '''\
state = "/x"          # [metadata] in a comment is none
title = """
[control]
address = "not here"
"""
metadata.fallback_vm = 'a/b'

[metadata.limits]
"idle_timeout_s" = 5
head_timeout_s=6

[[rooms]]
name = "one"
[[rooms.doors]]
wide = 1
[[rooms.doors]]
wide = 2
[[rooms]]
[rooms.floor]
kind = "wood"

[executor]
simulate = { duration_s = { Reboot = 1, Freeze = 2 }, failure_rate = {} }
[more]
listeners = [
  { address = "127.0.0.1:1" },   # the first
  { address = "127.0.0.1:2", vm = "a, ] } b" },
]
deep . er = [[1, 2],
  [3]]
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("state",), 1),
        (("title",), 2),
        (("metadata", "fallback_vm"), 6),
        (("metadata",), 6),
        (("metadata", "limits"), 8),
        (("metadata", "limits", "idle_timeout_s"), 9),
        (("metadata", "limits", "head_timeout_s"), 10),
        (("rooms", 0, "name"), 13),
        (("rooms", 0, "doors", 1, "wide"), 17),
        (("rooms", 1, "floor", "kind"), 20),
        (("executor", "simulate", "duration_s", "Freeze"), 23),
        (("more", "listeners", 0, "address"), 26),
        (("more", "listeners", 1), 27),
        (("more", "listeners", 1, "vm"), 27),
        (("more", "deep", "er", 1, 0), 30),
    ],
)
def test_a_key_is_found_on_its_line(path, line):
    """Sections, dotted and quoted keys, inline tables, lists over several lines, lists of tables."""
    tomllib.loads(FILE)

    assert line_of(lines_of_keys(FILE), path) == line


def test_a_key_that_is_not_there_is_looked_for_around_its_place():
    """A listener without an address has no line for it, but a line of its own."""
    assert line_of(lines_of_keys(FILE), ("more", "listeners", 0, "port")) == 26
    assert line_of(lines_of_keys(FILE), ("elsewhere",)) is None


@pytest.mark.parametrize("text", ["", "[", "a = ", "= 5", "[[a]\n", "a = [1,", "a = {b", '"', "a.\n"])
def test_what_is_no_toml_only_leads_nowhere(text):
    """Losing the way is no error: the key is then named without its line."""
    lines_of_keys(text)
