"""Write a space as text of the `.space` language, for spaces that programs create (such as a restricted space).

Every decision of the pipeline itself becomes a stage. Bounds that depended on the data are written as the numbers that
they had. An alternative whose name equals its own printed text is written without a name; any other name is added in
quotes.
"""

from collections.abc import Sequence
from itertools import groupby, permutations
from typing import Final, Literal, TypeAlias

from spacelang.forms.wording import Wording, domain
from spacelang.ir.domain import is_word
from spacelang.ir.places import OUTSIDE, base_of, below, groups_of, is_sequence
from spacelang.ir.prior import Prior
from spacelang.ir.prior import named as named_prior
from spacelang.ir.space import (
    ABSTRACT,
    NOTHING,
    RANGE,
    Branch,
    Choice,
    ColumnSelector,
    Fixed,
    Hyperparameter,
    Kind,
    Named,
    Node,
    Operator,
    Product,
    Space,
    operators,
    order_name,
    value_name,
)
from spacelang.ir.task import Task, describe_bound, describe_limits, describe_validation, positional
from spacelang.syntax import ast, making
from spacelang.syntax.making import dotted, named, takes, value
from spacelang.syntax.titles import title
from spacelang.text import NOWHERE, numbered

OWN: Final = "sklearn"
"""The catalogue whose operators need no prefix and no `use` line."""

CHOICE: Final = "choice_1"
"""The automatic name of the first unnamed choice at a place."""


Alternative: TypeAlias = ast.Nothing | ast.Operator | ast.Parenthesised
Marks: TypeAlias = tuple[ast.Annotation, ...]

_NONE: Final = ast.Nothing((), NOWHERE)


class UnwritableError(ValueError):
    """Exception for a space that the language cannot express; the message names the part of the space."""


def as_text(space: Space) -> str:
    """Return the space as text that reads back to the same configurations, defaults and annotations.

    Decisions, constraints and the orders of permutations may come in a different order. An order that a permutation of
    the space does not have is written as forbidden.

    Raises UnwritableError for a space that cannot come from a text or from restricting one: a hyperparameter outside of
    any operator, a step whose address does not match its place, or an annotated order. It is also raised for a
    condition on a stage that has the same name as another parameter of the operator.
    """
    # The printer imports the parser, which is slow. It is imported only when text is written.
    from spacelang.syntax.printer import format_file

    return format_file(_Writer(space).file())


