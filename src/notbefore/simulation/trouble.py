"""What can go wrong around a process, by name. The names are the coverage table's rows."""

from enum import StrEnum


class Trouble(StrEnum):
    # -- Between a process and the store.
    SLOW_STORE = "slow store"
    STORE_AWAY = "store away"
    READS_FAIL = "reads fail"
    CONFLICTS = "conflicts"
    UNKNOWN_WRITTEN = "outcome unknown, written"
    UNKNOWN_LOST = "outcome unknown, not written"
    UNKNOWN_LATE = "outcome unknown, written later"
    CRASH_BEFORE_COMMIT = "crash before commit"
    CRASH_AFTER_COMMIT = "crash after commit"
    # -- A process and its machine.
    CRASH = "crash"
    REBOOT = "machine reboots"
    STALL = "process stalls"
    STEP_FORWARD = "clock steps forward"
    STEP_BACK = "clock steps back"
    # -- What a process drives: executors, the sink of its history, the receivers of its news.
    SLOW_EXECUTOR = "slow executor"
    FAILING_EXECUTOR = "failing executor"
    LYING_EXECUTOR = "lying executor"
    BREAKING_EXECUTOR = "executor breaks down"
    ANSWERING_TWICE = "executor answers twice"
    SINK_AWAY = "sink away"
    RECEIVER_AWAY = "receiver of news unwell"
    # -- The network between a VM and a process.
    ANSWER_LOST = "answer to a VM lost"


OF_THE_STORE = frozenset(
    {
        Trouble.SLOW_STORE,
        Trouble.STORE_AWAY,
        Trouble.READS_FAIL,
        Trouble.CONFLICTS,
        Trouble.UNKNOWN_WRITTEN,
        Trouble.UNKNOWN_LOST,
        Trouble.UNKNOWN_LATE,
        Trouble.CRASH_BEFORE_COMMIT,
        Trouble.CRASH_AFTER_COMMIT,
    }
)
OF_EXECUTORS = frozenset(
    {
        Trouble.SLOW_EXECUTOR,
        Trouble.FAILING_EXECUTOR,
        Trouble.LYING_EXECUTOR,
        Trouble.BREAKING_EXECUTOR,
        Trouble.ANSWERING_TWICE,
        Trouble.SINK_AWAY,
        Trouble.RECEIVER_AWAY,
    }
)
