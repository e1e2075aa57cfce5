"""One target: history is told to it in the order of commits, at least once, until it has it.

Rule 1: one after another, so the order holds for each scope; a receiver that is down is a cursor that lags.
Rule 2: what failed is tried again after a growing rest, for ever; what is refused, so often and no more: one record
that nobody can read must not keep all others away.
Rule 3: the cursor is saved after a full page, before a rest, and some seconds after something was told. A crash tells
some again, under the same ids.
Rule 4: where history was retired before it was told, the target is told of that first.
Rule 5: time here is real: a manual clock neither waits for a receiver nor hurries one.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from notbefore.core.errors import StoreUnavailable
from notbefore.core.news import Gap, Interest, News, gap_between
from notbefore.ports import (
    Clock,
    HistoryQuery,
    Notifier,
    NotTold,
    OutcomeUnknown,
    Store,
    StoredRecord,
    Tasks,
    VersionConflict,
)
from notbefore.runtime.cursor import Cursor

PAGE = 50
COUNTED_MAX = 10_000
STORE_AWAY_REST_S = 1.0
# After how many looks at another node, which delivers, it is seen that it left.
LOOKS_PER_READ = 10
# A write of the cursor wakes every node, so there is not one for each of the news; of those that nobody wanted, fewer.
SAVE_TOLD_S = 10.0
SAVE_PASSED_OVER_S = 3600.0
RETRY_AFTER_MAX_S = 3600.0
TOLD, FAILED, GIVEN_UP = "told", "failed", "given_up"
OUTCOMES = (TOLD, FAILED, GIVEN_UP)

log = logging.getLogger("notbefore.notify")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to rest before trying again, how often a refusal is not believed, and how seldom another node, which
    delivers, is looked after: so soon it is seen that it is gone.
    """

    first_s: float = 1.0
    most_s: float = 300.0
    refusals_max: int = 12
    others_s: float = 60.0

    def rest_s(self, failures: int, chance: float, retry_after_s: float) -> float:
        """Twice as long each time, shortened by up to half by chance; or what the receiver asks for, within reason."""
        doubled_s = min(self.most_s, self.first_s * 2.0 ** min(failures - 1, 30))
        return max(doubled_s * (0.5 + chance / 2), min(retry_after_s, RETRY_AFTER_MAX_S))


@dataclass(frozen=True, slots=True)
class Target:
    """Who is told, by which way, of what."""

    name: str
    notifier: Notifier
    interest: Interest
    patience: Patience


@dataclass(frozen=True, slots=True)
class Lag:
    """What the target has not got yet, as far as was counted, and since when the oldest of it waits."""

    news: int = 0
    since_ms: int | None = None


