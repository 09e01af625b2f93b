"""A space as a text of the language: for spaces that a program makes, such as a part of another one.

Every decision of the pipeline itself becomes a stage; bounds that depended on the data are the numbers that they were
bound to. What an alternative or a permuted step is called that its author gave no name is its own text, and so it is
written such that its text is the same again.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice, permutations, product
from typing import Final

from spacelang.ir.domain import RESERVED, describe, literal
from spacelang.ir.expr import Active, And, Compare, Constant, Expr, In, Not, Or, Reference, renamed
from spacelang.ir.groups import scope
from spacelang.ir.printer import show_expression
from spacelang.ir.space import (
    ABSTRACT,
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
    operators,
    order_name,
)
from spacelang.ir.task import lines as describe_task

OWN: Final = "sklearn"
"""The catalogue that is always in sight."""

MOST_SPELLINGS: Final = 64
"""So many spellings of a structure are looked at for the one that is called as it should be."""


class UnwritableError(ValueError):
    """The language has no text for a space; the message says for what of it."""


def as_text(space: Space) -> str:
    """The space in the language, not laid out; read again it has the same configurations, defaults and annotations.

    Raises UnwritableError for what only spaces have that were changed after they were read, such as a permutation
    without some of its orders, or an alternative without a name of its own that is not what its name says.
    """
    return _Writer(space).text()


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A structure as it is written, what it is called, and the sign that joins it (empty where none does)."""

    text: str
    title: str
    sign: str = ""

    @property
    def apart(self) -> "_Spelling":
        """The structure where it is joined to others: in brackets if it is joined itself."""
        return _Spelling(f"({self.text})", f"({self.title})") if self.sign else self


