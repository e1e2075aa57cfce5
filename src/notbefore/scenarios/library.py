"""The built-in scenarios, by name; and the one that somebody means by a name or a file."""

from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

from notbefore.core.errors import Invalid
from notbefore.scenarios.reading import FILE_MAX_BYTES, read_scenario
from notbefore.scenarios.scenario import Scenario

ENDING = ".txt"


def names() -> list[str]:
    found = (file.name for file in files(__package__).joinpath("builtin").iterdir())
    return sorted(name.removesuffix(ENDING) for name in found if name.endswith(ENDING))


def text_of(meant: str) -> str:
    """Of a built-in scenario, or of a file; a name that is both is the file only when it is written as a path."""
    if meant in names():
        return files(__package__).joinpath("builtin", f"{meant}{ENDING}").read_text(encoding="utf-8")
    file = Path(meant)
    if not file.exists() and len(file.parts) == 1 and not file.suffix:
        raise unknown(meant)
    return _text_in(file)


def scenario_of(meant: str) -> Scenario:
    return read_scenario(meant, text_of(meant))


def unknown(name: str) -> Invalid:
    alike = get_close_matches(name.lower(), names(), 1)
    perhaps = f" Perhaps {alike[0]} is meant." if alike else ""
    return Invalid(
        f"There is neither a scenario nor a file {name!r}.{perhaps}",
        "`notbefore play --list` lists the scenarios.",
        {"name": name},
    )


def _text_in(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(FILE_MAX_BYTES + 1)
        if len(content) > FILE_MAX_BYTES:
            raise Invalid(f"{file} has more than {FILE_MAX_BYTES} bytes.", "Divide it into several.")
        return content.decode()
    except OSError as error:
        raise Invalid(
            f"Cannot read {file}: {error.strerror}.", "`notbefore play --list` lists those there are."
        ) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Invalid(f"{file}, line {line}: expected text in UTF-8.", facts={"line": line}) from None