class _Writer:
    """A writer for one space.

    It visits the space in reading order, so that automatically numbered names get the same numbers again.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._wording = Wording(space)
        self._stages: dict[str, list[ast.Item]] = {}
        """The items of each stage by its name; an empty list while the alternatives of the stage are being written."""
        self._forbidden: list[ast.Item] = []
        self._taken: dict[str, set[str]] = {}
        """The names already taken, by the address of the place."""
        self._wanted: dict[str, set[str]] = {}
        """The names that addresses require, by the address of the place."""
        for variable in space.variables.values():
            before, words = self._wording.place(variable.address)
            for each in words:
                self._wanted.setdefault(before, set()).add(each)
                before = below(before, each)
        self._declared = self._stage_names()

    def file(self) -> ast.File:
        """Return the syntax tree of the whole file."""
        space = self._space
        called = None if not space.title else ast.Text(space.title, NOWHERE)
        head: list[ast.Item] = [ast.SpaceName(named(space.name), called, NOWHERE)] if is_word(space.name) else []
        used = {(operator.catalogue, operator.name) for operator in operators(space.root)}
        head += [ast.Use(dotted(each), NOWHERE) for each in sorted({name for name, _ in used} - {OWN, ABSTRACT})]
        head += [ast.Abstract(named(name), None, NOWHERE) for catalogue, name in sorted(used) if catalogue == ABSTRACT]
        pipeline = ast.Pipeline(self._part(space.root, ""), NOWHERE)
        stages = [item for stage in self._stages.values() for item in stage]
        rules = [
            ast.Rule(rule.forbidden, self._wording.expression(rule.expression), NOWHERE) for rule in space.constraints
        ]
        task = [] if space.task is None else [_task(space.task)]
        return ast.File((*head, *stages, pipeline, *self._forbidden, *rules, *task), NOWHERE)

    # ---- structures

    def _node(self, node: Node, prefix: str) -> ast.Structure:
        """Return the structure for a node; `prefix` is the address of the place that it is in."""
        match node:
            case Operator():
                return self._operator(node, prefix)
            case Choice():
                return self._choice(node, prefix)
            case Product(kind=Kind.SEQUENCE):
                return self._sequence(node.children, prefix)
            case Product(kind=Kind.PARALLEL):
                return _joined("&", [self._part(child, prefix) for child in node.children])
            case Product(kind=Kind.COLUMNS):
                parts = (self._part(child, prefix) for child in node.children)
                return ast.Columns(tuple(zip(map(_selector, node.selectors), parts, strict=True)), (), NOWHERE)
            case Product(kind=Kind.PERMUTATION):
                return self._permutation(node, prefix)
            case _:
                raise UnwritableError("a hyperparameter outside of any operator")

    def _sequence(self, children: Sequence[Node], prefix: str) -> ast.Structure:
        """Return steps joined by `->`; neighbouring steps whose addresses share a group name form a named group."""
        parts: list[ast.Structure] = []
        runs = groupby(zip(groups_of(children, prefix), children, strict=True), lambda run: run[0])
        for name, steps in ((name, [step for _, step in run]) for name, run in runs):
            if not name:
                parts.extend(self._node(step, prefix) for step in steps)
                continue
            if name == OUTSIDE:
                parts.append(_group(self._sequence(steps, ""), name))
                continue
            self._taken.setdefault(prefix, set()).add(name)
            inner = self._sequence(steps, below(prefix, name))
            # A group around a single operator or decision would rename it: `none` is added as a second step.
            parts.append(_group(inner if _sign(inner) in ("->", "&") else _joined("->", [inner, _NONE]), name))
        return _joined("->", parts) if parts else _NONE

    def _part(self, node: Node, prefix: str) -> ast.Structure:
        """Return the structure for a step, as a group if the addresses inside the step share a group name."""
        return self._node(node, prefix) if is_sequence(node) else self._sequence((node,), prefix)

    def _permutation(self, node: Product, prefix: str) -> ast.Structure:
        """Return a `permute(...)` written in the default order; forbid the orders that the space does not have."""
        order, *steps = node.children
        assert isinstance(order, Choice)
        if order.first or any(branch.weight != 1.0 for branch in order.branches):
            raise UnwritableError(f"an annotation of the orders of `{order.key}`")
        natural = self._named("order", order.name, order.address, prefix)
        labels = next(e for e in permutations(node.labels) if order_name(e) == order.branches[order.default].name)
        parts = tuple(self._part(steps[node.labels.index(label)], prefix) for label in labels)
        given = (
            None if numbered(title(part), labels[:place]) == label else named(label)
            for place, (part, label) in enumerate(zip(parts, labels, strict=True))
        )
        missing = [*{order_name(each): None for each in permutations(labels) if order_name(each) not in order.places}]
        if missing:
            forbidden = takes(self._wording.path(order.address), missing)
            self._forbidden.append(ast.Rule(True, forbidden, NOWHERE))
        written = ast.Permute(parts, (), NOWHERE, tuple(given))
        return written if natural else _group(written, order.name)

    def _choice(self, choice: Choice, prefix: str) -> ast.Structure:
        if choice.address in self._declared:
            return self._stage(choice)
        natural = self._named(CHOICE, choice.name, choice.address, prefix) and not choice.first
        written = self._alternatives(choice)
        if not natural or len(written) == 1:
            return _group(ast.Joined("|", written, NOWHERE), choice.name, _marks(first=choice.first))
        if written[0] != _NONE:
            return _joined("|", written)
        rest = _joined("|", written[1:])
        return ast.Maybe(_group(rest) if _sign(rest) else rest, NOWHERE)

    def _stage(self, choice: Choice) -> ast.Structure:
        """Return a reference to the stage of a decision; declare the stage at the first reference."""
        called = choice.address
        if not is_word(called):
            raise UnwritableError(f"a decision named `{choice.key}`")
        self._taken.setdefault("", set()).add(called)
        name = self._declared[called]
        if name not in self._stages:
            self._stages[name] = []
            alternatives = _joined("|", self._alternatives(choice))
            self._stages[name].append(ast.Stage(named(name), _marks(first=choice.first), alternatives, NOWHERE))
        return ast.Operator(dotted(name), None if name == called else named(called), None, (), NOWHERE)

    def _alternatives(self, choice: Choice) -> tuple[Alternative, ...]:
        return tuple(self._alternative(branch, choice) for branch in choice.branches)

    def _alternative(self, branch: Branch, choice: Choice) -> Alternative:
        is_default = branch is choice.branches[choice.default] and choice.default > 0
        marks = _marks(weight=branch.weight, default=is_default)
        prefix, node = f"{choice.address}.{branch.name}", branch.node
        if branch.value is not None:
            raise UnwritableError(f"the plain value `{branch.name}` as an alternative of `{choice.key}`")
        if isinstance(node, Product) and not node.children and branch.name == "none":
            return ast.Nothing(marks, NOWHERE)
        if isinstance(node, Operator) and base_of(node) in ("", prefix):
            # The name of an alternative leaves out the package of its operator.
            alias = None if node.name == branch.name else named(branch.name)
            return ast.Operator(_operator_name(node), alias, self._body(node, prefix), marks, NOWHERE)
        own = self._node(node, prefix)
        if title(own) != branch.name or isinstance(node, Operator) or _sign(own) in ("|", "?"):
            # With a single pair of brackets the name would apply to the operator or decision itself.
            return _group(own if _sign(own) in ("->", "&") else _group(own), branch.name, marks)
        # Annotations after the name of a stage apply to the stage; after a name in brackets, to the alternative.
        if isinstance(own, ast.Operator) and own.alias is None and own.body is None and not marks:
            return own
        return _group(own, None, marks)

    def _nested(self, branch: Branch, choice: Choice) -> ast.Domain:
        """Return one alternative of a decision that is the domain of a parameter."""
        if branch.value is not None:
            return self._value(branch, choice)
        if isinstance(branch.node, Hyperparameter):
            return self._range(branch, branch.node, choice)
        return self._alternative(branch, choice)

    def _value(self, branch: Branch, choice: Choice) -> ast.Domain:
        """Return a plain value, as an alternative of a decision, as a set with one member.

        Raises UnwritableError if the value has a weight or another name: a set cannot express them.
        """
        if branch.weight != 1.0 or branch.name != value_name(branch.value) or not _has_structures(choice):
            raise UnwritableError(f"the value `{branch.name}` of `{choice.key}` with its name and weight")
        return ast.Values((value(branch.value),), False, NOWHERE)

    def _range(self, branch: Branch, node: Hyperparameter, choice: Choice) -> ast.Domain:
        """Return a range that is an alternative of a decision.

        Only a range without annotations can be written. If another alternative is the default, the default of the range
        must be its middle, which is implied.
        """
        is_plain = (node.condition, node.prior, node.split, branch.weight) == (None, None, None, 1.0)
        is_usual = choice.branches[choice.default] is branch or node.default == node.domain.middle
        is_own = node.address == f"{choice.address}.{RANGE}.value" and _has_structures(choice)
        if not (is_own and is_plain and is_usual):
            raise UnwritableError(f"the range of `{choice.key}` with its default and annotations")
        return domain(node.domain)

    # ---- names

    def _stage_names(self) -> dict[str, str]:
        """Return the decisions that become stages, by address, with stage names that no operator has."""
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
        """Reserve a name at a place; return True if reading the text gives the same name automatically.

        Raises UnwritableError if the address does not consist of the prefix and this name.
        """
        if address != below(prefix, called) or not is_word(called):
            raise UnwritableError(f"`{address}` as the name of a step in `{prefix or 'the pipeline'}`")
        taken = self._taken.setdefault(prefix, set())
        name, number, stages = usual, 1, {*self._declared.values()}
        while name in taken or (name in stages and (number > 1 or usual == CHOICE)):
            number += 1
            name = f"{usual.removesuffix('_1')}_{number}"
        taken.add(called)
        return name == called

    # ---- operators

    def _operator(self, operator: Operator, prefix: str) -> ast.Operator:
        base = base_of(operator)
        called = base.removeprefix(f"{prefix}.") if base else self._free_name(operator, prefix)
        natural = self._named(operator.name, called, base or below(prefix, called), prefix)
        alias = None if natural else named(called)
        return ast.Operator(_operator_name(operator), alias, self._body(operator, base), (), NOWHERE)

    def _free_name(self, operator: Operator, prefix: str) -> str:
        """Return an unused name for an operator that no address refers to."""
        needed = self._wanted.get(prefix, set()) | self._taken.get(prefix, set()) | {*self._declared.values()}
        return numbered(operator.name, needed)

    def _body(self, operator: Operator, base: str) -> ast.Body | None:
        siblings = {child.name for child in operator.children if isinstance(child, Hyperparameter)}
        shadowing = siblings | {child.name for child in operator.children} | {name for name, _ in operator.fixed}
        members: list[ast.Member] = [self._member(child, siblings, shadowing) for child in operator.children]
        for name, fixed in operator.fixed:
            members.append(making.fixed(name, self._fixed(fixed, below(base, name))))
        return ast.Body(tuple(members), NOWHERE) if members else None

    def _member(self, child: Hyperparameter | Choice, siblings: set[str], shadowing: set[str]) -> ast.Parameter:
        name = named(child.name)
        if isinstance(child, Choice):
            parts = tuple(self._nested(branch, child) for branch in child.branches)
            usual = child.branches[child.default]
            plain = usual.node.default if isinstance(usual.node, Hyperparameter) else usual.value
            default = None if plain is None else value(plain)
            several = parts[0] if len(parts) == 1 else ast.UnionDomain(parts, NOWHERE)
            return ast.Parameter(name, several, default, None, (), NOWHERE)
        condition = None
        if child.condition is not None:
            shadowed = self._wording.shadowed(child.condition, shadowing)
            if shadowed is not None:
                raise UnwritableError(
                    f"a condition of `{child.key}` on the stage `{shadowed}`: a parameter next to it has the same name"
                )
            around = child.address.removesuffix(f".{child.name}")
            condition = self._wording.expression(child.condition, around, siblings)
        marks = _marks(prior=child.prior, split=child.split)
        return ast.Parameter(name, domain(child.domain), value(child.default), condition, marks, NOWHERE)

    def _fixed(self, fixed: Fixed, base: str) -> ast.Value:
        match fixed:
            case Operator():
                body = self._body(fixed, base) or ast.Body((), NOWHERE)
                return ast.OperatorValue(_operator_name(fixed), body, NOWHERE)
            case Named():
                return value(fixed.name)
            case _:
                return value(fixed)


def _has_structures(choice: Choice) -> bool:
    """Return True if an alternative is an operator or a pipeline.

    Otherwise the text would be read as a domain of values instead of a decision.
    """
    return any(each.node != NOTHING and not isinstance(each.node, Hyperparameter) for each in choice.branches)


# ---- parts of a tree


def _sign(structure: ast.Structure) -> str:
    """Return the sign that joins a structure (`->`, `&`, `|` or `?`); empty for a structure without one."""
    match structure:
        case ast.Joined(sign=sign):
            return sign
        case ast.Maybe():
            return "?"
        case _:
            return ""


def _joined(sign: Literal["|", "->", "&"], parts: Sequence[ast.Structure]) -> ast.Structure:
    """Return structures joined by a sign; structures that are joined themselves are put in brackets."""
    if len(parts) == 1:
        return parts[0]
    return ast.Joined(sign, tuple(_group(part) if _sign(part) else part for part in parts), NOWHERE)


def _group(part: ast.Structure, name: str | None = None, marks: Marks = ()) -> ast.Parenthesised:
    return ast.Parenthesised(part, None if name is None else named(name), marks, NOWHERE)


def _marks(
    *,
    first: bool = False,
    weight: float = 1.0,
    default: bool = False,
    prior: Prior | None = None,
    split: int | None = None,
) -> Marks:
    """Return the annotations for all arguments that differ from their defaults."""
    found: list[tuple[str, tuple[ast.Value, ...]]] = [("first", ())] if first else []
    found += [("weight", (value(weight),))] if weight != 1.0 else []
    found += [("default", ())] if default else []
    if prior is not None:
        distribution, numbers = named_prior(prior)
        found.append(("prior", (value(distribution), *map(value, numbers))))
    found += [("split", (value(split),))] if split is not None else []
    return tuple(ast.Annotation(named(name), arguments, NOWHERE) for name, arguments in found)


def _operator_name(operator: Operator) -> ast.Dotted:
    return dotted(operator.name if operator.catalogue in (OWN, ABSTRACT) else f"{operator.catalogue}.{operator.name}")


def _selector(selector: ColumnSelector) -> ast.Word | ast.Text:
    return ast.Text(selector.pattern, NOWHERE) if selector.kind == "pattern" else named(selector.kind)


def _task(task: Task) -> ast.Task:
    """Return the task block; the functions of `ir.task` format quantities with their units."""
    found: list[tuple[str, tuple[str, ...]]] = []
    if task.goal is not None:
        found.append((task.goal.direction, (task.goal.formula,)))
    found += [("subject to", (describe_bound(bound),)) for bound in task.bounds]
    if task.validation is not None:
        kind, _, number = describe_validation(task.validation).removesuffix(")").partition("(")
        found.append(("validate", (kind, number)))
    if task.fidelity is not None:
        found.append(("fidelity", ("samples", str(task.fidelity.first), positional(task.fidelity.factor))))
    for limit in describe_limits(task.limits):
        limited, kind, quantities = limit.split(" ", 2)
        found.append((f"{limited} {kind}", (quantities,)))
    settings = tuple(ast.Setting(keyword, tuple(map(named, each)), NOWHERE) for keyword, each in found)
    return ast.Task(named(task.kind), settings, NOWHERE)