class _Writer:
    def __init__(self, space: Space) -> None:
        self._space = space
        self._stages: dict[str, str] = {}
        """The lines of the stages, by name."""
        self._rules, self._inner_rules = self._placed(space.constraints)

    def text(self) -> str:
        space = self._space
        title = f' "{_escaped(space.title)}"' if space.title else ""
        lines = [f"space {space.name}{title}"] if _is_name(space.name) else []
        used = {(operator.catalogue, operator.name) for operator in operators(space.root)}
        lines += [f"use {name}" for name in sorted({catalogue for catalogue, _ in used} - {OWN, ABSTRACT})]
        lines += [f"abstract {name}" for catalogue, name in sorted(used) if catalogue == ABSTRACT]
        pipeline = next(self._node(space.root, ""))
        task = [] if space.task is None else [f"task {space.task.kind} {{", *describe_task(space.task), "}"]
        return "\n".join([*lines, *self._stages.values(), f"pipeline = {pipeline.text}", *self._rules, *task, ""])

    # ---- structures

    def _node(self, node: Node, prefix: str) -> Iterator[_Spelling]:
        """The ways to write a step at the place that its addresses begin with; the first one is the plainest."""
        match node:
            case Operator():
                yield from self._operator(node, prefix)
            case Choice():
                yield from self._choice(node, prefix)
            case Product(kind=Kind.SEQUENCE):
                yield from self._sequence(node.children, prefix)
            case Product(kind=Kind.PARALLEL):
                yield from self._joined(node.children, prefix, "&")
            case Product(kind=Kind.COLUMNS):
                yield from self._columns(node, prefix)
            case Product(kind=Kind.PERMUTATION):
                yield from self._permutation(node, prefix)
            case _:
                raise UnwritableError("a hyperparameter that stands in the pipeline by itself")

    def _sequence(self, children: Sequence[Node], prefix: str) -> Iterator[_Spelling]:
        """Steps one after the other; neighbours whose addresses begin with a further name stand in a group of it."""
        if not children:
            yield _Spelling("none", "none")
            return
        runs = [(name, [*steps]) for name, steps in groupby(children, lambda child: _group_of(child, prefix))]
        parts: list[list[_Spelling]] = []
        for name, steps in runs:
            if name:
                parts.append([*islice(self._run(name, steps, prefix), MOST_SPELLINGS)])
            else:
                parts.extend([*islice(self._node(step, prefix), MOST_SPELLINGS)] for step in steps)
        yield from _all_joined(parts, "->")

    def _run(self, name: str, steps: list[Node], prefix: str) -> Iterator[_Spelling]:
        for inner in self._sequence(steps, _below(prefix, name)):
            # A group of one operator would be another name for it.
            text = inner.text if inner.sign else f"({inner.text} -> none)"
            yield _Spelling(f"({text}) as {name}", name)

    def _joined(self, children: Sequence[Node], prefix: str, sign: str) -> Iterator[_Spelling]:
        yield from _all_joined([[*self._part(child, prefix)] for child in children], sign)

    def _part(self, node: Node, prefix: str) -> Iterator[_Spelling]:
        """A step that may be a group as a whole."""
        yield from self._sequence((node,), prefix) if not _is_sequence(node) else self._node(node, prefix)

    def _columns(self, node: Product, prefix: str) -> Iterator[_Spelling]:
        selectors = [_selector(selector) for selector in node.selectors]
        for parts in _combined([[*self._part(child, prefix)] for child in node.children]):
            text = ", ".join(f"{name}: {part.text}" for name, part in zip(selectors, parts, strict=True))
            title = ", ".join(f"{name}: {part.title}" for name, part in zip(selectors, parts, strict=True))
            yield _Spelling(f"columns({text})", f"columns({title})")

    def _permutation(self, node: Product, prefix: str) -> Iterator[_Spelling]:
        order, *steps = node.children
        assert isinstance(order, Choice)
        if order.address != _below(prefix, order.name):
            raise UnwritableError(f"a permutation whose order is called `{order.key}` where it stands")
        if {branch.name for branch in order.branches} != {branch.name for branch in _orders(node)}:
            raise UnwritableError(f"some of the orders of `{order.key}`")
        parts = [
            _called(self._part(step, prefix), _titles(label, node.labels[:place]))
            for place, (step, label) in enumerate(zip(steps, node.labels, strict=True))
        ]
        text, title = (", ".join(part.text for part in parts), ", ".join(part.title for part in parts))
        yield _Spelling(f"(permute({text})) as {order.name}", order.name)
        if order.name.startswith("order"):
            yield _Spelling(f"permute({text})", f"permute({title})")

    def _choice(self, choice: Choice, prefix: str) -> Iterator[_Spelling]:
        if choice.address != _below(prefix, choice.name) or not (prefix or choice.name.startswith("choice_")):
            yield self._stage(choice)
            return
        written = self._alternatives(choice)
        text = _either(written).text
        yield _Spelling(f"({text}) as {choice.name}{' @first' if choice.first else ''}", choice.name)
        if choice.name.startswith("choice_"):
            if len(written) > 1:
                yield _either(written)
            if len(written) > 1 and written[0].text == "none":
                rest = _either(written[1:]).apart
                yield _Spelling(f"{rest.text}?", f"{rest.title}?")

    def _stage(self, choice: Choice) -> _Spelling:
        """The name of a decision that is declared by itself."""
        name = choice.address
        if not _is_name(name):
            raise UnwritableError(f"a decision that is called `{choice.key}` where it stands")
        if name not in self._stages:
            self._stages[name] = ""
            alternatives = _either(self._alternatives(choice)).text
            self._stages[name] = f"stage {name}{' @first' if choice.first else ''} = {alternatives}"
        return _Spelling(name, name)

    def _alternatives(self, choice: Choice) -> list[_Spelling]:
        return [
            self._alternative(branch, choice, is_default=place == choice.default and place > 0)
            for place, branch in enumerate(choice.branches)
        ]

    def _alternative(self, branch: Branch, choice: Choice, *, is_default: bool) -> _Spelling:
        marks = f" @weight({literal(branch.weight)})" if branch.weight != 1.0 else ""
        marks += " @default" if is_default else ""
        prefix, node = f"{choice.address}.{branch.name}", branch.node
        if isinstance(node, Product) and not node.children and branch.name == "none":
            return _Spelling(f"none{marks}", "none")
        if isinstance(node, Operator) and _base(node) in ("", prefix):
            # An operator of a package is called without it.
            alias = "" if node.name == branch.name else f" as {self._name(branch, choice)}"
            name = _operator_name(node)
            return _Spelling(f"{name}{alias}{self._body(node, prefix)}{marks}", branch.name if alias else name)
        spellings = [*islice(self._node(node, prefix), MOST_SPELLINGS)]
        own = next((spelling for spelling in spellings if spelling.title == branch.name), None)
        if own is None or own.sign == "|":
            name = self._name(branch, choice)
            return _Spelling(f"(({spellings[0].text})) as {name}{marks}", name)
        if _is_name(own.text):
            return _Spelling(f"{own.text}{marks}", own.title)
        return _Spelling(f"({own.text}){marks}", f"({own.title})")

    def _name(self, branch: Branch, choice: Choice) -> str:
        if not _is_name(branch.name):
            raise UnwritableError(f"the alternative of `{choice.key}` that is called `{branch.name}`")
        return branch.name

    # ---- operators

    def _operator(self, operator: Operator, prefix: str) -> Iterator[_Spelling]:
        base = _base(operator)
        called = base.removeprefix(f"{prefix}.") if base else operator.name
        if base and (not _is_name(called) or base != _below(prefix, called)):
            raise UnwritableError(f"an operator that is called `{base}` where it stands")
        name, body = _operator_name(operator), self._body(operator, base)
        if called == operator.name:
            yield _Spelling(f"{name}{body}", name)
            return
        yield _Spelling(f"{name} as {called}{body}", called)
        if called.startswith(f"{operator.name}_"):
            yield _Spelling(f"{name}{body}", name)

    def _body(self, operator: Operator, base: str) -> str:
        members = [self._member(child) for child in operator.children]
        members += [f"{name} = {self._fixed(value, _below(base, name))}" for name, value in operator.fixed]
        members += self._inner_rules.get(base, []) if base else []
        return f" {{ {', '.join(members)} }}" if members else ""

    def _member(self, child: Hyperparameter | Choice) -> str:
        if isinstance(child, Choice):
            return f"{child.name} : {_either(self._alternatives(child)).text}"
        parts = [f"{child.name} : {describe(child.domain)} = {literal(child.default)}"]
        if child.prior is not None:
            numbers = "".join(f", {literal(number)}" for number in child.prior.parameters)
            parts.append(f"@prior({child.prior.distribution}{numbers})")
        if child.split is not None:
            parts.append(f"@split({child.split})")
        if child.condition is not None:
            around = child.address.removesuffix(f".{child.name}")
            parts.append(f"when {_expression(child.condition, around)}")
        return " ".join(parts)

    def _fixed(self, value: Fixed, base: str) -> str:
        match value:
            case Operator():
                return f"{_operator_name(value)}{self._body(value, base) or ' {}'}"
            case Named():
                return literal(value.name)
            case _:
                return literal(value)

    # ---- constraints

    def _placed(self, constraints: Sequence[Constraint]) -> tuple[list[str], dict[str, list[str]]]:
        """The constraints of the file, and by the operator those that no name reaches from outside."""
        own: list[str] = []
        inner: dict[str, list[str]] = {}
        for constraint in constraints:
            word = "forbid" if constraint.forbidden else "require"
            around = {each.rpartition(".")[0] for each in scope(constraint.expression) if not _is_path(each)}
            if len(around) > 1:
                raise UnwritableError("a constraint over alternatives that have no name of their own")
            base = next(iter(around), "")
            written = f"{word} {_expression(constraint.expression, base)}"
            if base:
                inner.setdefault(base, []).append(written)
            else:
                own.append(written)
        return own, inner


