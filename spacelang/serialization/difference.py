"""Compare two spaces: the list of facts that differ, and the exact number of structures that they share."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias, assert_never

from spacelang.grouping import group_by_key
from spacelang.ir import space as ir
from spacelang.ir.domain import describe, literal, spell_parameter_name
from spacelang.ir.expr import references
from spacelang.ir.prior import describe as describe_prior
from spacelang.ir.range_bounds import RangeBound, describe_with_bounds, range_bounds
from spacelang.ir.repeated_stages import merge_constraints_across_uses
from spacelang.ir.space import Hyperparameter, Operator, Space, subtree
from spacelang.ir.task import task_lines as describe_task
from spacelang.ir.tuple_parameters import TupleDescription, children_with_grouped_tuples
from spacelang.serialization.common_structures import count_common_structures
from spacelang.serialization.syntax_nodes import (
    expression_speller,
    format_alternative_name,
    format_expression,
    spelled_names_by_address,
    with_spelled_names,
)
from spacelang.solver.counting import Structures
from spacelang.text import Span

_NUMBER: Final = re.compile(r"(?<![\w.])(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?(?![\w.])")
_QUOTED_OR_NUMBER: Final = re.compile(rf'"(?:[^"\\]|\\.)*"|`[^`]*`|(?P<number>{_NUMBER.pattern})')
_TASK: Final = re.compile(r"^task\b[^#]*", re.MULTILINE)
_BRACKETS: Final = re.compile(r"\([^()]*\)")
_SIGN: Final = re.compile(
    r'#[^\n]*|"(?:[^"\\\n]|\\.)*"|`[^`\n]*`|[\[({]|[\])}]|,|\n(?!\s*(?:[|=@]|when\b|log\b|step\b))'
)
"""Comments, strings, brackets and what may end a member of a body: a comma or a line that does not go on."""


class NumberSpellings:
    """The spelling of each number in the definition of a hyperparameter, fixed value, constraint or task.

    Spaces that were not read from text have no spellings.
    """

    def __init__(self, space: Space) -> None:
        """Find the definitions; numbers in them are read when they are asked for."""
        self._definitions: dict[str, str] = {}
        for node in subtree(space.root):
            if isinstance(node, Hyperparameter):
                self._definitions[node.address] = _member_text(node.span)
        self._fixed = dict(_fixed_values(space))
        self._task = "\n".join(_TASK.findall(space.root.span.source.text))

    def respell_numbers_at(self, text: str, address: str) -> str:
        """Return a text about the part at an address (empty: the task), numbers spelled as in the part's definition."""
        definition = self._definitions.get(address) or self._fixed.get(address, "") if address else self._task
        return respell_numbers(text, definition)


def respell_numbers(text: str, definition: str) -> str:
    """Return `text`, each of its numbers spelled as in `definition` if the definition contains the same number.

    >>> respell_numbers("float[0.0001, 10000.0] log", "float[1e-4, 1e4] log = 1")
    'float[1e-4, 1e4] log'
    """
    spellings: dict[str, str] = {}
    for found in _QUOTED_OR_NUMBER.finditer(definition):
        written = found["number"]
        for canonical in () if written is None else _canonical_spellings(written):
            spellings.setdefault(canonical, written)
    return _QUOTED_OR_NUMBER.sub(lambda found: spellings.get(found[0], found[0]), text) if spellings else text


def _canonical_spellings(written: str) -> Iterator[str]:
    """Yield the texts that a written number may have as a value: as a float, and as an integer if it is one."""
    number = float(written)
    yield literal(number)
    if written.replace("_", "").isdigit():
        yield literal(int(written))
    elif number.is_integer():
        yield literal(int(number))


def _member_text(name: Span) -> str:
    """Return the text after the name of a body's member, up to the end of the member: ` : int[1, 9] = 5`."""
    text, depth = name.source.text, 0
    for sign in _SIGN.finditer(text, name.end):
        if sign[0] in ("[", "(", "{"):
            depth += 1
        elif sign[0] in ("]", ")", "}"):
            depth -= 1
        if depth < 0 or (depth == 0 and sign[0] in (",", "\n")):
            return text[name.end : sign.start()]
    return text[name.end :]


def _fixed_values(space: Space) -> Iterator[tuple[str, str]]:
    """Yield the addresses of fixed values in operators with a body, and the texts behind their names."""
    for variable in space.decisions:
        for branch in variable.branches:
            if isinstance(branch.node, Operator):
                body = _member_text(branch.node.span)
                for name, _ in branch.node.fixed:
                    found = re.search(rf"(?<![\w`])`?{re.escape(name)}`?\s*=(?!=)\s*([^\s,}}]+)", body)
                    yield f"{variable.address}.{branch.name}.{name}", found[1] if found else ""


