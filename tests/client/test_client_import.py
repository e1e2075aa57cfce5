"""What `import notbefore.client` pulls in: it starts inside somebody else's VM (DESIGN §3)."""

import subprocess
import sys

import pytest

import notbefore.client

PRINT_MODULES = "import sys; before = set(sys.modules); {}; print('\\n'.join(set(sys.modules) - before))"


def modules_after(line):
    ran = subprocess.run(
        [sys.executable, "-I", "-c", PRINT_MODULES.format(line)], capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


def test_it_pulls_in_nothing_but_the_standard_library_and_its_own():
    """Standard library only, and of the program only client, wire and core."""
    pulled = modules_after("import notbefore.client")

    ours = {name for name in pulled if name.split(".")[0] == "notbefore"}
    assert {name.split(".")[0] for name in pulled - ours} <= sys.stdlib_module_names
    assert {".".join(name.split(".")[:2]) for name in ours} == {
        "notbefore",
        *(f"notbefore.{part}" for part in ("client", "wire", "core")),
    }


@pytest.mark.parametrize(
    "module", ["asyncio", "http.client", "ssl", "subprocess", "email", "msgspec", "typing_extensions"]
)
def test_what_is_dear_waits_until_it_is_needed(module):
    """HTTP until there is somebody to ask, asyncio until somebody asks for it."""
    assert module not in modules_after("import notbefore.client")


def test_everything_it_promises_is_there():
    for name in notbefore.client.__all__:
        assert getattr(notbefore.client, name)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = notbefore.client.Nothing
