"""What a line may name: VMs, scopes, hosts and events that the lines before it brought in.

Rule 1: names are looked up as they are read, so a slip is found before anything is played.
Rule 2: VMs have names of their own in the whole scenario, because lines call them by nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from notbefore.core.model import name_key
from notbefore.scenarios.words import Unexpected, Words

# They begin a line that is about something else.
RESERVED = ("operator", "host", "history", "at", "after")


@dataclass(slots=True)
class Names:
    """As they are spelled, by their key."""

    vms: dict[str, str] = field(default_factory=dict)
    scopes: dict[str, str] = field(default_factory=dict)
    hosts: dict[str, str] = field(default_factory=dict)
    events: dict[str, str] = field(default_factory=dict)

    def vm(self, words: Words) -> str:
        return _known(words, self.vms, "VM")

    def vm_list(self, words: Words) -> tuple[str, ...]:
        """`web-0 and web-1`."""
        vms = [self.vm(words)]
        while words.take("and"):
            vms.append(self.vm(words))
        return tuple(vms)

    def scope(self, words: Words) -> str:
        return _known(words, self.scopes, "scope")

    def host(self, words: Words) -> str:
        return _known(words, self.hosts, "host")

    def event(self, words: Words) -> str:
        """One that an earlier line gave its name: `as NAME`."""
        return _known(words, self.events, "event", "that an earlier line names with `as`")

    def event_list(self, words: Words) -> tuple[str, ...]:
        events = [self.event(words)]
        while words.take("and"):
            events.append(self.event(words))
        return tuple(events)

    def named_event(self, words: Words) -> str:
        name = words.name("a name for the event")
        return self.events.setdefault(name_key(name), name)

    def bring_in(self, kind: dict[str, str], name: str, what: str) -> str:
        """A name that is declared; once, and none that begins lines of another kind."""
        if name_key(name) in kind:
            raise Unexpected(f"a {what} with a name of its own", f"{name!r}, which is there already")
        if name_key(name) in RESERVED:
            raise Unexpected(f"a name for the {what}", f"{name!r}, which begins other lines")
        kind[name_key(name)] = name
        return name


def _known(words: Words, known: Mapping[str, str], what: str, where: str = "of this scenario") -> str:
    expected = f"a {what} {where}" if what != "event" else f"an event {where}"
    name = words.name(expected)
    if found := known.get(name_key(name)):
        return found
    alike = get_close_matches(name, list(known.values()), 1)
    perhaps = f" (perhaps {alike[0]} is meant)" if alike else ""
    raise Unexpected(expected, f"{name!r}{perhaps}")
