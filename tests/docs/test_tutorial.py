"""The tutorial is executed: every line as printed, on the default ports, in a network namespace of its own."""

import os
import subprocess

import pytest
from tutorial_run import ROOT, Terminal, interrupt, steps_of, without_ids_and_times

pytestmark = [pytest.mark.part("netns"), pytest.mark.part("ip"), pytest.mark.part("curl")]

PAGE = ROOT / "docs/tutorial/first-event.md"


@pytest.fixture
def namespace():
    name = f"nb{os.getpid()}-tutorial"
    subprocess.run(["ip", "netns", "add", name], check=True)
    subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
    yield ["ip", "netns", "exec", name]
    subprocess.run(["ip", "netns", "del", name], check=True)


def test_every_line_of_the_tutorial_works_and_prints_what_the_page_says(tmp_path, namespace):
    """Issue: the tutorial, from a fresh clone, where every line works as printed."""
    setup, serve, *steps = steps_of(PAGE)
    terminal = Terminal(namespace, tmp_path)

    assert setup.lines == "make setup\n"
    server = terminal.start(serve)
    try:
        assert any(line.startswith("Try it") for line in server.stdout)
        *talks, tidy_up = steps
        printed = terminal.run(talks)
    finally:
        interrupt(server)
    terminal.run([tidy_up])

    assert len(printed) == len(talks)
    for step, output in zip(talks, printed, strict=True):
        said = without_ids_and_times(output)
        for line in without_ids_and_times(step.shown).splitlines():
            assert line in said, f"{step.lines}\nprinted\n{output}"
    assert not list(tmp_path.iterdir())
