"""The calls by which a function asks an Optuna trial, as code."""

from spacelang.ir import domain as domains
from spacelang.ir.domain import Categorical, Grid, Real, SimpleDomain
from spacelang.reductions.space_questions import DrawnPiece, Question
from spacelang.targets._exports import python_nodes as py
from spacelang.targets._exports.found_functions import labels_of


def suggest_call_code(name: str, question: Question) -> py.Code:
    """Return the code that asks a question."""
    if isinstance(question, DrawnPiece):
        return _suggest_code(name, question.domain)
    return py.call("trial.suggest_categorical", name, py.literal_list(labels_of(question)))


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
