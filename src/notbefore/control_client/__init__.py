"""The control API for programs of operators: `from notbefore.control_client import connect`.

Rule 1: standard library only, and nothing of the server.
Rule 2: a refusal of the server is raised as the class it was there.
Rule 3: what came is kept as received in `raw`, beside the typed fields; fields it does not know are ignored.
Our own command line is built on it.
"""

from notbefore.control_client.client import ControlClient, connect
from notbefore.control_client.control_api import ControlApi, Json, NoServer, NoToken, StrangeAnswer
from notbefore.control_client.rollout_shapes import (
    BegunRollout,
    Limits,
    Operation,
    Plan,
    PlannedWave,
    Rollout,
    ScopedVm,
    TargetDone,
    TargetInHand,
    Used,
    Wave,
    WaveEvent,
)
from notbefore.control_client.shapes import (
    Approval,
    Change,
    Clock,
    Event,
    Explanation,
    Fault,
    HistoryPage,
    HistoryRecord,
    Host,
    HostFailure,
    Maintenance,
    NotDone,
    Outcome,
    Scope,
    ScopeSettings,
    Token,
    Vm,
)

__all__ = [
    "Approval",
    "BegunRollout",
    "Change",
    "Clock",
    "ControlApi",
    "ControlClient",
    "Event",
    "Explanation",
    "Fault",
    "HistoryPage",
    "HistoryRecord",
    "Host",
    "HostFailure",
    "Json",
    "Limits",
    "Maintenance",
    "NoServer",
    "NoToken",
    "NotDone",
    "Operation",
    "Outcome",
    "Plan",
    "PlannedWave",
    "Rollout",
    "Scope",
    "ScopeSettings",
    "ScopedVm",
    "StrangeAnswer",
    "TargetDone",
    "TargetInHand",
    "Token",
    "Used",
    "Vm",
    "Wave",
    "WaveEvent",
    "connect",
]
