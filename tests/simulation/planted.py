"""Faults planted in a copy of the program, one at a time, and how many seeds may be needed to find each.

Rule 1: a fault is a replacement of one piece of the source, which must be there exactly once: when the code changes,
the fault is planted anew or the test says so.
Rule 2: the law named is the one whose words the fault breaks; another one may notice first.
Called by: test_planted_faults.py, scripts/planted-faults.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import notbefore

PACKAGE = Path(notbefore.__file__).parent
HUNT = Path(__file__).with_name("hunt.py")
HOURS = 12
NODES_MAX = 3


@dataclass(frozen=True)
class Planted:
    name: str
    file: str
    right: str
    wrong: str
    law: str
    within: int = 20


@dataclass(frozen=True)
class Found:
    """After how many seeds, by which law, in which words; None when nothing was found."""

    seeds: int
    law: str | None
    sentence: str


FAULTS = (
    Planted(
        "notice one second short",
        "core/settle.py",
        "rounded_up_to_second(now.wall_ms + scope.settings.notice_for(event.type) * SECOND_MS)",
        "rounded_up_to_second(now.wall_ms + scope.settings.notice_for(event.type) * SECOND_MS) - SECOND_MS",
        "S2",
    ),
    Planted(
        "NotBefore rounded down",
        "core/times.py",
        "return -(-at_ms // SECOND_MS) * SECOND_MS",
        "return at_ms // SECOND_MS * SECOND_MS",
        "S2",
    ),
    Planted(
        "wall clock alone decides",
        "core/times.py",
        "return max(0, on_the_wall, promised_ms - elapsed_ms)",
        "return max(0, on_the_wall)",
        "S1",
    ),
    Planted(
        "promises of other machines judged by the wall",
        "core/times.py",
        "        if learned_ms is None:\n",
        "        if True:\n",
        "S1",
    ),
    Planted(
        "a promise met after an absence judged by the wall",
        "runtime/witness.py",
        "return 0 if self._snapshot.loaded else",
        "return 0 if self._snapshot.loaded and not self._snapshot.store_away else",
        "S1",
        within=80,
    ),
    Planted(
        "due a second early",
        "core/settle.py",
        "if event.notice and event.notice.has_passed(draft.now):",
        "if event.notice and event.notice.remaining_ms(draft.now) <= SECOND_MS:",
        "S1",
    ),
    Planted(
        "policy all counts as any",
        "core/approval.py",
        "return tuple(vm for vm in event.vms if name_key(vm) not in spoken)",
        "return () if spoken else event.vms",
        "S1",
    ),
    Planted(
        "coupled Terminates start one by one",
        "core/approval.py",
        "if as_early and not other.notice.has_passed(now) and releasing_approval(scope, other) is None:",
        "if as_early and scope is None:",
        "S1",
        within=60,
    ),
    Planted(
        "first question not committed",
        "runtime/hearing.py",
        "await self._turns.take(self._note(ref, view, {ref.vm: now_ms}))",
        "view.newest_asked_ms = now_ms",
        "S1",
        within=60,
    ),
    Planted(
        "incarnation stands still when an event ends",
        "core/draft.py",
        "if picture(scope) != picture(self.before):",
        "if picture(scope) != picture(self.before) and len(scope.events) >= len(self.before.events):",
        "S3",
    ),
    Planted(
        "incarnation begins anew with a removed scope",
        "core/declare.py",
        "draft.scope = replace(draft.scope, vms=(), asked_ms={}, hit_ms={}, recovery=None, removed=True)",
        "draft.scope = replace(draft.scope, vms=(), asked_ms={}, hit_ms={}, recovery=None, removed=True, incarnation=1)\n"
        "    draft.before = draft.scope",
        "S3",
    ),
    Planted(
        "ids of events named after their scope",
        "core/requests.py",
        "return str(uuid5(UUID(self.request_id), str(n))).upper()",
        "return str(uuid5(UUID(int=0), f'{self.scope}{n}')).upper()",
        "S4",
    ),
    Planted(
        "request taken twice",
        "core/decide.py",
        "if taken.request_id == request.request_id:",
        'if taken.request_id == "":',
        "S11",
    ),
    Planted(
        "two update domains at once",
        "core/domains.py",
        "if domains_having_their_turn(scope) - {update_domain}:",
        "if len(domains_having_their_turn(scope)) > 1:",
        "S5",
    ),
    Planted(
        "no rest between update domains",
        "core/domains.py",
        "return rest is None or rest.update_domain == update_domain or rest.span.has_passed(now)",
        "return True",
        "S5",
    ),
    Planted(
        "attempt id used again",
        "core/impacts.py",
        "attempt=pending.attempt + 1,",
        "attempt=max(1, pending.attempt),",
        "S6",
    ),
    Planted(
        "a living node's claim taken over",
        "runtime/outbox.py",
        "and self._store.is_alive(pending.claimed_by)",
        "and not self._store.is_alive(pending.claimed_by)",
        "S6",
    ),
    Planted(
        "carried out before it is claimed",
        "runtime/outbox.py",
        "        taken = await self._turns.take(claim)\n"
        "        return taken.scope, next(one for one in taken.scope.pending if one.key == pending.key)\n",
        "        self._tasks.spawn('claim', self._turns.take(claim))\n"
        "        return scope, replace(pending, attempt=pending.attempt + 1)\n",
        "S6",
    ),
    Planted(
        "a claim made with the start is begun whenever it is seen",
        "runtime/outbox.py",
        "own - known if self._is_running",
        "own if self._is_running",
        "S6",
        within=150,
    ),
    Planted(
        "second impact of a VM beside the first",
        "runtime/outbox.py",
        "            if vm_key in vms_busy:\n                continue\n",
        "",
        "S6",
        within=60,
    ),
    Planted(
        "approval lost on conflict",
        "runtime/turn.py",
        "                except (VersionConflict, OutcomeUnknown):\n                    continue\n",
        "                except (VersionConflict, OutcomeUnknown):\n"
        "                    return Taken(Answer(), self._snapshot.view(request.scope).scope)\n",
        "S7",
    ),
    Planted(
        "200 though the store was away",
        "metadata/service.py",
        "        case StoreUnavailable():\n            return error(\n                503,",
        "        case StoreUnavailable():\n            return APPROVED\n            return error(\n                503,",
        "S7",
        within=60,
    ),
    Planted(
        "a second approval replaces the first",
        "core/approve.py",
        "approved = replace(event, approvals=(*event.approvals, approval))",
        "approved = replace(event, approvals=(approval,))",
        "S7",
    ),
    Planted(
        "unknown ids passed over",
        "core/approve.py",
        "events = [approvable(draft.scope, event_id, from_a_vm=by.kind is ActorKind.VM) for event_id in request.event_ids]",
        "events = [e for e in map(draft.scope.event, request.event_ids) if e]",
        "S7",
        within=60,
    ),
    Planted(
        "documents kept across scopes",
        "metadata/service.py",
        "    made = view.made_of_it.get(wanted.version.name)\n    if made is None:\n        headers",
        "    made = KEPT.get((tag, wanted.version.name))\n    if made is None:\n        headers",
        "S8",
    ),
    Planted(
        "an address with two owners names the first",
        "metadata/identity.py",
        "        if self._snapshot.owners_of(peer.address):\n            self._warn_once",
        "        if owners := self._snapshot.owners_of(peer.address):\n            return owners[0]\n            self._warn_once",
        "S8",
    ),
    Planted(
        "cancelled but not withdrawn",
        "core/impacts.py",
        '    draft.move(event, Happening.CANCELLED, f"cancelled by {request.by}")\n',
        '    draft.tell(Happening.CANCELLED, f"cancelled by {request.by}", event=event)\n',
        "S9",
    ),
    Planted(
        "cancelled after its start",
        "core/lifecycle.py",
        "    (Status.STARTED, Happening.FINISHED): Status.COMPLETED,\n",
        "    (Status.STARTED, Happening.FINISHED): Status.COMPLETED,\n"
        "    (Status.STARTED, Happening.CANCELLED): Status.CANCELLED,\n",
        "S9",
    ),
    Planted(
        "given up a try too early",
        "core/impacts.py",
        "if failures < FAILURES_MAX:",
        "if failures < FAILURES_MAX - 1:",
        "S10",
        within=60,
    ),
    Planted(
        "over when the first VM is done",
        "core/model.py",
        "return {name_key(o.vm) for o in self.outcomes} >= set(map(name_key, self.vms))",
        "return bool(self.outcomes)",
        "S10",
    ),
    Planted(
        "terminated VM stays",
        "core/impacts.py",
        "        case EventType.PREEMPT | EventType.TERMINATE:\n",
        "        case EventType.PREEMPT:\n",
        "S10",
    ),
    Planted(
        "history left out",
        "runtime/turn.py",
        "committed = await self._store.commit(decision.scope, version, decision.record)",
        "committed = await self._store.commit(decision.scope, version, decision.record if version % 7 else None)",
        "S11",
    ),
    Planted(
        "a failed turn is not tried again",
        "runtime/timer.py",
        "            self._wheel.set(key, self._clock.now().wall_ms + SECOND_MS)\n",
        "            return\n",
        "L1",
        within=150,
    ),
    Planted(
        "nobody wakes the timer",
        "runtime/timer.py",
        "next_due_ms(scope, self._witness.now(scope))):\n            self._bell.ring()\n",
        "next_due_ms(scope, self._witness.now(scope))):\n            pass\n",
        "L1",
    ),
    Planted(
        "nobody wakes the timer for another try",
        "runtime/timer.py",
        "SECOND_MS):\n                self._bell.ring()\n",
        "SECOND_MS):\n                pass\n",
        "L1",
        within=150,
    ),
    Planted(
        "an own write of unknown outcome is not shown",
        "runtime/turn.py",
        "            self._snapshot.apply(stored)\n            return",
        "            return",
        "reliable",
        within=150,
    ),
    Planted(
        "the queue is forgotten",
        "core/settle.py",
        "    if queued and not domains_having_their_turn(scope):\n",
        "    if queued and False:\n",
        "L2",
    ),
    Planted(
        "follower gives up when the store was away",
        "runtime/snapshot.py",
        "                await self._clock.rest(STORE_AWAY_REST_S)\n",
        "                return\n",
        "L3",
        within=60,
    ),
    Planted(
        "a change wakes nobody who waits",
        "metadata/polls.py",
        "        if group is not None and group.is_news(scope):\n",
        "        if group is not None and scope.removed:\n",
        "§2.6",
    ),
    Planted(
        "a wait has no end",
        "metadata/polls.py",
        "        for slot in sorted(slot for slot in self._slots if slot <= now):\n",
        "        for slot in sorted(slot for slot in self._slots if slot <= now - 600):\n",
        "§2.6",
    ),
    Planted(
        "a change whose reading failed is missed",
        "runtime/snapshot.py",
        "                await self._catch_up()\n"
        "                for look in self._lookers:\n"
        "                    await look()\n"
        "                self.store_away = False\n"
        "                await self._store.wait_for_changes()\n",
        "                await self._store.wait_for_changes()\n"
        "                await self._catch_up()\n"
        "                for look in self._lookers:\n"
        "                    await look()\n"
        "                self.store_away = False\n",
        "reliable",
        within=80,
    ),
    Planted(
        "an older state replaces a newer one",
        "runtime/snapshot.py",
        "        if known and known.version >= stored.version:\n            return\n",
        "",
        "ordered",
        within=200,
    ),
    Planted(
        "an address is refused for ever once two claimed it",
        "metadata/identity.py",
        "        return self._snapshot.owner_of(peer.address) or self._of_no_owner(peer)\n",
        "        known = None if peer.address in self._warned else self._snapshot.owner_of(peer.address)\n"
        "        return known or self._of_no_owner(peer)\n",
        "S8",
    ),
    Planted(
        "an address given up by one is taken from both",
        "runtime/addresses.py",
        "        self._set(address, tuple(owner for owner in self.owners_of(address) if owner != vm))\n",
        "        self._set(address, ())\n",
        "S8",
    ),
    Planted(
        "no limit to the rate",
        "metadata/rate.py",
        "        if full_at_s - now_s > self._reach_s:\n",
        "        if now_s < 0:\n",
        "§2.1",
    ),
    Planted(
        "approved one by one",
        "metadata/service.py",
        "        await self._node.turns.take(\n"
        "            ApproveEvents(scope=view.scope.name, request_id=self._node.ids(), by=by, event_ids=event_ids)\n"
        "        )\n",
        "        for one in event_ids:\n"
        "            await self._node.turns.take(\n"
        "                ApproveEvents(scope=view.scope.name, request_id=self._node.ids(), by=by, event_ids=(one,))\n"
        "            )\n",
        "§2.4",
    ),
    Planted(
        "the first VM speaks for the caller",
        "core/approve.py",
        "    return Actor(ActorKind.VM, vm.name)\n",
        "    return Actor(ActorKind.VM, draft.scope.vms[0].name)\n",
        "S7",
    ),
    Planted(
        "maintenance taken for a failure",
        "core/settle.py",
        "    if event.unplanned:\n",
        "    if event.unplanned or event.duration_s == 0:\n",
        "S1",
    ),
    Planted(
        "history deleted before it is kept",
        "runtime/retention.py",
        "        await self._sink.keep(ripe)\n        last =",
        "        last =",
        "S11",
    ),
    Planted(
        "history of live events deleted",
        "runtime/retention.py",
        "return any(change.event and self._snapshot.event(change.event.id) for change in record.changes)",
        "return False",
        "S11",
        within=60,
    ),
    Planted(
        "a revoked token opens its own server a moment longer",
        "control/token_book.py",
        "                del self._known[known.token.key]\n",
        "                pass\n",
        "§5",
    ),
    Planted(
        "tokens of other servers never heard of",
        "runtime/snapshot.py",
        "        self._lookers.append(look)\n",
        "        return\n",
        "§5",
    ),
    Planted(
        "news given up at the first failure",
        "runtime/delivery.py",
        "if refusals >= target.patience.refusals_max:",
        "if failures >= 1:",
        "news",
    ),
    Planted(
        "news marked as told before they are",
        "runtime/delivery.py",
        "            self._expect(page, wanted)\n",
        "            self._expect(page, wanted)\n"
        "            if wanted:\n"
        "                await self._cursor.save(page[-1].revision, self._announced)\n",
        "news",
        within=80,
    ),
    Planted(
        "two changes of a record told under one id",
        "core/news.py",
        "{record.request_id}/{revision}/{number}",
        "{record.request_id}/{revision}",
        "news",
    ),
    Planted(
        "nobody takes over the news of a node that is gone",
        "runtime/cursor.py",
        "if place.node and self._store.is_alive(place.node):",
        "if place.node:",
        "news",
    ),
    Planted(
        "nobody wakes who tells the news",
        "runtime/notifying.py",
        "        for delivery in self.deliveries.values():\n            delivery.look()\n",
        "        return\n",
        "news",
    ),
    Planted(
        "rest counted twice",
        "core/draft.py",
        "self.now.promise(self.now.wall_ms + rest_ms)",
        "self.now.promise(self.now.wall_ms + 2 * rest_ms)",
        "§3.4",
    ),
    Planted(
        "the gate is ignored",
        "core/settle.py",
        "if event.gate is None or event.gate.open:",
        "if True:",
        "§3.4",
    ),
    Planted(
        "the gate opens while one of the wave is only announced",
        "core/operation_steps.py",
        "if Stage.RELEASED not in stages or stages & {Stage.ASKED, Stage.ANNOUNCED}:",
        "if Stage.RELEASED not in stages or stages & {Stage.ASKED}:",
        "§3.4",
    ),
    Planted(
        "the gate is never opened",
        "runtime/operations.py",
        "elif member.stage is Stage.RELEASED and operation.wave and operation.wave.gate_open:",
        "elif member is None:",
        "L2",
    ),
    Planted(
        "two update domains of a scope in a wave",
        "core/operation_steps.py",
        "            if chosen not in (None, group[0].update_domain):\n                break\n",
        "",
        "§3.4",
    ),
    Planted(
        "each scope has a NotBefore of its own",
        "core/waves.py",
        "event = with_asked_time(draft, event, request.not_before_ms)",
        "event = with_asked_time(draft, event, None)",
        "§3.4",
    ),
    Planted(
        "a NotBefore asked for is not rounded for the wave",
        "core/operation_steps.py",
        "max(not_before_ms, rounded_up_to_second(operation.not_before_ms or 0))",
        "max(not_before_ms, operation.not_before_ms or 0)",
        "§3.4",
    ),
    Planted(
        "what was taken back before it came still comes",
        "core/waves.py",
        "    elif event is None and joined is None:\n",
        "    elif event is None and joined is None and request.keeps:\n",
        "S9",
        within=150,
    ),
    Planted(
        "a refusal is believed though the event may come by another's word",
        "runtime/operations.py",
        "has_come = await self._told(self._leaving(operation, member, refused.message, keeps=True))",
        "has_come = False",
        "S9",
        within=60,
    ),
    Planted(
        "a cancelled operation leaves its events",
        "runtime/operations.py",
        "            if member.stage not in (Stage.STARTED, Stage.OVER):\n",
        "            if member.stage is Stage.ASKED:\n",
        "S9",
    ),
    Planted(
        "a stage goes back",
        "core/operation_steps.py",
        "return now_at if after > before else member",
        "return now_at",
        "§3.4",
        within=60,
    ),
    Planted(
        "a budget counts only what has started",
        "core/rollout_fit.py",
        "        if target.wave:\n            under_way.hosts |=",
        "        if target.wave and any(hit.started_at_ms for hit in rollout.hits):\n            under_way.hosts |=",
        "§3.4",
    ),
    Planted(
        "an impact no longer counts once it has begun",
        "core/rollout_steps.py",
        "hit for hit in rollout.hits if hit.started_at_ms is None or hit.started_at_ms + span_ms > now.wall_ms)",
        "hit for hit in rollout.hits if hit.started_at_ms is None and span_ms > 0)",
        "§3.4",
    ),
    Planted(
        "windows are not kept to",
        "core/windows.py",
        "    if not windows:\n        return at_ms\n",
        "    if need_ms >= 0:\n        return at_ms\n",
        "§3.4",
    ),
    Planted(
        "a VM is hit again too soon",
        "core/rollout_fit.py",
        "if rest_s and hit_ms is not None and hit_ms + rest_s * SECOND_MS > now.wall_ms:",
        "if rest_s and hit_ms is not None and hit_ms > now.wall_ms:",
        "§3.4",
        within=60,
    ),
    Planted(
        "the rest between domains is not passed on",
        "core/rollout_steps.py",
        "        recovery_s=rollout.limits.recovery_s,\n",
        "        recovery_s=0,\n",
        "§3.4",
    ),
    Planted(
        "a longer rest is cut short by a shorter one",
        "core/draft.py",
        "still_owed_ms(owed, self.now) > rest_ms:",
        "rest_ms < 0:",
        "S5",
        within=300,
    ),
    Planted(
        "a rollout does not halt",
        "core/rollout_steps.py",
        "if failed - rollout.forgiven <= rollout.limits.failed_max:",
        "if failed >= 0:",
        "§3.4",
    ),
    Planted(
        "a halted rollout withdraws nothing",
        "core/rollout_steps.py",
        "return rollout.status in (RolloutStatus.HALTED, RolloutStatus.CANCELLING)",
        "return rollout.status is RolloutStatus.CANCELLING",
        "S9",
        within=60,
    ),
    Planted(
        "a paused rollout goes on",
        "core/rollout_steps.py",
        "    if rollout.status is RolloutStatus.RUNNING:\n        rollout, again_ms =",
        "    if rollout.status in (RolloutStatus.RUNNING, RolloutStatus.PAUSED):\n        rollout, again_ms =",
        "§3.4",
    ),
    Planted(
        "a wave is begun under an id that is made up then",
        "core/rollout_steps.py",
        "        id=wave.operation,\n",
        "        id=rollout.operation_id(wave.number + 1000 * (1 + len(rollout.hits))),\n",
        "§3.4",
    ),
)


def planted_in(fault: Planted, directory: Path) -> Path:
    """A copy of the program with the fault in it; the directory to import it from."""
    copy = directory / "notbefore"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    file = copy / fault.file
    source = file.read_text()
    if source.count(fault.right) != 1:
        raise AssertionError(f"'{fault.name}' has no place in {fault.file} any more: plant it anew")
    file.write_text(with_names(source.replace(fault.right, fault.wrong)))
    return directory


def with_names(source: str) -> str:
    """What some faults use beside what the file imports."""
    extra = ""
    if "KEPT." in source:
        source = source.replace(
            "made = view.made_of_it[wanted.version.name] =", "made = KEPT[(tag, wanted.version.name)] ="
        )
        extra = "KEPT = {}\n"
    if "spawn('claim'" in source:
        extra = "from dataclasses import replace\n"
    return source + "\n" + extra


def hunt(fault: Planted, directory: Path, first_seed: int = 1) -> Found:
    """Seed after seed on the faulty copy, until a law is broken or the stated number is reached."""
    environment = {**os.environ, "PYTHONPATH": str(planted_in(fault, directory))}
    asked = [str(number) for number in (first_seed, fault.within, HOURS, NODES_MAX)]
    ended = subprocess.run(
        [sys.executable, str(HUNT), *asked], env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise AssertionError(f"the hunt for '{fault.name}' broke down: {ended.stderr[-2000:]}")
    return Found(**json.loads(ended.stdout))
