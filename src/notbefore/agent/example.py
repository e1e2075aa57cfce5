"""The agent.toml that `notbefore-agent example` prints: every key with what it means, the dear ones commented out."""

EXAMPLE = """\
# agent.toml: what this VM does about scheduled events. Every key is in docs/reference/agent.md, every kind of
# step in docs/reference/agent-steps.md. `notbefore-agent check --config agent.toml` looks whether it could run.

[agent]
# endpoint = "http://169.254.169.254"   # found by itself when left out
# vm = "web-1"                          # only where the endpoint does not say who this VM is
# api_version = "2020-07-01"
# state = "/var/lib/notbefore-agent"    # journal and lock; one agent for each
stop_grace_s = 20                       # how long steps under way may go on when the agent is stopped
# alert_on = ["step-failed", "undo-failed", "interrupted", "approval-failed", "journal", "no-notice"]

[log]
format = "text"                         # text or json
level = "info"                          # debug, info, warning or error

[status]
# listen = "127.0.0.1:9254"             # /healthz (503 while draining) and /metrics
# textfile = "/var/lib/node_exporter/notbefore_agent.prom"

# Who is told of failures. Kinds: webhook, mail, command, log, notify.
[[alert]]
kind = "log"

# The first rule that matches an event decides about it. An event that no rule matches is logged and left alone.

# A pause of some seconds: nothing to prepare, so it may come at once.
[[rule]]
name = "short-freeze"
type = "Freeze"
max_duration_s = 9
drain = false                           # /healthz stays 200

[[rule.step]]
kind = "log"

# A spot VM is taken away: half a minute in all, of which the steps may take budget_share.
[[rule]]
name = "taken-away"
type = ["Preempt", "Terminate"]
approve = "on-success"                  # on-success, never, always, at-deadline
among = "own-only"                      # leader, own-only, any

[[rule.step]]
name = "note"
kind = "log"

# [[rule.step]]
# name = "save"
# kind = "command"
# do = ["/usr/local/bin/save-work"]
# limit = "20s"
# on_failure = "go-on"                  # the next step is done all the same; it is not approved

# Everything else of this VM.
[[rule]]
name = "maintenance"
of = "mine"                             # mine, peer, any
# source = "Platform"
# status = "Scheduled"                  # leave alone what is first seen as Started
# description = "*maintenance*"
# vm = "web-*"
among = "leader"                        # the first VM of the event speaks; the next when it stays silent
takeover_share = 0.5                    # for so much of the notice
budget_share = 0.8                      # all steps together may take so much of the notice

[[rule.step]]
name = "note"
kind = "log"

# [[rule.step]]
# name = "leave-load-balancer"
# kind = "haproxy"
# socket = "/run/haproxy/admin.sock"
# servers = ["web/web-1"]
# limit = "5m"
# repeatable = true                     # may be run again when the agent was killed in the middle of it

# [[rule.step]]
# name = "stop-workers"
# kind = "command"
# do = ["systemctl", "stop", "workers.target"]
# undo = ["systemctl", "start", "workers.target"]
# limit = "2m"
"""