# ---- addresses


def _base(operator: Operator) -> str:
    """The address of an operator, as those of what is inside it say it; empty where there is nothing."""
    for child in operator.children:
        return child.address.removesuffix(f".{child.name}")
    for name, value in operator.fixed:
        if isinstance(value, Operator) and _base(value):
            return _base(value).removesuffix(f".{name}")
    return ""


def _address(node: Node) -> str:
    """The first address of a step that says where it stands; empty where none does."""
    match node:
        case Operator():
            return _base(node)
        case Choice():
            return node.address if "." in node.address else ""
        case Product():
            return next(filter(None, map(_address, node.children)), "")
        case Hyperparameter():
            return node.address


def _group_of(node: Node, prefix: str) -> str:
    """The name of the group around a step at a place; empty where there is none."""
    address = _address(node)
    inside = address.removeprefix(f"{prefix}.") if prefix and address.startswith(f"{prefix}.") else address
    first, _, rest = inside.partition(".")
    return first if rest and not _is_sequence(node) else ""


def _is_sequence(node: Node) -> bool:
    return isinstance(node, Product) and node.kind is Kind.SEQUENCE


def _below(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


# ---- spellings


def _combined(parts: Sequence[Sequence[_Spelling]]) -> Iterator[tuple[_Spelling, ...]]:
    yield from islice(product(*parts), MOST_SPELLINGS)


def _all_joined(parts: Sequence[Sequence[_Spelling]], sign: str) -> Iterator[_Spelling]:
    if len(parts) == 1:
        yield from parts[0]
        return
    for several in _combined(parts):
        apart = [part.apart for part in several]
        joined = (f" {sign} ".join(part.text for part in apart), f" {sign} ".join(part.title for part in apart))
        yield _Spelling(*joined, sign)


def _titles(label: str, before: Sequence[str]) -> tuple[str, ...]:
    """What a permuted step may be called: a step that is called like one before it has a number after its name."""
    name, _, number = label.rpartition("_")
    return (label, name) if number.isdigit() and name in before else (label,)


def _either(alternatives: Sequence[_Spelling]) -> _Spelling:
    text, title = (" | ".join(part.text for part in alternatives), " | ".join(part.title for part in alternatives))
    return _Spelling(text, title, "|" if len(alternatives) > 1 else "")


def _called(spellings: Iterator[_Spelling], titles: Sequence[str]) -> _Spelling:
    """The spelling that is called like one of these."""
    for spelling in islice(spellings, MOST_SPELLINGS):
        for each in (spelling, spelling.apart):
            if each.title in titles:
                return each
    raise UnwritableError(f"a permuted step that is called `{titles[0]}`")


def _orders(node: Product) -> Iterator[Branch]:
    return (Branch(order_name(labels), NOTHING) for labels in permutations(node.labels))


# ---- words


def _expression(expression: Expr, around: str) -> str:
    """An expression in which what no full name reaches goes by its own name, as siblings call it."""
    names = {}
    for address in scope(expression):
        before, _, own = address.rpartition(".")
        if not _is_path(address):
            if before != around:
                raise UnwritableError(f"a name for `{address}` in an expression")
            names[address] = own
    return show_expression(_sayable(renamed(expression, names)))


def _sayable(expression: Expr) -> Expr:
    """The expression in words of the language: never true is that a thing differs from itself."""
    match expression:
        case And() | Or():
            return replace(expression, terms=tuple(map(_sayable, expression.terms)))
        case Not():
            return replace(expression, term=_sayable(expression.term))
        case In(values=()):
            return Compare("!=", expression.item, expression.item)
        case In(item=Constant()):
            return replace(expression, item=_quoted(expression.item))
        case Compare(left=Constant(), right=Constant()):
            return replace(expression, left=_quoted(expression.left), right=_quoted(expression.right))
        case Active():
            return Compare("==", Reference(expression.address), Reference(expression.address))
        case _:
            return expression


def _quoted(constant: Expr) -> Expr:
    """A string that no hyperparameter stands beside: without quotes it would be the name of one."""
    is_text = isinstance(constant, Constant) and isinstance(constant.value, str)
    return Reference(f'"{_escaped(constant.value)}"') if is_text else constant  # type: ignore[union-attr, arg-type]


def _operator_name(operator: Operator) -> str:
    return operator.name if operator.catalogue in (OWN, ABSTRACT) else f"{operator.catalogue}.{operator.name}"


def _selector(selector: Selector) -> str:
    return f'"{_escaped(selector.pattern)}"' if selector.kind == "pattern" else selector.kind


def _is_name(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) is not None and text not in RESERVED


def _is_path(address: str) -> bool:
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", address) is not None


def _escaped(text: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return "".join(escapes.get(character, character) for character in text)
