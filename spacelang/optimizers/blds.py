"""Bandit limited discrepancy search, BLDS(disc) (spacelang/optimizers/README.md, section "BLDS")."""

from dataclasses import dataclass
from itertools import accumulate
from math import inf, log, sqrt
from typing import ClassVar, Final, Literal

from spacelang.ir.search_protocol import Problem, Search, SearchCoroutine
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers._descent import (
    ArmStatistics,
    DescentRules,
    DescentSequence,
    InitialPipelines,
    make_descent_end_rule,
)
from spacelang.optimizers._fidelity import rungs
from spacelang.optimizers._selection import MemorySelector, Selector, SelectorCall, search_with_selector
from spacelang.plugins import option
from spacelang.targets.blds import Pipeline

SIMPLE_WIDTH: Final = 0.09


@dataclass(frozen=True, slots=True)
class Blds:
    """Bandit limited discrepancy search: local search around a pipeline, neighbours judged on growing data."""

    paper: ClassVar[str] = (
        "Kishimoto et al., Bandit Limited Discrepancy Search and Application to Machine Learning Pipeline "
        "Optimization, AAAI 2022"
    )
    is_independent_of_workers: ClassVar[bool] = True

    disc: int = option(1, settings.DISC)
    b: int = option(100, settings.B)
    eta: float = option(2.0, settings.ETA)
    log_const: float = option(
        1 / 9600, "the constant c L / delta in the width of the confidence bounds; the default is the paper's"
    )
    log_floor: float = option(0.0, "the smallest value of the logarithm in the width of the confidence bounds")
    log_rule: Literal["constant", "theory"] = option(
        "constant", "the constant in the width of the confidence bounds: `log_const`, or c L / delta for L structures"
    )
    c: float = option(4.0001, "the constant c in c L / delta, used with log_rule=theory")
    delta: float = option(0.1, "the error probability delta in c L / delta, used with log_rule=theory")
    width: Literal["bound", "simple"] = option(
        "bound", "the width of the confidence bounds: the paper's formula, or sqrt(0.09 k / n_k)"
    )
    collapse_at_full: bool = option(False, "set the width of the confidence bounds of fully trained pipelines to 0")
    examine_init: bool = option(False, "let a search visit the pipeline that it starts from, too")
    until_rule: Literal["paper", "local_optimum"] = option(
        "paper",
        "end a descent once its pipeline is fully trained, or only if no neighbour is better either; "
        "with a single rung it is always the latter",
    )
    hyperparameters: Literal["default", "sample"] = option("default", settings.HYPERPARAMETERS)

    def __post_init__(self) -> None:
        settings.check_disc(self.disc)
        settings.check_fidelity_grid(self.b, self.eta)
        settings.check_option(self, "log_const", 0 < self.log_const < inf, "must be greater than 0")
        settings.check_option(self, "log_floor", 0 <= self.log_floor < inf, "must be at least 0")
        settings.check_option(self, "c", 0 < self.c < inf, "must be greater than 0")
        settings.check_option(self, "delta", 0 < self.delta < 1, "is a probability: choose a value between 0 and 1")

    def search(self, problem: Problem) -> Search:
        """Run BLDS: descents from one initial pipeline after the other until every leaf is fully trained.

        Each pipeline is trained on as many rows as its bounds require. With a single rung, as in `ask_and_tell` or with
        at most `b` rows, a descent ends in a local optimum, whatever `until_rule` is. The paper's rule assumes several
        rungs; on a single one it would end each descent at its first improvement.
        """
        yield from search_with_selector(self.selector(), problem, self.hyperparameters)

    def selector(self) -> Selector:
        """Return a selector whose iterations are descents, the first from the given start."""
        return MemorySelector(self._descend)

    def _descend(self, turn: SelectorCall[Pipeline]) -> SearchCoroutine[None]:
        sizes = rungs(turn.selection.size, self.b, self.eta)
        widths = bound_half_widths(self, sizes, turn.selection.tree.leaf_count)
        arms = ArmStatistics(turn, sizes, widths, turn.selection.normalized_penalized_loss)
        rules = DescentRules(self.disc, self.examine_init, make_descent_end_rule(sizes, self.until_rule))
        yield from DescentSequence(turn, rules, InitialPipelines(turn)).run(arms)


def bound_half_widths(options: Blds, sizes: tuple[int, ...], leaves: int) -> tuple[float, ...]:
    """Return the half widths w_k of the confidence bounds after the k-th training, k = 1, 2, ...

    With `width=bound`, w_k = sqrt(max(log_floor, ln(C D_k^2)) / D_k). D_k = n_1 + ... + n_k are the rows of the first
    k trainings together, with the n_k in `sizes`. C is `log_const`, or with `log_rule=theory` c `leaves` / delta, for
    the number of leaves, at least 1. With `width=simple`, w_k = sqrt(0.09 k / n_k). With `collapse_at_full`, the last
    one is 0.

    With the paper's C = 1/9600 and b = 100 they are not monotone: w_1 is smaller than each of w_2 .. w_8.
    """
    if options.width == "simple":
        found = [sqrt(SIMPLE_WIDTH * k / rows) for k, rows in enumerate(sizes, start=1)]
    else:
        # The logarithm of C, not C: the number of structures may be too large for a float.
        log_const = log(options.log_const)
        if options.log_rule == "theory":
            log_const = log(options.c) + log(leaves) - log(options.delta)
        found = [sqrt(max(options.log_floor, log_const + 2 * log(rows)) / rows) for rows in accumulate(sizes)]
    return (*found[:-1], 0.0) if options.collapse_at_full else tuple(found)
