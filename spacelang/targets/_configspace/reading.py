"""The source of the function `decode`, which converts ConfigSpace configurations into those of the space."""

from collections.abc import Iterator
from typing import Final

from spacelang.ir.domain import Grid
from spacelang.ir.value import Value, identity
from spacelang.reductions.domains import Indices, Renamed
from spacelang.reductions.questions import Only
from spacelang.targets._configspace.pieces import Coded, ExactIntegers, FlatHyperparameter, Held, Piece, Scaled
from spacelang.targets._configspace.plan import Plan
from spacelang.targets._configspace.ways import FlatValue
from spacelang.targets._exports.python import (
    Code,
    Item,
    Listed,
    Literal,
    Name,
    call,
    expression,
    infix,
    member_of,
    text,
)

GIVEN: Final = "given"
HEAD: Final = '''\
def decode(configuration):
    """Return the configuration of the search space that a ConfigSpace configuration encodes, as a dictionary."""
    given = {name: value.item() if hasattr(value, "item") else value for name, value in dict(configuration).items()}
    found = {}'''


def reading(plan: Plan) -> str:
    """Return the source of `decode`, which does what the readers of a plan do."""
    same: list[str] = []
    lines: list[str] = []
    for node, coded in plan.coded:
        name = coded.name if isinstance(coded, FlatHyperparameter) else coded.parameters[0].name
        if name not in plan.readers or name not in plan.parameters:
            continue
        if isinstance(coded, FlatHyperparameter):
            table = _table(plan, coded)
            is_same = name == node.key and all(identity(found) == identity(choice) for choice, found in table)
            if is_same and len(table) == len(coded.choices):
                same.append(name)
            else:
                lines += _by_table(name, node.key, table)
        elif name == node.key and coded.selector is None and _is_same(coded.pieces[0]):
            same.append(name)
        else:
            lines += _by_pieces(name, node.key, coded)
    return "\n".join([HEAD, *_copied(same), *lines, "    return found"])


def _table(plan: Plan, parameter: FlatHyperparameter) -> list[tuple[FlatValue, Value]]:
    """Return the value of each choice of a categorical, except choices for an inactive variable."""
    read = ((choice, plan.readers[parameter.name]({parameter.name: choice})) for choice in parameter.choices)
    return [(choice, entry[1]) for choice, entry in read if entry is not None]


def _copied(names: list[str]) -> Iterator[str]:
    if names:
        yield f"    for name in {expression(Listed(tuple(map(Literal, names))), 4, 12)}:"
        yield "        if name in given:"
        yield "            found[name] = given[name]"


def _by_table(name: str, key: str, table: list[tuple[FlatValue, Value]]) -> Iterator[str]:
    yield f"    match given.get({text(name)}):"
    for choice, value in table:
        yield f"        case {text(choice)}:"
        yield f"            found[{text(key)}] = {text(value)}"


def _by_pieces(name: str, key: str, coded: Coded) -> Iterator[str]:
    if coded.selector is None:
        yield f"    if {text(name)} in given:"
        yield f"        found[{text(key)}] = {expression(_read(coded.pieces[0]), 8, len(key) + 10)}"
        return
    yield f"    match given.get({text(name)}):"
    for choice, piece in zip(coded.selector.choices, coded.pieces, strict=True):
        yield f"        case {text(choice)}:"
        yield f"            found[{text(key)}] = {expression(_read(piece), 12, len(key) + 10)}"


def _is_same(piece: Piece) -> bool:
    return isinstance(code := _read(piece), Item) and isinstance(code.of, Name) and code.of.text == GIVEN


def _read(piece: Piece) -> Code:
    """Return the code of the member that the hyperparameter of a piece encodes."""
    if isinstance(piece, Only):
        return Literal(piece.value)
    assert isinstance(piece, Held)
    given = Item(Name(GIVEN), Literal(piece.parameter.name))
    match piece.reduction:
        case Renamed() as reduction:
            values = [(choice, reduction.decode(choice)) for choice in piece.parameter.choices]
            if all(identity(choice) == identity(value) for choice, value in values):
                return given
            table = ", ".join(f"{text(choice)}: {text(value)}" for choice, value in values)
            return Item(Name(f"{{{table}}}"), given)
        case ExactIntegers():
            return given
        case Scaled(part=part, exponent=exponent):
            number: Code = call("math.ldexp", given, -exponent) if exponent else given
            inside = call("min", call("max", number, part.least), part.greatest)
            return infix(inside, "+", 0.0)
        case Indices(part=Grid() as part):
            return member_of(part, given)
        case _:
            raise TypeError(f"cannot write code for the reduction {piece.reduction}")
