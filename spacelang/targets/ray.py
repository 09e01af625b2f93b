"""The target `ray`: a flat search space for Ray Tune, and the function that decodes the configuration of a trial.

Every question of the space is a parameter, also where its variable is not active: `decode` ignores such values. All
search algorithms of Ray Tune take such a flat dictionary. An encoding has the values of all parameters by name, as the
`config` of a trial.
"""

import math
from collections.abc import Sequence
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

WIDER: Final = 0.499  # The share of a unit by which ranges are wider whose numbers are rounded: no more is rounded out
MAX_EXACT_LOG: Final = 2**45  # Below this bound, rounding errors of logarithms do not change any integer


def accepts(part: SimpleDomain) -> bool:
    """Return True for closed ranges, integers that are consecutive or on a log scale, and unordered sets.

    Sets with tuples are not accepted, and none that has both `true` and 1, which Ray Tune's search algorithms confuse.
    """
    match part:
        case Ordinal():
            return False
        case Categorical():
            return has_distinct_scalars(part)
        case Grid():
            return part.log or part.is_consecutive
        case Real():
            return not part.is_open


@dataclass(frozen=True, slots=True)
class Ray:
    """A search space for Ray Tune: one flat dictionary of `tune.choice` and other distributions."""

    paper: ClassVar[str] = "Liaw et al., Tune: A Research Platform for Distributed Model Selection and Training, 2018"

    random_draws: ClassVar[RandomDrawDeclaration] = RandomDrawDeclaration(
        "Ray Tune's random search", (EVENLY, CONNECTED_IN_TURN, ACTIVITY_FIRST)
    )

    default_relations: ClassVar[tuple[Lowering, ...]] = ("quantiles",)

    preserves: ClassVar[PreservationTable] = with_quantile_verdicts(
        {
            **preserved_by_reductions(accepts, "`tune.choice`"),
            Construct.FLOATS: (exact("`tune.uniform`"),),
            Construct.INTEGERS: (exact("`tune.randint`"), OVERSIZED),
            Construct.LOG: (
                exact("`tune.loguniform`, clipped where rounding leaves the bounds; integers are rounded"),
            ),
            Construct.STEPS: (
                rewritten("encoded as the index of the step; under `log` a float, rounded to the nearest step"),
                OVERSIZED,
            ),
            Construct.SETS: (exact("`tune.choice`, with strings for values that search algorithms cannot tell apart"),),
            Construct.CONDITIONS: IGNORED,
            Construct.DEFAULTS: (approximated("Ray Tune has no defaults; evaluate `default` by `points_to_evaluate`"),),
        }
    )

    relations: RelationsOption = option("auto", RELATIONS_DOC)

    def lower(self, structures: Structures) -> LoweringResult["TuneSpace", Values]:
        """Return the search space of the structures; Ray itself is imported when it is first needed."""
        return lower_to_flat_parameters(self, structures, accepts, TuneSpace)


class TuneSpace(FlatParameters):
    """A search space for Ray Tune, with the conversion of the configurations of its trials."""

    argument = "config"
    reserved = frozenset({"eval", "grid_search"})

    @cached_property
    def native(self) -> dict[str, Any]:
        """The value for `param_space` of a tuner; raises MissingLibraryError if Ray is not installed."""
        found: dict[str, Any] = py.evaluate(self.parameter_codes, {"tune": import_optional("ray", "ray.tune")})
        return found

    def sample(self, count: int, rng: "Generator") -> list[Values]:
        """Draw `count` points by the distributions of Ray Tune, without Ray."""
        draws = _Draws(rng)
        return [py.evaluate(self.parameter_codes, {"tune": draws}) for _ in range(count)]

    def to_python(self) -> str:
        """Return a module with `space`, `default` and `decode(config)` that needs nothing but Ray Tune."""
        imports = ["from ray import tune"] if self.parameters else []
        definitions = [*imports, py.assignment_source("space", self.parameter_codes)]
        advice = "`points_to_evaluate=[default]` of a search algorithm"
        return self.module_source("Ray Tune", definitions, advice, DECODE_SUMMARY)

    def make_set_parameter(self, part: Categorical) -> py.Code:
        """Return the code of a `tune.choice` between the values of a set."""
        return py.call("tune.choice", py.literal_list(part.values))

    def make_number_parameter(self, name: str, part: Grid | Real) -> FlatParameter:
        """Return the parameter that draws from a range."""
        value = self.parameter_value_code(name)
        match part:
            case Grid(log=True):
                return self._make_log_number(name, part)
            case Grid():
                code = py.call("tune.randint", part.lower, part.greatest + 1)
                return FlatParameter(name, code, value, partial(contains, part))
            case Real(lower=lower, upper=upper):
                code = py.call("tune.loguniform" if part.log else "tune.uniform", lower, upper)
                is_safe = not part.log and lower + (upper - lower) <= upper
                return FlatParameter(
                    name,
                    code,
                    value if is_safe else clip_to_range(value, part),
                    partial(is_within_rounding, lower, upper),
                )

    def _make_log_number(self, name: str, part: Grid) -> FlatParameter:
        value = self.parameter_value_code(name)
        lower, upper = part.lower - WIDER * min(part.step, part.lower), part.greatest + WIDER * part.step
        code = py.call("tune.loguniform", lower, upper)
        is_exact = part.step == 1 and part.greatest < MAX_EXACT_LOG
        answer = py.call("round", value) if is_exact else nearest_member_code(value, part)
        return FlatParameter(name, code, answer, partial(is_within_rounding, lower, upper))


@dataclass(frozen=True, slots=True)
class _Draws:
    """A replacement for `ray.tune` whose functions draw a value at once instead of returning a distribution."""

    rng: "Generator"

    def choice(self, options: Sequence[Any]) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def randint(self, lower: int, upper: int) -> int:
        return int(self.rng.integers(lower, upper))

    def uniform(self, lower: float, upper: float) -> float:
        return float(self.rng.uniform(lower, upper))

    def loguniform(self, lower: float, upper: float) -> float:
        return math.exp(self.rng.uniform(math.log(lower), math.log(upper)))


DECODE_SUMMARY: Final = "Return the configuration of a trial: `decode(results.get_best_result().config)`."
