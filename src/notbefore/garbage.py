"""Python's collector of cyclic garbage, kept from looking again and again at what stays: a fleet in memory.

Rule 1: while the store is loaded nothing is garbage, so nothing is looked for; what is there afterwards is frozen.
Rule 2: a whole pass stops the program. One that worked longer than PASS_MAX_S found mostly what stays: that is frozen
too. What dies by its last reference, as scopes and VMs do, dies as ever.
Rule 3: what was frozen and became a cycle of garbage later is found all the same: after so many freezes one pass looks
at everything.
Rule 4: young things are looked at in larger lots: a turn makes thousands that die at once by themselves.
Called by: wiring.py for `serve`, whose process is its own; never in a process that belongs to somebody else.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

PASS_MAX_S: Final = 0.02
FREEZES_MAX: Final = 50
WHOLE: Final = 2
# Python's own are 700, 10 and 10; a lot of this size is a few megabytes.
LOTS: Final = (20_000, 20, 20)


@contextmanager
def none_while_loading() -> Iterator[None]:
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()


class Freezer:
    """Watches whole passes. `busy_s` tells this thread's own work: a busy machine makes no pass a long one."""

    def __init__(self, busy_s: Callable[[], float], pass_max_s: float = PASS_MAX_S) -> None:
        self._busy_s = busy_s
        self._pass_max_s = pass_max_s
        self._began_s = 0.0
        self.freezes = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        before = gc.get_threshold()
        gc.set_threshold(*LOTS)
        gc.callbacks.append(self._passed)
        try:
            yield
        finally:
            gc.callbacks.remove(self._passed)
            gc.set_threshold(*before)

    def _passed(self, phase: str, facts: Mapping[str, Any]) -> None:
        if facts["generation"] != WHOLE:
            return
        if phase == "start":
            self._began_s = self._busy_s()
        elif self._busy_s() - self._began_s > self._pass_max_s:
            self._freeze_or_look_at_all()

    def _freeze_or_look_at_all(self) -> None:
        if self.freezes < FREEZES_MAX:
            self.freezes += 1
            gc.freeze()
        else:
            self.freezes = 0
            gc.unfreeze()
