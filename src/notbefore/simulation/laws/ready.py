"""Since when a process is well: it has read the store, lives, and is in no trouble."""

from notbefore.simulation.facts import ProcessFacts


def ready_since_us(process: ProcessFacts) -> int | None:
    if process.loaded_us is None or process.ended_us is not None or process.calm_since_us is None:
        return None
    return max(process.loaded_us, process.calm_since_us)
