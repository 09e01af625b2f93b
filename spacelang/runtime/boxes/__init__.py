"""Black boxes: objectives without any data. A configuration goes in, a loss comes out; nothing is fitted to rows.

`artificial` is a formula over any space, `function` whatever a user has written. What a program asks for and tells by
itself (`ask_and_tell`) has an aim alone: nobody but the program evaluates it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

from spacelang.ir.scale import Scale
from spacelang.ir.task import AnyBound, Validation
from spacelang.runtime.errors import InputError
from spacelang.runtime.loss_name import LOSS, LossName
from spacelang.runtime.storing.header import DataFacts
from spacelang.runtime.waiting import RouteOf

ARTIFICIAL: Final = "artificial:"
"""How the name of data begins that is the artificial box; its seed follows."""

ONE: Final = (1,)
"""The fidelities of a box that has one alone."""


@dataclass(frozen=True)
class BlackBox:
    """The aim of a run on a black box, with trials at some `fidelities`, ascending; the last is the largest."""

    facts: DataFacts
    fidelities: tuple[int, ...] = ONE
    bounds: tuple[AnyBound, ...] = ()
    scale: Scale | None = None
    is_cheap: bool = False

    metric: ClassVar[LossName] = LOSS
    validation: ClassVar[Validation | None] = None
    recorded: ClassVar[tuple[str, ...]] = ()
    further: ClassVar[Mapping[str, str]] = MappingProxyType({})

    @property
    def route(self) -> RouteOf | None:
        """Trials share nothing."""
        return None

    @property
    def training_size(self) -> int:
        """The largest fidelity."""
        return self.fidelities[-1]

    def check_sizes(self, sizes: tuple[int, ...]) -> None:
        """Raise InputError unless these are fidelities of the box."""
        lacking = [f"{size:,}" for size in sizes if size not in self.fidelities]
        if lacking:
            raise InputError(
                f"`{self.facts.name}` has no trials at fidelity {', '.join(lacking)}",
                f"it has {', '.join(f'{each:,}' for each in self.fidelities)}: `b` and `eta` must lead to them",
            )
