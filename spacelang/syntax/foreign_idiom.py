"""Idioms: notations of other languages, with the way to write the same here."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

_RemedyTemplate: TypeAlias = str | Callable[[re.Match[str]], str]
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
    def replacement(self) -> str | None:
        """The replacement that an editor can offer, or None."""
        if self.idiom.instead is None or self.idiom.everywhere:
            return None
        return self.match.expand(self.idiom.instead) or None

    @property
    def remedy(self) -> str:
        """The help text: how to write the meaning of the idiom in this language."""
        remedy = self.idiom.remedy
        return self.match.expand(remedy) if isinstance(remedy, str) else remedy(self.match)

    def rewrite(self, text: str) -> str | None:
        """Return the text with the idiom replaced by text padded with spaces to the same length.

        None if the idiom has no replacement, or one that is longer than the original. If the idiom is one for
        `everywhere`, all its occurrences outside of strings and backticks are replaced.
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


def make_idiom(
    pattern: str,
    remedy: _RemedyTemplate = "",
    instead: str | None = None,
    *,
    everywhere: bool = False,
    behind: str | None = None,
) -> ForeignIdiom:
    """Return an idiom for a regular expression. An empty remedy becomes "write `INSTEAD`"."""
    before = None if behind is None else re.compile(behind, re.MULTILINE)
    return ForeignIdiom(re.compile(pattern, re.MULTILINE), remedy or f"write `{instead}`", instead, everywhere, before)


def _joined_names(text: str, sign: str) -> str:
    """Return the names of a list joined by `sign`, or `…` if the list does not consist of names alone."""
    parts = [part.strip().strip("\"'") for part in text.strip("[] ").split(",") if part.strip()]
    return sign.join(parts) if parts and all(re.fullmatch(r"[\w.]+", part) for part in parts) else f"…{sign}…"


def suggest_alternatives(match: re.Match[str]) -> str:
    """Return a remedy that writes a list as the alternatives of a stage."""
    return f"separate alternatives with `|`: write `{_joined_names(match['list'], ' | ')}`"


def suggest_steps(match: re.Match[str]) -> str:
    """Return a remedy that writes a list as the steps of a pipeline."""
    return f"join steps with `->`: write `{_joined_names(match['list'], ' -> ')}`"


def suggest_chain(match: re.Match[str]) -> str:
    """Return a remedy that writes a repeated stage as a chain: `step{0,3}` as `repeat(step, 0, 3)`."""
    least, most, times = match["least"], match["most"], match["times"]
    if least is None:
        least = times or ("1" if match["at"].startswith("+") else "0")
        most = times or match["upto"]
    elif match["range"] is None:
        most = least
    written = f"write `repeat({match['stage'] or 'step'}, {least}, {most or max(3, int(least))})`"
    return written if match["stage"] else f"declare the repeated part as a stage, and {written}"


def suggest_set(match: re.Match[str]) -> str:
    """Return a remedy that writes a list as a set of values."""
    return f"write `{{{match['list'].strip()}}}`"


def suggest_constraint(match: re.Match[str]) -> str:
    """Return a remedy that writes a list of forbidden values as a `forbid` constraint."""
    clause = re.sub(r"\s*(?<![=!<>])=(?!=)\s*(?=[A-Z])", " is ", match["list"].strip())
    clause = re.sub(r"\s*(?<![=!<>])=(?!=)\s*", " == ", clause)
    return f"write `forbid {re.sub(r' *, *', ' and ', clause)}`"


def suggest_fraction(match: re.Match[str]) -> str:
    """Return a remedy that writes a percentage as a fraction."""
    return f"percentages are not supported: write `{float(match[1]) / 100:.6g}`, or `{match[1]}` for a percentile"


def suggest_implication(match: re.Match[str]) -> str:
    """Return a remedy for an arrow in a constraint: `>=` for `=>` before a number, and otherwise an implication."""
    sign = ">=" if match["at"] == "=>" and re.fullmatch(r"-?\.?\d\S*", match["other"]) else "implies"
    return f"write `require {match['one']} {sign} {match['other']}`"


def suggest_valid_name(match: re.Match[str]) -> str:
    """Return a remedy that replaces the signs in a name by underscores."""
    return f"names consist of letters, digits and `_`: write `{re.sub(r'[-. ]+', '_', match['at'].strip())}`"


def suggest_alternatives_or_set(match: re.Match[str]) -> str:
    """Return a remedy for alternatives after `=`: operators joined by `|`, other values as a set."""
    name, parts = match["name"], [part.strip() for part in match["list"].split("|")]
    is_of_operators = any(part[:1].isupper() for part in parts)
    several = " | ".join(parts) if is_of_operators else f"{{{', '.join(parts)}}}"
    return f"`=` fixes one value: write `{name} : {several}`"


def shorten_unit(number: str, unit: str) -> str:
    """Return a number with the short form of its unit: `5minutes` becomes `5min`, `2GiB` becomes `2GB`."""
    short = {"h": "h", "m": "min", "s": "s"}.get(unit[0])
    return f"{number}{short or unit.replace('i', '')}"


def suggest_range(match: re.Match[str]) -> str:
    """Return a remedy that writes two numbers as the bounds of a range."""
    low, high = match["low"], match["high"]
    is_whole = all(re.fullmatch(r"-?\d+", end) for end in (low, high))
    return f"write `{'int' if is_whole else 'float'}[{low}, {high}]`"


def suggest_range_or_set(match: re.Match[str]) -> str:
    """Return a remedy for two numbers in brackets without a type: a range, a set, or a tuple."""
    ends = f"{match['low']}, {match['high']}"
    or_tuple = f", `{{({ends})}}` for a tuple" if match["at"].startswith("(") else ""
    return f"{suggest_range(match)} for a range, `{{{ends}}}` for two values{or_tuple}"


def suggest_range_for_configspace(match: re.Match[str]) -> str:
    """Return a remedy that writes a hyperparameter of ConfigSpace as a range."""
    kind = "int" if match["kind"].startswith("Int") else "float"
    return f"write `{kind}[{match['low']}, {match['high']}]{' log' if match['log'] else ''}`"


def suggest_union_with_range(match: re.Match[str]) -> str:
    """Return a remedy for a set that contains a range: a union of the set and the range."""
    others = [part.strip() for part in f"{match['before']},{match['after']}".split(",") if part.strip()]
    ordinary = f"{{{', '.join(others)}}} | " if others else ""
    return f"a set cannot contain a range: write `{ordinary}{match['range']}`"


def suggest_union_with_ranges(match: re.Match[str]) -> str:
    """Return a remedy for a set in which ranges are written with dots: a union of its values and the ranges."""
    items = [part.strip() for part in match["list"].split(",") if part.strip()]
    values = [each for each in items if ".." not in each]
    found = [f"{{{', '.join(values)}}}"] if values else []
    for low, high in (re.split(r"[ \t]*\.\.+[ \t]*", each, maxsplit=1) for each in items if ".." in each):
        is_whole = all(re.fullmatch(r"-?\d+", end) for end in (low, high))
        found.append(f"{'int' if is_whole else 'float'}[{low or '…'}, {high or '…'}]")
    return f"a set cannot contain a range: write `{' | '.join(found)}`"


BACKTICK_REMEDY: Final = "write parameter names with other characters in backticks"
"""The remedy for parameter names with characters that plain words do not have."""


def suggest_parameter_name(match: re.Match[str]) -> str:
    """Return a remedy for a parameter name with signs: replace them, or write the name in backticks."""
    return f"{suggest_valid_name(match)}; {BACKTICK_REMEDY}"