class FactKind(StrEnum):
    """A kind of fact about a space that can differ, such as the default of a decision or hyperparameter."""

    DECISION = "decision"
    ALTERNATIVE = "alternative"
    HYPERPARAMETER = "hyperparameter"
    DOMAIN = "domain"
    DEFAULT = "default"
    CONDITION = "condition"
    OPERATOR = "operator"
    FIXED = "fixed value"
    COMPUTED = "computed value"
    ANNOTATION = "annotation"
    CONSTRAINT = "constraint"
    PIPELINE = "pipeline"
    TASK = "task"


@dataclass(frozen=True, slots=True)
class FactDifference:
    """A fact that differs between two spaces, with its text in each space; None if that space lacks the fact."""

    stage: str  # The stage of the fact; empty for constraints, the pipeline and the task
    address: str  # The address of the decision, alternative, operator or parameter; empty if `stage` is empty
    path: str  # The address as the language writes it; names that are not plain words are in backticks or quotes
    aspect: FactKind
    first: str | None
    second: str | None


@dataclass(frozen=True, slots=True)
class SpaceDifference:
    """The differences of two spaces, with the number of structures of each, and of structures common to both.

    A structure chooses one alternative for every reached decision. It is common to both spaces if both give every
    decision the same alternative (by name) and both have admissible values for it. Different operators or fixed values
    of an alternative count as differences, but do not make a structure different. `structures_in_both` is None if the
    common structures cannot be counted exactly.
    """

    differences: tuple[FactDifference, ...]
    structures_in_first: int
    structures_in_second: int
    structures_in_both: int | None

    @property
    def structures_only_in_first(self) -> int | None:
        """The number of structures that only the first space has; None if it is unknown."""
        return None if self.structures_in_both is None else self.structures_in_first - self.structures_in_both

    @property
    def structures_only_in_second(self) -> int | None:
        """The number of structures that only the second space has; None if it is unknown."""
        return None if self.structures_in_both is None else self.structures_in_second - self.structures_in_both


def compare_spaces(first: Structures, second: Structures) -> SpaceDifference:
    """Return the differences of two spaces and the number of structures they share, which takes as long as counting."""
    return SpaceDifference(
        list_differing_facts(first.space, second.space),
        first.count,
        second.count,
        count_common_structures(first.space, second.space),
    )


# ---- what differs


def list_differing_facts(first: ir.Space, second: ir.Space) -> tuple[FactDifference, ...]:
    """Return the facts that differ, in the order of the first space, then those that only the second space has.

    Facts inside a part that only one space has are left out, as the missing part implies them.
    """

    def path(address: str, aspect: FactKind) -> str:
        around, _, name = address.rpartition(".")
        if aspect in (FactKind.FIXED, FactKind.COMPUTED) and around:
            return f"{path(around, FactKind.ALTERNATIVE)}.{spell_parameter_name(name)}"
        if address in names or not around:
            return names.get(address, address)
        # The address of an alternative. Its name may contain dots.
        decision = max((each for each in names if address.startswith(f"{each}.")), key=len, default="")
        if decision in chains:
            return f"{names[decision]} == {address[len(decision) + 1 :]}"
        return f"{names[decision]}.{format_alternative_name(address[len(decision) + 1 :])}" if decision else address

    bounds = _bounds_to_show(first, second), _bounds_to_show(second, first)
    domains = _bounded_domains((first, second), bounds)
    first, second = (
        replace(each, constraints=merge_constraints_across_uses(each, without=shown))
        for each, shown in zip((first, second), bounds, strict=True)
    )
    named = with_spelled_names(first), with_spelled_names(second)
    before, after = (dict(_facts(space, known)) for space, known in zip(named, domains, strict=True))
    constraints = {text: rule.span.text for space in reversed(named) for text, rule in _constraint_texts(space)}
    spellings = NumberSpellings(first), NumberSpellings(second)

    def spell(text: str | None, place: str, aspect: FactKind, own: NumberSpellings) -> str | None:
        if text is None or aspect is FactKind.CONSTRAINT:
            return text and respell_numbers(text, constraints[text])
        return own.respell_numbers_at(text, place)

    names = {**spelled_names_by_address(second), **spelled_names_by_address(first)}
    chains = first.chains | second.chains
    without_choice = _decisions_without_choice(first) & _decisions_without_choice(second)
    lone = {address for (address, aspect) in before.keys() ^ after.keys() if aspect in _EXISTENCE}
    found = []
    for fact in dict.fromkeys((*before, *after)):
        one, other = before.get(fact), after.get(fact)
        address, aspect = fact
        if aspect is FactKind.DEFAULT and address in without_choice:
            continue  # the alternative says it
        if one == other or _is_implied(address, aspect, one, other, lone):
            continue
        place = "" if aspect in (FactKind.CONSTRAINT, FactKind.TASK) else address
        shown = (spell(text, place, aspect, own) for text, own in zip((one, other), spellings, strict=True))
        found.append(FactDifference(place.partition(".")[0], place, path(place, aspect), aspect, *shown))
    # What is inside a use of a chain has the same path for each number of uses.
    return tuple({(each.path, each.aspect, each.first, each.second): each for each in reversed(found)}.values())[::-1]


