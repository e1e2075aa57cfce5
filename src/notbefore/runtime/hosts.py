"""Declared hosts, kept as documents beside the scopes; and every host that there is, VMs' word included.

Rule 1: a declaration is idempotent: the same again writes nothing, neither the host nor history.
Rule 2: a write of unknown outcome is read again and judged by what is there.
Called by: control/hosts.py, and the simulated executor, which has to move VMs somewhere.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest

from notbefore.core.errors import LimitReached, StoreUnavailable, UnknownHost
from notbefore.core.history import Change, HistoryRecord
from notbefore.core.hosts import HOSTS_MAX, CountedHost, Host, KnownHost, another_host, known_hosts, refuse_while_in_use
from notbefore.core.model import Actor, Vm, name_key
from notbefore.ports import Clock, Document, Ids, OutcomeUnknown, Store, VersionConflict
from notbefore.runtime.snapshot import Snapshot

KIND = "host"
TRIES_MAX = 100


class Hosts:
    def __init__(self, store: Store, snapshot: Snapshot, clock: Clock, ids: Ids, hosts_max: int = HOSTS_MAX) -> None:
        self._store = store
        self._snapshot = snapshot
        self._clock = clock
        self._ids = ids
        self._hosts_max = hosts_max

    async def declared(self) -> list[Host]:
        return [host_in(document) for document in await self._store.documents(KIND)]

    async def known(self) -> Iterator[CountedHost]:
        """Every host by name, one after the other as they are taken: there may be very many."""
        declared = {host.key: host for host in await self.declared()}
        counts = self._snapshot.on_hosts.counts
        keys = sorted({*declared, *counts})
        # Nobody is on it any more by the time it is taken, and nobody declared it: then it is gone.
        return (self._counted(key, declared.get(key)) for key in keys if key in declared or key in counts)

    async def one(self, name: str) -> KnownHost:
        found = self._with_vms(name_key(name), await self.declared())
        if found is None:
            raise UnknownHost(name)
        return found

    async def declare(self, host: Host, by: Actor) -> bool:
        """Whether it was new."""
        for _ in range(TRIES_MAX):
            documents = await self._store.documents(KIND)
            before = under(host.key, documents)
            if before and host_in(before) == host:
                return False
            if before is None and len(documents) >= self._hosts_max:
                limit = self._hosts_max
                raise LimitReached(f"At most {limit} hosts may be declared.", "Remove some first.", {"limit": limit})
            why = f"host {host.name} declared by {by} with executor {host.executor}"
            if await self._put(host.key, body_of(host), before, self._record("host declared", why, by)):
                return before is None
        raise busy(host.name)

    async def remove(self, name: str, by: Actor) -> None:
        key = name_key(name)
        gone = False
        for _ in range(TRIES_MAX):
            before = under(key, await self._store.documents(KIND))
            if before is None and gone:
                return
            refuse_while_in_use(await self.one(name))
            gone = True
            if await self._put(key, None, before, self._record("host removed", f"host {name} removed by {by}", by)):
                return
        raise busy(name)

    async def another_for(self, vm: Vm) -> str | None:
        """Where a simulated redeploy takes a VM; while the store is away, as far as VMs tell of hosts."""
        try:
            declared = await self.declared()
        except StoreUnavailable:
            declared = []
        vms = {**dict.fromkeys((host.key for host in declared), 0), **self._snapshot.on_hosts.counts}
        # One of the two emptiest is another one.
        emptiest = nsmallest(2, vms, key=lambda key: (vms[key], key))
        return another_host(vm, [one for key in emptiest if (one := self._with_vms(key, declared))])

    def _with_vms(self, key: str, declared: Iterable[Host]) -> KnownHost | None:
        of_it = [host for host in declared if host.key == key]
        around = known_hosts(of_it, self._snapshot.scopes_on(key).values())
        return next((one for one in around if one.host.key == key), None)

    def _counted(self, key: str, declared: Host | None) -> CountedHost:
        scopes = self._snapshot.by_key
        vms = {scopes[scope].name: count for scope, count in self._snapshot.on_hosts.vms_by_scope(key).items()}
        return CountedHost(declared or Host(self._snapshot.spelling_of(key)), declared is not None, vms)

    async def _put(self, key: str, body: bytes | None, before: Document | None, record: HistoryRecord) -> bool:
        """False: look again, somebody else was first or nobody knows."""
        try:
            await self._store.put_document(KIND, key, body, before.version if before else 0, record)
        except (VersionConflict, OutcomeUnknown):
            return False
        return True

    def _record(self, what: str, why: str, by: Actor) -> HistoryRecord:
        changes = (Change(what, why, by),)
        return HistoryRecord(
            scope="", at_ms=self._clock.now().wall_ms, request_id=self._ids(), incarnation=0, changes=changes
        )


def under(key: str, documents: Sequence[Document]) -> Document | None:
    return next((document for document in documents if document.key == key), None)


def body_of(host: Host) -> bytes:
    return json.dumps({"name": host.name, "executor": host.executor}).encode()


def host_in(document: Document) -> Host:
    found = json.loads(document.body)
    return Host(found["name"], found["executor"])


def busy(name: str) -> StoreUnavailable:
    return StoreUnavailable(f"Host '{name}' is being changed by too many at once.", "Try again.", {"tries": TRIES_MAX})
