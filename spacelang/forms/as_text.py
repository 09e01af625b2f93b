"""A space as a text of the language: for spaces that a program makes, such as a part of another one.

Every decision of the pipeline itself becomes a stage; bounds that depended on the data are the numbers that they were
bound to. An alternative that is called by its own text is written such that this is its text again, and where it is
not any more, its name follows in quotes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, permutations
from typing import Final

from spacelang.forms.paths import Wording, quoted, written_name
from spacelang.ir.domain import describe, is_word, literal, parameter_name
from spacelang.ir.places import OUTSIDE, base_of, below, groups_of, is_sequence
from spacelang.ir.prior import describe as describe_prior
from spacelang.ir.space import (
    ABSTRACT,
    NOTHING,
    RANGE,
    Branch,
    Choice,
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
    value_name,
)
from spacelang.ir.task import lines as describe_task

OWN: Final = "sklearn"
"""The catalogue that is always in sight."""

CHOICE: Final = "choice_1"
"""What the first choice at a place is called that has no name."""

WIDTH: Final = 100
"""What is longer is broken, where it can be."""


class UnwritableError(ValueError):
    """The language has no text for a space; the message says for what of it."""


def as_text(space: Space) -> str:
    """The space in the language; read again it has the same configurations, defaults and annotations.

    Decisions, constraints and the orders of permutations may come in another order, and an order that the space does
    not have is forbidden. Raises UnwritableError for spaces that no text and no restriction of one makes: a
    hyperparameter that stands in the pipeline by itself, one whose address is not that of its place, an order with a
    weight; and for a condition over a stage that is called like a sibling of its hyperparameter.
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
    """Writes in the order of reading, so that what gets a number gets the same one again."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._wording = Wording(space)
        self._stages: dict[str, str] = {}
        """The texts of the stages, by name."""
        self._forbidden: list[str] = []
        self._taken: dict[str, set[str]] = {}
        """The names that are taken at each place of a structure."""
        self._wanted: dict[str, set[str]] = {}
        """The names that addresses say of each place."""
        for variable in space.variables.values():
            before, words = self._wording.place(variable.address)
            for word in words:
                self._wanted.setdefault(before, set()).add(word)
                before = below(before, word)
        self._declared = self._stage_names()

    def text(self) -> str:
        space = self._space
        title = f" {quoted(space.title)}" if space.title else ""
        lines = [f"space {space.name}{title}", ""] if is_word(space.name) else []
        used = {(operator.catalogue, operator.name) for operator in operators(space.root)}
        lines += [f"use {name}" for name in sorted({catalogue for catalogue, _ in used} - {OWN, ABSTRACT})]
        lines += [f"abstract {name}" for catalogue, name in sorted(used) if catalogue == ABSTRACT]
        lines += [""] if lines and lines[-1] else []
        pipeline = self._part(space.root, "").text
        rules = [
            f"{'forbid' if rule.forbidden else 'require'} {self._wording.expression(rule.expression)}"
            for rule in space.constraints
        ]
        task = [] if space.task is None else ["", f"task {space.task.kind} {{"]
        task += [] if space.task is None else [*(f"  {line}" for line in describe_task(space.task)), "}"]
        stages = [f"{stage}\n" if "\n" in stage else stage for stage in self._stages.values()]
        parts = (*lines, *stages, f"pipeline = {pipeline}", *self._forbidden, *rules, *task)
        return "\n".join((*parts, ""))

    # ---- structures

    def _node(self, node: Node, prefix: str) -> _Spelling:
        """A step at the place that its addresses begin with."""
        match node:
            case Operator():
                return self._operator(node, prefix)
            case Choice():
                return self._choice(node, prefix)
            case Product(kind=Kind.SEQUENCE):
                return self._sequence(node.children, prefix)
            case Product(kind=Kind.PARALLEL):
                return _joined([self._part(child, prefix) for child in node.children], "&")
            case Product(kind=Kind.COLUMNS):
                selectors = map(_selector, node.selectors)
                parts = [(name, self._part(part, prefix)) for name, part in zip(selectors, node.children, strict=True)]
                return _called("columns", [_Spelling(f"{n}: {p.text}", f"{n}: {p.title}") for n, p in parts])
            case Product(kind=Kind.PERMUTATION):
                return self._permutation(node, prefix)
            case _:
                raise UnwritableError("a hyperparameter that stands in the pipeline by itself")

    def _sequence(self, children: Sequence[Node], prefix: str) -> _Spelling:
        """Steps one after the other; neighbours whose addresses begin with a further name stand in a group of it."""
        parts: list[_Spelling] = []
        runs = groupby(zip(groups_of(children, prefix), children, strict=True), lambda run: run[0])
        for name, steps in ((name, [step for _, step in run]) for name, run in runs):
            if not name:
                parts.extend(self._node(step, prefix) for step in steps)
                continue
            if name == OUTSIDE:
                parts.append(_Spelling(f"({self._sequence(steps, '').text}) as {quoted(name)}", name))
                continue
            self._taken.setdefault(prefix, set()).add(name)
            inner = self._sequence(steps, below(prefix, name))
            # A group of one operator or decision would be another name for it.
            text = inner.text if inner.sign in ("->", "&") else f"({inner.text} -> none)"
            parts.append(_Spelling(f"({text}) as {name}", name))
        return _joined(parts, "->") if parts else _Spelling("none", "none")

    def _part(self, node: Node, prefix: str) -> _Spelling:
        """A step that may be a group as a whole."""
        return self._node(node, prefix) if is_sequence(node) else self._sequence((node,), prefix)

    def _permutation(self, node: Product, prefix: str) -> _Spelling:
        """The default order is the order of the text; those that there are not are forbidden."""
        order, *steps = node.children
        assert isinstance(order, Choice)
        if order.first or any(branch.weight != 1.0 for branch in order.branches):
            raise UnwritableError(f"a mark of the orders of `{order.key}`")
        natural = self._named("order", order.name, order.address, prefix)
        labels = next(e for e in permutations(node.labels) if order_name(e) == order.branches[order.default].name)
        parts: list[_Spelling] = []
        for place, label in enumerate(labels):
            part = self._part(steps[node.labels.index(label)], prefix)
            if _numbered(part.title, labels[:place]) != label:
                name = written_name(label) if label != "none" else quoted(label)
                part = _Spelling(f"{name}: {part.text}", f"{name}: {part.title}")
            parts.append(part)
        missing = [*{order_name(each): None for each in permutations(labels) if order_name(each) not in order.places}]
        if missing:
            path = self._wording.path(order.address)
            self._forbidden.append(f"forbid {path} in {{{', '.join(map(written_name, missing))}}}")
        written = _called("permute", parts)
        return written if natural else _Spelling(f"({written.text}) as {order.name}", order.name)

    def _choice(self, choice: Choice, prefix: str) -> _Spelling:
        if choice.address in self._declared:
            return self._stage(choice)
        natural = self._named(CHOICE, choice.name, choice.address, prefix) and not choice.first
        written = self._alternatives(choice)
        if natural and len(written) > 1:
            if written[0].text == "none":
                rest = _either(written[1:]).apart
                return _Spelling(f"{rest.text}?", f"{rest.title}?", "?")
            return _either(written)
        bar = "| " if len(written) == 1 else ""
        return _Spelling(f"({bar}{_either(written).text}) as {choice.name}{' @first' * choice.first}", choice.name)

    def _stage(self, choice: Choice) -> _Spelling:
        """The name of a decision that is declared by itself."""
        called = choice.address
        if not is_word(called):
            raise UnwritableError(f"a decision that is called `{choice.key}`")
        self._taken.setdefault("", set()).add(called)
        name = self._declared[called]
        if name not in self._stages:
            self._stages[name] = ""
            self._stages[name] = _declared(f"stage {name}{' @first' * choice.first} =", self._alternatives(choice))
        return _Spelling(name if name == called else f"{name} as {called}", called)

    def _alternatives(self, choice: Choice) -> list[_Spelling]:
        return [
            self._alternative(branch, choice, is_default=place == choice.default and place > 0)
            for place, branch in enumerate(choice.branches)
        ]

    def _alternative(self, branch: Branch, choice: Choice, *, is_default: bool) -> _Spelling:
        marks = f" @weight({literal(branch.weight)})" if branch.weight != 1.0 else ""
        marks += " @default" if is_default else ""
        prefix, node = f"{choice.address}.{branch.name}", branch.node
        if branch.value is not None:
            return self._value(branch, choice)
        if isinstance(node, Hyperparameter):
            return self._range(branch, node, choice)
        if isinstance(node, Product) and not node.children and branch.name == "none":
            return _Spelling(f"none{marks}", "none")
        alias = f" as {written_name(branch.name)}"
        if isinstance(node, Operator) and base_of(node) in ("", prefix):
            # An operator of a package is called without it.
            name, is_own = _operator_name(node), node.name == branch.name
            text = f"{name}{'' if is_own else alias}{self._body(node, prefix)}{marks}"
            return _Spelling(text, name if is_own else branch.name)
        own = self._node(node, prefix)
        if own.title != branch.name or isinstance(node, Operator) or own.sign in ("|", "?"):
            # In single brackets a name would be that of the operator or decision itself.
            text = own.text if own.sign in ("->", "&") else f"({own.text})"
            return _Spelling(f"({text}){alias}{marks}", branch.name)
        if is_word(own.text):
            return _Spelling(f"{own.text}{marks}", own.title)
        return _Spelling(f"({own.text}){marks}", f"({own.title})")

    def _value(self, branch: Branch, choice: Choice) -> _Spelling:
        """An alternative that is a plain value: it stands in a set, where nothing else can be said of it."""
        if branch.weight != 1.0 or branch.name != value_name(branch.value) or not _has_structures(choice):
            raise UnwritableError(f"the value `{branch.name}` of `{choice.key}` as it is")
        return _Spelling(f"{{{literal(branch.value)}}}", branch.name)

    def _range(self, branch: Branch, node: Hyperparameter, choice: Choice) -> _Spelling:
        """An alternative that is a range; a default that is not the decision's own is what it is without a word."""
        is_plain = (node.condition, node.prior, node.split, branch.weight) == (None, None, None, 1.0)
        is_usual = choice.branches[choice.default] is branch or node.default == node.domain.middle
        is_own = node.address == f"{choice.address}.{RANGE}.value" and _has_structures(choice)
        if not (is_own and is_plain and is_usual):
            raise UnwritableError(f"the range of `{choice.key}` as it is")
        return _Spelling(describe(node.domain), branch.name)

    # ---- names

    def _stage_names(self) -> dict[str, str]:
        """The decisions that are stages, and under which name each is declared: not under that of an operator."""
        operators_ = {name for operator in operators(self._space.root) for name in (operator.name, operator.catalogue)}
        found: dict[str, str] = {}
        for choice in self._space.decisions:
            is_inline = choice.name.startswith("choice_") and not self._space.variables[choice.address].owners
            if "." in choice.address or is_inline or choice.address in self._space.permutations:
                continue
            name = choice.address
            while name in operators_ or (name != choice.address and name in self._wanted[""]):
                name = f"{name}_stage"
            found[choice.address] = name
        return found

    def _named(self, usual: str, called: str, address: str, prefix: str) -> bool:
        """Take the name that something is called at a place; whether it would get it without saying so."""
        if address != below(prefix, called) or not is_word(called):
            raise UnwritableError(f"`{address}`, the name of a step, in `{prefix or 'the pipeline'}`")
        taken = self._taken.setdefault(prefix, set())
        name, number, stages = usual, 1, {*self._declared.values()}
        while name in taken or (name in stages and (number > 1 or usual == CHOICE)):
            number += 1
            name = f"{usual.removesuffix('_1')}_{number}"
        taken.add(called)
        return name == called

    # ---- operators

    def _operator(self, operator: Operator, prefix: str) -> _Spelling:
        base = base_of(operator)
        called = base.removeprefix(f"{prefix}.") if base else self._free_name(operator, prefix)
        natural = self._named(operator.name, called, base or below(prefix, called), prefix)
        name, body = _operator_name(operator), self._body(operator, base)
        return _Spelling(f"{name}{body}", name) if natural else _Spelling(f"{name} as {called}{body}", called)

    def _free_name(self, operator: Operator, prefix: str) -> str:
        """A name for an operator of which no address speaks, that nothing else at its place needs."""
        name, number = operator.name, 1
        needed = self._wanted.get(prefix, set()) | self._taken.get(prefix, set()) | {*self._declared.values()}
        while name in needed:
            number += 1
            name = f"{operator.name}_{number}"
        return name

    def _body(self, operator: Operator, base: str) -> str:
        siblings = {child.name for child in operator.children if isinstance(child, Hyperparameter)}
        shadowing = siblings | {child.name for child in operator.children} | {name for name, _ in operator.fixed}
        members = [self._member(child, siblings, shadowing) for child in operator.children]
        members += [
            f"{parameter_name(name)} = {self._fixed(value, below(base, name))}" for name, value in operator.fixed
        ]
        if not members:
            return ""
        short = f" {{ {', '.join(members)} }}"
        if "\n" not in short and len(short) <= WIDTH and len(operator.children) <= 1:
            return short
        # Behind a line break `log =` and `pipeline =` would belong to what is before them.
        ends = ["," if re.match(r"(log|pipeline)\b", member) else "" for member in members[1:]]
        lines = (f"{_indented(member)}{end}\n" for member, end in zip(members, (*ends, ""), strict=True))
        return " {\n" + "".join(lines) + "}"

    def _member(self, child: Hyperparameter | Choice, siblings: set[str], shadowing: set[str]) -> str:
        if isinstance(child, Choice):
            usual = child.branches[child.default]
            value = usual.node.default if isinstance(usual.node, Hyperparameter) else usual.value
            default = "" if value is None else f" = {literal(value)}"
            return f"{parameter_name(child.name)} : {_either(self._alternatives(child)).text}{default}"
        parts = [f"{parameter_name(child.name)} : {describe(child.domain)} = {literal(child.default)}"]
        if child.prior is not None:
            parts.append(describe_prior(child.prior))
        if child.split is not None:
            parts.append(f"@split({child.split})")
        if child.condition is not None:
            shadowed = self._wording.shadowed(child.condition, shadowing)
            if shadowed is not None:
                raise UnwritableError(f"a condition of `{child.key}` over the stage `{shadowed}`, beside its namesake")
            around = child.address.removesuffix(f".{child.name}")
            parts.append(f"when {self._wording.expression(child.condition, around, siblings)}")
        return " ".join(parts)

    def _fixed(self, value: Fixed, base: str) -> str:
        match value:
            case Operator():
                return f"{_operator_name(value)}{self._body(value, base) or ' {}'}"
            case Named():
                return literal(value.name)
            case _:
                return literal(value)


