"""A store with a fleet of any size in it, made in minutes by the product's own decisions, encoding and tables.

Run: .venv/bin/python benchmarks/measuring/fleet.py STORE --vms 1000000

Rule 1: as many VMs, the same fleet: names, addresses, hosts, tags and events follow from the VM's place.
Rule 2: every address is in 127.0.0.0/8 and outside 127.0.0.0/16, so that load on this machine can be bound to it.
Rule 3: it is a fleet in service: every VM asked in the ten minutes before, and one scope in fifty has a live event.
"""

import argparse
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from uuid import UUID

from notbefore.core.decide import decide
from notbefore.core.kinds import Kind
from notbefore.core.model import Actor, ActorKind, Moment, Scope, ScopeSettings, Vm
from notbefore.core.requests import DeclareScope, NoteAsked, OperateVm, Request
from notbefore.core.times import HOUR_MS, SECOND_MS
from notbefore.stores.sqlite.connection import transaction
from notbefore.stores.sqlite.database_file import open_for_writing
from notbefore.stores.sqlite.migrate import MIGRATIONS
from notbefore.stores.sqlite.writing import Commit, commit_of, write_commits

VMS_PER_SCOPE = 20
VMS_PER_HOST = 20
UPDATE_DOMAINS = 5
VMS_MAX = 10_000_000
SCOPES_PER_TRANSACTION = 500
OF_BYTE = 250
TAGGED_EVERY = 30
SETTINGS_EVERY = 20
CLOUD_SERVICE_EVERY = 4
EVENT_EVERY = 50
EVENT_IN_MS = 30 * 24 * HOUR_MS
ASKED_WITHIN_MS = HOUR_MS // 6
OPERATOR = Actor(ActorKind.OPERATOR, "benchmark")

Said = Callable[[int, int], None]


def scope_of(place: int) -> str:
    """The name of the scope that the VM at this place, counted from 0, belongs to."""
    return f"scope-{place // VMS_PER_SCOPE:06d}"


def vm_of(place: int) -> str:
    """Of one scope in four the names are written as a cloud service writes them, in both letter cases."""
    is_cloud_service = place // VMS_PER_SCOPE % CLOUD_SERVICE_EVERY == 0
    return f"FrontEnd_IN_{place}" if is_cloud_service else f"node-{place:07d}"


def address_of(place: int) -> str:
    """Neighbours differ in the second byte, so a few requests already come from all over 127.0.0.0/8."""
    if not 0 <= place < VMS_MAX:
        raise ValueError(f"a fleet has at most {VMS_MAX} VMs")
    rest, second = divmod(place, OF_BYTE)
    fourth, third = divmod(rest, OF_BYTE)
    return f"127.{second + 1}.{third + 1}.{fourth + 1}"


def host_of(place: int, vms: int) -> str:
    """The VMs of a scope are on different hosts."""
    hosts = max(1, vms // VMS_PER_HOST)
    return f"host-{(place * 7919) % hosts:06d}"


def make(path: Path, vms: int, *, asked: bool = True, said: Said = lambda _done, _of: None) -> None:
    """A new store at `path`; `said` is told how many scopes of how many are there. Not `asked`: nobody ever did."""
    scopes = -(-vms // VMS_PER_SCOPE)
    made_ms = time.time_ns() // 1_000_000  # noqa: TID251  a fleet is as old as its making
    stored(path, scopes, (requests_for(place, vms, made_ms, asked=asked) for place in range(scopes)), made_ms, said)


def stored(
    path: Path,
    scopes: int,
    asked_of_each: Iterable[Iterable[Request]],
    made_ms: int,
    said: Said = lambda _done, _of: None,
) -> None:
    """A new store of scopes that each came to be by these requests, at that time."""
    if path.exists():
        raise FileExistsError(f"{path} is there already")
    commits = (commits_of(requests, made_ms) for requests in asked_of_each)
    with closing(open_for_writing(path, MIGRATIONS)) as connection:
        done = 0
        while group := list(islice(commits, SCOPES_PER_TRANSACTION)):
            write(connection, group)
            done += len(group)
            said(done, scopes)


def write(connection: sqlite3.Connection, group: Sequence[Sequence[Commit]]) -> None:
    with transaction(connection):
        write_commits(connection, [commit for commits in group for commit in commits])


def commits_of(requests: Iterable[Request], made_ms: int) -> list[Commit]:
    """What led to the scope as it is: declared, asked for, and now and then an event far ahead."""
    now = Moment(made_ms, made_ms % HOUR_MS, "the-benchmark-made-it")
    scope: Scope | None = None
    commits: list[Commit] = []
    for request in requests:
        decision = decide(scope, request, now)
        commits.append(commit_of(decision.scope, len(commits), decision.record))
        scope = decision.scope
    return commits


def requests_for(place: int, vms: int, made_ms: int, *, asked: bool) -> Iterator[Request]:
    first = place * VMS_PER_SCOPE
    places = range(first, min(vms, first + VMS_PER_SCOPE))
    name = scope_of(first)
    yield DeclareScope(
        scope=name,
        request_id=str(UUID(int=first * 4 + 1)),
        by=OPERATOR,
        kind=Kind.SCALE_SET if place % CLOUD_SERVICE_EVERY else Kind.CLOUD_SERVICE,
        settings=ScopeSettings(recovery_s=0 if place % SETTINGS_EVERY else 30),
        vms=tuple(declared(one, vms) for one in places),
    )
    if not asked:
        return
    asked_ms = {vm_of(one).casefold(): made_ms - one * 7919 % ASKED_WITHIN_MS for one in places}
    by = Actor(ActorKind.VM, vm_of(first))
    yield NoteAsked(scope=name, request_id=str(UUID(int=first * 4 + 2)), by=by, asked_ms=asked_ms)
    if place % EVENT_EVERY == 0:
        restart = OperateVm(
            scope=name, request_id=str(UUID(int=first * 4 + 3)), by=OPERATOR, operation="restart", vm=vm_of(first)
        )
        yield replace(restart, not_before_ms=(made_ms + EVENT_IN_MS) // SECOND_MS * SECOND_MS)


def declared(place: int, vms: int) -> Vm:
    tags = {} if place % TAGGED_EVERY else {"team": f"team-{place % 17}", "env": "production"}
    return Vm(
        vm_of(place),
        update_domain=place % UPDATE_DOMAINS,
        host=host_of(place, vms),
        addresses=(address_of(place),),
        tags=tags,
    )


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--vms", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--never-asked", action="store_true", help="no VM has asked anything yet")
    wanted = parser.parse_args(words)
    if not 1 <= wanted.vms <= VMS_MAX:
        parser.error(f"--vms is 1 to {VMS_MAX}")

    def said(done: int, scopes: int) -> None:
        print(f"\r{done:,} of {scopes:,} scopes", end="", file=sys.stderr, flush=True)

    try:
        make(wanted.store, wanted.vms, asked=not wanted.never_asked, said=said)
    except FileExistsError as there:
        print(f"fleet: {there}", file=sys.stderr)
        return 1
    print(file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
