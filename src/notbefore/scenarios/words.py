"""One line of a scenario, word by word.

Rule 1: words are compared in any letter case; names keep theirs. A name with spaces or commas in it is quoted.
Rule 2: whoever reads says what is expected; a line that has something else is Unexpected, with both.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from notbefore.scenarios.spans import SPAN_WORDS, seconds_in

_TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|(,)|([^\s,"]+))')
_NUMBER = re.compile(r"-?\d{1,8}")
END = "the end of the line"


class Unexpected(Exception):
    """The line has something else there; the caller knows which line it is."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(f"expected {expected}, not {found}" if found else f"expected {expected}")
        self.expected = expected
        self.found = found


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    quoted: bool = False

    def __str__(self) -> str:
        return f'"{self.text}"' if self.quoted else self.text


class Words:
    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    # -- Looking

    @property
    def is_over(self) -> bool:
        return self._at >= len(self._tokens)

    @property
    def is_quoted(self) -> bool:
        return not self.is_over and self._tokens[self._at].quoted

    @property
    def is_comma(self) -> bool:
        return not self.is_over and self._tokens[self._at] == Token(",")

    def unexpected(self, expected: str) -> Unexpected:
        """What is here is not what was expected."""
        return Unexpected(expected, END if self.is_over else f"{self._tokens[self._at]}")

    # -- Taking

    def take(self, phrase: str) -> bool:
        """Go past these words, if they are next."""
        wanted = phrase.split()
        found = self._tokens[self._at : self._at + len(wanted)]
        if [token.text.lower() for token in found if not token.quoted] != [word.lower() for word in wanted]:
            return False
        self._at += len(wanted)
        return True

    def need(self, phrase: str) -> None:
        if not self.take(phrase):
            raise self.unexpected(f"`{phrase}`")

    def need_end(self) -> None:
        if not self.is_over:
            raise self.unexpected(END)

    def name(self, what: str) -> str:
        """A word, or something quoted."""
        if self.is_over or self.is_comma:
            raise self.unexpected(what)
        return self._next().text

    def quoted(self, what: str) -> str:
        if not self.is_quoted:
            raise self.unexpected(what)
        return self._next().text

    def one_of(self, words: Iterable[str], what: str = "") -> str:
        """One of a few words, as they are spelled."""
        words = list(words)
        for word in words:
            if self.take(word):
                return word
        raise self.unexpected(what or " or ".join(words))

    def number(self, what: str) -> int:
        if self.is_over or not _NUMBER.fullmatch(self._tokens[self._at].text):
            raise self.unexpected(what)
        return int(self._next().text)

    def span_s(self) -> int:
        seconds = None if self.is_over else seconds_in(self._tokens[self._at].text)
        if seconds is None:
            raise self.unexpected(SPAN_WORDS)
        self._at += 1
        return seconds

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]


def _tokens(text: str) -> Iterable[Token]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            raise Unexpected('a closing `"`', f"{text[at:].strip()}")
        quoted, comma, word = found.groups()
        at = found.end()
        if quoted is not None:
            yield Token(re.sub(r"\\(.)", r"\1", quoted), quoted=True)
        else:
            yield Token(comma or word)
