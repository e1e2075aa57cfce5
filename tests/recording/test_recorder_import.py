"""What the recorder pulls in: it can run inside a VM, so nothing of the server comes with it."""

import subprocess
import sys

PRINT_MODULES = (
    "import sys; before = set(sys.modules); import notbefore.recording.recorder;"
    "print('\\n'.join(set(sys.modules) - before))"
)


def test_the_recorder_pulls_in_nothing_but_the_standard_library_and_the_client():
    """Client, wire and core only."""
    command = [sys.executable, "-I", "-c", PRINT_MODULES]
    pulled = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())

    ours = {name for name in pulled if name.split(".")[0] == "notbefore"}
    assert {name.split(".")[0] for name in pulled - ours} <= sys.stdlib_module_names
    assert {".".join(name.split(".")[:2]) for name in ours} == {
        "notbefore",
        *(f"notbefore.{part}" for part in ("client", "wire", "core", "recording")),
    }
    assert not {"notbefore.recording.past", "notbefore.recording.player"} & ours
