"""The distances between the random draws of libraries and the distribution of the space."""

from collections.abc import Iterable, Iterator
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
_NOTHING: Final[Array] = np.empty(0)
LAW_DRAWS: Final = 30_000  # The number of draws of the sampler that represent its distribution


@dataclass(frozen=True, slots=True)
class DrawDistances:
    """The distances of random draws from the distribution of the space, by the key of the variable, largest first.

    The distance of a decision or a set is the largest difference in the relative frequency of a value; that of a range
    is the largest difference of the distribution functions (Kolmogorov-Smirnov). Both are computed among the draws in
    which the variable is active, and multiplied by the share of these draws. `declared_reasons` has the reasons that
    the target declares for large distances, by key.
    """

    library: str
    draw_count: int
    distances: dict[str, float]
    declared_reasons: dict[str, str]

    @property
    def large_distances(self) -> dict[str, float]:
        """The distances above `MAX_DISTANCE`, whether or not the target declares a reason for them."""
        return {key: distance for key, distance in self.distances.items() if distance > MAX_DISTANCE}

    @property
    def undeclared_distances(self) -> dict[str, float]:
        """The distances above `MAX_DISTANCE` for which the target declares no reason."""
        return {key: distance for key, distance in self.large_distances.items() if key not in self.declared_reasons}

    def added_to(self, report: Iterable[ReportEntry]) -> tuple[ReportEntry, ...]:
        """Return a report with the largest distance in place of what the target declares about random draws.

        The declared reasons for large distances are added.
        """
        key, largest = next(iter(self.distances.items()), ("", 0.0))
        found = f"{self.draw_count:,} draws of {self.library} differ by up to {largest:.3f} from {DISTRIBUTION}"
        reasons = "; ".join(dict.fromkeys(self.declared_reasons.values()))
        message = f"{found}{f' (`{key}`)' if key else ''}{f': {reasons}' if reasons else ''}"
        status = Preservation.REWRITTEN if self.large_distances else Preservation.EXACT
        others = (entry for entry in report if entry.construct != RANDOM_DRAWS)
        return (*others, ReportEntry(RANDOM_DRAWS, status, message))


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
    found = sorted(_distances(structures.space, drawn, law), key=lambda each: -each[1])
    result, reasons = (
        DrawDistances(declared.library, len(drawn), dict(found), {}),
        declared.deviation_reasons(compiled.form),
    )
    return replace(result, declared_reasons={key: reasons[key] for key in result.large_distances if key in reasons})


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


def _distances(space: Space, drawn: ConfigurationBatch, law: ConfigurationBatch) -> Iterator[tuple[str, float]]:
    for variable in space.variables.values():
        mine, theirs = (_values_of(each, variable) for each in (drawn, law))
        if not len(mine) or not len(theirs):
            continue  # what leads to the variable deviates, if anything
        node = variable.node
        are_sets = (
            [True] if isinstance(node, Choice) else [isinstance(part, Categorical) for part in parts(node.domain)]
        )
        differences = [_largest_difference(mine, theirs, place, is_set=is_set) for place, is_set in enumerate(are_sets)]
        yield variable.key, max(differences) * len(mine) / len(drawn)


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
