"""history --verify: history replayed from empty, against what the server says the present is.

Rule 1: scopes, settings, VMs, incarnations and live events, as the API shows them; what differs is said, one line each.
Rule 2: the server goes on meanwhile, and shows the commits of another a moment late. So a scope that differs is looked
at again, a bounded number of times; one that once was the same is settled.
Rule 3: history that was retired is read from its files (`--from`); a record that stands twice counts once.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from pathlib import Path
from threading import Event as Pause

from notbefore.cli.control_api import ControlApi, Json
from notbefore.cli.history_export import pages
from notbefore.cli.printable import show_lines
from notbefore.cli.store import counted
from notbefore.core.errors import Invalid, Refusal
from notbefore.core.kinds import ENDED
from notbefore.core.model import name_key
from notbefore.core.replay import Replay, ReplayedScope, RetoldChange, RetoldRecord

ROUNDS = 8
LOOK_AGAIN_S = 0.25
# What is no part of a thing's state: it moves with the time, or with other things.
NOT_STATE = frozenset({"waiting_for", "incarnation", "last_asked", "listens", "scope"})


@dataclass(frozen=True, slots=True)
class Verified:
    scopes: int
    events: int
    records: int
    revision: int


def verify(api: ControlApi, archives: Sequence[str]) -> Verified:
    history = Told(api, [*map(Path, archives)])
    history.catch_up()
    pause, found, left = Pause(), dict[str, list[str]](), None
    for _ in range(ROUNDS):
        scopes, events = present(api)
        history.catch_up()
        told = history.replay.scopes
        left = scopes.keys() | told.keys() if left is None else left
        found = {key: differences(told.get(key), scopes.get(key), events.get(key, {})) for key in left}
        left = {key for key, said in found.items() if said}
        if not left:
            number = sum(map(len, events.values()))
            return Verified(len(scopes), number, history.records, history.replay.revision)
        pause.wait(LOOK_AGAIN_S)
    show_lines(line for key in sorted(found) for line in found[key])
    raise Refusal(
        f"History does not lead to the present state of {counted(len(left or ()), 'scope')}.",
        "`notbefore store check` looks for damage. A scope that changes all the time is best verified when it rests.",
    )


class Told:
    """Records of the archives and of the server, in order, as far as they have been replayed."""

    def __init__(self, api: ControlApi, archives: Sequence[Path]) -> None:
        self._api = api
        self._archived = archived(archives)
        self.replay = Replay()
        self.records = 0

    def catch_up(self) -> None:
        """Replay what is new."""
        before = self.replay.revision
        older = [record for record in self._archived if record["revision"] > before]
        for record in merge(older, self._from_server(before), key=lambda one: one["revision"]):
            if record["revision"] > self.replay.revision:
                self.records += 1
                self.replay.tell(retold_json(record))

    def _from_server(self, after: int) -> Iterator[Json]:
        for answer in pages(self._api, {}, after):
            if answer["retired_through"] > after and not self._archived:
                raise Refusal(
                    f"Records up to revision {answer['retired_through']} were retired from the server's history.",
                    "Give the files of its sink: `notbefore history --verify --from FILE.jsonl …`.",
                )
            yield from answer["history"]


def archived(files: Sequence[Path]) -> list[Json]:
    found: dict[int, Json] = {}
    for file in files:
        try:
            with file.open(encoding="utf-8") as lines:
                for n, line in enumerate(lines, start=1):
                    record = record_in(line, file, n)
                    found[record["revision"]] = record
        except (OSError, UnicodeDecodeError) as error:
            raise Invalid(
                f"Cannot read {file}: {error}.", "Name files of JSON lines, as --export writes them."
            ) from None
    return [found[revision] for revision in sorted(found)]


def record_in(line: str, file: Path, n: int) -> Json:
    try:
        record: Json = json.loads(line)
        retold_json(record)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Invalid(f"{file}, line {n}: this is no record of history.") from None
    return record


def retold_json(record: Json) -> RetoldRecord:
    changes = tuple(map(_retold, record["changes"]))
    return RetoldRecord(int(record["revision"]), str(record["scope"]), record["incarnation"], changes)


def _retold(change: Json) -> RetoldChange:
    event, vm, declared = change["event"], change.get("vm"), change.get("declaration")
    return RetoldChange(
        what=change["what"],
        event_id=event["id"] if event else None,
        event=event,
        event_over=event is not None and event["status"] in ENDED,
        vm_name=vm["name"] if vm else None,
        vm=vm,
        declaration=declared,
        declared_vms=tuple((one["name"], one) for one in declared["vms"]) if declared else (),
        removed=bool(declared and declared["removed"]),
    )


def present(api: ControlApi) -> tuple[dict[str, Json], dict[str, dict[str, Json]]]:
    """Scopes by key, and the live events of each by id."""
    scopes = {name_key(one["name"]): one for one in api.get("scopes")["scopes"]}
    events: dict[str, dict[str, Json]] = {}
    for event in api.get("events")["events"]:
        events.setdefault(name_key(event["scope"]), {})[event["id"]] = event
    return scopes, events


def differences(replayed: ReplayedScope | None, scope: Json | None, events: Mapping[str, Json]) -> list[str]:
    there = replayed is not None and replayed.is_there
    if replayed is None or scope is None or not there:
        if there == (scope is not None):
            return []
        name = scope["name"] if scope else replayed.name if replayed else ""
        return [f"scope {name}: {'not in history' if scope else 'in history, and not on the server'}"]
    of = f"scope {scope['name']}"
    said = unlike(f"{of}, name", replayed.name, scope["name"])
    said += unlike(f"{of}, incarnation", replayed.incarnation, scope["incarnation"])
    said += unlike(f"{of}, kind", replayed.declaration["kind"], scope["kind"])
    said += unlike_things(f"{of}, settings", {"": replayed.declaration["settings"]}, {"": scope["settings"]})
    said += unlike_things(f"{of}, VM", replayed.vms, {name_key(vm["name"]): vm for vm in scope["vms"]})
    return said + unlike_things(f"{of}, event", replayed.events, events)


def unlike_things(what: str, told: Mapping[str, Json], shown: Mapping[str, Json]) -> list[str]:
    said = [f"{what} {key}: in history, and not on the server" for key in told.keys() - shown.keys()]
    said += [f"{what} {key}: not in history" for key in shown.keys() - told.keys()]
    for key in told.keys() & shown.keys():
        # A field that only one of them has is one that the other, perhaps older, did not know.
        for field in sorted((told[key].keys() & shown[key].keys()) - NOT_STATE):
            said += unlike(f"{what} {key}".rstrip() + f", {field}", told[key][field], shown[key][field])
    return said


def unlike(what: str, told: object, shown: object) -> list[str]:
    return [] if told == shown else [f"{what}: {told!r} in history, {shown!r} on the server"]
