"""Man pages and completions say what the program says, because they come from it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from service_manager import PROGRAM

from notbefore.cli.main import made_app

ROOT = Path(__file__).parents[2]


def written_by(script, directory):
    subprocess.run([sys.executable, ROOT / "scripts" / script, directory], check=True)
    return directory


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return written_by("manpages", tmp_path_factory.mktemp("man"))


@pytest.fixture(scope="module")
def completions(tmp_path_factory):
    return written_by("completions", tmp_path_factory.mktemp("completions"))


def every_command(command=None, words=("notbefore",)):
    """Every command people see, with the words that call it."""
    command = command or typer.main.get_command(made_app())
    found = {words: command}
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            found |= every_command(inner, (*words, name))
    return found


COMMANDS = every_command()


def read_aloud(page):
    """The text of a page without its roff: fonts and escapes removed."""
    return re.sub(r"\\f[BIR]|\\&", "", page.read_text()).replace("\\-", "-").replace("\\(dq", '"').replace("\\e", "\\")


def test_every_command_has_its_page_and_no_page_is_left_over(pages):
    """notbefore.1, and notbefore-COMMAND.1 for each command, the inner ones too."""
    assert {page.name for page in pages.iterdir()} == {f"{'-'.join(words)}.1" for words in COMMANDS}
    assert len(COMMANDS) > 15


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_of_a_command_stands_in_its_page(pages, words):
    """Each option with its help, as `--help` has them; each inner command with its summary."""
    command = COMMANDS[words]
    text = read_aloud(pages / f"{'-'.join(words)}.1")

    for param in command.params:
        if param.param_type_name == "option" and not param.hidden:
            assert all(f"\n{name}" in text or f", {name}" in text for name in param.opts)
        if param.help:
            assert " ".join(param.help.replace("`", "").split()) in text
    for name, inner in getattr(command, "commands", {}).items():
        assert inner.hidden or f"\n.TP\n{name}\n" in text
    assert "\n--help\n" in text


@pytest.mark.part("groff")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_page_renders_without_a_warning(pages, words):
    """`man` shows it as it is meant."""
    page = pages / f"{'-'.join(words)}.1"
    plain = ["-P-c", "-P-b", "-P-u", "-P-o"]
    rendered = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", *plain, page], capture_output=True, text=True, check=True
    )

    assert rendered.stderr == ""
    assert f"\nSYNOPSIS\n       {' '.join(words)} [OPTIONS]" in rendered.stdout


def test_the_same_program_gives_the_same_pages(pages, tmp_path):
    """No date, no order of chance: a package can be built twice and compared."""
    again = written_by("manpages", tmp_path / "again")

    assert {one.name: one.read_bytes() for one in again.iterdir()} == {
        one.name: one.read_bytes() for one in pages.iterdir()
    }


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("notbefore ser", {"serve"}),
        ("notbefore clock ", {"show", "advance", "to-next"}),
        ("notbefore vms --sc", {"--scope"}),
    ],
)
def test_bash_completes_commands_and_options(completions, typed, offered):
    """The script works in a real bash: what Tab would offer."""
    words = typed.split(" ")
    line = f"""
    source {completions}/bash/notbefore
    COMP_WORDS=({" ".join(words[:-1])} "{words[-1]}"); COMP_CWORD={len(words) - 1}
    _notbefore_completion {PROGRAM}
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """

    ran = subprocess.run(["bash", "-euc", line], capture_output=True, text=True, check=True)

    assert offered <= set(ran.stdout.split())


def test_zsh_and_fish_have_their_scripts_where_they_look_for_them(completions):
    """zsh reads `#compdef` on the first line of a file named _notbefore; fish a file named after the command."""
    zsh = (completions / "zsh/_notbefore").read_text()
    fish = (completions / "fish/notbefore.fish").read_text()

    assert zsh.startswith("#compdef notbefore\n")
    assert fish.startswith("complete --command notbefore ")