def _has_structures(choice: Choice) -> bool:
    """Whether what is written is read as a decision again: else it would be a domain of values."""
    return any(each.node != NOTHING and not isinstance(each.node, Hyperparameter) for each in choice.branches)


# ---- spellings


def _joined(parts: Sequence[_Spelling], sign: str) -> _Spelling:
    if len(parts) == 1:
        return parts[0]
    apart = [part.apart for part in parts]
    return _Spelling(f" {sign} ".join(p.text for p in apart), f" {sign} ".join(p.title for p in apart), sign)


def _called(word: str, parts: Sequence[_Spelling]) -> _Spelling:
    text, title = ", ".join(part.text for part in parts), ", ".join(part.title for part in parts)
    return _Spelling(f"{word}({text})", f"{word}({title})")


def _either(alternatives: Sequence[_Spelling]) -> _Spelling:
    text, title = (" | ".join(part.text for part in alternatives), " | ".join(part.title for part in alternatives))
    return _Spelling(text, title, "|" if len(alternatives) > 1 else "")


def _declared(head: str, alternatives: Sequence[_Spelling]) -> str:
    """A stage with its alternatives on one line, or where that is long one on each."""
    short = f"{head} {_either(alternatives).text}"
    if "\n" not in short and len(short) <= WIDTH:
        return short
    return "\n".join((head, *(f"  | {_indented(part.text, 4).lstrip()}" for part in alternatives)))


def _numbered(title: str, before: Sequence[str]) -> str:
    """What a permuted step is called: one that is called like one before it has a number after its name."""
    called, number = title, 1
    while called in before:
        number += 1
        called = f"{title}_{number}"
    return called


# ---- words


def _indented(text: str, depth: int = 2) -> str:
    return "\n".join(f"{' ' * depth}{line}" for line in text.split("\n"))


def _operator_name(operator: Operator) -> str:
    return operator.name if operator.catalogue in (OWN, ABSTRACT) else f"{operator.catalogue}.{operator.name}"


def _selector(selector: Selector) -> str:
    return quoted(selector.pattern) if selector.kind == "pattern" else selector.kind
