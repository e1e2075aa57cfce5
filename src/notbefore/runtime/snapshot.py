"""What this process knows of the store: every scope's newest state, and who has which address.

Rule 1: a state is applied once, in order of its version; own commits and followed ones take the same path.
Rule 2: GETs are answered from here and never wait for the store; a document is rendered on first ask.
Rule 3: whoever must act on a change (timer, outbox) subscribes; who keeps documents looks again `on_any_change`.
Rule 4: a million VMs have room: who has which address is one table (addresses.py), equal values are held once
(sharing.py), and what is rendered is made when it is asked for.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from notbefore.core.errors import StoreUnavailable
from notbefore.core.model import Event, Scope, is_on, name_key
from notbefore.ports import Clock, Feed, Stored
from notbefore.runtime.addresses import Addresses, VmRef
from notbefore.runtime.on_hosts import OnHosts
from notbefore.runtime.sharing import Sharing
from notbefore.wire.api_versions import ApiVersion
from notbefore.wire.document import render_document

CHANGES_PER_READ = 500
STORE_AWAY_REST_S = 1.0
LOADING_TOLD_EVERY_S = 2.0

log = logging.getLogger("notbefore.snapshot")


class View:
    """One scope as this process sees it, with the documents rendered so far."""

    __slots__ = (
        "_documents",
        "is_old",
        "is_there",
        "made_of_it",
        "newest_asked_ms",
        "says_nothing",
        "scope",
        "tag",
        "version",
    )

    def __init__(self, stored: Stored) -> None:
        self.scope = stored.scope
        self.version = stored.version
        self.is_old = False
        """There is a newer one in its place."""
        # Beside the scope, not only in it: one place in memory less that a question has to fetch.
        self.is_there = not stored.scope.removed
        self.says_nothing = not stored.scope.events
        self.newest_asked_ms = max(stored.scope.asked_ms.values(), default=0)
        self.tag = str(stored.scope.incarnation)
        self._documents: dict[str, bytes] = {}
        # What an edge made of this state, to be dropped with it.
        self.made_of_it: dict[object, Any] = {}

    def document(self, version: ApiVersion) -> bytes:
        rendered = self._documents.get(version.name)
        if rendered is None:
            rendered = self._documents[version.name] = render_document(self.scope, version)
        return rendered


class ScopesByKey(Mapping[str, Scope]):
    """The scopes there are, as they are whenever somebody looks."""

    def __init__(self, views: Mapping[str, View]) -> None:
        self._views = views

    def __getitem__(self, key: str) -> Scope:
        scope = self._views[key].scope
        if scope.removed:
            raise KeyError(key)
        return scope

    def __iter__(self) -> Iterator[str]:
        return (key for key, view in self._views.items() if not view.scope.removed)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Snapshot:
    def __init__(self, store: Feed, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._views: dict[str, View] = {}
        # The newest state that came here, of a removed scope too: a dictionary's look-up, since every question has one.
        self.known: Callable[[str], View | None] = self._views.get
        self.by_key: Mapping[str, Scope] = ScopesByKey(self._views)
        self._addresses = Addresses()
        # The VM that an address identifies, if it is one and no more.
        self.owner_of: Callable[[str], VmRef | None] = self._addresses.owner_of
        self._sharing = Sharing()
        self.on_hosts = OnHosts()
        # Rises whenever some VM came, went or changed: until then, who was found is found again.
        self.census = 0
        self._scope_of_event: dict[str, str] = {}
        self._subscribers: list[Callable[[Scope], None]] = []
        self._lookers: list[Callable[[], Awaitable[None]]] = []
        self._revision = 0
        self.loaded = False
        self.store_away = False

    def subscribe(self, on_change: Callable[[Scope], None]) -> None:
        self._subscribers.append(on_change)

    def on_any_change(self, look: Callable[[], Awaitable[None]]) -> None:
        """Called whenever anybody may have committed anything, documents included; StoreUnavailable is no news."""
        self._lookers.append(look)

    def view(self, name: str) -> View | None:
        return self.view_by_key(name_key(name))

    def view_by_key(self, key: str) -> View | None:
        view = self._views.get(key)
        return view if view and view.is_there else None

    def scopes(self) -> Iterator[Scope]:
        return (view.scope for view in self._views.values() if not view.scope.removed)

    def scopes_on(self, host: str) -> dict[str, Scope]:
        """By key, in order: the scopes that have VMs on this host."""
        found = ((key, self.view_by_key(key)) for key in self.on_hosts.scopes_on(name_key(host)))
        return {key: view.scope for key, view in found if view}

    def spelling_of(self, host: str) -> str:
        """As the first VM that is on it spells the host's name."""
        on_it = (vm.host for scope in self.scopes_on(host).values() for vm in scope.vms if is_on(vm, host))
        return next(on_it, host)

    def scopes_with_events(self) -> list[Scope]:
        """In order of their keys."""
        views = map(self._views.get, sorted(set(self._scope_of_event.values())))
        return [view.scope for view in views if view and not view.scope.removed]

    def keys(self) -> list[str]:
        """Of all scopes that there are, in order."""
        return sorted(self.by_key)

    def event(self, event_id: str) -> tuple[Scope, Event] | None:
        view = self._views.get(self._scope_of_event.get(event_id.upper(), ""))
        event = view.scope.event(event_id) if view else None
        return (view.scope, event) if view and event else None

    def owners_of(self, address: str) -> tuple[VmRef, ...]:
        """The VMs that claim an address: one identifies the caller, several identify nobody."""
        return self._addresses.owners_of(address)

    async def load(self) -> None:
        began_s = told_s = self._clock.steady_s()
        scopes = vms = 0
        while changes := await self._read_on():
            scopes += len(changes)
            vms += sum(len(stored.scope.vms) for stored in changes)
            if self._clock.steady_s() - told_s >= LOADING_TOLD_EVERY_S:
                told_s = self._clock.steady_s()
                log.info("loading: %s VMs in %s scopes so far", f"{vms:,}", f"{scopes:,}")
        self.loaded = True
        if told_s > began_s:
            took_s = self._clock.steady_s() - began_s
            log.info("loaded %s VMs in %s scopes in %.1f s", f"{vms:,}", f"{scopes:,}", took_s)

    async def follow(self) -> None:
        """Keep up with other writers; while the store is away the last documents stay."""
        while True:
            try:
                # Looking comes before waiting: a store that is back is known to be back before its next change.
                await self._catch_up()
                for look in self._lookers:
                    await look()
                self.store_away = False
                await self._store.wait_for_changes()
            except StoreUnavailable as away:
                if not self.store_away:
                    log.warning("store is away, serving what is known: %s", away.message)
                self.store_away = True
                await self._clock.rest(STORE_AWAY_REST_S)

    def apply(self, stored: Stored) -> None:
        key = stored.scope.key
        known = self._views.get(key)
        if known and known.version >= stored.version:
            return
        self._sharing.share(stored.scope, known.scope if known else None)
        self._views[key] = View(stored)
        if known:
            known.is_old = True
        self._index_events(known, stored.scope)
        if known is None or known.scope.vms is not stored.scope.vms:
            self.census += 1
            self._index_vms(key, known, stored.scope)
        elif known.scope.removed != stored.scope.removed:
            self.census += 1
        for on_change in self._subscribers:
            on_change(stored.scope)

    async def _catch_up(self) -> None:
        while await self._read_on():
            pass

    async def _read_on(self) -> Sequence[Stored]:
        """What was new, and is applied now."""
        changes = await self._store.changes_after(self._revision, CHANGES_PER_READ)
        for stored in changes:
            self.apply(stored)
        if changes:
            self._revision = changes[-1].revision
        return changes

    def _index_events(self, known: View | None, scope: Scope) -> None:
        for event in known.scope.events if known else ():
            self._scope_of_event.pop(event.id, None)
        for event in scope.events:
            self._scope_of_event[event.id] = scope.key

    def _index_vms(self, key: str, known: View | None, scope: Scope) -> None:
        if known:
            self._forget_addresses(key, known.scope)
            self.on_hosts.forget(key, known.scope.vms)
        self._remember_addresses(key, scope)
        self.on_hosts.remember(key, scope.vms)

    def _forget_addresses(self, key: str, scope: Scope) -> None:
        for vm in scope.vms:
            gone = VmRef(key, name_key(vm.name))
            for address in vm.addresses:
                self._addresses.release(address, gone)

    def _remember_addresses(self, key: str, scope: Scope) -> None:
        for vm in scope.vms:
            ref = VmRef(key, name_key(vm.name))
            for address in vm.addresses:
                claims = self._addresses.claim(address, ref)
                if claims > 1:
                    ids = {"address": address, "claims": claims}
                    log.warning("address claimed by several VMs identifies nobody", extra=ids)


__all__ = ["ScopesByKey", "Snapshot", "View", "VmRef"]
