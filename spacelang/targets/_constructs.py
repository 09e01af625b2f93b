"""The constructs of the language on which targets give verdicts, and where a space has them."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, Union, parts
from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.text import Span


class Construct(StrEnum):
    """A construct of the language on which every target gives a verdict; the value is its name in reports."""

    DECISIONS = "decisions"
    NESTED = "nested decisions"
    ORDERS = "orders of permuted steps"
    FLOATS = "float ranges"
    INTEGERS = "integer ranges"
    LOG = "log scales"
    STEPS = "steps"
    OPEN = "excluded ends"
    SETS = "sets"
    ORDERED = "ordered sets"
    UNIONS = "unions"
    CONDITIONS = "conditions"
    RULES_ON_DECISIONS = "constraints over decisions"
    RULES_ON_VALUES = "constraints over hyperparameters"
    DEFAULTS = "defaults"
    FIRST = "`@first`"
    WEIGHTS = "`@weight`"
    PRIORS = "`@prior`"
    SPLITS = "`@split`"
    BOUNDS = "bounds on trials"


def constructs_of(space: Space) -> Mapping[Construct, tuple[Span, ...]]:
    """Return the places of each construct in a space, in the order of the text.

    Constructs that the space does not have are left out. The places of defaults are those of the decisions and
    hyperparameters.
    """
    found: dict[Construct, list[Span]] = {construct: [] for construct in Construct}
    for choice in space.decisions:
        for construct in _of_choice(choice, space, is_order=choice.address in space.permutations):
            found[construct].append(choice.span)
        found[Construct.WEIGHTS].extend(branch.span for branch in choice.branches if branch.weight != 1.0)
    for node in space.hyperparameters:
        for construct in dict.fromkeys(_of_hyperparameter(node)):
            found[construct].append(node.span)
        if node.condition is not None:
            found[Construct.CONDITIONS].append(node.condition.span)
    for rule in space.constraints:
        found[Construct.RULES_ON_VALUES if rule.scope else Construct.RULES_ON_DECISIONS].append(rule.span)
    found[Construct.BOUNDS].extend(bound.span for bound in (space.task.bounds if space.task else ()))
    return {construct: tuple(spans) for construct, spans in found.items() if spans}


def _of_choice(choice: Choice, space: Space, *, is_order: bool) -> Iterator[Construct]:
    if is_order:
        yield Construct.ORDERS
    else:
        yield Construct.NESTED if space.variables[choice.address].owners else Construct.DECISIONS
    yield Construct.DEFAULTS
    if choice.first:
        yield Construct.FIRST


def _of_hyperparameter(node: Hyperparameter) -> Iterator[Construct]:
    yield from constructs_in(node.domain)
    yield Construct.DEFAULTS
    if node.prior is not None:
        yield Construct.PRIORS
    if node.split is not None:
        yield Construct.SPLITS


def constructs_in(domain: Domain) -> Iterator[Construct]:
    """Yield the constructs of a domain, part by part."""
    if isinstance(domain, Union):
        yield Construct.UNIONS
    for part in parts(domain):
        match part:
            case Ordinal():
                yield Construct.ORDERED
            case Categorical():
                yield Construct.SETS
            case Grid() | Real():
                yield from _of_range(part)


def _of_range(part: Grid | Real) -> Iterator[Construct]:
    yield Construct.INTEGERS if isinstance(part, Grid) and part.is_integral else Construct.FLOATS
    if isinstance(part, Grid) and not part.is_consecutive:
        yield Construct.STEPS
    if isinstance(part, Real) and part.is_open:
        yield Construct.OPEN
    if part.log:
        yield Construct.LOG
