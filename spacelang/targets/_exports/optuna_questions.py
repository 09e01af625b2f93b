"""The code that asks an optuna trial for parts of an unfolded space, and the answers for a member."""

from collections.abc import Sequence
from typing import Final, assert_never

from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, Simple, decimals, describe, literal
from spacelang.ir.value import Value
from spacelang.reductions.domains import Indices, Renamed
from spacelang.reductions.questions import Draw, Piece, Question, Slot
from spacelang.reductions.unfolding import Fork
from spacelang.targets._exports.python import (
    Called,
    Code,
    Item,
    Keyed,
    Listed,
    Literal,
    call,
    expression,
    infix,
    member_of,
)
from spacelang.targets._exports.showing import case_words

MANY_STEPS: Final = 10**6
"""Optuna can tell the members of a grid of floats from other numbers up to this many steps."""


def words_of(choice: Fork | Draw) -> tuple[str, ...]:
    """Return distinct labels for the cases of a fork, or for the pieces of a draw."""
    if isinstance(choice, Draw):
        return tuple(map(_piece_words, choice.pieces))
    words = tuple(case_words(choice, case) for case in choice.cases)
    return words if len(set(words)) == len(words) else tuple(f"{n}: {word}" for n, word in enumerate(words, 1))


def asked(draw: Draw) -> tuple[Code | None, list[tuple[str, Code]]]:
    """Return the code that asks for the piece of a draw, and each piece label with the code of its value.

    The former is None if there is a single piece.
    """
    pieces = [*zip(words_of(draw), map(_piece, draw.pieces), strict=True)]
    return (asking(draw.choice, draw) if draw.choice else None), pieces


def asking(name: str, question: Question) -> Code:
    """Return the code that asks a question."""
    return _suggested(name, question.domain) if isinstance(question, Slot) else _categorical(name, words_of(question))


def _piece_words(piece: Piece) -> str:
    return describe(piece.part) if isinstance(piece, Slot) else literal(piece.value)


def _piece(piece: Piece) -> Code:
    """Return the code of the value of a piece: the question, and the decoding of its answer."""
    if not isinstance(piece, Slot):
        return Literal(piece.value)
    answer = asking(piece.name, piece)
    match piece.reduction:
        case Indices(part=Grid() as part):
            return member_of(part, answer)
        case Indices(part=Categorical(values=values)):
            return Item(Listed(tuple(map(Literal, values))), answer)
        case Renamed(part=Categorical() as part):
            return Item(Keyed(tuple((literal(value), Literal(value)) for value in part.values)), answer)
        case _:
            return answer


def accepts(part: Simple) -> bool:
    """Return True if optuna can suggest the values directly.

    These are closed ranges, grids of integers or of few floats, and values that optuna can tell apart (`true` equals
    1).
    """
    match part:
        case Ordinal():
            return False
        case Categorical(values=values):
            return len(set(values)) == len(values) and not any(isinstance(value, tuple) for value in values)
        case Grid():
            return part.is_integral or part.size <= MANY_STEPS
        case Real():
            return not part.is_open


def _suggested(name: str, domain: Simple) -> Code:
    match domain:
        case Categorical(values=values):
            return _categorical(name, values)
        case Grid():
            return _integer(name, domain) if domain.is_integral else _grid(name, domain)
        case Real():
            scale = {"log": True} if domain.log else {}
            return call("trial.suggest_float", name, domain.lower, domain.upper, **scale)
        case _:
            assert_never(domain)


def _categorical(name: str, choices: Sequence[Value]) -> Called:
    return call("trial.suggest_categorical", name, Listed(tuple(map(Literal, choices))))


def _integer(name: str, part: Grid) -> Code:
    last = part.greatest
    if not part.log:
        steps = {} if part.step == 1 else {"step": part.step}
        return call("trial.suggest_int", name, part.lower, last, **steps)
    number = call("trial.suggest_int", name, part.lower, last, log=True)
    if part.step == 1:
        return number
    # Optuna has no steps on a log scale: round to the nearest step.
    return member_of(part, call("round", infix(infix(number, "-", part.lower), "/", part.step)))


def _grid(name: str, part: Grid) -> Code:
    _, _, below = decimals(part)
    digits = next(count for count in range(below.bit_length() + 1) if 10**count % below == 0)
    # Optuna adds up steps as floats, which may miss the intended decimal.
    return call("round", call("trial.suggest_float", name, part.least, part.greatest, step=part.step), digits)


def question_of(code: Code) -> str:
    """Return the optuna name of the question that a piece of code asks, with its flags.

    Example: `suggest_float log`.
    """
    match code:
        case Called(function="round"):
            return question_of(code.arguments[0])
        case Called():
            flags = [name if name == "log" else f"{name}={expression(value)}" for name, value in code.named]
            return " ".join([code.function.removeprefix("trial."), *flags])
        case _:
            return "suggest_int"
