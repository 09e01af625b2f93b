"""The distances between the random draws of libraries and the distribution of the space."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.random import Generator

from spacelang.ir.domain import Categorical, parts
from spacelang.ir.space import Choice, Hyperparameter, Space, Variable
from spacelang.ir.walk import rebuild_tree
from spacelang.sampling.batch_builder import BatchBuilder, ConfigurationBatch
from spacelang.sampling.sampler import Sampler
from spacelang.sampling.value_codes import Array, ValueCodes
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import Construct, LoweringResult, Preservation, ReportEntry
from spacelang.targets._random_draws import DISTRIBUTION, RANDOM_DRAWS, RandomDrawDeclaration

MAX_DISTANCE: Final = 0.05  # The largest distance for which a target need not declare a reason
FALSE_ALARM_PROBABILITY: Final = 0.001
"""The highest probability that any distance of a space is above its limit although the distributions are equal."""
_NOTHING: Final[Array] = np.empty(0)
LAW_DRAWS: Final = 30_000  # The number of draws of the sampler that represent its distribution


@dataclass(frozen=True, slots=True)
class DrawDistances:
    """The distances of random draws from the distribution of the space, by the key of the variable, largest first.

    The distance of a decision or a set is the largest difference in the relative frequency of a value; that of a range
    is the largest difference of the distribution functions (Kolmogorov-Smirnov). Both are computed among the draws in
    which the variable is active, and multiplied by the share of these draws. `limits` has the largest distance of each
    variable that does not count as a difference: `MAX_DISTANCE`, or more where chance alone can cause more, because
    there are few draws. `declared_reasons` has the reasons that the target declares for distances above the limits, by
    key.
    """

    library: str
    draw_count: int
    distances: dict[str, float]
    limits: dict[str, float]
    declared_reasons: dict[str, str]

    @property
    def highest_limit(self) -> float:
        """The largest of the limits: draws show every difference that is clearly larger, of whichever variable."""
        return max(self.limits.values(), default=MAX_DISTANCE)

    @property
    def large_distances(self) -> dict[str, float]:
        """The distances above the limits, whether or not the target declares a reason for them."""
        return {key: distance for key, distance in self.distances.items() if distance > self.limits[key]}

    @property
    def undeclared_distances(self) -> dict[str, float]:
        """The distances above the limits for which the target declares no reason."""
        return {key: distance for key, distance in self.large_distances.items() if key not in self.declared_reasons}

    def added_to(self, report: Sequence[ReportEntry]) -> tuple[ReportEntry, ...]:
        """Return a report with the largest distance in place of what the target declares about random draws.

        The declared reasons for large distances are added. What the target declares stays beside a distance that so few
        draws cannot tell from chance.
        """
        key, largest = next(iter(self.distances.items()), ("", 0.0))
        found = f"{self.draw_count:,} draws of {self.library} differ by up to {largest:.3f} from {DISTRIBUTION}"
        reasons = "; ".join(dict.fromkeys(self.declared_reasons.values()))
        message = f"{found}{f' (`{key}`)' if key else ''}{self.detection_limit_text}{f': {reasons}' if reasons else ''}"
        status = Preservation.REWRITTEN if self.large_distances else Preservation.EXACT
        others = [each for each in report if each.construct != RANDOM_DRAWS]
        if self.detection_limit_text and not self.large_distances:  # So few draws do not refute a declared deviation.
            declared = (each for each in report if each.construct == RANDOM_DRAWS)
            others += [each for each in declared if each.status is Preservation.REWRITTEN]
        return (*others, ReportEntry(RANDOM_DRAWS, status, message))

    @property
    def detection_limit_text(self) -> str:
        """A text about the size of differences that chance can cause, or "" if this is at most `MAX_DISTANCE`."""
        limit = self.highest_limit
        return f", where differences up to {limit:.3f} may be chance" if limit > MAX_DISTANCE else ""


def measure_draw_distances(
    compiled: LoweringResult[Any, Any], structures: Structures, draws: int, rng: Generator
) -> DrawDistances | None:
    """Draw with the library of a compiled space, and return the distances to draws of the space's sampler.

    The sampler follows weights and priors, except those that the form ignores according to its report. Return None if
    no library draws for the target. Raises SamplingFailedError as a sampler does.
    """
    declared: RandomDrawDeclaration | None = (
        getattr(type(compiled.origin[0]), "random_draws", None) if compiled.origin else None
    )
    if declared is None:
        return None
    configurations = [compiled.decode(encoding) for encoding in compiled.sample(draws, rng)]
    followed = _without_lost_guidance(structures.space, compiled.report)
    law = Sampler(Structures(followed), advised=True).batch(LAW_DRAWS, rng)
    drawn = BatchBuilder(structures.space).build(configurations)
    distances, limits = compare_batches(drawn, law)
    result, reasons = (
        DrawDistances(declared.library, len(drawn), distances, limits, {}),
        declared.deviation_reasons(compiled.form),
    )
    return replace(result, declared_reasons={key: reasons[key] for key in result.large_distances if key in reasons})


def compare_batches(drawn: ConfigurationBatch, law: ConfigurationBatch) -> tuple[dict[str, float], dict[str, float]]:
    """Return the distances of a sample from a larger one, largest first, and their limits, both by key.

    If all draws are independent and both samples have the same distribution, the probability that any distance is above
    its limit is at most `FALSE_ALARM_PROBABILITY`. The bounds are that of Hoeffding for the share of a value, that of
    Dvoretzky, Kiefer and Wolfowitz for a distribution function, and that of Bonferroni over all shares and functions.
    The constant of the second one (Massart 1990) is proven for one sample; for the difference of two it is the limit
    for large samples, and the larger one has `LAW_DRAWS`.
    """
    compared = [*_compare_variables(drawn, law)]
    log = math.log(2 * sum(each.comparisons for each in compared) / FALSE_ALARM_PROBABILITY) if compared else 0.0
    distances, limits = dict[str, float](), dict[str, float]()
    for each in compared:
        chance = math.sqrt(log / 2 * (1 / each.active + 1 / each.active_in_law)) * each.active / len(drawn)
        limit = max(MAX_DISTANCE, chance)
        # Alternatives can have variables with the same key; the one that is nearest to its limit stands for all.
        if each.key not in limits or each.distance - limit > distances[each.key] - limits[each.key]:
            distances[each.key], limits[each.key] = each.distance, limit
    return dict(sorted(distances.items(), key=lambda each: -each[1])), limits


def _without_lost_guidance(space: Space, report: Iterable[ReportEntry]) -> Space:
    """Return the space without the weights and priors that a form ignores."""
    lost = {Construct.WEIGHTS.value: set[int](), Construct.PRIORS.value: set[int]()}
    for entry in report:
        if entry.construct in lost and entry.status is Preservation.APPROXIMATED:
            lost[entry.construct] |= {id(span) for span in entry.spans}

    def change(node: Hyperparameter) -> Hyperparameter:
        return replace(node, prior=None) if id(node.span) in lost[Construct.PRIORS.value] else node

    def decide(choice: Choice) -> Choice:
        ignored = lost[Construct.WEIGHTS.value]
        even = tuple(replace(each, weight=1.0) if id(each.span) in ignored else each for each in choice.branches)
        return replace(choice, branches=even)

    return replace(space, root=rebuild_tree(space.root, change, decide)) if any(lost.values()) else space


@dataclass(frozen=True, slots=True)
class _VariableComparison:
    """The distance of a variable, the numbers of draws in which it is active, and of shares and functions compared."""

    key: str
    distance: float
    active: int
    active_in_law: int
    comparisons: int


def _compare_variables(drawn: ConfigurationBatch, law: ConfigurationBatch) -> Iterator[_VariableComparison]:
    for variable in drawn.space.variables.values():
        mine, theirs = (_values_of(each, variable) for each in (drawn, law))
        if not len(mine) or not len(theirs):
            continue  # what leads to the variable deviates, if anything
        node = variable.node
        # The number of values of each part of the domain that is a set, and None for a range.
        sizes = (
            [len(node.branches)]
            if isinstance(node, Choice)
            else [len(part.values) if isinstance(part, Categorical) else None for part in parts(node.domain)]
        )
        differences = [
            _largest_difference(mine, theirs, place, is_set=size is not None) for place, size in enumerate(sizes)
        ]
        distance = max(differences) * len(mine) / len(drawn)
        comparisons = sum(1 if size is None else size for size in sizes)
        yield _VariableComparison(variable.key, distance, len(mine), len(theirs), comparisons)


def _values_of(batch: ConfigurationBatch, variable: Variable) -> ValueCodes:
    """Return the codes of a variable in the rows where it is active."""
    if isinstance(variable.node, Choice):
        branches = batch.decisions.get(variable.address, _NOTHING)
        return ValueCodes(branches[branches >= 0])
    column = batch.hyperparameters.get(variable.address)
    return ValueCodes(_NOTHING) if column is None else column.values


def _largest_difference(mine: ValueCodes, theirs: ValueCodes, place: int, *, is_set: bool) -> float:
    """Return the largest difference between two samples in one part of a domain: of a value's frequency if `is_set`.

    Otherwise it is the largest difference of the distribution functions.
    """
    inside = [each.codes if each.parts is None else each.codes[each.parts == place] for each in (mine, theirs)]
    limits = np.unique(np.concatenate(inside).astype(float))
    if not len(limits):
        return 0.0
    ones, others = (np.searchsorted(np.sort(each.astype(float)), limits, side="right") for each in inside)
    differences = ones / len(mine) - others / len(theirs)
    if is_set:
        differences = np.diff(differences, prepend=0.0)
    return float(np.abs(differences).max())
