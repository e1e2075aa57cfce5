"""Every how-to of the agent: its settings are taken by `check`, its scripts are there and are sh, and it says how sure it is."""

import re
import subprocess

import pytest
from howto_pages import HOW_TO, files_of, install, pages

from notbefore.agent.checking import findings
from notbefore.agent.main import run
from notbefore.agent.reading import settings_in

PAGES = pages()
FRAGMENTS = [(page, name) for page in PAGES for name in files_of(page) if name.endswith(".toml")]
SCRIPTS = [(page, name) for page in PAGES for name in files_of(page) if "." not in name or name.endswith(".sh")]


def test_every_way_that_was_promised_has_its_page():
    """Issue: Kubernetes, Patroni, PostgreSQL, HAProxy, nginx, Slurm, Nomad, Pacemaker."""
    ways = ("haproxy", "kubernetes", "nginx", "nomad", "pacemaker", "patroni", "postgresql", "slurm")

    assert {f"agent-{way}.md" for way in ways} <= set(PAGES)


@pytest.mark.parametrize(("page", "name"), FRAGMENTS)
def test_the_settings_of_a_page_are_taken(tmp_path, page, name):
    """As printed; each rule has its steps, and each step its way back."""
    settings = settings_in(install(page, tmp_path) / name)

    assert settings.rules
    assert all(step.step.has_undo() for rule in settings.rules for step in rule.steps)


@pytest.mark.parametrize("page", PAGES)
def test_check_finds_the_scripts_of_a_page(tmp_path, page):
    """Beside the settings, and executable: no problem of a `command` is left."""
    settings = settings_in(install(page, tmp_path) / "agent.toml")
    commands = [step.step for rule in settings.rules for step in rule.steps if step.step.kind == "command"]

    assert [problem for command in commands for problem in command.problems()] == []


def test_check_itself_says_what_is_wrong_with_a_page_that_lost_its_script(tmp_path, capsys, demo):
    folder = install("agent-slurm.md", tmp_path / "agent")
    config = folder / "agent.toml"
    config.write_text(config.read_text().replace("[agent]", f'[agent]\nendpoint = "{demo.server.metadata_urls[0]}"'))

    assert [sentence for verdict, sentence in findings(settings_in(config)) if verdict == "FAIL"] == []
    assert run(["check", "--config", str(config)]) == 0
    (folder / "slurm-node").unlink()
    assert run(["check", "--config", str(config)]) == 1
    assert f"there is no program {folder}/slurm-node" in capsys.readouterr().out


@pytest.mark.parametrize(("page", "name"), SCRIPTS)
def test_a_script_is_sh_and_stops_at_the_first_failure(tmp_path, page, name):
    """Not bash: what a bare system has. A file that others read in has neither line."""
    script = install(page, tmp_path) / name

    subprocess.run(["sh", "-n", script], check=True)
    if not script.suffix:
        assert script.read_text().startswith("#!/bin/sh\n")
        assert "set -eu\n" in script.read_text()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_whether_it_was_run(page):
    text = (HOW_TO / page).read_text()

    assert len(re.findall(r"\*(Tested: |Reviewed, not run here: )", text)) == 1
