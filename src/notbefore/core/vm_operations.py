"""The operations a person or the platform may ask for, with their defaults (SPEC §3.1), as a table."""

from collections.abc import Mapping
from dataclasses import dataclass

from notbefore.core.kinds import EventType, Source

MAINTENANCE_DESCRIPTION = "Host server is undergoing maintenance."
FAILURE_DESCRIPTION = "Virtual machine has encountered a failure."


@dataclass(frozen=True, slots=True)
class VmOperation:
    name: str
    type: EventType
    source: Source
    description: str


VM_OPERATIONS: Mapping[str, VmOperation] = {
    operation.name: operation
    for operation in (
        VmOperation(
            "restart",
            EventType.REBOOT,
            Source.USER,
            "Virtual machine is going to be restarted as requested by authorized user.",
        ),
        VmOperation(
            "redeploy",
            EventType.REDEPLOY,
            Source.USER,
            "Virtual machine is going to be redeployed as requested by authorized user.",
        ),
        VmOperation("freeze", EventType.FREEZE, Source.PLATFORM, MAINTENANCE_DESCRIPTION),
        VmOperation("evict", EventType.PREEMPT, Source.PLATFORM, ""),
        VmOperation(
            "terminate",
            EventType.TERMINATE,
            Source.USER,
            "Virtual machine is going to be deleted as requested by authorized user.",
        ),
    )
}
