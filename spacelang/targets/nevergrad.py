"""The target `nevergrad`: a flat parametrization for the optimizers of Nevergrad, and the function that decodes values.

Every question of the space is a parameter, also where its variable is not active: `decode` ignores such values. The
ends of an integer range are as likely as the integers between them. An encoding has the values of all parameters by
name, as the `value` of a candidate.
"""

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from spacelang.errors import import_optional
from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, SimpleDomain, contains
from spacelang.ir.domain_properties import has_distinct_scalars
from spacelang.plugins import option
from spacelang.solver.counting import Structures
from spacelang.targets._exports import python_expression_tree as py
from spacelang.targets._exports.flat_parameters import (
    IGNORED,
    FlatParameter,
    FlatParameters,
    Values,
    clip_to_range,
    is_within_rounding,
    lower_to_flat_parameters,
    nearest_member_code,
)
from spacelang.targets._lowering import (
    OVERSIZED,
    Construct,
    LoweringResult,
    PreservationTable,
    approximated,
    exact,
    rewritten,
)
from spacelang.targets._random_draws import ACTIVITY_FIRST, CONNECTED_IN_TURN, RandomDrawDeclaration
from spacelang.targets._reduction_chain import EVENLY, preserved_by_reductions
from spacelang.targets._relations import RELATIONS_DOC, Lowering, RelationsOption, with_quantile_verdicts

if TYPE_CHECKING:
    from numpy.random import Generator

MIN_CAST: Final = 10  # Nevergrad advises against integer casting for fewer integers
MAX_EXACT: Final = 2**51  # Below this number, half a unit more is an exact float
NARROW: Final = 1 + 1e-6  # For smaller ratios of the ends, a log scale and a linear one are the same up to rounding
SMALLEST, LARGEST = 1e-290, 1e290
"""Between these numbers lie the widths of ranges, and the products of their ends, with which Nevergrad computes."""


def accepts(part: SimpleDomain) -> bool:
    """Return True for closed ranges, integers that are consecutive or on a log scale, and sets of distinct values.

    Sets with tuples are not accepted, and none that has both `true` and 1, which Nevergrad confuses.
    """
    match part:
        case Categorical():
            return has_distinct_scalars(part)
        case Grid():
            return part.log or (part.is_consecutive and (part.lower == 0 or _is_exact(part)))
        case Real():
            return not part.is_open


def _is_exact(part: Grid) -> bool:
    return max(abs(part.lower), abs(part.greatest)) < MAX_EXACT


@dataclass(frozen=True, slots=True)
class Nevergrad:
    """A parametrization for the optimizers of Nevergrad: one flat dictionary of parameters."""

    paper: ClassVar[str] = "Rapin and Teytaud, Nevergrad: A Gradient-Free Optimization Platform, 2018"

    random_draws: ClassVar[RandomDrawDeclaration] = RandomDrawDeclaration(
        "`RandomSearch`", (EVENLY, CONNECTED_IN_TURN, ACTIVITY_FIRST)
    )

    default_relations: ClassVar[tuple[Lowering, ...]] = ("quantiles",)

    preserves: ClassVar[PreservationTable] = with_quantile_verdicts(
        {
            **preserved_by_reductions(accepts, "`ng.p.Choice`"),
            Construct.FLOATS: (exact("`ng.p.Scalar`; very small or large numbers are scaled by a power of two"),),
            Construct.INTEGERS: (
                exact(
                    "`set_integer_casting` between half units outside of both ends; `ng.p.TransitionChoice` below ten"
                ),
                OVERSIZED,
            ),
            Construct.LOG: (exact("`ng.p.Log`, clipped where rounding leaves the bounds"),),
            Construct.STEPS: (
                rewritten("encoded as the index of the step; under `log` a float, rounded to the nearest step"),
                OVERSIZED,
            ),
            Construct.SETS: (exact("`ng.p.Choice`, with strings for values that Nevergrad cannot tell apart"),),
            Construct.ORDERED: (exact("`ng.p.TransitionChoice`"),),
            Construct.CONDITIONS: IGNORED,
            Construct.DEFAULTS: (
                approximated("Nevergrad has no defaults; suggest `default` with `optimizer.suggest`"),
            ),
        }
    )

    relations: RelationsOption = option("auto", RELATIONS_DOC)

    def lower(self, structures: Structures) -> LoweringResult["Parametrization", Values]:
        """Return the parametrization of the structures; Nevergrad itself is imported when it is first needed."""
        return lower_to_flat_parameters(self, structures, accepts, Parametrization)


