"""An operation in words: where it stands, what it waits for, what waits and what it left alone."""

from collections.abc import Sequence

from notbefore.cli.control_api import Json
from notbefore.core.operation import ENDED_OPERATION


def is_over(operation: Json) -> bool:
    return operation["status"] in ENDED_OPERATION


def lines_of(operation: Json) -> list[str]:
    """`Reboot of host rack1-a is Running: wave 1, not before 2026-…, gate shut  8c1d…`, and what it waits for."""
    where = f" of host {operation['host']}" if operation["host"] else ""
    why = f" ({operation['why']})" if operation["why"] else ""
    lines = [f"{operation['type']}{where} is {operation['status']}{why}{_wave(operation)}  {operation['id']}"]
    if not is_over(operation) and operation["waits_for"]:
        lines.append(f"  waiting for {operation['waits_for']}")
    return lines


def _wave(operation: Json) -> str:
    current = operation["waves"][-1] if operation["waves"] else None
    if is_over(operation) or current is None or current["not_before"] is None:
        return ""
    return f": wave {current['number']}, not before {current['not_before']}, gate {current['gate']}"


def placed(what: str, vms: Sequence[Json]) -> list[str]:
    return [f"{what}: {one['scope']}/{one['vm']}{': ' + one['why'] if one['why'] else ''}" for one in vms]
