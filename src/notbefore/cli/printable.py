"""Text of others on a terminal: one line stays one line, and nothing moves the cursor."""

from collections.abc import Iterable

from notbefore.cli.local_times import for_reader


def printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def show_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(for_reader(printable(line)))
