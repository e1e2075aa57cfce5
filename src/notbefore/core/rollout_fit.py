"""Which VMs of a target may be touched next, within a rollout's limits, and what is in the way of the others.

Rule 1: a wave counts from its announcement to its end: any VM may approve at once. So the limits hold whoever speaks
when. An approval makes its own wave faster; what it does to the whole, where several waves go at once, is open.
Rule 2: VMs of one update domain and host go together, unless they are more than may ever go at once.
Rule 3: of a scope that is in a wave of this rollout, no other update domain is begun (S5).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from notbefore.core.expected import Expected
from notbefore.core.model import Scope, Vm, name_key
from notbefore.core.operation import ScopedVm
from notbefore.core.operation_steps import ASK_AGAIN_MAX_MS, common_not_before_ms
from notbefore.core.rollout import Limits, Over, Rollout, Target
from notbefore.core.schedule import groups_going_down_together
from notbefore.core.times import SECOND_MS, Moment, is_still_to_come, iso
from notbefore.core.values import replace
from notbefore.core.waves import hindrance_to
from notbefore.core.windows import closes_ms, first_fit_ms

Group = tuple[Scope, Sequence[Vm]]


@dataclass(frozen=True, slots=True)
class Blocked:
    """What keeps a target from its next wave, and when that may be over by itself."""

    why: str
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """The next wave's VMs, with the hosts they are on, and until when it may be announced, if a window says so."""

    vms: tuple[ScopedVm, ...]
    hosts: tuple[str, ...]
    announced_by_ms: int | None = None


@dataclass(slots=True)
class AtOnce:
    """What is under way at once: in waves, and by targets in hand."""

    limits: Limits
    over: Over
    scopes: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    vms: int = 0
    # Of scopes in waves of this rollout: which update domain.
    domains: dict[str, int] = field(default_factory=dict)
    hits: int = 0

    def take(self, name: str) -> None:
        (self.hosts if self.over is Over.HOSTS else self.scopes).add(name_key(name))

    def add(self, scope: Scope, group: Sequence[Vm]) -> None:
        self.scopes.add(scope.key)
        self.hosts |= hosts_of(group)
        self.vms += len(group)
        self.hits += len(group)
        self.domains[scope.key] = group[0].update_domain

    def refusal(self, scope: Scope, group: Sequence[Vm]) -> str:
        """Which limit these VMs would break; none is the empty word."""
        limits = self.limits
        if limits.max_hosts is not None and len(self.hosts | hosts_of(group)) > limits.max_hosts:
            return f"max_hosts {limits.max_hosts}"
        if limits.max_scopes is not None and len(self.scopes | {scope.key}) > limits.max_scopes:
            return f"max_scopes {limits.max_scopes}"
        if limits.max_vms is not None and self.vms + len(group) > limits.max_vms:
            return f"max_vms {limits.max_vms}"
        if limits.impacts_max is not None and self.hits + len(group) > limits.impacts_max:
            return f"{limits.impacts_max} impacts in {limits.impacts_per_s} s"
        return ""


def hosts_of(group: Sequence[Vm]) -> set[str]:
    return {name_key(vm.host) for vm in group if vm.host}


def at_once(rollout: Rollout, scopes: Mapping[str, Scope]) -> AtOnce:
    under_way = AtOnce(rollout.limits, rollout.over)
    for target in rollout.in_hand:
        under_way.take(target.name)
        if target.wave:
            under_way.hosts |= set(map(name_key, target.wave.hosts))
            under_way.vms += len(target.wave.vms)
            for of in target.wave.vms:
                count_scope(under_way, of, scopes)
    under_way.hits = sum(hit.vms for hit in rollout.hits)
    return under_way


def count_scope(under_way: AtOnce, of: ScopedVm, scopes: Mapping[str, Scope]) -> None:
    key = name_key(of.scope)
    under_way.scopes.add(key)
    if (scope := scopes.get(key)) and (vm := scope.vm(of.vm)):
        under_way.domains[key] = vm.update_domain