class Delivery:
    def __init__(
        self, node: str, target: Target, store: Store, clock: Clock, tasks: Tasks, chance: Callable[[], float]
    ) -> None:
        self._target = target
        self._store = store
        self._clock = clock
        self._chance = chance
        self._bell = tasks.signal_aside()
        self._hurry = tasks.signal_aside()
        self._cursor = Cursor(node, target.name.casefold(), store)
        self._is_over = False
        self._other = ""
        # Told or passed over up to here, and what of that is saved.
        self._after = self._saved = self._announced = 0
        self._saved_s = clock.steady_s()
        self._unsaved_s: float | None = None
        # History may have been retired before it was told, since it was last looked.
        self._may_have_missed = True
        # Counted beyond the page in hand: so much, up to here.
        self._beyond, self._counted_to = 0, 0
        self.lag = Lag()
        self.outcomes: Counter[str] = Counter(dict.fromkeys(OUTCOMES, 0))

    async def begin(self) -> None:
        await self._cursor.ensure()

    def look(self) -> None:
        """There may be something new."""
        self._bell.ring()

    def change(self, target: Target) -> None:
        """Another way to the same target: tried at once."""
        self._target = target
        self._hurry.ring()

    def end(self) -> None:
        self._is_over = True
        self._hurry.ring()
        self._bell.ring()

    async def run(self) -> None:
        while not self._is_over:
            rest_s = await self._looked()
            if not self._is_over:
                await self._clock.rest_until(rest_s, self._bell)
        await self._leave()

    async def _looked(self) -> float | None:
        """Deliver what there is; how long to rest then, None until there is something new."""
        try:
            if not self._cursor.is_held and not await self._takes_over():
                await self._watch()
                return 0.0
            await self._deliver()
            return await self._saved_now_and_then()
        except StoreUnavailable as away:
            log.info("news wait for the store: %s", away.message, extra={"target": self._target.name})
        except (VersionConflict, OutcomeUnknown):
            self._cursor.let_go()
        self._may_have_missed = True
        return STORE_AWAY_REST_S

    # -- whose it is

    async def _takes_over(self) -> bool:
        place = await self._cursor.taken()
        # What this node told and could not save is told all the same; what another one told, too.
        self._after, self._saved = max(self._after, place.after), place.after
        self._announced = max(self._announced, place.announced)
        self._may_have_missed = True
        self._other = place.node
        return self._cursor.is_held

    async def _watch(self) -> None:
        """Another node delivers, until it is gone; now and then the cursor is read, should it have left it."""
        self.lag = Lag()
        for _ in range(LOOKS_PER_READ):
            await self._clock.rest_until(self._target.patience.others_s, self._hurry)
            if self._is_over or not self._store.is_alive(self._other):
                return

    async def _leave(self) -> None:
        """The target is no longer this node's: another one may have it."""
        try:
            if self._cursor.is_held:
                await self._cursor.release(self._after, self._announced)
        except (StoreUnavailable, VersionConflict, OutcomeUnknown):
            log.info("a target was left without a word", extra={"target": self._target.name})

    # -- telling

    async def _deliver(self) -> None:
        more = True
        while more and not self._is_over:
            page = await self._page_after(self._after)
            wanted = self._wanted(page)
            self._expect(page, wanted)
            if page or self._may_have_missed:
                await self._tell_of_gap()
            for n, news in enumerate(wanted):
                if not await self._told(news, len(wanted) - n):
                    return
                self._unsaved_s = self._unsaved_s or self._clock.steady_s()
                self._after = news.revision if is_last_of_record(wanted, n) else self._after
            self._after = page[-1].revision if page else self._after
            more = len(page) == PAGE or self._beyond > 0
            if more:
                await self._save()
        self.lag = Lag()

    async def _tell_of_gap(self) -> None:
        """Asked for after the page was read: what is missing in it was marked before it went."""
        through = await self._cursor.retired_through()
        self._may_have_missed = False
        if through > max(self._after, self._announced) and await self._told(gap_between(self._after, through), 1):
            self._announced = through
            await self._save()

    async def _told(self, news: News | Gap, left: int) -> bool:
        """Until it has arrived or is given up; False when the target ended before that."""
        failures = refusals = 0
        while not self._is_over:
            target = self._target
            try:
                await self._handed_to(target.notifier, news)
            except NotTold as failed:
                failures += 1
                refusals += failed.refused
                ids = {"target": target.name, "news": news.id, "tries": failures}
                if refusals >= target.patience.refusals_max:
                    log.error("news given up, the target does not take it: %s", failed, extra=ids)  # noqa: TRY400  a sentence is enough
                    self.outcomes[GIVEN_UP] += 1
                    return True
                self.outcomes[FAILED] += 1
                self._may_have_missed = True
                rest_s = target.patience.rest_s(failures, self._chance(), failed.retry_after_s)
                log.log(level_of(failures), "news not told, will try again: %s", failed, extra=ids)
                await self._wait(news, left, rest_s)
            else:
                self.outcomes[TOLD] += 1
                return True
        return False

    async def _handed_to(self, notifier: Notifier, news: News | Gap) -> None:
        try:
            await notifier.tell(news)
        except NotTold:
            raise
        except Exception as error:
            log.exception("notifier broke down", extra={"target": self._target.name})
            raise NotTold(f"the notifier broke down: {type(error).__name__}", refused=True) from error

    async def _wait(self, news: News | Gap, left: int, rest_s: float) -> None:
        began_s = self._clock.steady_s()
        try:
            if self._after > self._saved:
                await self._save()
            await self._count()
        except StoreUnavailable:
            log.debug("the store is away as well", extra={"target": self._target.name})
        self.lag = Lag(left + self._beyond, news.record.at_ms if isinstance(news, News) else None)
        await self._clock.rest_until(max(0.0, rest_s - (self._clock.steady_s() - began_s)), self._hurry)

    # -- how far

    async def _save(self) -> None:
        await self._cursor.save(self._after, self._announced)
        self._saved, self._saved_s, self._unsaved_s = self._after, self._clock.steady_s(), None

    async def _saved_now_and_then(self) -> float | None:
        """What was told, soon; what was only passed over, before it can be retired."""
        if self._after > self._saved:
            told_s = self._unsaved_s
            due_s = self._saved_s + SAVE_PASSED_OVER_S if told_s is None else told_s + SAVE_TOLD_S
            left_s = due_s - self._clock.steady_s()
            if left_s > 0:
                return left_s
            await self._save()
        return None

    async def _page_after(self, revision: int) -> Sequence[StoredRecord]:
        return await self._store.history(HistoryQuery(after=revision, limit=PAGE))

    def _wanted(self, page: Sequence[StoredRecord]) -> list[News]:
        wanted_of = self._target.interest.wanted_of
        return [news for stored in page for news in wanted_of(stored.revision, stored.record)]

    def _expect(self, page: Sequence[StoredRecord], wanted: Sequence[News]) -> None:
        """A page in hand is no longer beyond it; and beyond one that is not full there is nothing."""
        end = page[-1].revision if page else self._after
        known = len(page) == PAGE and self._counted_to >= end
        self._beyond = max(0, self._beyond - len(wanted)) if known else 0
        self._counted_to = self._counted_to if known else end
        self.lag = Lag(len(wanted) + self._beyond, wanted[0].record.at_ms if wanted else None)

    async def _count(self) -> None:
        """What came meanwhile, a bounded number of records at a time."""
        for _ in range(COUNTED_MAX // PAGE):
            page = await self._page_after(self._counted_to)
            if page:
                self._beyond += len(self._wanted(page))
                self._counted_to = page[-1].revision
            if len(page) < PAGE:
                return


def is_last_of_record(wanted: Sequence[News], n: int) -> bool:
    return n + 1 == len(wanted) or wanted[n + 1].revision != wanted[n].revision


def level_of(failures: int) -> int:
    """Said once when it begins; then only to those who look closely: the metrics tell how long it lasts."""
    return logging.WARNING if failures == 1 else logging.DEBUG
