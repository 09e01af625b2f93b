"""Remedies of idioms that say more than a template of a pattern's groups can."""

import re
from typing import Final


def _listed(text: str, sign: str) -> str:
    """The names of a list joined by a sign, or three dots where it holds more than names."""
    parts = [part.strip().strip("\"'") for part in text.strip("[] ").split(",") if part.strip()]
    return sign.join(parts) if parts and all(re.fullmatch(r"[\w.]+", part) for part in parts) else f"…{sign}…"


def as_alternatives(match: re.Match[str]) -> str:
    """A list as the alternatives of a stage."""
    return f"alternatives are separated by `|`: write `{_listed(match['list'], ' | ')}`"


def as_steps(match: re.Match[str]) -> str:
    """A list as the steps of a pipeline."""
    return f"steps are joined by `->`: write `{_listed(match['list'], ' -> ')}`"


def as_set(match: re.Match[str]) -> str:
    """A list as a set of values."""
    return f"write `{{{match['list'].strip()}}}`"


def as_rule(match: re.Match[str]) -> str:
    """A clause that forbids values together."""
    said = re.sub(r"\s*(?<![=!<>])=(?!=)\s*(?=[A-Z])", " is ", match["list"].strip())
    said = re.sub(r"\s*(?<![=!<>])=(?!=)\s*", " == ", said)
    return f"write `forbid {re.sub(r' *, *', ' and ', said)}`"


def as_share(match: re.Match[str]) -> str:
    """A percentage as a share."""
    return f"there is no sign for a share: write `{float(match[1]) / 100:.6g}`, or `{match[1]}` for a percentile"


def as_name(match: re.Match[str]) -> str:
    """A name with signs in it as one without."""
    return f"names are words: write `{re.sub(r'[-. ]+', '_', match['at'].strip())}`"


def as_one_or_several(match: re.Match[str]) -> str:
    """Alternatives behind the sign that fixes a value: operators by themselves, other values as a set."""
    name, parts = match["name"], [part.strip() for part in match["list"].split("|")]
    is_of_operators = any(part[:1].isupper() for part in parts)
    several = " | ".join(parts) if is_of_operators else f"{{{', '.join(parts)}}}"
    return f"`=` fixes one value: write `{name} : {several}`"


def with_unit(number: str, unit: str) -> str:
    """A quantity with its unit in short."""
    short = {"h": "h", "m": "min", "s": "s"}.get(unit[0])
    return f"{number}{short or unit.replace('i', '')}"


def _range_of(match: re.Match[str]) -> str:
    """A range between two numbers: of integers where both are."""
    low, high = match["low"], match["high"]
    is_whole = all(re.fullmatch(r"-?\d+", end) for end in (low, high))
    return f"{'int' if is_whole else 'float'}[{low}, {high}]"


def as_range(match: re.Match[str]) -> str:
    """Two numbers as the ends of a range."""
    return f"write `{_range_of(match)}`"


def as_range_or_set(match: re.Match[str]) -> str:
    """Two numbers in brackets without a word before them, which may be a tuple."""
    ends = f"{match['low']}, {match['high']}"
    or_tuple = f", `{{({ends})}}` for a tuple" if match["at"].startswith("(") else ""
    return f"{as_range(match)} for a range, `{{{ends}}}` for two values{or_tuple}"


def as_declared(match: re.Match[str]) -> str:
    """A hyperparameter of ConfigSpace, with its bounds."""
    kind = "int" if match["kind"].startswith("Int") else "float"
    return f"write `{kind}[{match['low']}, {match['high']}]{' log' if match['log'] else ''}`"


def beside_range(match: re.Match[str]) -> str:
    """A set with a range in it."""
    others = [part.strip() for part in f"{match['before']},{match['after']}".split(",") if part.strip()]
    ordinary = f"{{{', '.join(others)}}} | " if others else ""
    return f"ranges stand beside sets: write `{ordinary}{match['range']}`"


TICKED: Final = "names of parameters that are no words stand in backticks"


def as_parameter(match: re.Match[str]) -> str:
    """A name with signs in it as that of a parameter, which may keep them in backticks."""
    return f"{as_name(match)}; {TICKED}"
