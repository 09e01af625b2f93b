"""The space of the JSON that `as_json` writes: the same space again, and nothing of what is no space.

A document is a stranger's: what would fail later is refused here, with its path.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from math import factorial
from typing import Final, assert_never

from spacelang.forms.as_json import OWN
from spacelang.forms.json_fields import (
    DefinitionError,
    Fields,
    above_zero,
    at_least,
    flag,
    items,
    kind_of,
    name,
    one_of,
    parameter,
    plain,
    term,
    text,
    word,
)
from spacelang.forms.lines import PLACE, Lines, Place, lines
from spacelang.forms.parts_from_json import domain, expression, prior, task
from spacelang.forms.soundness import Paths, check
from spacelang.ir.domain import Missing, describe
from spacelang.ir.expr import Expr
from spacelang.ir.space import (
    NOTHING,
    Branch,
    Choice,
    Constraint,
    Fixed,
    Hyperparameter,
    Kind,
    Named,
    Node,
    Operator,
    Product,
    Selector,
    Space,
    order_name,
)
from spacelang.suggest import nearest
from spacelang.text import Span

MOST_NESTED: Final = 400
"""Objects and lists inside each other: some five for each bracket of a text, of which 64 may nest."""

MOST_STEPS: Final = 7
"""So many steps may be permuted, as in a text."""

MOST_ORDERS: Final = 100_000
"""Of all permutations together."""

SELECTORS: Final = ("numeric", "categorical", "text", "datetime", "all", "rest")

KEYS: Final = ("name", "title", "file", "root", "constraints", "task", "lines")
"""Those of a definition."""

NODES: Final = ("operator", "decision", "hyperparameter", *Kind)
"""The keys that say what a node is."""


def from_json(definition: object, path: str = "definition") -> Space:
    """The space that a definition is of; raises DefinitionError, whose paths begin with `path`, for what is none.

    Operators are not looked up and constraints not counted: that is left to who knows catalogues.
    """
    if _nesting(definition) > MOST_NESTED:
        raise DefinitionError(path, f"is nested more than {MOST_NESTED} deep")
    try:
        return _Reader(definition, path).space()
    except RecursionError:
        raise DefinitionError(path, "is nested too deeply") from None


def _nesting(document: object) -> int:
    deepest, waiting = 0, [(document, 1)]
    while waiting and deepest <= MOST_NESTED:
        value, depth = waiting.pop()
        deepest = max(deepest, depth)
        inner: Iterator[object] = iter(())
        if isinstance(value, dict | list):
            inner = iter(value.values() if isinstance(value, dict) else value)
        waiting.extend((item, depth + 1) for item in inner)
    return deepest


class _Reader:
    def __init__(self, definition: object, path: str) -> None:
        self._definition = definition
        self._path = path
        self._lines = Lines({}, frozenset())
        self._paths = Paths()
        self._orders = 0

    def space(self) -> Space:
        fields = Fields(self._definition, self._path, KEYS)
        self._lines = fields.get("lines", lines, self._lines)
        around = (fields.get("file", text, ""), 0)
        space = Space(
            fields.need("name", name),
            fields.need("root", lambda value, path: self.node(value, path, around)),
            fields.get("constraints", items(lambda value, path: self.constraint(value, path, around)), ()),
            fields.get("title", text, ""),
            fields.get("task", task(self._lines, around), None),
        )
        check(space, self._paths)
        return space

    # ---- nodes

    def node(self, value: object, path: str, around: Place) -> Node:
        kind = one_of(value, path, NODES, "a node")
        match kind:
            case "operator":
                return self.operator(value, path, around)
            case "decision":
                return self.decision(value, path, around)
            case "hyperparameter":
                return self.hyperparameter(value, path, around)
            case _:
                return self.product(value, path, around, Kind(kind))

    def product(self, value: object, path: str, around: Place, kind: Kind) -> Product:
        more = {Kind.COLUMNS: ("selectors",), Kind.PERMUTATION: ("labels", "order")}.get(kind, ())
        fields = Fields(value, path, (kind.value, *more, *PLACE))
        place = self._lines.place(fields, around)
        children = fields.need(kind.value, items(lambda each, at: self.node(each, at, place)))
        span = self._lines.span(place)
        match kind:
            case Kind.SEQUENCE | Kind.PARALLEL:
                return Product(kind, children, span)
            case Kind.COLUMNS:
                selectors = fields.need("selectors", items(_selector))
                _as_many(len(selectors), len(children), f"{path}.selectors")
                return Product(kind, children, span, selectors)
            case Kind.PERMUTATION:
                labels = fields.need("labels", items(name))
                _as_many(len(labels), len(children), f"{path}.labels")
                _check_labels(labels, f"{path}.labels")
                order = fields.need("order", lambda each, at: self.order(each, at, place, labels))
                return Product(kind, (order, *children), span, labels=labels)
            case _:
                assert_never(kind)

    def order(self, value: object, path: str, around: Place, labels: tuple[str, ...]) -> Choice:
        """The decision of the order of a permutation, whose alternatives are all orders if they are not listed."""
        self._orders += factorial(len(labels))
        if self._orders > MOST_ORDERS:
            raise DefinitionError(path, f"is of one of more than {MOST_ORDERS:,} orders of steps")
        orders = {order_name(order): None for order in permutations(labels)}
        if one_of(value, path, NODES, "a decision") != "decision":
            raise DefinitionError(path, "is not a decision")
        found = self.decision(value, path, around, tuple(Branch(each, NOTHING) for each in orders))
        for place, branch in enumerate(found.branches):
            if branch.name not in orders or branch.node != NOTHING:
                raise DefinitionError(f"{path}.alternatives[{place}]", "is no order of the labels")
        return found

    def decision(
        self,
        value: object,
        path: str,
        around: Place,
        implied: tuple[Branch, ...] = (),
        named: Callable[[object, str], str] = term,
    ) -> Choice:
        """A decision; `implied` are its alternatives if none are listed."""
        known = ("decision", "address", "key", "alternatives", "default", "first", *PLACE)
        fields = Fields(value, path, known)
        place = self._lines.place(fields, around)
        called, address, key = self._called(fields, "decision", named)
        if implied and "alternatives" not in fields:
            branches = tuple(replace(branch, span=self._lines.span(place)) for branch in implied)
        else:
            branches = fields.need("alternatives", items(lambda each, at: self.branch(each, at, place)))
        names = [branch.name for branch in branches]
        if not names:
            raise DefinitionError(f"{path}.alternatives", "is empty: a decision has an alternative")
        twice = _twice(names)
        if twice is not None:
            raise DefinitionError(f"{path}.alternatives[{twice}]", f"is one more alternative `{names[twice]}`")
        default = fields.get("default", text, names[0])
        if default not in names:
            near = nearest(default, names)
            remedy = f"did you mean `{near}`?" if near else "name one of the alternatives"
            raise DefinitionError(f"{path}.default", f"is `{default}`, which is no alternative", remedy)
        first = fields.get("first", flag, False)
        span = self._lines.span(place, called)
        return Choice(called, address, key, branches, names.index(default), first, span)

    def branch(self, value: object, path: str, around: Place) -> Branch:
        fields = Fields(value, path, ("alternative", "weight", "node", "value", *PLACE))
        place = self._lines.place(fields, around)
        node = fields.get("node", lambda each, at: self.node(each, at, place), NOTHING)
        weight = fields.get("weight", above_zero, 1.0)
        called = fields.need("alternative", name)
        own = fields.get("value", plain, None)
        if own is not None and node != NOTHING:
            raise DefinitionError(f"{path}.value", "is a value beside what is taken")
        return Branch(called, node, weight, self._lines.span(place, called), own)

    def operator(self, value: object, path: str, around: Place) -> Operator:
        fields = Fields(value, path, ("operator", "library", "fixed", "parameters", *PLACE))
        place = self._lines.place(fields, around)
        library = fields.get("library", name, OWN)
        fixed = fields.get("fixed", lambda each, at: self.all_fixed(each, at, place), ())
        children = fields.get("parameters", items(lambda each, at: self.parameter(each, at, place)), ())
        names = [*(parameter for parameter, _ in fixed), *(child.name for child in children)]
        twice = _twice(names)
        if twice is not None:
            at = f"{path}.parameters[{twice - len(fixed)}]"
            raise DefinitionError(at, f"is one more parameter `{names[twice]}`")
        called = fields.need("operator", term)
        return Operator(called, library, children, fixed, self._lines.span(place, called))

    def parameter(self, value: object, path: str, around: Place) -> Hyperparameter | Choice:
        match one_of(value, path, NODES, "a node"):
            case "decision":
                return self.decision(value, path, around, named=parameter)
            case "hyperparameter":
                return self.hyperparameter(value, path, around)
            case _:
                raise DefinitionError(path, "is neither a hyperparameter nor a decision")

    def all_fixed(self, value: object, path: str, around: Place) -> tuple[tuple[str, Fixed], ...]:
        if not isinstance(value, dict):
            raise DefinitionError(path, f"is {kind_of(value)} where an object should be")
        return tuple((parameter(key, path), self.fixed(each, f"{path}.{key}", around)) for key, each in value.items())

    def fixed(self, value: object, path: str, around: Place) -> Fixed:
        if not isinstance(value, dict):
            return plain(value, path)
        if one_of(value, path, ("operator", "named"), "an operator or a named object") == "operator":
            return self.operator(value, path, around)
        return Named(Fields(value, path, ("named",)).need("named", name))

    def hyperparameter(self, value: object, path: str, around: Place) -> Hyperparameter:
        known = ("hyperparameter", "address", "key", "domain", "default", "condition", "named", "prior", "split")
        fields = Fields(value, path, (*known, *PLACE))
        place = self._lines.place(fields, around)
        called, address, key = self._called(fields, "hyperparameter", parameter)
        values = fields.need("domain", domain)
        default = values.find(fields.need("default", plain))
        if isinstance(default, Missing):
            raise DefinitionError(f"{path}.default", f"lies outside of `{describe(values)}`")
        named = fields.get("named", items(name), ())
        for at, each in enumerate(named):
            if isinstance(values.find(each), Missing):
                raise DefinitionError(f"{path}.named[{at}]", f"is `{each}`, outside of `{describe(values)}`")
        return Hyperparameter(
            called,
            address,
            key,
            values,
            default,
            fields.get("condition", lambda each, at: self.condition(each, at, place), None),
            named,
            fields.get("prior", prior, None),
            fields.get("split", at_least(1), None),
            self._lines.span(place, called),
        )

    def _called(self, fields: Fields, kind: str, named: Callable[[object, str], str]) -> tuple[str, str, str]:
        """The name, address and key of a decision or hyperparameter."""
        called, address = fields.need(kind, named), fields.need("address", name)
        self._paths.add(address, fields.path)
        return called, address, fields.get("key", name, address)

    # ---- expressions

    def condition(self, value: object, path: str, around: Place) -> Expr:
        fields = Fields(value, path, ("when", *PLACE))
        span = self._lines.span(self._lines.place(fields, around))
        return _spanned(fields.need("when", self.expression), span)

    def constraint(self, value: object, path: str, around: Place) -> Constraint:
        kind = one_of(value, path, ("forbid", "require"), "a constraint")
        fields = Fields(value, path, (kind, "text", *PLACE))
        said = fields.get("text", text, "")
        span = self._lines.span(self._lines.place(fields, around), said)
        return Constraint(_spanned(fields.need(kind, self.expression), span), kind == "forbid", span)

    def expression(self, value: object, path: str) -> Expr:
        found = expression(value, path)
        self._paths.expressions.append((path, found))
        return found


def _selector(value: object, path: str) -> Selector:
    if isinstance(value, dict):
        pattern = Fields(value, path, ("pattern",)).need("pattern", text)
        try:
            re.compile(pattern)
        except re.error as error:
            raise DefinitionError(f"{path}.pattern", f"is no regular expression: {error}") from None
        return Selector("pattern", pattern)
    return Selector(word(*SELECTORS)(value, path))


def _check_labels(labels: tuple[str, ...], path: str) -> None:
    twice = _twice(labels)
    if twice is not None:
        raise DefinitionError(f"{path}[{twice}]", f"is one more label `{labels[twice]}`")
    if len(labels) > MOST_STEPS:
        raise DefinitionError(path, f"permutes {len(labels)} steps", f"at most {MOST_STEPS} steps may be permuted")


def _as_many(found: int, wanted: int, path: str) -> None:
    if found != wanted:
        raise DefinitionError(path, f"has {found} members where {wanted} should be")


def _twice(names: Sequence[str]) -> int | None:
    """The place of the first name that stands for the second time."""
    seen: set[str] = set()
    for place, each in enumerate(names):
        if each in seen:
            return place
        seen.add(each)
    return None


def _spanned(expression: Expr, span: Span) -> Expr:
    """The expression at a place; what is inside of it has none."""
    return replace(expression, span=span)
