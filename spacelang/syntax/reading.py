"""A text through Lark's parser to a tree, up to the first mistake."""

from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import cast

from lark import Lark, Tree, UnexpectedInput

from spacelang.syntax import ast
from spacelang.syntax.builder import Builder
from spacelang.syntax.tables import load
from spacelang.text import Source, Span

_IN_USE = Lock()
"""The builder is told the source before each parse, so that only one text may be parsed at a time."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The items before the first mistake (all, where there is none), the bodies in them, and the mistake."""

    items: tuple[ast.Item, ...]
    bodies: tuple[ast.Body, ...]
    deepest: tuple[int, Span] | None
    """The height of the highest expression and its place."""

    error: UnexpectedInput | None


def read(source: Source, text: str, shift: int = 0) -> Reading:
    """What `text` says, which stands at `shift` in the source."""
    parser, builder = _parser()
    with _IN_USE:
        builder.begin(source, shift)
        try:
            file = cast(ast.File, parser.parse(text))
        except UnexpectedInput as error:
            items = _finished(error)
            end = items[-1].span.end if items else shift
            bodies = tuple(body for body in builder.bodies if body.span.end <= end)
            return Reading(items, bodies, builder.deepest if items else None, error)
        return Reading(file.items, tuple(builder.bodies), builder.deepest, None)


def _finished(error: UnexpectedInput) -> tuple[ast.Item, ...]:
    """The items before the one in which an error is: what Lark has at the bottom of its stack."""
    stack = error.interactive_parser.parser_state.value_stack
    return cast(tuple[ast.Item, ...], tuple(stack[0].children)) if stack and isinstance(stack[0], Tree) else ()


@cache
def _parser() -> tuple[Lark, Builder]:
    builder = Builder()
    return load(builder), builder
