"""An idiom: what people write who come from elsewhere, with how the same is said here."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

_Told: TypeAlias = str | Callable[[re.Match[str]], str]
"""A template of the pattern's groups, or what makes a text of a match."""

_STRING: Final = r'"(?:[^"\\\r\n]|\\[^\r\n])*"'


@dataclass(frozen=True, slots=True)
class Idiom:
    """A custom of other languages.

    What is pointed at is the group `at` of the pattern, where it has one, else all of it; `behind` is what stands
    before it on its line. `instead` stands for the same here: where that is no longer than what is written, the text
    is read on as if it said so. What is `everywhere` is a habit, of which one message for an item is enough.
    """

    pattern: re.Pattern[str]
    remedy: _Told
    instead: str | None = None
    everywhere: bool = False
    behind: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class IdiomMatch:
    """An idiom in a text, from `start` to `end`."""

    idiom: Idiom
    match: re.Match[str]
    start: int
    end: int

    @property
    def instead(self) -> str | None:
        """What an editor may put in its place."""
        if self.idiom.instead is None or self.idiom.everywhere:
            return None
        return self.match.expand(self.idiom.instead) or None

    @property
    def remedy(self) -> str:
        """How it is said here."""
        return _filled(self.idiom.remedy, self.match)

    def rewritten(self, text: str) -> str | None:
        """The text, as long as before, as it is read on; None where it cannot be."""
        if self.idiom.instead is None:
            return None
        if self.idiom.everywhere:
            pattern = f"{_STRING}|(?P<whole>{self.idiom.pattern.pattern})|`[^`\n]*`"
            return re.sub(pattern, self._other, text, flags=re.MULTILINE)
        instead = self.match.expand(self.idiom.instead)
        if len(instead) > self.end - self.start:
            return None
        return text[: self.start] + instead.ljust(self.end - self.start) + text[self.end :]

    def _other(self, found: re.Match[str]) -> str:
        own = self.idiom.pattern.fullmatch(found[0]) if found["whole"] is not None else None
        return found[0] if own is None else own.expand(self.idiom.instead or "").ljust(len(found[0]))


def _filled(told: _Told, match: re.Match[str]) -> str:
    return match.expand(told) if isinstance(told, str) else told(match)


def idiom_of(
    pattern: str, remedy: _Told = "", instead: str | None = None, *, everywhere: bool = False, behind: str | None = None
) -> Idiom:
    """An idiom whose remedy is, where nothing else is said, to write what it stands for."""
    before = None if behind is None else re.compile(behind, re.MULTILINE)
    return Idiom(re.compile(pattern, re.MULTILINE), remedy or f"write `{instead}`", instead, everywhere, before)
