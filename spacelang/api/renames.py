"""New names for the decisions, hyperparameters and alternatives of configurations of an earlier space."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.ir.value import Value
from spacelang.runtime.errors import InputError
from spacelang.spelling_suggestions import format_suggestion


@dataclass(frozen=True, slots=True)
class Renames:
    """New names by old names, applied all at once, so that two names can be swapped.

    A name is a key of configurations (`scaler`, `estimator.C`), which also stands for all keys below it, or an
    alternative of a decision (`estimator.SVC`). A name inside the stage of a chain (`step.PCA`) stands for that in
    every use (`step[1].PCA`).
    """

    names: Mapping[str, str]

    @classmethod
    def parse(cls, texts: Iterable[str]) -> "Renames":
        """Return the renames of texts such as `scaler=scaling`; raise InputError for any other text."""
        names: dict[str, str] = {}
        for text in texts:
            old, sign, new = (part.strip() for part in text.partition("="))
            if not (old and sign and new):
                raise InputError(f"`{text}` is not a rename", "write `OLD=NEW`, such as `--rename scaler=scaling`")
            if old in names:
                raise InputError(f"`{old}` is renamed twice", "give one new name for it")
            names[old] = new
        return cls(names)

    def apply(self, configuration: Configuration) -> Configuration:
        """Return a configuration with its new names; raise InputError if two keys would have the same name."""
        if not self.names:
            return configuration
        found: dict[str, Value] = {}
        origins: dict[str, str] = {}
        for key, value in configuration.items():
            name = self._new_key(key)
            if name in found:
                raise InputError(f"`{origins[name]}` and `{key}` would both be named `{name}`", "rename one of them")
            found[name], origins[name] = self._new_value(key, name, value, configuration), key
        return Configuration(found)

    def _new_key(self, key: str) -> str:
        in_stage, use = _without_use(key)
        old = max((each for each in self.names if _is_at_or_below(key, each)), key=len, default="")
        shared = max((each for each in self.names if _is_at_or_below(in_stage, each)), key=len, default="")
        if use and "." in shared and "." in self.names[shared] and len(shared) + len(use) > len(old):
            stage, _, rest = (self.names[shared] + in_stage[len(shared) :]).partition(".")
            return f"{stage}{use}.{rest}"
        return self.names[old] + key[len(old) :] if old else key

    def _new_value(self, key: str, name: str, value: Value, configuration: Configuration) -> Value:
        for decision, renamed in ((key, name), (_without_use(key)[0], _without_use(name)[0])):
            old = f"{decision}.{value}"
            if isinstance(value, str) and old in self.names and f"{key}.{value}" not in configuration:
                return self.names[old].removeprefix(f"{renamed}.").removeprefix(f"{decision}.")
        return value

    def check(self, configurations: Iterable[Configuration], space: Space) -> None:
        """Raise InputError for an old name that no configuration has, and for a new one that the space does not have.

        Nothing is checked without configurations.
        """
        known = {name for each in configurations for key, value in each.items() for name in (key, f"{key}.{value}")}
        known |= {_without_use(name)[0] for name in known}
        own = {variable.key for variable in space.variables.values()} | {each.key for each in space.dropped}
        own |= {f"{choice.key}.{name}" for choice in space.decisions for name in choice.branch_indices}
        own |= {_without_use(name)[0] for name in own}
        for old, new in self.names.items() if known else ():
            if not any(_is_at_or_below(key, old) for key in known):
                raise InputError(f"no trial of the run has `{old}`", format_suggestion(old, known))
            decision = self._new_key(old.rpartition(".")[0])
            if not any(_is_at_or_below(key, each) for key in own for each in (new, f"{decision}.{new}")):
                raise InputError(f"the space has no `{new}`", format_suggestion(new, own))


def _without_use(key: str) -> tuple[str, str]:
    """Return the key in the stage of a chain and the index of its use, which is empty for any other key.

    >>> _without_use("step[2].n_components")
    ('step.n_components', '[2]')
    """
    first, dot, rest = key.partition(".")
    stage, bracket, index = first.partition("[")
    return f"{stage}{dot}{rest}", f"{bracket}{index}"


def _is_at_or_below(key: str, name: str) -> bool:
    return key == name or key.startswith((f"{name}.", f"{name}["))