def _decisions_without_choice(space: ir.Space) -> set[str]:
    return {each.address for each in space.decisions if len(each.branches) == 1}


def _bounds_to_show(space: ir.Space, other: ir.Space) -> list[RangeBound]:
    """Return the range bounds of `space` that name hyperparameters, without those that `other` has as constraints."""
    required = {rule for rule in other.constraints if not rule.bound}
    bounds = (each for several in range_bounds(space).values() for each in several)
    return [each for each in bounds if required.isdisjoint(each.constraints)]


def _bounded_domains(
    spaces: tuple[ir.Space, ir.Space], bounds: tuple[Collection[RangeBound], Collection[RangeBound]]
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the texts of domains with bounds for each of two spaces, by address.

    Such a text shows a bound by the names in it: `int[lo, 100]`. In a restricted space, the numbers of the domain can
    differ although the texts and the domains of all named hyperparameters are equal. Such a domain is left out here,
    so that it is shown with its numbers.
    """
    first, second = (_domain_texts(space, own) for space, own in zip(spaces, bounds, strict=True))
    named = {each.address: references(each.limit) for own in bounds for each in own}

    def have_equal_domains(address: str) -> bool:
        one, other = (each.variables[address].node if address in each.variables else None for each in spaces)
        return (
            isinstance(one, ir.Hyperparameter) and isinstance(other, ir.Hyperparameter) and one.domain == other.domain
        )

    for address in first.keys() & second.keys():
        are_named_equal = all(map(have_equal_domains, named[address]))
        if first[address] == second[address] and are_named_equal and not have_equal_domains(address):
            del first[address], second[address]
    return first, second


def _domain_texts(space: ir.Space, bounds: Collection[RangeBound]) -> dict[str, str]:
    spell = expression_speller(space)
    return {
        address: describe_with_bounds(
            space.variables[address].hyperparameter.domain, own, lambda limit: format_expression(spell(limit))
        )
        for address, own in group_by_key((each.address, each) for each in bounds).items()
    }


_FactKey: TypeAlias = tuple[str, FactKind]
_EXISTENCE: Final = (FactKind.DECISION, FactKind.ALTERNATIVE, FactKind.HYPERPARAMETER)


def _is_implied(address: str, aspect: FactKind, one: str | None, other: str | None, lone: set[str]) -> bool:
    if aspect in (FactKind.CONSTRAINT, FactKind.TASK):
        return False
    if aspect in (FactKind.DECISION, FactKind.HYPERPARAMETER) and one is not None and other is not None:
        return True
    parts = address.split(".")
    is_part_of_lone = any(".".join(parts[:length]) in lone for length in range(1, len(parts)))
    return is_part_of_lone or (address in lone and aspect not in _EXISTENCE)


def _facts(space: ir.Space, domains: Mapping[str, str]) -> Iterator[tuple[_FactKey, str]]:
    yield ("", FactKind.PIPELINE), _outline(space.root)
    yield from _facts_of(space.root, "", domains)
    for text, _ in _constraint_texts(space):
        yield (text, FactKind.CONSTRAINT), text
    for line in describe_task(space.task) if space.task is not None else ():
        yield (line, FactKind.TASK), line


def _constraint_texts(space: ir.Space) -> Iterator[tuple[str, ir.Constraint]]:
    for constraint in space.constraints:
        yield (
            f"{'forbid' if constraint.forbidden else 'require'} {format_expression(constraint.expression)}",
            constraint,
        )


def _facts_of(node: ir.Node, inside: str, domains: Mapping[str, str]) -> Iterator[tuple[_FactKey, str]]:
    """Yield the facts of a node and everything below it.

    `inside` is the address of the enclosing alternative. `domains` are the texts of domains with bounds, by address.
    """
    match node:
        case ir.Hyperparameter():
            domain = domains.get(node.address) or describe(node.domain)
            yield from _facts_of_parameter(node.address, domain, node, var="var " if node.is_var else "")
        case ir.Choice():
            yield (node.address, FactKind.DECISION), " | ".join(quote_if_list(branch.name) for branch in node.branches)
            yield (node.address, FactKind.DEFAULT), quote_if_list(node.branches[node.default].name)
            if node.first:
                yield (node.address, FactKind.ANNOTATION), "@first"
            for branch in node.branches:
                yield from _facts_of_branch(branch, f"{node.address}.{branch.name}", domains)
        case ir.Operator():
            yield from _facts_of_operator(node, inside, domains)
        case ir.Product():
            for child in node.children:
                yield from _facts_of(child, inside, domains)
        case _:
            assert_never(node)


def _facts_of_operator(node: ir.Operator, inside: str, domains: Mapping[str, str]) -> Iterator[tuple[_FactKey, str]]:
    yield (inside or node.name, FactKind.OPERATOR), f"{node.catalogue}.{node.name}"
    for part in children_with_grouped_tuples(node):
        if isinstance(part, TupleDescription):
            yield from _facts_of_parameter(part.parameter.address, part.domain, part)
        else:
            yield from _facts_of(part, inside, domains)
    for name, value in node.fixed:
        yield from _facts_of_fixed(value, f"{inside}.{name}" if inside else name, domains)
    for each in node.computed:
        yield (each.address, FactKind.COMPUTED), format_expression(each.expression)


def quote_if_list(name: str) -> str:
    """Return the name of an alternative for display; in quotes if it is a list, as `"a, b"` for an order is.

    Commas in brackets make no list: `columns(numeric: PCA, rest: none)` stays as it is.
    """
    outside, count = name, 1
    while count:
        outside, count = _BRACKETS.subn("", outside)
    return f'"{name}"' if ", " in outside else name


def _facts_of_parameter(
    address: str, domain: str, node: ir.Hyperparameter | TupleDescription, *, var: str = ""
) -> Iterator[tuple[_FactKey, str]]:
    default = literal(node.default)
    condition = format_expression(node.condition) if node.condition is not None else None
    whole = f"{var}{domain} = {default}" + (f" when {condition}" if condition is not None else "")
    yield (address, FactKind.HYPERPARAMETER), whole
    yield (address, FactKind.DOMAIN), domain
    yield (address, FactKind.DEFAULT), default
    if condition is not None:
        yield (address, FactKind.CONDITION), condition
    annotations = [f"@split({node.split})"] if node.split is not None else []
    if node.prior is not None:
        annotations.append(describe_prior(node.prior))
    if annotations:
        yield (address, FactKind.ANNOTATION), " ".join(annotations)


def _facts_of_branch(branch: ir.Branch, address: str, domains: Mapping[str, str]) -> Iterator[tuple[_FactKey, str]]:
    yield (address, FactKind.ALTERNATIVE), branch.name if branch.value is None else literal(branch.value)
    if branch.weight != 1:
        yield (address, FactKind.ANNOTATION), f"@weight({literal(branch.weight)})"
    if not isinstance(branch.node, ir.Operator | ir.Product) or (
        isinstance(branch.node, ir.Product) and branch.node.children
    ):
        yield (address, FactKind.PIPELINE), _outline(branch.node)
    yield from _facts_of(branch.node, address, domains)


def _facts_of_fixed(value: ir.FixedValue, address: str, domains: Mapping[str, str]) -> Iterator[tuple[_FactKey, str]]:
    match value:
        case ir.Operator():
            yield from _facts_of(value, address, domains)
        case ir.CatalogueObject(name=name):
            yield (address, FactKind.FIXED), name
        case _:
            yield (address, FactKind.FIXED), literal(value)


_SIGNS: Final = {ir.ProductKind.SEQUENCE: " -> ", ir.ProductKind.PARALLEL: " & "}


def _outline(node: ir.Node) -> str:
    """Return a part of a pipeline as the language writes it, without bodies and the numbers of uses of chains."""
    match node:
        case ir.Choice(repeats=stage) if stage:
            return f"repeat({stage}, …)" if stage == node.name else f"(repeat({stage}, …)) as {node.name}"
        case ir.Choice() | ir.Hyperparameter() | ir.Operator():
            return node.name
        case ir.Product(children=()):
            return "none"
        case ir.Product(kind=kind, steps=steps) if kind in _SIGNS:
            is_joined = [isinstance(s, ir.Product) and s.kind in _SIGNS and len(s.steps) > 1 for s in steps]
            parts = (f"({_outline(s)})" if joined else _outline(s) for s, joined in zip(steps, is_joined, strict=True))
            return _SIGNS[kind].join(parts) if len(steps) > 1 else "".join(map(_outline, steps))
        case ir.Product(selectors=selectors) if selectors:
            names = (f'"{each.pattern}"' if each.pattern else each.kind for each in selectors)
            return f"columns({', '.join(f'{n}: {_outline(s)}' for n, s in zip(names, node.steps, strict=True))})"
        case ir.Product():
            return f"permute({', '.join(map(_outline, node.children[1:]))})"
        case _:
            assert_never(node)
