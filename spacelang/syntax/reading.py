"""Reading of a text into items of the syntax tree, up to the first syntax error."""

from functools import cache
from threading import Lock

from spacelang.facts import fact
from spacelang.syntax import ast
from spacelang.syntax.builder import Builder
from spacelang.syntax.driver import Driver, Unexpected
from spacelang.syntax.tables import load
from spacelang.text import Source, Span

_IN_USE = Lock()
"""The builder holds the source of the current parse, so only one text can be parsed at a time."""


@fact
class ReadItems:
    """The items and bodies before the first syntax error (all, if there is none), and the error."""

    items: tuple[ast.Item, ...]
    bodies: tuple[ast.Body, ...]
    deepest: tuple[int, Span] | None
    """The height and the place of the highest expression."""

    error: Unexpected | None


def read(source: Source, text: str, shift: int = 0) -> ReadItems:
    """Parse `text`, which begins at offset `shift` of the source."""
    driver, builder = _driver()
    with _IN_USE:
        builder.begin(source, shift)
        outcome = driver.read(text)
        if outcome.error is None:
            return ReadItems(outcome.value.items, tuple(builder.bodies), builder.deepest, None)
        items = tuple(outcome.value)
        end = items[-1].span.end if items else shift
        bodies = tuple(body for body in builder.bodies if body.span.end <= end)
        return ReadItems(items, bodies, builder.deepest if items else None, outcome.error)


@cache
def _driver() -> tuple[Driver, Builder]:
    builder = Builder()
    return Driver(load(), builder), builder
