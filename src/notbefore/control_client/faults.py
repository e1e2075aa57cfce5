"""Ordering faults of an emulator: the methods of ControlClient for `/v1/faults`."""

from collections.abc import Sequence

from notbefore.control_client.control_api import ControlApi
from notbefore.control_client.given import given
from notbefore.control_client.shapes import Fault, shaped


class Faults:
    raw: ControlApi

    def add_fault(
        self,
        kind: str,
        *,
        vms: Sequence[str] = (),
        times: int | None = None,
        probability: float | None = None,
        seed: int | None = None,
        on: str | None = None,
        delay_s: float | None = None,
        after_s: float | None = None,
        notice_s: float | None = None,
        duration_s: float | None = None,
    ) -> Fault:
        """Set one: for all VMs or some, so many times, by chance, or until it is cleared."""
        wanted = given(
            kind=kind,
            vms=list(vms) or None,
            times=times,
            probability=probability,
            seed=seed,
            on=on,
            delay_s=delay_s,
            after_s=after_s,
            notice_s=notice_s,
            duration_s=duration_s,
        )
        return shaped(Fault, self.raw.post("faults", body=wanted))

    def faults(self) -> tuple[Fault, ...]:
        """The oldest first, spent ones included."""
        return tuple(shaped(Fault, one) for one in self.raw.get("faults")["faults"])

    def clear_faults(self, kind: str | None = None, fault_id: str | None = None) -> int:
        """All, those of a kind, or one; how many that were."""
        if fault_id is not None:
            return int(self.raw.delete("faults", fault_id)["cleared"])
        return int(self.raw.delete("faults", query={"kind": kind})["cleared"])
