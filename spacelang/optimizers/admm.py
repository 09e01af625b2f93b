"""ADMM: structure and hyperparameters by operator splitting, with black-box constraints.

See spacelang/optimizers/README.md, section "ADMM: iteration".
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar, Final, Literal

from spacelang.ir.asking import Search
from spacelang.ir.problem import Problem
from spacelang.ir.task import AnyBound
from spacelang.minimizers import MINIMIZERS
from spacelang.optimizers import OPTIMIZERS
from spacelang.optimizers._admm.iterations import Iterations, Method
from spacelang.optimizers._admm.presets import PRESETS
from spacelang.optimizers._admm.residuals import Residuals
from spacelang.optimizers._admm.schedule import Schedule
from spacelang.optimizers._admm.splitting import Splitting
from spacelang.optimizers._settings import check
from spacelang.plugins import Part, option, part
from spacelang.solver.counting import Structures
from spacelang.targets.admm import Admm as Target

F_HAT: Final = 0.7
"""The paper's."""


@dataclass(frozen=True, slots=True)
class Admm:
    """Operator splitting: hyperparameters of the present pipeline, then the pipeline at these, and a penalty between.

    A space without hyperparameters costs its first sub-problem nothing, one with a single pipeline its second one.
    """

    paper: ClassVar[str] = "Liu et al., An ADMM Based Framework for AutoML Pipeline Configuration, AAAI 2020"
    presets: ClassVar[Mapping[str, Mapping[str, str]]] = PRESETS

    theta: Part = part(MINIMIZERS, "bo", "who tunes the hyperparameters of the present pipeline")
    z: Part = part(OPTIMIZERS, "cmab", "who selects the pipeline at the present hyperparameters", able_to="selector")
    f_hat: float = option(F_HAT, "the option of that name of `z`, where it has one and it is not written there")
    rho: float = option(1.0, "the weight of the penalty for hyperparameters between integers, and of constraints")
    adaptive: bool = option(True, "whether each iteration has more calls than the one before")
    i0: int = option(16, "calls of each sub-problem in the first iteration; in every one, with adaptive=false")
    factor: int = option(16, "how many more calls each iteration has than the one before; 8 and 16 are the papers'")
    imax: int = option(128, "the most calls of a sub-problem; 256 on the paper's artificial objective")
    first: Literal["theta", "z"] = option("theta", "which sub-problem comes first in an iteration")
    penalty: Literal["unit", "raw"] = option("unit", "count integers in their ranges, or in themselves, as the paper")
    residuals: Literal["scaled", "raw"] = option("scaled", "count constraints in their bounds, or in their own units")
    slack: Literal["exact", "bo"] = option(
        "exact", "the best slack of constraints by its formula, or searched for with the hyperparameters, as the paper"
    )
    margin: float = option(0.0, "by which share the search keeps below each bound")
    hp_scope: Literal["algorithm", "pipeline"] = option(
        "algorithm", "who has the hyperparameters that were tuned: every pipeline with the algorithm, or only that one"
    )
    conditions: Literal["mask", "flatten"] = option(
        "mask", "keep conditions and nested decisions out of what is selected, or make them further alternatives"
    )
    reuse_history: bool = option(True, "whether tuning begins with what is known of the pipeline")
    patience: int = option(
        1,
        "after so many iterations in a row that improve the best loss by less than a hundredth it goes on elsewhere",
    )

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        object.__setattr__(self, "z", self._selecting())
        check(0 < self.rho < inf, f"`rho` is {self.rho}", "it is greater than 0")
        check(self.patience >= 1, f"`patience` is {self.patience}", "it is 1 iteration or more")
        check(self.i0 >= 1, f"`i0` is {self.i0}", "a sub-problem has at least 1 call")
        check(self.factor >= 0, f"`factor` is {self.factor}", "calls do not become fewer: it is at least 0")
        if self.adaptive:
            check(self.imax >= self.i0, f"`imax` is {self.imax}", f"it is at least `i0`, which is {self.i0}")
        check(0 <= self.margin < 1, f"`margin` is {self.margin}", "it is a share of each bound, less than 1")

    def search(self, problem: Problem) -> Search:
        """Iterations without end, from the first configuration given, else from the simplest pipeline.

        Tuning keeps as many trials under way as `theta` does, selecting as many as `z`. Selecting compares what was
        tuned with what was not, and so hardly leaves the former: after `patience` iterations that improve on the best
        by less than a hundredth, its bounds being kept, or that evaluate nothing new, the search goes on from a
        pipeline that differs from the best one in one decision and was never tuned, with all hyperparameters as the
        best one has them and the calls of a first iteration. Where there is none it is a configuration that was not
        evaluated, uniformly drawn; where none is left the search ends. Raises OptionError for a bound below 0, which
        no slack reaches.
        """
        structures = Structures(problem.space)
        if not structures.count:
            return
        form = Target(self.conditions).lower(structures).form
        splitting = Splitting.of(form.theta_d, self.rho, self.penalty)
        yield from Iterations(self.method(), problem, form, splitting, self._constraints(problem.bounds)).run()

    def _selecting(self) -> Part:
        """`z` with `f_hat`; raises OptionError where it has none, or another one of its own."""
        if self.f_hat == F_HAT:
            return self.z
        own, said = getattr(self.z.plugin, "f_hat", None), f"`f_hat` is {self.f_hat}"
        check(own is not None, said, f"`{self.z.name}`, which selects, has no such option: leave it out")
        has_own = "f_hat" in self.z.given and own != self.f_hat
        check(not has_own, said, f"`{self.z}` has another one: say it once")
        return replace(self.z, plugin=replace(self.z.plugin, f_hat=self.f_hat))

    def method(self) -> Method:
        """What the options say of the iterations, with a selector that has learnt nothing."""
        return Method(
            self.theta.plugin,
            self.z.plugin.selector(),
            Schedule(self.i0, self.factor, self.imax) if self.adaptive else Schedule.fixed(self.i0),
            self.first,
            self.hp_scope,
            self.slack == "bo",
            self.reuse_history,
            self.patience,
        )

    def _constraints(self, bounds: tuple[AnyBound, ...]) -> Residuals:
        for bound in bounds:
            check(
                bound.limit >= 0, f"the bound of `{bound.name}` is {bound.limit}", "`admm` takes bounds of 0 and more"
            )
        tightened = [replace(bound, limit=bound.limit * (1 - self.margin)) for bound in bounds]
        return Residuals.of(tightened, self.rho, self.residuals)
