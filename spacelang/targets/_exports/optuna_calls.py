"""The calls by which a function asks an Optuna trial, as code, and the labels of their answers."""

from spacelang.ir import domain as domains
from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain, literal
from spacelang.reductions.domains import MemberIndexReduction, MemberRenamingReduction
from spacelang.reductions.space_questions import DrawnPiece, FreeHyperparameterDraw, Piece, Question
from spacelang.reductions.unfolding import Fork
from spacelang.targets._exports import python_nodes as py
from spacelang.targets._exports.library_function_forms import case_label


def labels_of(choice: Fork | FreeHyperparameterDraw) -> tuple[str, ...]:
    """Return distinct labels for the cases of a fork, or for the pieces of a draw."""
    if isinstance(choice, FreeHyperparameterDraw):
        pieces = choice.pieces
        return tuple(
            domains.describe(each.part) if isinstance(each, DrawnPiece) else literal(each.value) for each in pieces
        )
    words = tuple(case_label(choice, case) for case in choice.cases)
    return words if len(set(words)) == len(words) else tuple(f"{n}: {word}" for n, word in enumerate(words, 1))


def draw_code(draw: FreeHyperparameterDraw) -> tuple[py.Code | None, list[tuple[str, py.Code]]]:
    """Return the code that asks for the piece of a draw (None for one piece), and the label and code of each piece."""
    pieces = [*zip(labels_of(draw), map(_piece_code, draw.pieces), strict=True)]
    return (suggest_call_code(draw.choice, draw) if draw.choice else None), pieces


def suggest_call_code(name: str, question: Question) -> py.Code:
    """Return the code that asks a question."""
    if isinstance(question, DrawnPiece):
        return _suggest_code(name, question.domain)
    return py.call("trial.suggest_categorical", name, py.literal_list(labels_of(question)))


def _piece_code(piece: Piece) -> py.Code:
    if not isinstance(piece, DrawnPiece):
        return py.LiteralNode(piece.value)
    answer = suggest_call_code(piece.name, piece)
    match piece.reduction:
        case MemberIndexReduction(part=Grid() as part):
            return py.grid_member_code(part, answer)
        case MemberIndexReduction(part=Categorical(values=values)):
            return py.ItemNode(py.literal_list(values), answer)
        case MemberRenamingReduction(part=Categorical() as part):
            return py.ItemNode(py.literal_dict({literal(value): value for value in part.values}), answer)
        case _:
            return answer


def _suggest_code(name: str, domain: SimpleDomain) -> py.Code:
    match domain:
        case Categorical(values=values):
            return py.call("trial.suggest_categorical", name, py.literal_list(values))
        case Grid(is_integral=True):
            return _integer_code(name, domain)
        case Grid():
            # Optuna adds up steps as floats, which may miss the intended decimal.
            number = py.call("trial.suggest_float", name, domain.least, domain.greatest, step=domain.step)
            return py.call("round", number, decimals_of(domain))
        case Real():
            scale = {"log": True} if domain.log else {}
            return py.call("trial.suggest_float", name, domain.lower, domain.upper, **scale)


def decimals_of(grid: Grid) -> int:
    """Return the number of decimals of a grid of floats."""
    _, _, below = domains.affine_integer_coefficients(grid)
    return next(count for count in range(below.bit_length() + 1) if 10**count % below == 0)


def _integer_code(name: str, part: Grid) -> py.Code:
    last = part.greatest
    if not part.log:
        steps = {} if part.step == 1 else {"step": part.step}
        return py.call("trial.suggest_int", name, part.lower, last, **steps)
    number = py.call("trial.suggest_int", name, part.lower, last, log=True)
    if part.step == 1:
        return number
    # Optuna has no steps on a log scale: round to the nearest step.
    return py.grid_member_code(part, py.call("round", py.infix(py.infix(number, "-", part.lower), "/", part.step)))


def describe_suggest_call(code: py.Code) -> str:
    """Return the optuna name and the flags of the question that a piece of code asks, like `suggest_float log`."""
    match code:
        case py.CallNode(function="round"):
            return describe_suggest_call(code.arguments[0])
        case py.CallNode():
            flags = [name if name == "log" else f"{name}={py.expression_source(value)}" for name, value in code.named]
            return " ".join([code.function.removeprefix("trial."), *flags])
        case _:
            return "suggest_int"
