"""Addresses: the prefixes of the addresses and keys of hyperparameters, and the names of stages in the space."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from spacelang.analysis.modules import Module
from spacelang.frozen import frozen


@dataclass(slots=True)
class StageNames:
    """The names of the stages of a module in the space, and how the text of the module refers to them.

    A stage that is used once has its own name in the space. Further uses are called `scaler_2`, `scaler_3`, ..., or by
    the name after `as`. In the body of a stage, its name refers to the use that is being read (`own`), elsewhere to the
    first use.
    """

    module: Module | None = None
    uses: dict[tuple[int, str], list[str]] = field(default_factory=dict)
    """The names of all uses, by the id of the module and the stage. All modules of a space share this mapping."""
    own: Mapping[str, str] = field(default_factory=dict)

    def inside_stage(self, stage: str, called: str) -> "StageNames":
        """Return the names for the body of one use of a stage."""
        return replace(self, own={**self.own, stage: called})

    def in_module(self, module: Module) -> "StageNames":
        """Return the names for the text of another module."""
        return StageNames(module, self.uses)

    def address(self, name: str) -> str:
        """Return the address that a name in the text has, for a stage or for something inside a stage."""
        stage, rest, _ = self._resolve(name)
        return ".".join((stage, *rest))

    def ambiguous_uses(self, name: str) -> tuple[str, ...]:
        """Return all uses of a stage if a name may refer to several of them, else an empty tuple."""
        return self._resolve(name)[2]

    def stage_part(self, name: str) -> str:
        """Return the part of a name that names a stage, including the imports before it."""
        _, rest, _ = self._resolve(name)
        words = name.split(".")
        return ".".join(words[: len(words) - len(rest)])

    def _resolve(self, name: str) -> tuple[str, list[str], tuple[str, ...]]:
        module, words = self.module, name.split(".")
        if module is not None and words[0] not in self.own:
            while len(words) > 1 and words[0] in module.imports:
                module = module.imports[words.pop(0)]
        first, *rest = words
        if module is self.module and first in self.own:
            return self.own[first], rest, ()
        uses = self.uses.get((id(module), first), [first])
        return uses[0], rest, tuple(uses) if len(uses) > 1 else ()


@frozen
class AddressPrefix:
    """A common prefix of addresses (unique in the space) and of keys (as configurations print them)."""

    address: str
    key: str
    names: StageNames = field(default_factory=StageNames, compare=False, repr=False)

    def child(self, name: str) -> "AddressPrefix":
        """Return the place of a parameter of the operator, or of a part of the structure, by its name."""
        if not self.address:
            return AddressPrefix(name, name, self.names)
        return AddressPrefix(f"{self.address}.{name}", f"{self.key}.{name}", self.names)

    def alternative(self, name: str) -> "AddressPrefix":
        """Return the place of an alternative of the decision. Addresses contain its name, keys do not."""
        return replace(self, address=f"{self.address}.{name}")