class Parametrization(FlatParameters):
    """A dictionary of parameters of Nevergrad, with the conversion of its values into configurations."""

    argument = "values"

    @cached_property
    def native(self) -> Any:
        """The parametrization for an optimizer; raises MissingLibraryError if Nevergrad is not installed."""
        nevergrad = import_optional("nevergrad")
        return nevergrad.p.Dict(**py.evaluate(self.parameter_codes, {"ng": nevergrad}))

    def sample(self, count: int, rng: "Generator") -> list[Values]:
        """Draw `count` points like `RandomSearch`, which takes a sample of the parametrization."""
        if not self.parameters:
            return [{} for _ in range(count)]  # nothing to draw
        drawn = self.native.copy()
        drawn.random_state.seed(int(rng.integers(2**31 - 1)))
        # A sample of the dictionary is one of each parameter, but takes longer.
        return [{name: drawn[name].sample().value for name in self.default} for _ in range(count)]

    def to_python(self) -> str:
        """Return a module with `parametrization`, `default` and `decode(values)` that needs nothing but Nevergrad."""
        parameters = py.assignment_source("parameters", self.parameter_codes)
        definitions = ["import nevergrad as ng", parameters, "parametrization = ng.p.Dict(**parameters)"]
        return self.module_source("Nevergrad", definitions, "`optimizer.suggest(default)`", DECODE_SUMMARY)

    def make_set_parameter(self, part: Categorical) -> py.Code:
        """Return the code of a choice; that of an ordered set moves between neighbouring values."""
        name = "ng.p.TransitionChoice" if isinstance(part, Ordinal) else "ng.p.Choice"
        return py.call(name, py.literal_list(part.values))

    def make_number_parameter(self, name: str, part: Grid | Real) -> FlatParameter:
        """Return the parameter that draws from a range."""
        value = self.parameter_value_code(name)
        if isinstance(part, Real):
            return self._make_float(name, part)
        if not part.log and part.size < MIN_CAST:
            code: py.Code = py.call("ng.p.TransitionChoice", py.literal_list(map(part.value_at, range(part.size))))
            return FlatParameter(name, code, value, partial(contains, part))
        half = part.step / 2
        lower, upper = part.lower - (min(half, part.lower / 2) if part.log else half), part.greatest + half
        code = py.call("ng.p.Log" if part.log else "ng.p.Scalar", lower=lower, upper=upper)
        if part.step != 1:
            nearest = nearest_member_code(value, part)
            return FlatParameter(name, code, nearest, partial(is_within_rounding, lower, upper))
        answer = value if _is_exact(part) else clip_to_range(value, part)
        return FlatParameter(name, py.MethodNode(code, "set_integer_casting"), answer, partial(contains, part))

    def _make_float(self, name: str, part: Real) -> FlatParameter:
        value, exponent = self.parameter_value_code(name), _exponent(part)
        lower, upper = (math.ldexp(end, exponent) for end in (part.lower, part.upper))
        is_log = part.log and upper / lower > NARROW
        code = py.call("ng.p.Log" if is_log else "ng.p.Scalar", lower=lower, upper=upper)
        scaled = py.infix(value, "*", math.ldexp(1.0, -exponent)) if exponent else value
        answer = clip_to_range(scaled, part) if is_log or exponent else value
        return FlatParameter(name, code, answer, partial(is_within_rounding, lower, upper), exponent)


DECODE_SUMMARY: Final = "Return the configuration of a candidate: `decode(optimizer.provide_recommendation().value)`."


def _exponent(part: Real) -> int:
    """Return the power of two by which a range is multiplied, so that Nevergrad can compute with its ends; 0 for none.

    Nevergrad multiplies the ends of a range on a log scale, and adds and divides those of any other.
    """
    if part.log:
        if SMALLEST < part.lower * part.upper < LARGEST:
            return 0
        return -round((math.log2(part.lower) + math.log2(part.upper)) / 2)
    largest = max(abs(part.lower), abs(part.upper))
    if part.upper - part.lower < SMALLEST:
        return -math.frexp(largest)[1]
    return -2 if largest > LARGEST else 0
