"""Where the server is and who asks: NOTBEFORE_URL, and NOTBEFORE_TOKEN or NOTBEFORE_TOKEN_FILE; else the local server
with the token in its state directory.
"""

from collections.abc import Mapping
from pathlib import Path

from notbefore.control_client.control_api import DEFAULT_URL, ControlApi, NoToken, checked_token
from notbefore.state_dir import TOKEN_FILE, default_state_dir

TOKEN_FILE_MAX = 4096


def found_api(env: Mapping[str, str]) -> ControlApi:
    """The server that the environment names."""
    return ControlApi(url_in(env), token_in(env))


def url_in(env: Mapping[str, str]) -> str:
    return env.get("NOTBEFORE_URL") or DEFAULT_URL


def token_in(env: Mapping[str, str]) -> str:
    if given := env.get("NOTBEFORE_TOKEN"):
        return checked_token(given, "NOTBEFORE_TOKEN")
    if file := env.get("NOTBEFORE_TOKEN_FILE"):
        return _token_of(Path(file).expanduser(), "NOTBEFORE_TOKEN_FILE names it.")
    return _token_of(
        state_dir(env) / TOKEN_FILE,
        "`notbefore serve` makes it at its first start. For a server elsewhere set NOTBEFORE_TOKEN or "
        "NOTBEFORE_TOKEN_FILE, or NOTBEFORE_STATE to its state directory.",
    )


def state_dir(env: Mapping[str, str]) -> Path:
    if state := env.get("NOTBEFORE_STATE"):
        return Path(state).expanduser()
    return default_state_dir(env)


def _token_of(file: Path, hint: str) -> str:
    try:
        with file.open(errors="replace") as text:
            content = text.read(TOKEN_FILE_MAX + 1)
    except FileNotFoundError:
        raise NoToken(f"There is no token at {file}.", hint) from None
    except OSError as error:
        raise NoToken(f"Cannot read the token in {file}: {error.strerror}.", "Set NOTBEFORE_TOKEN instead.") from None
    # Nothing this long is a token, so it is not sent to anybody.
    return checked_token(content if len(content) <= TOKEN_FILE_MAX else "", str(file))
