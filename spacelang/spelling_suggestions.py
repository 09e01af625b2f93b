"""Spelling suggestions: which known name a misspelled one probably means."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

MAX_EDITS: Final = 4
MAX_LENGTH: Final = 100
CACHE_SIZE: Final = 8192
"""The size of the caches: a file with thousands of mistakes compares the same names again and again."""
MIN_ABBREVIATION: Final = 4  # The fewest characters that are accepted as an abbreviation


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the known name that is closest to an unknown one, or None if no name is close enough.

    Three rules are tried in this order:

    1. names that differ only in capitals, underscores or the order of their words (`standard_scaler`,
       `depth_max`);
    2. names of which at most a third of the characters are mistyped, fewest edits first;
    3. the only name that `name` abbreviates or spells out (`RandomForest`, `max_iterations`).

    The result does not depend on the order of `names`.
    """
    candidates = sorted(set(names) - {name})
    if not name or len(name) > MAX_LENGTH:
        return None
    return (
        _same_letters(name, candidates) or _closest_by_edits(name, candidates) or _only_abbreviation(name, candidates)
    )


def format_suggestion(name: str, names: Iterable[str]) -> str:
    """Return the help text ``did you mean `NAME`?`` for the closest known name, or an empty string if there is none."""
    near = nearest_name(name, names)
    return "" if near is None else f"did you mean `{near}`?"


def edit_distance(left: str, right: str, limit: int) -> int | None:
    """Return the edit distance of two words, or None if it exceeds `limit`.

    An edit inserts, removes or replaces one character, or swaps two neighbours (optimal string alignment distance).
    Only the band of the table within the limit is filled.
    """
    if abs(len(left) - len(right)) > limit or _letter_difference(left, right) > limit:
        return None
    beyond = limit + 1
    before: list[int] = []
    above = [min(column, beyond) for column in range(len(right) + 1)]
    for row, character in enumerate(left, 1):
        current = [beyond] * (len(right) + 1)
        current[0] = min(row, beyond)
        for column in range(max(1, row - limit), min(len(right), row + limit) + 1):
            other = right[column - 1]
            edits = min(above[column - 1] + (character != other), above[column] + 1, current[column - 1] + 1)
            if row > 1 and column > 1 and character == right[column - 2] and left[row - 2] == other:
                edits = min(edits, before[column - 2] + 1)
            current[column] = min(edits, beyond)
        if min(current) > limit:
            return None
        before, above = above, current
    return above[-1] if above[-1] <= limit else None


def _letter_difference(left: str, right: str) -> int:
    """Return a lower bound of the edit distance: the number of letters of one word that the other lacks.

    It is the larger one of the numbers for both words, and quicker to compute than the distance.
    """
    ours, others = _letters(left), _letters(right)
    return max((ours - others).total(), (others - ours).total())


@lru_cache(CACHE_SIZE)
def _letters(word: str) -> Counter[str]:
    return Counter(word)


def _same_letters(name: str, candidates: list[str]) -> str | None:
    for key in (str.casefold, _folded_letters, _sorted_words):
        wanted = key(name)
        same = [candidate for candidate in candidates if key(candidate) == wanted]
        if wanted and same:
            return same[0]
    return None


def _closest_by_edits(name: str, candidates: list[str]) -> str | None:
    folded = name.casefold()
    best: tuple[int, int, str] | None = None
    for candidate in candidates:
        limit = _tolerance(name, candidate) if best is None else min(best[0], _tolerance(name, candidate))
        edits = edit_distance(folded, candidate.casefold(), limit)
        if edits is None or edits > max(1, _tolerance(*_without_shared_suffix(name, candidate))):
            continue
        capitals = sum(left != right for left, right in zip(name, candidate, strict=False))
        rank = (edits, capitals, candidate)
        best = rank if best is None else min(best, rank)
    return best[2] if best else None


def _tolerance(name: str, candidate: str) -> int:
    """Return the number of edits allowed between two names; none if either has only one or two characters."""
    return min(max(len(name), len(candidate)) // 3, MAX_EDITS) if min(len(name), len(candidate)) > 2 else 0


def _without_shared_suffix(name: str, candidate: str) -> tuple[str, str]:
    """Return both names without their last word if they share it, otherwise both unchanged.

    So `XGBClassifier` and `SGDClassifier` are not similar, as `XGB` and `SGD` are not.
    """
    ends = re.search(r"[A-Z][a-z]+$|_[a-z]+$", name), re.search(r"[A-Z][a-z]+$|_[a-z]+$", candidate)
    if ends[0] is None or ends[1] is None or ends[0][0] != ends[1][0]:
        return name, candidate
    return name[: ends[0].start()], candidate[: ends[1].start()]


def _only_abbreviation(name: str, candidates: list[str]) -> str | None:
    if len(name) < MIN_ABBREVIATION:
        return None
    words = _words(name)
    found = [candidate for candidate in candidates if _is_abbreviation(words, _words(candidate))]
    return found[0] if len(found) == 1 else None


def _is_abbreviation(name: tuple[str, ...], candidate: tuple[str, ...]) -> bool:
    """Return True if one name abbreviates the other word by word; only the candidate may have more words."""
    if not name or len(name) > len(candidate):
        return False
    pairs = list(zip(name, candidate, strict=False))
    if all(long.startswith(short) for short, long in pairs):
        return True
    spelled_out = all(min(len(left), len(right)) >= 3 or left == right for left, right in pairs)
    return spelled_out and len(name) == len(candidate) and all(left.startswith(right) for left, right in pairs)


@lru_cache(CACHE_SIZE)
def _folded_letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


@lru_cache(CACHE_SIZE)
def _sorted_words(name: str) -> str:
    return " ".join(sorted(_words(name)))


@lru_cache(CACHE_SIZE)
def _words(name: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[^\W_A-Z]+", name))
