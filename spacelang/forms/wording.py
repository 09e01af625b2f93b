"""Convert values, domains, addresses and expressions of a space to nodes of the syntax tree."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias, assert_never

from spacelang.ir.domain import (
    BOOLEANS,
    SYMBOLS,
    Categorical,
    Domain,
    Grid,
    Ordinal,
    Real,
    Union,
    is_word,
    parts,
    quoted,
)
from spacelang.ir.expr import (
    Active,
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expr,
    In,
    Is,
    Not,
    Or,
    Reference,
    renamed,
    scope,
    with_children,
)
from spacelang.ir.rebuilding import rebuilt
from spacelang.ir.space import Hyperparameter, Space
from spacelang.ir.value import same
from spacelang.syntax import ast
from spacelang.syntax.making import named, takes, value
from spacelang.syntax.spelling import spell_reference
from spacelang.text import NOWHERE

Path: TypeAlias = tuple[ast.Word, ...]


def domain(found: Domain) -> ast.Range | ast.Booleans | ast.Values | ast.UnionDomain:
    """Return the syntax node of a domain."""
    match found:
        case Union():
            return ast.UnionDomain(tuple(map(domain, found.parts)), NOWHERE)
        case Categorical() if same(found.values, BOOLEANS.values):
            return ast.Booleans(NOWHERE)
        case Categorical() | Ordinal():
            return ast.Values(tuple(map(value, found.values)), isinstance(found, Ordinal), NOWHERE)
        case Grid():
            step = None if found.is_consecutive else ast.Number(found.step, NOWHERE)
            return _range("int" if found.is_integral else "float", found, step, (False, False))
        case Real():
            return _range("float", found, None, (found.lower_open, found.upper_open))
        case _:
            assert_never(found)


def _range(
    kind: Literal["float", "int"], found: Grid | Real, step: ast.Number | None, is_open: tuple[bool, bool]
) -> ast.Range:
    lower, upper = ast.Number(found.lower, NOWHERE), ast.Number(found.upper, NOWHERE)
    return ast.Range(kind, lower, upper, *is_open, named("log") if found.log else None, step, NOWHERE)


class Wording:
    """The names of the decisions and hyperparameters of a space in expressions."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._paths: dict[str, Path] = {}
        self._places: dict[str, tuple[str, tuple[str, ...]]] = {}
        for variable in space.variables.values():
            address, before = variable.address, ""
            path: Path = ()
            for owner, branch in reversed(variable.owners):
                if address.startswith(f"{owner}.{branch}."):
                    before, path = f"{owner}.{branch}", (*self._paths[owner], ast.Word(branch, NOWHERE))
                    break
            own = tuple(address[len(before) + bool(before) :].split("."))
            self._paths[address], self._places[address] = (*path, *map(named, own)), (before, own)

    def place(self, address: str) -> tuple[str, tuple[str, ...]]:
        """Return the address of the enclosing alternative (empty for none) and the remaining words of the address."""
        return self._places[address]

    def path(self, address: str) -> ast.Dotted:
        """Return the name of an address in expressions."""
        return _dotted(self._paths[address])

    def shadowed(self, expression: Expr, siblings: Collection[str]) -> str | None:
        """Return the first address in an expression that is also the name of a sibling parameter, or None.

        Inside the operator, the text could only refer to the sibling.
        """
        return next((address for address in scope(expression) if address in siblings), None)

    def expression(self, expression: Expr, around: str = "", siblings: Collection[str] = ()) -> ast.Expression:
        """Return the syntax node of an expression as a condition of the operator at the address `around`.

        Parameters of the same operator (`siblings`) are written by their own names where these are unambiguous. Without
        `around`, the expression is written as for the top level of a file.
        """
        names = {address: self._paths[address] for address in scope(expression)}
        if around:
            words = {*SYMBOLS, *self._words(names)}
            for address in names:
                before, _, own = address.rpartition(".")
                if before == around and own in siblings and own not in words:
                    names[address] = (named(own),)
        return _written(expression, names, self._paths)

    def _words(self, addresses: Iterable[str]) -> Iterable[str]:
        """Yield the string values of hyperparameters: next to such a hyperparameter, a word means its value."""
        for address in addresses:
            node = self._space.variables[address].node
            if isinstance(node, Hyperparameter):
                for part in parts(node.domain):
                    if isinstance(part, Categorical):
                        yield from (each for each in part.values if isinstance(each, str))


