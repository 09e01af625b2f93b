"""Idioms: notations of other languages, with the way to write the same here."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

_RemedyTemplate: TypeAlias = str | Callable[[re.Match[str]], str]
"""A template with the groups of the pattern, or a function from a match to the text."""

_STRING: Final = r'"(?:[^"\\\r\n]|\\[^\r\n])*"'


@dataclass(frozen=True, slots=True)
class ForeignIdiom:
    """A notation of another language, recognised by a regular expression, and its replacement.

    The reported place is the group `at` of the pattern if it has one, or the whole match otherwise. If `behind` is
    given, it must match before that place on its line. `instead` is a template of the replacement. If the replacement
    has at most as many characters as the original text, it is read in place of that text. If `everywhere` is true, all
    occurrences in an item are replaced and only one message is shown.
    """

    pattern: re.Pattern[str]
    remedy: _RemedyTemplate
    instead: str | None = None
    everywhere: bool = False
    behind: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class ForeignIdiomMatch:
    """An idiom that was found in a text, from `start` to `end`."""

    idiom: ForeignIdiom
    match: re.Match[str]
    start: int
    end: int

    @property
    def instead(self) -> str | None:
        """The replacement that an editor can offer, or None."""
        if self.idiom.instead is None or self.idiom.everywhere:
            return None
        return self.match.expand(self.idiom.instead) or None

    @property
    def remedy(self) -> str:
        """The help text: how to write the same in this language."""
        return _fill_in(self.idiom.remedy, self.match)

    def rewrite(self, text: str) -> str | None:
        """Return the text with the idiom replaced and its length unchanged, or None if that is impossible.

        Reading continues with this text, so that later mistakes are found at the right offsets.
        """
        if self.idiom.instead is None:
            return None
        if self.idiom.everywhere:
            pattern = f"{_STRING}|(?P<whole>{self.idiom.pattern.pattern})|`[^`\n]*`"
            return re.sub(pattern, self._rewrite_one, text, flags=re.MULTILINE)
        instead = self.match.expand(self.idiom.instead)
        if len(instead) > self.end - self.start:
            return None
        return text[: self.start] + instead.ljust(self.end - self.start) + text[self.end :]

    def _rewrite_one(self, found: re.Match[str]) -> str:
        own = self.idiom.pattern.fullmatch(found[0]) if found["whole"] is not None else None
        return found[0] if own is None else own.expand(self.idiom.instead or "").ljust(len(found[0]))


def _fill_in(remedy: _RemedyTemplate, match: re.Match[str]) -> str:
    return match.expand(remedy) if isinstance(remedy, str) else remedy(match)


def idiom_of(
    pattern: str,
    remedy: _RemedyTemplate = "",
    instead: str | None = None,
    *,
    everywhere: bool = False,
    behind: str | None = None,
) -> ForeignIdiom:
    """Return an idiom. Without a remedy, the remedy is to write `instead`."""
    before = None if behind is None else re.compile(behind, re.MULTILINE)
    return ForeignIdiom(re.compile(pattern, re.MULTILINE), remedy or f"write `{instead}`", instead, everywhere, before)
