"""ADMM: structure and hyperparameters by operator splitting, with black-box constraints.

See spacelang/optimizers/README.md, section "ADMM: iteration".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar, Final, Literal

from spacelang.ir.search_protocol import Problem, Search
from spacelang.ir.task import AnyBound
from spacelang.minimizers import MINIMIZERS
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._admm import AdmmUpdateSteps, ConstraintResiduals, lower_for_admm
from spacelang.optimizers._admm.iterations import AdmmIterations, AdmmIterationSettings, CallSchedule
from spacelang.optimizers._common_options import check_option, require
from spacelang.plugins import NestedPlugin, nested_plugin, option
from spacelang.solver.counting import Structures
from spacelang.targets.admm import Admm as Target

F_HAT: Final = 0.7  # The default of the paper
Options = Mapping[str, str]
ADMM_SELECTORS: Final = {"ba": "cmab", "bo": "bo"}
"""The selectors of the ADMM paper by their names there: Ba is the bandit CMAB, BO Bayesian optimization."""
BLDS_SELECTORS: Final = {
    "blds1": "blds(disc=1)", "blds2": "blds(disc=2)", "cmab": "cmab(f_hat=0.3)", "daub": "daub",
    "hyperband": "hyperband",
}  # fmt: skip
"""The selectors of the BLDS paper, with the options that it uses."""


def _preset_items() -> Iterator[tuple[str, Options]]:
    for short, z in ADMM_SELECTORS.items():
        for calls in (16, 32, 64, 128, 256):  # ADMM16(BO,Ba), …: a constant number of calls
            yield f"admm{calls}_bo_{short}", {"theta": "bo", "z": z, "adaptive": "false", "i0": str(calls)}
        for factor in (8, 16):  # AdADMM-F8(BO,Ba), …: more calls in each iteration
            yield f"adadmm_f{factor}_bo_{short}", {"theta": "bo", "z": z, "adaptive": "true", "factor": str(factor)}
    for short, z in BLDS_SELECTORS.items():  # selection first; tuned hyperparameters apply to the pipeline alone
        paper = {"first": "z", "hp_scope": "pipeline", "adaptive": "true", "factor": "16"}
        yield f"admm_bo_{short}", {"theta": "bo", "z": z, **paper}


PRESETS: Final[Mapping[str, Options]] = dict(_preset_items())
"""The options of each preset as strings, by its name, which ends in the minimizer and the selector."""


@dataclass(frozen=True, slots=True)
class Admm:
    """Operator splitting: tunes the present pipeline, selects a pipeline, and couples both by a penalty.

    In a space without hyperparameters, tuning has nothing to do, and in a space with a single pipeline, selecting has
    nothing to do.
    """

    paper: ClassVar[str] = "Liu et al., An ADMM Based Framework for AutoML Pipeline Configuration, AAAI 2020"
    presets: ClassVar[Mapping[str, Mapping[str, str]]] = PRESETS

    theta: NestedPlugin = nested_plugin(
        MINIMIZERS, "bo", "the minimizer that tunes the hyperparameters of the present pipeline"
    )
    z: NestedPlugin = nested_plugin(
        OPTIMIZERS, "cmab", "the optimizer that selects the pipeline at the present hyperparameters", able_to="selector"
    )
    f_hat: float = option(
        F_HAT,
        "the option `f_hat` of the selector `z`, for selectors that have this option and do not set it themselves",
    )
    rho: float = option(
        1.0, "the weight of the penalties for violated constraints and for integers that are relaxed to fractions"
    )
    adaptive: bool = option(
        True, "increase the number of evaluations of each sub-problem from one iteration to the next"
    )
    i0: int = option(
        16, "evaluations of each sub-problem in the first iteration, or in every iteration with adaptive=false"
    )
    factor: int = option(
        16, "how many evaluations each iteration adds to those of the previous one; the papers use 8 and 16"
    )
    imax: int = option(
        128, "the maximum number of evaluations of a sub-problem; the paper uses 256 on its artificial objective"
    )
    first: Literal["theta", "z"] = option("theta", "the sub-problem that comes first in an iteration")
    penalty: Literal["unit", "raw"] = option(
        "unit", "penalize integers on the scale of their ranges, or their raw values as in the paper"
    )
    residuals: Literal["scaled", "raw"] = option(
        "scaled", "measure violations of constraints relative to their bounds, or in their own units"
    )
    slack: Literal["exact", "bo"] = option(
        "exact",
        "`exact` computes the best slack of constraints; `bo` searches it with the hyperparameters, as in the paper",
    )
    margin: float = option(0.0, "the safety margin below each bound, as a share of the bound")
    hp_scope: Literal["algorithm", "pipeline"] = option(
        "algorithm", "apply tuned hyperparameters to every pipeline with the algorithm, or only to the tuned pipeline"
    )
    conditions: Literal["mask", "flatten"] = option(
        "mask",
        "treat conditions and nested decisions by masks, or turn them into further alternatives of the selection",
    )
    reuse_history: bool = option(True, "start tuning with the known trials of the pipeline")
    patience: int = option(
        1,
        "restart elsewhere after this many successive iterations that improve the best loss by less than 1 %",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "z", self._selector_plugin())
        check_option(self, "rho", 0 < self.rho < inf, "must be greater than 0")
        check_option(self, "patience", self.patience >= 1, "must be at least 1 iteration")
        check_option(self, "i0", self.i0 >= 1, "must be at least 1: a sub-problem needs an evaluation")
        check_option(self, "factor", self.factor >= 0, "must be at least 0: the number of evaluations cannot decrease")
        if self.adaptive:
            check_option(self, "imax", self.imax >= self.i0, f"must be at least `i0`, which is {self.i0}")
        check_option(self, "margin", 0 <= self.margin < 1, "is a share of each bound: choose a value from 0 to below 1")

    def search(self, problem: Problem) -> Search:
        """Run iterations without end, from the first initial configuration or else from the simplest pipeline.

        Tuning keeps as many trials running as `theta` does, and selecting as many as `z`. Selecting compares a tuned
        pipeline with untuned ones and so rarely leaves the tuned one. Therefore the search restarts after `patience`
        iterations that evaluate nothing new or improve the best feasible loss by less than a hundredth.

        It restarts from a pipeline that differs from the best one in one decision and was never tuned. All
        hyperparameters have the values of the best configuration, and the number of calls is that of a first iteration.
        If there is no such pipeline, the search restarts from a configuration that was not evaluated, drawn uniformly.
        It ends if none is left.

        Raises OptionError for a bound below 0, which no slack can represent, and for a space that the target `admm`
        refuses.
        """
        structures = Structures(problem.space)
        if not structures.count:
            return
        form = lower_for_admm(Target(self.conditions), structures)
        splitting = AdmmUpdateSteps.from_box(form.theta_d, self.rho, self.penalty)
        residuals = self._constraints(problem.bounds)
        yield from AdmmIterations(self.iteration_settings(), problem, form, splitting, residuals).run()

    def _selector_plugin(self) -> NestedPlugin:
        """Return `z` with the option `f_hat`; raises OptionError if it lacks that option or sets another value."""
        if self.f_hat == F_HAT:
            return self.z
        own, message = getattr(self.z.plugin, "f_hat", None), f"`f_hat` is {self.f_hat}"
        require(own is not None, message, f"the selector `{self.z.name}` has no option `f_hat`: leave it out")
        has_own = "f_hat" in self.z.given and own != self.f_hat
        require(not has_own, message, f"the selector `{self.z}` sets another value of `f_hat`: set it only once")
        return replace(self.z, plugin=replace(self.z.plugin, f_hat=self.f_hat))

    def iteration_settings(self) -> AdmmIterationSettings:
        """Return the settings of the iterations that the options describe, with a new selector."""
        calls = CallSchedule(self.i0, self.factor, self.imax) if self.adaptive else CallSchedule.fixed(self.i0)
        theta, z, slack = self.theta.plugin, self.z.plugin.selector(), self.slack == "bo"
        return AdmmIterationSettings(
            theta, z, calls, self.first, self.hp_scope, slack, self.reuse_history, self.patience
        )

    def _constraints(self, bounds: tuple[AnyBound, ...]) -> ConstraintResiduals:
        """Return the residuals of bounds tightened by `margin`; raises OptionError for a bound below 0."""
        for bound in bounds:
            message = f"the bound of `{bound.name}` is negative: {bound.limit}"
            require(bound.limit >= 0, message, "`admm` needs bounds of at least 0")
        tightened = [replace(bound, limit=bound.limit * (1 - self.margin)) for bound in bounds]
        return ConstraintResiduals.from_bounds(tightened, self.rho, self.residuals)