def _written(expression: Expr, names: Mapping[str, Path], paths: Mapping[str, Path]) -> ast.Expression:
    """Return the syntax node of an expression, with `names` for addresses and full paths after a constant."""
    match expression:
        case And(terms) | Or(terms):
            is_all = isinstance(expression, And)
            written = tuple(_written(term, names, paths) for term in terms)
            return ast.Logical("and" if is_all else "or", written, NOWHERE) if terms else ast.Keyword(is_all, NOWHERE)
        case Not(term):
            return ast.Unary("not", _written(term, names, paths), NOWHERE)
        case Compare(relation, left, right):
            names = names if isinstance(left, Reference) and not isinstance(right, Reference) else paths
            is_constant = isinstance(left, Constant) and isinstance(right, Constant)
            side = _side if is_constant else _term
            return ast.Binary(relation, side(left, names), side(right, names), NOWHERE)
        case In(item, values):
            one = _side(item, names)
            # An empty set of values is written as `x != x`, which is never true.
            nothing = ast.Binary("!=", one, one, NOWHERE)
            return ast.Membership(one, tuple(map(value, values)), NOWHERE) if values else nothing
        case Is(address, branches):
            return takes(_dotted(names[address]), branches)
        case Active(address):
            return ast.Binary("==", _dotted(names[address]), _dotted(names[address]), NOWHERE)
        case Constant() | Reference() | Arithmetic() | Call():
            return _term(expression, names)
        case _:
            assert_never(expression)


def _side(expression: Expr, names: Mapping[str, Path]) -> ast.Expression:
    """Return the node of an operand without a hyperparameter next to it, so that strings need quotes."""
    if isinstance(expression, Constant) and isinstance(expression.value, str):
        return ast.Text(expression.value, NOWHERE)
    return _term(expression, names)


def _dotted(path: Path) -> ast.Dotted:
    return ast.Dotted(path, NOWHERE)


def _term(expression: Expr, names: Mapping[str, Path]) -> ast.Expression:
    match expression:
        case Constant():
            return value(expression.value)
        case Reference(address):
            return _dotted(names[address])
        case Arithmetic(operation, left, right):
            return ast.Binary(operation, _term(left, names), _term(right, names), NOWHERE)
        case Call(function, arguments):
            return ast.FunctionCall(named(function), tuple(_term(each, names) for each in arguments), NOWHERE)
        case _:
            return _written(expression, names, names)


def spelled(space: Space) -> dict[str, str]:
    """Return the names of all decisions and hyperparameters as texts write them, by address."""
    wording = Wording(space)
    return {address: spell_reference(wording.path(address)) for address in space.variables}


def saying(space: Space) -> Callable[[Expr], Expr]:
    """Return a function that converts an expression for display.

    The converted expression has names as texts write them in place of addresses, so it can no longer be evaluated.
    """
    names = spelled(space)

    def said(expression: Expr) -> Expr:
        match expression:
            case And() | Or() | Not():
                return with_children(expression, said)
            case Is(address, branches):
                return Is(names[address], tuple(map(called, branches)))
            case _:
                return renamed(expression, names)

    return said


def worded(space: Space) -> Space:
    """Return the space for display, with names as texts write them in its conditions and constraints.

    These conditions and constraints can no longer be evaluated.
    """
    said = saying(space)

    def told(node: Hyperparameter) -> Hyperparameter:
        return node if node.condition is None else replace(node, condition=said(node.condition))

    rules = tuple(replace(rule, expression=said(rule.expression)) for rule in space.constraints)
    return replace(space, root=rebuilt(space.root, told), constraints=rules)


def called(branch: str) -> str:
    """Return the name of an alternative as texts write it, in quotes if necessary."""
    return branch if is_word(branch) or branch == "none" else quoted(branch)
