"""Addresses and expressions as texts of the language: names that are no words stand in quotes or in backticks."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from spacelang.forms.printer import show_expression
from spacelang.ir.domain import Categorical, is_word, parameter_name, parts
from spacelang.ir.expr import Active, And, Compare, Constant, Expr, In, Is, Not, Or, Reference, renamed
from spacelang.ir.space import Hyperparameter, Space
from spacelang.solver.groups import scope
from spacelang.solver.rebuilding import rebuilt

SYMBOLS: Final = ("n_samples", "n_features", "n_classes")
"""Words that stand for the data wherever nothing else is called like them."""


def written_name(name: str) -> str:
    """The name of an alternative."""
    return name if is_word(name) or name == "none" else quoted(name)


def quoted(text: str) -> str:
    """A string in quotes."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(character, character) for character in text) + '"'


class Wording:
    """What the decisions and hyperparameters of a space are called in expressions."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._paths: dict[str, str] = {}
        self._places: dict[str, tuple[str, tuple[str, ...]]] = {}
        for variable in space.variables.values():
            address = variable.address
            for owner, branch in reversed(variable.owners):
                inside = f"{owner}.{branch}."
                if address.startswith(inside):
                    own = address[len(inside) :]
                    self._paths[address] = f"{self._paths[owner]}.{written_name(branch)}.{_written(own)}"
                    self._places[address] = inside[:-1], tuple(own.split("."))
                    break
            else:
                self._paths[address] = _written(address)
                self._places[address] = "", tuple(address.split("."))

    def place(self, address: str) -> tuple[str, tuple[str, ...]]:
        """The alternative that an address lies in (empty for none), and the words behind it."""
        return self._places[address]

    @property
    def paths(self) -> Mapping[str, str]:
        """What each address is in expressions."""
        return self._paths

    def path(self, address: str) -> str:
        """The address as expressions have it."""
        return self._paths[address]

    def shadowed(self, expression: Expr, siblings: Collection[str]) -> str | None:
        """A decision of the expression that goes by the name of a sibling, so that no text can mean it there."""
        return next((address for address in scope(expression) if address in siblings), None)

    def expression(self, expression: Expr, around: str = "", siblings: Collection[str] = ()) -> str:
        """An expression as a condition in the body of the operator at an address says it; without one, as a file does.

        There hyperparameters beside it go by their own names, as far as nothing else could be meant.
        """
        names = {address: self._paths[address] for address in scope(expression)}
        if around:
            words = {*SYMBOLS, *self._words(names)}
            for address in names:
                before, _, own = address.rpartition(".")
                if before == around and own in siblings and own not in words:
                    names[address] = parameter_name(own)
        return show_expression(_named(_sayable(expression), names, self._paths))

    def _words(self, addresses: Iterable[str]) -> Iterable[str]:
        """The strings among the values of hyperparameters: a word beside one of them is such a value."""
        for address in addresses:
            node = self._space.variables[address].node
            if isinstance(node, Hyperparameter):
                for part in parts(node.domain):
                    if isinstance(part, Categorical):
                        yield from (value for value in part.values if isinstance(value, str))


def worded(space: Space) -> Space:
    """The space to be shown: its conditions and constraints call things as texts do, and so mean nothing any more."""
    wording = Wording(space)

    def said(expression: Expr) -> Expr:
        return _named(expression, wording.paths, wording.paths)

    def told(node: Hyperparameter) -> Hyperparameter:
        return node if node.condition is None else replace(node, condition=said(node.condition))

    rules = tuple(replace(rule, expression=said(rule.expression)) for rule in space.constraints)
    return replace(space, root=rebuilt(space.root, told), constraints=rules)


def _written(names: str) -> str:
    """Names of steps and parameters with points between them."""
    return ".".join(map(parameter_name, names.split(".")))


def _named(expression: Expr, names: Mapping[str, str], paths: Mapping[str, str]) -> Expr:
    """The expression with its addresses as they are written; behind a constant always as a whole path."""
    match expression:
        case And() | Or():
            return replace(expression, terms=tuple(_named(term, names, paths) for term in expression.terms))
        case Not():
            return Not(_named(expression.term, names, paths))
        case Is():
            branches = tuple(map(written_name, expression.branches))
            return Is(names[expression.address], branches)
        case Compare() if not isinstance(expression.left, Reference) or isinstance(expression.right, Reference):
            return renamed(expression, paths)
        case _:
            return renamed(expression, names)


def _sayable(expression: Expr) -> Expr:
    """The expression in words of the language: never true is that a thing differs from itself."""
    match expression:
        case And() | Or():
            terms = tuple(map(_sayable, expression.terms))
            return replace(expression, terms=terms) if terms else Constant(isinstance(expression, And))
        case Not():
            return replace(expression, term=_sayable(expression.term))
        case Is(branches=()):
            return Constant(value=False)
        case In():
            return _sayable_in(expression)
        case Compare(left=Constant(), right=Constant()):
            return replace(expression, left=_quoted(expression.left), right=_quoted(expression.right))
        case Active():
            return Compare("==", Reference(expression.address), Reference(expression.address))
        case _:
            return expression


def _sayable_in(test: In) -> Expr:
    if not test.values:
        return Compare("!=", test.item, test.item)
    return replace(test, item=_quoted(test.item)) if isinstance(test.item, Constant) else test


def _quoted(constant: Expr) -> Expr:
    """A string that no hyperparameter stands beside: without quotes it would be the name of one."""
    is_text = isinstance(constant, Constant) and isinstance(constant.value, str)
    return Reference(quoted(constant.value)) if is_text else constant  # type: ignore[union-attr, arg-type]
