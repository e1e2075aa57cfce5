"""The closed sets of words: types, statuses, sources, policies. Spelled as the wire spells them."""

from enum import StrEnum


class EventType(StrEnum):
    """What happens to the VM."""

    FREEZE = "Freeze"
    """Paused for seconds; memory, files and connections kept."""
    REBOOT = "Reboot"
    """Memory is lost."""
    REDEPLOY = "Redeploy"
    """Moved to another host; ephemeral disks are lost."""
    PREEMPT = "Preempt"
    """A spot VM is taken away."""
    TERMINATE = "Terminate"
    """The VM is being deleted."""


MAINTENANCE_TYPES = (EventType.FREEZE, EventType.REBOOT, EventType.REDEPLOY)


class Status(StrEnum):
    QUEUED = "Queued"
    SCHEDULED = "Scheduled"
    STARTED = "Started"
    COMPLETED = "Completed"
    CANCELLED = "Cancelled"
    FAILED = "Failed"


LIVE = (Status.QUEUED, Status.SCHEDULED, Status.STARTED)
ENDED = (Status.COMPLETED, Status.CANCELLED, Status.FAILED)


class Source(StrEnum):
    PLATFORM = "Platform"
    USER = "User"


class Kind(StrEnum):
    """What groups the VMs of a scope."""

    CLOUD_SERVICE = "cloud-service"
    AVAILABILITY_SET = "availability-set"
    SCALE_SET = "scale-set"
    STANDALONE = "standalone"


class VmState(StrEnum):
    RUNNING = "running"
    DEALLOCATED = "deallocated"


class Listening(StrEnum):
    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Policy(StrEnum):
    """Whose approval releases an event."""

    ANY = "any"
    ALL = "all"
    LEADER = "leader"


class Eviction(StrEnum):
    """What is left of a spot VM after its Preempt."""

    DEALLOCATE = "deallocate"
    DELETE = "delete"
