"""Problems: all that a search is told before it asks for anything."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.ir.task import AnyBound

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much a search may have in all, for those who divide it; what is None has no end.

    `seconds` are those of all workers together, as processor time is counted: those of the clock times the workers.
    """

    seconds: float | None = None
    trials: int | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """With what a run begins; one that is resumed goes on with what it began with.

    `initial` are the configurations to start from, none twice; None is as an earlier session has it, or nothing.
    """

    initial: tuple[Configuration, ...] | None = None
    budget: Allowance = Allowance()


NO_TERMS: Final = Terms()


def unheard(_: str) -> None:
    """Nobody reads it."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What a search is about: a space, the number of training rows, chance, and what else it is told.

    `size` is the largest fidelity. All that a search draws it draws from `rng`. `initial` are configurations of the
    space, none twice, from which a search may start: whoever runs it has them evaluated on all rows before anything
    that it asks for, and answers it with that where it asks for the same. `budget` is what the run was given when it
    began: it is told so that it can be divided, and whoever runs the search keeps to it; a run that is resumed with
    more tells it again as it was. `bounds` are those that successful trials have measurements for, in their order. With
    `remark` a search says what a reader of its result should know of how it went, in whole sentences; whoever runs it
    shows each once. A resumed run shall say the same: what is said depends on what was told, not on what was made.
    """

    space: Space
    size: int
    rng: "Generator"
    initial: tuple[Configuration, ...] = ()
    budget: Allowance = Allowance()
    bounds: tuple[AnyBound, ...] = ()
    remark: Callable[[str], None] = unheard
