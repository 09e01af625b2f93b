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
    alternative of a decision (`estimator.SVC`).
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
        old = max((each for each in self.names if _is_at_or_below(key, each)), key=len, default=None)
        return key if old is None else self.names[old] + key[len(old) :]

    def _new_value(self, key: str, name: str, value: Value, configuration: Configuration) -> Value:
        old = f"{key}.{value}"
        if not isinstance(value, str) or old not in self.names or old in configuration:
            return value
        return self.names[old].removeprefix(f"{name}.").removeprefix(f"{key}.")

    def check(self, configurations: Iterable[Configuration], space: Space) -> None:
        """Raise InputError for an old name that no configuration has, and for a new one that the space does not have.

        Nothing is checked without configurations.
        """
        known = {name for each in configurations for key, value in each.items() for name in (key, f"{key}.{value}")}
        own = {variable.key for variable in space.variables.values()} | {each.key for each in space.dropped}
        own |= {f"{choice.key}.{name}" for choice in space.decisions for name in choice.branch_indices}
        for old, new in self.names.items() if known else ():
            if not any(_is_at_or_below(key, old) for key in known):
                raise InputError(f"no trial of the run has `{old}`", format_suggestion(old, known))
            decision = self._new_key(old.rpartition(".")[0])
            if not any(_is_at_or_below(key, each) for key in own for each in (new, f"{decision}.{new}")):
                raise InputError(f"the space has no `{new}`", format_suggestion(new, own))


def _is_at_or_below(key: str, name: str) -> bool:
    return key == name or key.startswith((f"{name}.", f"{name}["))
