"""The tree as a stranger would read it: every module says what it is, nothing is too long, nothing is left half done."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TEXTS = [*SOURCES, *sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "docs").rglob("*.md")), *ROOT.glob("*.md")]
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|NotImplemented" + r"Error)\b")


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("source", SOURCES, ids=name_of)
def test_a_module_begins_with_what_it_is_and_is_not_too_long(source):
    """STYLE 8: module docstring first, under 15 lines. Issue: no file over 400 lines, no function over 70."""
    text = source.read_text()
    tree = ast.parse(text)
    docstring = ast.get_docstring(tree)

    assert docstring
    assert len(docstring.splitlines()) < 15
    assert len(text.splitlines()) <= 400
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < 70, node.name


@pytest.mark.parametrize("path", [path for path in TEXTS if path.name != "test_tree.py"], ids=name_of)
def test_nothing_is_left_unfinished(path):
    """Honest: no stub called done."""
    assert not UNFINISHED.search(path.read_text())


def test_test_files_have_names_of_their_own():
    """pytest imports tests by their bare name; two of one name would hide each other."""
    names = [path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py"]

    assert sorted(names) == sorted(set(names))


def test_requirements_are_bare_pins():
    """No index address anywhere: bare `==` pins."""
    for file in ROOT.glob("requirements*.txt"):
        for line in file.read_text().splitlines():
            assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+|-r requirements\.txt", line), f"{file.name}: {line}"


def test_every_dependency_has_its_reason():
    """Each dependency with its reason in pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text()
    listed = re.findall(r'^\s+"[a-z0-9-]+[><=].*$', text, re.MULTILINE)
    extras = re.findall(r"^(?:etcd|libvirt|notify) = .*$", text, re.MULTILINE)

    assert len(listed) > 10
    assert len(extras) == 3
    assert all("# " in line for line in [*listed, *extras])


def test_nothing_waits_in_a_way_that_can_swallow_a_stop():
    """`asyncio.wait_for` before Python 3.12 drops a cancellation that comes with the result: a server that never stops."""
    assert [name_of(source) for source in SOURCES if "asyncio.wait_for(" in source.read_text()] == []
