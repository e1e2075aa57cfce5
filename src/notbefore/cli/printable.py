"""Text of others on a terminal: one line stays one line, and nothing moves the cursor."""

from collections.abc import Iterable


def printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def show_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(printable(line))
