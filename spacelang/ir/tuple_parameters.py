"""Tuple parameters (`name : tuple[1, 3] of …`): values, conditions of their members, and descriptions."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from spacelang.frozen import frozen
from spacelang.ir.domain import Categorical, Domain, Grid, Real, SimpleDomain, describe, parts
from spacelang.ir.expr import (
    INACTIVE,
    And,
    Compare,
    Constant,
    Expr,
    ExpressionValue,
    In,
    Lookup,
    Reference,
    references,
)
from spacelang.ir.prior import Prior
from spacelang.ir.space import TUPLE_NAME, Choice, Hyperparameter, Operator, Space, TupleParameter
from spacelang.ir.value import Value


def tuple_value(parameter: TupleParameter, lookup: Lookup) -> ExpressionValue:
    """Return the value of a tuple parameter, or INACTIVE if it has none; `lookup` returns values by address."""
    other = TUPLE_NAME if parameter.choice is None else lookup(parameter.choice)
    if other != TUPLE_NAME:
        return other
    length = lookup(parameter.length)
    if not isinstance(length, int):
        return INACTIVE
    elements = tuple(map(lookup, parameter.elements[:length]))
    return INACTIVE if INACTIVE in elements else elements  # type: ignore[return-value]


def member_conditions(parameter: TupleParameter, least: int, condition: Expr | None) -> Iterator[tuple[str, Expr]]:
    """Yield the address and the condition of each member of a tuple, given the condition of the whole parameter.

    The shortest tuple has `least` elements, which are active wherever the tuple is. Members without a condition are
    left out.
    """
    span = parameter.span
    if parameter.choice is not None:
        is_tuple = Compare("==", Reference(parameter.choice, span), Constant(TUPLE_NAME, span), span)
        yield parameter.length, is_tuple
        condition = is_tuple
    for number, address in enumerate(parameter.elements, start=1):
        if number > least:
            yield address, Compare(">=", Reference(parameter.length, span), Constant(number, span), span)
        elif condition is not None:
            yield address, condition


def is_condition_implied_by_tuple(address: str, condition: Expr, space: Space) -> bool:
    """Return True if a member of a tuple has its condition because of the tuple itself, so that no text contains it."""
    parameter = space.tuples.get(address)
    return parameter is not None and set(references(condition)) <= {parameter.choice, parameter.length}


@frozen
class TupleDescription:
    """A tuple parameter as a text declares it.

    `others` are the values that the parameter may have besides tuples. `elements` are the domains of the elements,
    which differ only in a restricted space. There are no lengths if the space excludes all tuples.
    """

    parameter: TupleParameter
    others: tuple[SimpleDomain, ...]
    lengths: tuple[int, int] | None
    elements: tuple[SimpleDomain, ...]
    default: Value
    condition: Expr | None
    prior: Prior | None
    split: int | None

    @property
    def element(self) -> SimpleDomain | None:
        """The smallest domain that contains those of all elements; None without elements or if their kinds differ."""
        return _hull(self.elements)

    @property
    def domain(self) -> str:
        """The domain in the syntax of the language."""
        texts = [describe(part) for part in self.others]
        if self.lengths is not None:
            element = self.element or self.elements[0]
            texts.append(f"tuple[{self.lengths[0]}, {self.lengths[1]}] of {describe(element)}")
        return " | ".join(texts)


def children_with_grouped_tuples(operator: Operator) -> Iterator[Hyperparameter | Choice | TupleDescription]:
    """Yield the children of an operator; the members of each tuple parameter are replaced with its description."""
    tuples = {member: each for each in operator.tuples for member in each.members}
    nodes = {child.address: child for child in operator.children if isinstance(child, Hyperparameter)}
    for child in operator.children:
        parameter = tuples.get(child.address)
        if parameter is None:
            yield child
        elif child.address == parameter.members[0]:
            yield describe_tuple(parameter, nodes)


def describe_tuple(parameter: TupleParameter, nodes: Mapping[str, Hyperparameter]) -> TupleDescription:
    """Return the description of a tuple parameter, given the hyperparameters of its operator by address."""
    main = nodes[parameter.members[0]]
    others: tuple[SimpleDomain, ...] = ()
    if parameter.choice is not None:
        found = (_without_name(part) for part in parts(main.domain))
        others = tuple(part for part in found if part is not None)
    length = nodes.get(parameter.length)
    elements = [nodes[address] for address in parameter.elements]
    default = main.default
    if length is not None and (parameter.choice is None or default == TUPLE_NAME):
        assert isinstance(length.default, int)
        default = tuple(each.default for each in elements[: length.default])
    lengths = None
    if length is not None:
        (grid,) = parts(length.domain)
        assert isinstance(grid, Grid)
        lengths = int(grid.least), int(grid.greatest)
    first = next(iter(elements), None)
    prior, split = (None, None) if first is None else (first.prior, first.split)
    return TupleDescription(
        parameter,
        others,
        lengths,
        tuple(parts(each.domain)[0] for each in elements),
        default,
        main.condition,
        prior,
        split,
    )


def make_domain_test(address: str, domain: Domain, whole: Domain) -> Expr | None:
    """Return the test that the value of a hyperparameter with the domain `whole` lies in `domain`, a part of it.

    Return None if both domains are equal. Raise ValueError for a union.
    """
    element = Reference(address)
    match domain:
        case _ if domain == whole:
            return None
        case Categorical():
            return In(element, domain.values)
        case Real() | Grid():
            is_open = (domain.lower_open, domain.upper_open) if isinstance(domain, Real) else (False, False)
            lower = Compare(">" if is_open[0] else ">=", element, Constant(domain.lower))
            return And((lower, Compare("<" if is_open[1] else "<=", element, Constant(domain.upper))))
        case _:
            raise ValueError("the domain of the elements of a tuple cannot be a union")


def domain_text(node: Hyperparameter, space: Space) -> str:
    """Return the domain of a hyperparameter in the syntax of the language.

    If a tuple parameter may also have other values, the hyperparameter for these gives the domain of the whole
    parameter, tuples included.
    """
    parameter = space.tuples.get(node.address)
    if parameter is None or node.address != parameter.choice:
        return describe(node.domain)
    return describe_tuple(parameter, {each.address: each for each in space.hyperparameters}).domain


def _without_name(part: SimpleDomain) -> SimpleDomain | None:
    """Return a part of the domain of a choice without the name of the tuple; None if it has nothing else."""
    if not isinstance(part, Categorical) or TUPLE_NAME not in part.values:
        return part
    left = tuple(value for value in part.values if value != TUPLE_NAME)
    return replace(part, values=left) if left else None


def _hull(several: tuple[SimpleDomain, ...]) -> SimpleDomain | None:
    """Return the smallest domain of the same kind that contains several ones; None if they are of different kinds."""
    if not several:
        return None
    hull = several[0]
    for each in several[1:]:
        match hull, each:
            case _ if hull == each:
                continue
            case Grid(), Grid() if (hull.log, hull.step) == (each.log, each.step):
                if hull.position(each.lower).denominator > 1:
                    return None
                hull = replace(hull, lower=min(hull.least, each.least), upper=max(hull.greatest, each.greatest))
            case Real(), Real() if hull.log == each.log:
                lower = min((hull.lower, hull.lower_open), (each.lower, each.lower_open))
                upper = max((hull.upper, not hull.upper_open), (each.upper, not each.upper_open))
                hull = Real(lower[0], upper[0], lower[1], not upper[1], hull.log)
            case Categorical(), Categorical() if type(hull) is type(each):
                wider, narrower = sorted((hull, each), key=lambda one: -one.size)
                if any(value not in wider.values for value in narrower.values):
                    return None
                hull = wider
            case _:
                return None
    return hull


def length_name(tuple_name: str) -> str:
    """Return the name of the hyperparameter for the length of a tuple."""
    return f"{tuple_name}.length"


def element_name(tuple_name: str, number: int) -> str:
    """Return the name of the hyperparameter for an element of a tuple, counted from 1."""
    return f"{tuple_name}[{number}]"


def name_in_expressions(name: str) -> str:
    """Return the name of a hyperparameter as expressions write it: `length(sizes)` for `sizes.length`."""
    tuple_name = name.removesuffix(length_name(""))
    return name if tuple_name == name else f"length({tuple_name})"
