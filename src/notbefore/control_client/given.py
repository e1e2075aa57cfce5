"""What somebody gave, as the control API takes it: what was left out stays out, times are texts."""

from datetime import UTC, datetime

from notbefore.control_client.control_api import Json


def given(**wanted: object) -> Json:
    return {name: value for name, value in wanted.items() if value is not None}


def flags(**flags: bool) -> dict[str, str]:
    return {name: "true" for name, wanted in flags.items() if wanted}


def time_text(at: datetime | str | None) -> str | None:
    if isinstance(at, datetime):
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()
    return at
