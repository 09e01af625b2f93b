"""Reading of a text into items of the syntax tree, up to the first syntax error."""

from functools import cache
from threading import Lock

from spacelang.frozen import frozen
from spacelang.syntax import ast
from spacelang.syntax.builder import Builder
from spacelang.syntax.lr_driver import LrDriver, UnexpectedToken
from spacelang.syntax.parser_tables import load
from spacelang.text import Source, Span

_LOCK = Lock()
"""The builder holds the source of the current parse, so only one text can be parsed at a time."""


@frozen
class ParsedItems:
    """The items and bodies before the first syntax error (all, if there is none), and the error."""

    items: tuple[ast.Item, ...]
    bodies: tuple[ast.Body, ...]
    highest_expression: tuple[int, Span] | None
    """The height and the place of the highest expression."""

    error: UnexpectedToken | None


def read(source: Source, text: str, shift: int = 0) -> ParsedItems:
    """Parse `text`, which begins at offset `shift` of the source."""
    driver, builder = _driver_and_builder()
    with _LOCK:
        builder.reset(source, shift)
        outcome = driver.parse(text)
        if outcome.error is None:
            return ParsedItems(outcome.value.items, tuple(builder.bodies), builder.highest_expression, None)
        items = tuple(outcome.value)
        end = items[-1].span.end if items else shift
        bodies = tuple(body for body in builder.bodies if body.span.end <= end)
        return ParsedItems(items, bodies, builder.highest_expression if items else None, outcome.error)


@cache
def _driver_and_builder() -> tuple[LrDriver, Builder]:
    builder = Builder()
    return LrDriver(load(), builder), builder
