"""agent: the in-VM agent, for help and completion. Usually entry.py has handed over before this is imported."""

import typer


def agent(context: typer.Context) -> None:
    """The agent inside a VM: carries out the steps of agent.toml for an event, approves it, and undoes them afterwards.

    `run --config F` runs it, `run --config F --dry-run` only says what it would do, `check --config F` looks whether
    it could run, `example` prints a commented agent.toml. It is also a program of its own, `notbefore-agent`, which
    imports nothing else of notbefore.

    Example: `notbefore agent example > agent.toml`, then `notbefore agent check --config agent.toml`
    """
    from notbefore.agent.main import run  # noqa: PLC0415  the agent is for whoever asks for it

    raise typer.Exit(run(context.args, "notbefore agent"))
