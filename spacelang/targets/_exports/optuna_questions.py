"""What a trial of optuna is asked for a part of the unfolded space, and what it answers for a member."""

from collections.abc import Sequence
from typing import Any, Final, assert_never

from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, decimals, describe, literal
from spacelang.ir.value import Value
from spacelang.solver.unfolding import Fork
from spacelang.targets._exports.python import Call, Code, Item, Keyed, Listed, Literal, call, expression, infix
from spacelang.targets._exports.showing import case_words
from spacelang.targets._exports.unfolded import Draw, Piece, Slot

MANY_STEPS: Final = 10**6
"""Up to so many, optuna tells the members of a grid of floats from other numbers."""


def words_of(fork: Fork) -> tuple[str, ...]:
    """What the cases of a fork are called, all differently."""
    words = tuple(case_words(fork, case) for case in fork.cases)
    return words if len(set(words)) == len(words) else tuple(f"{n}: {word}" for n, word in enumerate(words, 1))


def asked(draw: Draw) -> tuple[Code | None, list[tuple[str, Code]]]:
    """What asks for the piece of a draw, None where it has one, and each piece with what asks for its value."""
    pieces = [(piece_words(piece), _piece(piece)) for piece in draw.pieces]
    question = categorical(draw.choice, [word for word, _ in pieces]) if len(pieces) > 1 else None
    return question, pieces


def piece_words(piece: Piece) -> str:
    return describe(piece.part) if isinstance(piece, Slot) else literal(piece.value)


def _piece(piece: Piece) -> Code:
    if not isinstance(piece, Slot):
        return Literal(piece.value)
    match piece.part:
        case Ordinal(values=values):
            return Item(Listed(tuple(map(Literal, values))), call("trial.suggest_int", piece.name, 0, len(values) - 1))
        case Categorical(values=values) as part:
            if _are_told_apart(part):
                return categorical(piece.name, values)
            table = Keyed(tuple((literal(value), Literal(value)) for value in values))
            return Item(table, categorical(piece.name, [literal(value) for value in values]))
        case Grid() as part:
            return _integer(piece.name, part) if part.is_integral else _grid(piece.name, part)
        case Real() as part:
            return _real(piece.name, part)
        case _:
            assert_never(piece.part)


def categorical(name: str, choices: Sequence[Value]) -> Call:
    return call("trial.suggest_categorical", name, Listed(tuple(map(Literal, choices))))


def _are_told_apart(part: Categorical) -> bool:
    """Whether optuna takes the values as they are: plain ones, of which none equals another (`true` equals 1)."""
    return len(set(part.values)) == len(part.values) and not any(isinstance(value, tuple) for value in part.values)


def _integer(name: str, part: Grid) -> Code:
    last = part.greatest
    if not part.log:
        steps = {} if part.step == 1 else {"step": part.step}
        return call("trial.suggest_int", name, part.lower, last, **steps)
    number = call("trial.suggest_int", name, part.lower, last, log=True)
    if part.step == 1:
        return number
    # Optuna has no steps on logarithms: the nearest one is meant.
    place = call("round", infix(infix(number, "-", part.lower), "/", part.step))
    return infix(part.lower, "+", infix(part.step, "*", place))


def _real(name: str, part: Real) -> Code:
    scale = {"log": True} if part.log else {}
    return call("trial.suggest_float", name, part.least, part.greatest, **scale)


def _grid(name: str, part: Grid) -> Code:
    start, step, below = decimals(part)
    if _is_long(part):
        place = call("trial.suggest_int", name, 0, part.last_index)
        return infix(infix(start, "+", infix(step, "*", place)), "/", below)
    digits = next(count for count in range(below.bit_length() + 1) if 10**count % below == 0)
    bounds = part.least, part.greatest
    # Optuna adds up steps as floats, which may end beside the decimal that is meant.
    return call("round", call("trial.suggest_float", name, *bounds, step=part.step), digits)


def _is_long(part: Grid) -> bool:
    return not part.is_integral and part.size > MANY_STEPS


def answer_of(slot: Slot, value: Value) -> Any:
    match slot.part:
        case Ordinal() as part:
            return part.index_of(value)
        case Categorical() as part:
            return value if _are_told_apart(part) else literal(value)
        case Grid() as part:
            return part.index_of(value) if _is_long(part) else value
        case Real():
            return value
        case _:
            assert_never(slot.part)


def question_of(code: Code) -> str:
    """The question that a piece of code asks, as optuna calls it."""
    match code:
        case Item():
            return question_of(code.at)
        case Call(function="round"):
            return question_of(code.arguments[0])
        case Call():
            flags = [name if name == "log" else f"{name}={expression(value)}" for name, value in code.named]
            return " ".join([code.function.removeprefix("trial."), *flags])
        case _:
            return "suggest_int"
