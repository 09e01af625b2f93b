"""The code that asks an optuna trial for parts of an unfolded space, and the answers for a member."""

from collections.abc import Sequence
from typing import Final, assert_never

from spacelang.ir.domain import (
    Categorical,
    Grid,
    Ordinal,
    Real,
    SimpleDomain,
    affine_integer_coefficients,
    describe,
    literal,
)
from spacelang.ir.value import Value
from spacelang.reductions.domains import MemberIndexReduction, MemberRenamingReduction
from spacelang.reductions.questions import DrawnPiece, FreeHyperparameterDraw, Piece, Question
from spacelang.reductions.unfolding import Fork
from spacelang.targets._exports.python_nodes import (
    CallNode,
    Code,
    DictNode,
    ItemNode,
    ListNode,
    LiteralNode,
    call,
    expression_source,
    grid_member_code,
    infix,
)
from spacelang.targets._exports.rendering import case_label

MAX_FLOAT_STEPS: Final = 10**6
"""Optuna can tell the members of a grid of floats from other numbers up to this many steps."""


def labels_of(choice: Fork | FreeHyperparameterDraw) -> tuple[str, ...]:
    """Return distinct labels for the cases of a fork, or for the pieces of a draw."""
    if isinstance(choice, FreeHyperparameterDraw):
        return tuple(map(_piece_label, choice.pieces))
    words = tuple(case_label(choice, case) for case in choice.cases)
    return words if len(set(words)) == len(words) else tuple(f"{n}: {word}" for n, word in enumerate(words, 1))


def draw_code(draw: FreeHyperparameterDraw) -> tuple[Code | None, list[tuple[str, Code]]]:
    """Return the code that asks for the piece of a draw, and each piece label with the code of its value.

    The former is None if there is a single piece.
    """
    pieces = [*zip(labels_of(draw), map(_piece_code, draw.pieces), strict=True)]
    return (question_code(draw.choice, draw) if draw.choice else None), pieces


def question_code(name: str, question: Question) -> Code:
    """Return the code that asks a question."""
    return (
        _suggest_code(name, question.domain)
        if isinstance(question, DrawnPiece)
        else _categorical_code(name, labels_of(question))
    )


def _piece_label(piece: Piece) -> str:
    return describe(piece.part) if isinstance(piece, DrawnPiece) else literal(piece.value)


def _piece_code(piece: Piece) -> Code:
    """Return the code of the value of a piece: the question, and the decoding of its answer."""
    if not isinstance(piece, DrawnPiece):
        return LiteralNode(piece.value)
    answer = question_code(piece.name, piece)
    match piece.reduction:
        case MemberIndexReduction(part=Grid() as part):
            return grid_member_code(part, answer)
        case MemberIndexReduction(part=Categorical(values=values)):
            return ItemNode(ListNode(tuple(map(LiteralNode, values))), answer)
        case MemberRenamingReduction(part=Categorical() as part):
            return ItemNode(DictNode(tuple((literal(value), LiteralNode(value)) for value in part.values)), answer)
        case _:
            return answer


def accepts(part: SimpleDomain) -> bool:
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
            return part.is_integral or part.size <= MAX_FLOAT_STEPS
        case Real():
            return not part.is_open


def _suggest_code(name: str, domain: SimpleDomain) -> Code:
    match domain:
        case Categorical(values=values):
            return _categorical_code(name, values)
        case Grid():
            return _integer_code(name, domain) if domain.is_integral else _grid_code(name, domain)
        case Real():
            scale = {"log": True} if domain.log else {}
            return call("trial.suggest_float", name, domain.lower, domain.upper, **scale)
        case _:
            assert_never(domain)


def _categorical_code(name: str, choices: Sequence[Value]) -> CallNode:
    return call("trial.suggest_categorical", name, ListNode(tuple(map(LiteralNode, choices))))


def _integer_code(name: str, part: Grid) -> Code:
    last = part.greatest
    if not part.log:
        steps = {} if part.step == 1 else {"step": part.step}
        return call("trial.suggest_int", name, part.lower, last, **steps)
    number = call("trial.suggest_int", name, part.lower, last, log=True)
    if part.step == 1:
        return number
    # Optuna has no steps on a log scale: round to the nearest step.
    return grid_member_code(part, call("round", infix(infix(number, "-", part.lower), "/", part.step)))


def _grid_code(name: str, part: Grid) -> Code:
    _, _, below = affine_integer_coefficients(part)
    digits = next(count for count in range(below.bit_length() + 1) if 10**count % below == 0)
    # Optuna adds up steps as floats, which may miss the intended decimal.
    return call("round", call("trial.suggest_float", name, part.least, part.greatest, step=part.step), digits)


def question_text(code: Code) -> str:
    """Return the optuna name of the question that a piece of code asks, with its flags.

    Example: `suggest_float log`.
    """
    match code:
        case CallNode(function="round"):
            return question_text(code.arguments[0])
        case CallNode():
            flags = [name if name == "log" else f"{name}={expression_source(value)}" for name, value in code.named]
            return " ".join([code.function.removeprefix("trial."), *flags])
        case _:
            return "suggest_int"
