"""Optimizers: one file is one algorithm; each is a generator of requests that reads like its paper."""

from typing import TYPE_CHECKING, ClassVar, Protocol

from spacelang.ir.space import Space
from spacelang.ir.trial import Search
from spacelang.plugins import Plugins

if TYPE_CHECKING:
    from numpy.random import Generator

OPTIMIZERS = Plugins("spacelang.optimizers", "spacelang.optimizers")
"""Every optimizer by its name; each loads to a class that fits `Optimizer`."""


class Optimizer(Protocol):
    """An optimizer: a frozen dataclass whose fields are its options.

    It may say more of itself to whoever runs it. `in_turn: ClassVar[bool]`: the requests of a round are begun in their
    own order. `needs_training_loss: ClassVar[bool]`: trials shall have their training loss, where that can be measured.
    An option `ahead`: with so many more workers than one, each round has so many requests that will probably be needed
    (`Request.ahead`); what is needed comes first in its round, and is the same with any number of them.
    """

    paper: ClassVar[str]

    def search(self, space: Space, size: int, rng: "Generator") -> Search:
        """The requests of one run over a space with `size` training rows; all chance comes from `rng`.

        It returns when there is nothing left to ask for. Raises UndecidableError before the first request where the
        constraints of the space cannot be decided, and UnlikelyError where values that satisfy them are not found.
        """
        ...
