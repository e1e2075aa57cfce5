"""Text of others on a terminal: one line, and nothing that moves the cursor."""


def printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
