"""Wrong tokens: each peer's are counted, told in the log, and slowed down.

Rule 1: after FREE_MAX within a minute each further one is answered late, later every time, up to DELAY_MAX_S.
Rule 2: right tokens never wait, whoever else fails from the same address.
Rule 3: bounded: so many peers are remembered, so many answers wait; the next are refused at once.
Rule 4: real time, whatever an emulator's clock shows. A log line has the peer, never what it sent.
"""

import logging
from collections import Counter, OrderedDict, deque
from ipaddress import IPv6Address, ip_address, ip_network

from notbefore.core.errors import TooManyAttempts
from notbefore.ports import Clock

WINDOW_S = 60.0
FREE_MAX = 5
FIRST_DELAY_S = 0.05
DELAY_MAX_S = 2.0
DOUBLINGS_MAX = 8
PEERS_MAX = 1024
WAITING_MAX = 64
WAITING_PER_PEER_MAX = 8

log = logging.getLogger("notbefore.control")


class Attempts:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # The newest failures of each peer, the peer that failed last at the end.
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._waiting: Counter[str] = Counter()
        self._is_full = False

    async def failed(self, peer: str) -> None:
        """Count one more, and return when it may be answered. Raises TooManyAttempts when too many wait."""
        kin = kin_of(peer)
        failures = self._counted(kin)
        delay_s = delay_after(failures)
        if delay_s and (self._waiting.total() >= WAITING_MAX or self._waiting[kin] >= WAITING_PER_PEER_MAX):
            self._refuse(peer)
        log.warning("wrong token on the control API", extra={"peer": peer, "failures": failures, "delay_s": delay_s})
        if delay_s:
            await self._wait(kin, delay_s)

    def _counted(self, kin: str) -> int:
        now_s = self._clock.steady_s()
        times = self._failures.setdefault(kin, deque(maxlen=FREE_MAX + DOUBLINGS_MAX))
        self._failures.move_to_end(kin)
        times.append(now_s)
        while times[0] <= now_s - WINDOW_S:
            times.popleft()
        if len(self._failures) > PEERS_MAX:
            self._failures.popitem(last=False)
        return len(times)

    async def _wait(self, kin: str, delay_s: float) -> None:
        self._waiting[kin] += 1
        try:
            await self._clock.rest(delay_s)
        finally:
            self._waiting[kin] -= 1
            self._is_full = False
            if not self._waiting[kin]:
                del self._waiting[kin]

    def _refuse(self, peer: str) -> None:
        if not self._is_full:
            # Once per jam: who floods the door does not flood the log.
            log.warning("too many wrong tokens on the control API at once", extra={"peer": peer})
            self._is_full = True
        raise TooManyAttempts(
            "Too many wrong tokens were sent from this address or to this server.",
            "Wait a few seconds, then send the right one.",
            {"retry_after_s": int(DELAY_MAX_S)},
        )


def delay_after(failures: int) -> float:
    beyond = failures - FREE_MAX
    return min(FIRST_DELAY_S * 2 ** min(beyond - 1, DOUBLINGS_MAX), DELAY_MAX_S) if beyond > 0 else 0.0


def kin_of(peer: str) -> str:
    """Whom to count together: one IPv4 address; of IPv6 the /64 that one subscriber has."""
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or ip_network((address, 64), strict=False))
    return str(address)
