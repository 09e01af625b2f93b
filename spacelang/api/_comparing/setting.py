"""What all runs of a comparison have in common, and by what they are judged."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spacelang.api.initial import Read
from spacelang.api.space import Space
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import UNLIMITED, Limits, Validation
from spacelang.runtime.archives import Norm

if TYPE_CHECKING:
    from spacelang.runtime.archives.archive import Archive
    from spacelang.runtime.storing.header import DataFacts


@dataclass(frozen=True, slots=True)
class Setting:
    """What all runs of a comparison have in common; None for the budget is no limit, else as the space says.

    `test` are the rows that no trial sees, as the user gave them. `archive` suggests what runs on data begin with, by
    the distances of a `norm`.
    """

    space: Space
    seconds: float | None
    trials: int | None
    metric: str | None = None
    validation: Validation | None = None
    workers: int = 1
    limits: Limits = UNLIMITED
    isolate: bool = False
    test: Any = None
    initial: tuple[Read, ...] | None = None
    archive: "Archive | None" = None
    norm: Norm = Norm.L1

    def identity_of(self, bound: Space) -> str:
        """What tells a space that data has bound from others; empty where that of the setting says it for all data."""
        from spacelang.runtime.storing.header import identity

        return identity(bound.checked) if self.space.is_provisional else ""


@dataclass(frozen=True, slots=True)
class Judged:
    """By what the runs in an arena are judged; `facts` tell its data apart from others."""

    facts: "DataFacts"
    formula: str
    validation: str
    bounds: tuple[str, ...]
    training_size: int
    test: str = ""
    """What is kept from trials for testing, in words; empty where nothing is."""
    initial: tuple[Configuration, ...] = ()
    """The configurations that every run begins with."""
    remarks: tuple[str, ...] = ()
    """What an archive suggested that was passed over, for people."""
    space: str = ""
    """The identity of the space for this data where that of the comparison waits for data; else empty."""
