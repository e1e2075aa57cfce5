"""What this process knows of the store: every scope's newest state, and who has which address.

Rule 1: a state is applied once, in order of its version; own commits and followed ones take the same path.
Rule 2: GETs are answered from here and never wait for the store; a document is rendered on first ask.
Rule 3: whoever must act on a change (timer, outbox) subscribes; who keeps documents looks again `on_any_change`.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, NamedTuple

from notbefore.core.errors import StoreUnavailable
from notbefore.core.model import Event, Scope, name_key
from notbefore.ports import Clock, Store, Stored
from notbefore.wire.api_versions import ApiVersion
from notbefore.wire.document import render_document

CHANGES_PER_READ = 500
STORE_AWAY_REST_S = 1.0

log = logging.getLogger("notbefore.snapshot")


class VmRef(NamedTuple):
    """Which VM: its scope's key and its own."""

    scope: str
    vm: str


class View:
    """One scope as this process sees it, with the documents rendered so far."""

    __slots__ = ("_documents", "made_of_it", "newest_asked_ms", "scope", "tag", "version")

    def __init__(self, stored: Stored) -> None:
        self.scope = stored.scope
        self.version = stored.version
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
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._views: dict[str, View] = {}
        self.by_key: Mapping[str, Scope] = ScopesByKey(self._views)
        self._addresses: dict[str, tuple[VmRef, ...]] = {}
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
        return view if view and not view.scope.removed else None

    def known(self, key: str) -> View | None:
        """The newest state that came here, of a removed scope too."""
        return self._views.get(key)

    def scopes(self) -> Iterator[Scope]:
        return (view.scope for view in self._views.values() if not view.scope.removed)

    def event(self, event_id: str) -> tuple[Scope, Event] | None:
        view = self._views.get(self._scope_of_event.get(event_id.upper(), ""))
        event = view.scope.event(event_id) if view else None
        return (view.scope, event) if view and event else None

    def owners_of(self, address: str) -> tuple[VmRef, ...]:
        """The VMs that claim an address: one identifies the caller, several identify nobody."""
        return self._addresses.get(address, ())

    async def load(self) -> None:
        await self._catch_up()
        self.loaded = True

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
        self._views[key] = View(stored)
        self._index_events(known, stored.scope)
        if known is None or known.scope.vms is not stored.scope.vms:
            self._forget_addresses(known)
            self._remember_addresses(stored.scope)
        for on_change in self._subscribers:
            on_change(stored.scope)

    async def _catch_up(self) -> None:
        while changes := await self._store.changes_after(self._revision, CHANGES_PER_READ):
            for stored in changes:
                self.apply(stored)
            self._revision = changes[-1].revision

    def _index_events(self, known: View | None, scope: Scope) -> None:
        for event in known.scope.events if known else ():
            self._scope_of_event.pop(event.id, None)
        for event in scope.events:
            self._scope_of_event[event.id] = scope.key

    def _forget_addresses(self, known: View | None) -> None:
        if known is None:
            return
        for vm in known.scope.vms:
            gone = VmRef(known.scope.key, name_key(vm.name))
            for address in vm.addresses:
                left = tuple(ref for ref in self._addresses.get(address, ()) if ref != gone)
                if left:
                    self._addresses[address] = left
                else:
                    self._addresses.pop(address, None)

    def _remember_addresses(self, scope: Scope) -> None:
        for vm in scope.vms:
            ref = VmRef(scope.key, name_key(vm.name))
            for address in vm.addresses:
                claimed = (*self._addresses.get(address, ()), ref)
                if len(claimed) > 1:
                    ids = {"address": address, "claims": len(claimed)}
                    log.warning("address claimed by several VMs identifies nobody", extra=ids)
                self._addresses[address] = claimed
