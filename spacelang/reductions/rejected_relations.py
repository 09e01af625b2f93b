"""Relations by rejection: hyperparameters are drawn without the relations; draws that violate one are rejected."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import is_violated
from spacelang.ir.space import Constraint, Space
from spacelang.ir.value import to_fraction
from spacelang.ir.walk import Assignment
from spacelang.reductions.relation_groups import inequalities_of
from spacelang.reductions.space_questions import DrawnPiece, Question, Questions
from spacelang.reductions.unfolding import Fork
from spacelang.sampling.unit_scale import from_unit_function
from spacelang.solver.linear import Inequality

MAX_DRAWS: Final = 30_000  # The number of draws without a member after which members count as too rare
MIN_DRAWS: Final = 300  # The number of draws that estimate the share of members
LEAST_VIOLATION: Final = 1e-9
"""The least amount of a violation; without it, equal sides of a strict comparison would have the amount 0."""


@dataclass(frozen=True)
class RejectionConstraints:
    """The constraints of a space by which configurations are rejected."""

    space: Space
    constraints: tuple[Constraint, ...]

    @cached_property
    def rows(self) -> Sequence[tuple[Inequality, ...]]:
        """The inequalities that each constraint stands for; none if it is no conjunction of inequalities."""
        return tuple(inequalities_of(rule, self.space) or () for rule in self.constraints)

    def violations(self, configuration: Configuration) -> list[float]:
        """Return the amount by which each constraint is violated, 0 where it holds."""
        assignment = Assignment.from_configuration(self.space, configuration)
        told = zip(self.constraints, self.rows, strict=True)
        return [_amount(rows, assignment) if is_violated(rule, assignment) else 0.0 for rule, rows in told]

    def member_share(self, questions: Questions) -> float:
        """Estimate the share of random answers to the questions that satisfy the constraints; 0 if it is tiny."""
        rng, found, tried = Random(0), 0, 0
        while tried < MAX_DRAWS and (tried < MIN_DRAWS or not found):
            tried += 1
            found += not any(self.violations(Configuration(questions.ask_values(_random_answer(rng)))))
        return found / tried


def _amount(rows: Sequence[Inequality], assignment: Assignment) -> float:
    """Return the greatest violation of an inequality, at least `LEAST_VIOLATION`; 1 without inequalities."""
    if not rows:
        return 1.0
    exceeded = [LEAST_VIOLATION]
    for row in rows:
        terms = (factor * to_fraction(assignment(a)) for a, factor in row.factors.items())
        exceeded.append(float(row.constant + sum(terms)))
    return max(exceeded)


def _random_answer(rng: Random) -> Any:
    def answer(_: str, question: Question) -> Any:
        if isinstance(question, DrawnPiece):
            return from_unit_function(question.domain)(rng.random())
        return rng.randrange(len(question.cases if isinstance(question, Fork) else question.pieces))

    return answer