def next_fit(
    rollout: Rollout,
    target: Target,
    under_way: AtOnce,
    scopes: Mapping[str, Scope],
    now: Moment,
    expected: Expected,
) -> Fit | Blocked:
    if is_still_to_come(target.not_until_ms, now, ASK_AGAIN_MAX_MS):
        return Blocked("its scopes could not take it a moment ago", target.not_until_ms)
    blocks: list[Blocked] = []
    ready = [
        group
        for scope, vms in vms_by_scope(target.waiting, scopes)
        for group in ready_groups(rollout, scope, vms, under_way, now, blocks)
    ]
    if not ready:
        return first_of(blocks)
    not_before_ms = common_not_before_ms(rollout.type, [scope for scope, _ in ready], now)
    need_ms = not_before_ms - now.wall_ms + round(expected.started_s(rollout.type, rollout.duration_s) * SECOND_MS)
    opens_ms = first_fit_ms(rollout.limits.windows, now.wall_ms, need_ms)
    if opens_ms is None:
        return Blocked(f"no window is open for the {need_ms // SECOND_MS} s that a wave needs")
    if opens_ms > now.wall_ms:
        return Blocked(f"its window, which opens at {iso(opens_ms)}", opens_ms)
    fit = within_limits(rollout, ready, under_way)
    closed_ms = closes_ms(rollout.limits.windows, now.wall_ms)
    if isinstance(fit, Blocked) or closed_ms is None:
        return fit
    return replace(fit, announced_by_ms=closed_ms - need_ms)


def vms_by_scope(waiting: Sequence[ScopedVm], scopes: Mapping[str, Scope]) -> list[tuple[Scope, list[Vm]]]:
    vms: dict[str, list[Vm]] = {}
    for of in waiting:
        if (scope := scopes.get(name_key(of.scope))) and (vm := scope.vm(of.vm)):
            vms.setdefault(scope.key, []).append(vm)
    return [(scopes[key], of_scope) for key, of_scope in sorted(vms.items())]


def ready_groups(
    rollout: Rollout, scope: Scope, vms: Sequence[Vm], under_way: AtOnce, now: Moment, blocks: list[Blocked]
) -> list[Group]:
    """Of this scope the first update domain whose turn can be now."""
    rested, resting = apart_by_rest(scope, vms, rollout.limits.vm_rest_s, now)
    blocks += [Blocked("a VM was hit too short a time ago", until_ms) for until_ms in resting[:1]]
    chosen = under_way.domains.get(scope.key)
    ready: list[Group] = []
    for group in groups_going_down_together(rested):
        if chosen not in (None, group[0].update_domain):
            blocks.append(Blocked(f"update domain {chosen} of scope {scope.name} has its turn"))
            continue
        hindrance = hindrance_to(scope, group, rollout.type, now)
        if hindrance:
            blocks.append(Blocked(f"scope {scope.name}: {hindrance.why}", hindrance.until_ms))
            continue
        chosen = group[0].update_domain
        ready.append((scope, group))
    return ready


def apart_by_rest(scope: Scope, vms: Sequence[Vm], rest_s: int, now: Moment) -> tuple[list[Vm], list[int]]:
    """Those that were not hit within the rest, and when the others have had theirs, the first of them first."""
    rested: list[Vm] = []
    until: list[int] = []
    for vm in vms:
        hit_ms = scope.hit_ms.get(name_key(vm.name))
        if rest_s and hit_ms is not None and hit_ms + rest_s * SECOND_MS > now.wall_ms:
            until.append(hit_ms + rest_s * SECOND_MS)
        else:
            rested.append(vm)
    return rested, sorted(until)


def within_limits(rollout: Rollout, ready: Sequence[Group], under_way: AtOnce) -> Fit | Blocked:
    taken: list[Group] = []
    refusals: list[str] = []
    for scope, group in ready:
        going = in_one_go(rollout.limits, group)
        if refusal := under_way.refusal(scope, going):
            refusals.append(refusal)
            continue
        under_way.add(scope, going)
        taken.append((scope, going))
    if not taken:
        return Blocked(f"the budget: {refusals[0]}", rate_frees_ms(rollout))
    vms = tuple(ScopedVm(scope.name, vm.name) for scope, group in taken for vm in group)
    return Fit(vms, tuple(sorted({host for _, group in taken for host in hosts_of(group)})))


def in_one_go(limits: Limits, group: Sequence[Vm]) -> Sequence[Vm]:
    """As many of a group as may ever go at once."""
    most = min(number for number in (limits.max_vms, limits.impacts_max, len(group)) if number is not None)
    return group[:most]


def rate_frees_ms(rollout: Rollout) -> int | None:
    """When the next impact no longer counts against the rate."""
    span_ms = rollout.limits.impacts_per_s * SECOND_MS
    ages = [hit.started_at_ms + span_ms for hit in rollout.hits if hit.started_at_ms is not None]
    return min(ages, default=None)


def first_of(blocks: Sequence[Blocked]) -> Blocked:
    """The one that ends first by itself; else whichever there is."""
    ending = [block for block in blocks if block.until_ms is not None]
    if ending:
        return min(ending, key=lambda block: block.until_ms or 0)
    return blocks[0] if blocks else Blocked("none of its VMs is there")
