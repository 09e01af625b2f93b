"""Where operators stand: what the addresses and the keys of their hyperparameters begin with."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from spacelang.analysis.modules import Module
from spacelang.facts import fact


@dataclass(slots=True)
class StageNames:
    """What the stages of a module are called in the space, as the text of this module names them.

    A stage that is used once is called by its own name; further uses are `scaler_2`, …, or what follows `as`. In the
    body of a stage its name stands for the use that the body belongs to (`own`), elsewhere for the first use.
    """

    module: Module | None = None
    uses: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    """All uses by module and stage, shared by all modules of a space."""
    own: Mapping[str, str] = field(default_factory=dict)

    def within(self, stage: str, called: str) -> "StageNames":
        """The names in the body of one use of a stage."""
        return replace(self, own={**self.own, stage: called})

    def of(self, module: Module) -> "StageNames":
        """The names in the text of another module."""
        return StageNames(module, self.uses)

    def address(self, name: str) -> str:
        """The address of a stage, or of what is inside it, by the name that the text has for it."""
        stage, rest, _ = self._found(name)
        return ".".join((stage, *rest))

    def several(self, name: str) -> tuple[str, ...]:
        """The uses of a stage where a name may mean more than one of them; else empty."""
        return self._found(name)[2]

    def stage(self, name: str) -> str:
        """The part of a name that is a stage's, with the imports before it."""
        _, rest, _ = self._found(name)
        words = name.split(".")
        return ".".join(words[: len(words) - len(rest)])

    def _found(self, name: str) -> tuple[str, list[str], tuple[str, ...]]:
        module, words = self.module, name.split(".")
        if module is not None and words[0] not in self.own:
            while len(words) > 1 and words[0] in module.imports:
                module = module.imports[words.pop(0)]
        first, *rest = words
        if module is self.module and first in self.own:
            return self.own[first], rest, ()
        uses = self.uses.get((id(module), first), [first])
        return uses[0], rest, tuple(uses) if len(uses) > 1 else ()


@fact
class Place:
    """The beginning of addresses (unique in the space) and of keys (as configurations print them)."""

    address: str
    key: str
    names: StageNames = field(default_factory=StageNames, compare=False, repr=False)

    def inside(self, name: str) -> "Place":
        """The place of a parameter of the operator, or of a part of the structure."""
        if not self.address:
            return Place(name, name, self.names)
        return Place(f"{self.address}.{name}", f"{self.key}.{name}", self.names)

    def alternative(self, name: str) -> "Place":
        """The place of an alternative of the decision: the address says which, the key does not."""
        return replace(self, address=f"{self.address}.{name}")
