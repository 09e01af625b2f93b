"""The source of the function `decode`, which converts ConfigSpace configurations into those of the space."""

from collections.abc import Iterator
from typing import Final

from spacelang.ir.domain import Grid
from spacelang.ir.value import Value, identity_key
from spacelang.reductions.domains import MemberIndexReduction, MemberRenamingReduction
from spacelang.reductions.questions import FixedPiece
from spacelang.targets._configspace.normal_form import FlatValue
from spacelang.targets._configspace.pieces import (
    EncodedDomain,
    ExactIntegerReduction,
    FlatHyperparameter,
    HyperparameterPiece,
    Piece,
    ScaledRangeReduction,
)
from spacelang.targets._configspace.plan import Plan
from spacelang.targets._exports.python_nodes import (
    Code,
    ItemNode,
    ListNode,
    LiteralNode,
    NameNode,
    call,
    expression_source,
    grid_member_code,
    infix,
    literal_source,
)

GIVEN: Final = "given"
HEAD: Final = '''\
def decode(configuration):
    """Return the configuration of the search space that a ConfigSpace configuration encodes, as a dictionary."""
    given = {name: value.item() if hasattr(value, "item") else value for name, value in dict(configuration).items()}
    found = {}'''


def decoder_source(plan: Plan) -> str:
    """Return the source of `decode`, which does what the readers of a plan do."""
    same: list[str] = []
    lines: list[str] = []
    for node, coded in plan.coded:
        name = coded.name if isinstance(coded, FlatHyperparameter) else coded.parameters[0].name
        if name not in plan.readers or name not in plan.parameters:
            continue
        if isinstance(coded, FlatHyperparameter):
            table = _table(plan, coded)
            is_same = name == node.key and all(identity_key(found) == identity_key(choice) for choice, found in table)
            if is_same and len(table) == len(coded.choices):
                same.append(name)
            else:
                lines += _table_lines(name, node.key, table)
        elif name == node.key and coded.selector is None and _is_unchanged(coded.pieces[0]):
            same.append(name)
        else:
            lines += _piece_lines(name, node.key, coded)
    return "\n".join([HEAD, *_copy_lines(same), *lines, "    return found"])


def _table(plan: Plan, parameter: FlatHyperparameter) -> list[tuple[FlatValue, Value]]:
    """Return pairs of a choice of a categorical and its value, without the placeholder for inactivity."""
    read = ((choice, plan.readers[parameter.name]({parameter.name: choice})) for choice in parameter.choices)
    return [(choice, entry[1]) for choice, entry in read if entry is not None]


def _copy_lines(names: list[str]) -> Iterator[str]:
    if names:
        yield f"    for name in {expression_source(ListNode(tuple(map(LiteralNode, names))), 4, 12)}:"
        yield "        if name in given:"
        yield "            found[name] = given[name]"


def _table_lines(name: str, key: str, table: list[tuple[FlatValue, Value]]) -> Iterator[str]:
    yield f"    match given.get({literal_source(name)}):"
    for choice, value in table:
        yield f"        case {literal_source(choice)}:"
        yield f"            found[{literal_source(key)}] = {literal_source(value)}"


def _piece_lines(name: str, key: str, coded: EncodedDomain) -> Iterator[str]:
    if coded.selector is None:
        yield f"    if {literal_source(name)} in given:"
        value = expression_source(_piece_code(coded.pieces[0]), 8, len(key) + 10)
        yield f"        found[{literal_source(key)}] = {value}"
        return
    yield f"    match given.get({literal_source(name)}):"
    for choice, piece in zip(coded.selector.choices, coded.pieces, strict=True):
        yield f"        case {literal_source(choice)}:"
        yield f"            found[{literal_source(key)}] = {expression_source(_piece_code(piece), 12, len(key) + 10)}"


def _is_unchanged(piece: Piece) -> bool:
    return (
        isinstance(code := _piece_code(piece), ItemNode)
        and isinstance(code.container, NameNode)
        and code.container.text == GIVEN
    )


def _piece_code(piece: Piece) -> Code:
    """Return the code of the member that the hyperparameter of a piece encodes."""
    if isinstance(piece, FixedPiece):
        return LiteralNode(piece.value)
    assert isinstance(piece, HyperparameterPiece)
    given = ItemNode(NameNode(GIVEN), LiteralNode(piece.parameter.name))
    match piece.reduction:
        case MemberRenamingReduction() as reduction:
            values = [(choice, reduction.decode(choice)) for choice in piece.parameter.choices]
            if all(identity_key(choice) == identity_key(value) for choice, value in values):
                return given
            table = ", ".join(f"{literal_source(choice)}: {literal_source(value)}" for choice, value in values)
            return ItemNode(NameNode(f"{{{table}}}"), given)
        case ExactIntegerReduction():
            return given
        case ScaledRangeReduction(part=part, exponent=exponent):
            number: Code = call("math.ldexp", given, -exponent) if exponent else given
            inside = call("min", call("max", number, part.least), part.greatest)
            return infix(inside, "+", 0.0)
        case MemberIndexReduction(part=Grid() as part):
            return grid_member_code(part, given)
        case _:
            raise TypeError(f"cannot write code that decodes values of the reduced domain {piece.reduction}")
