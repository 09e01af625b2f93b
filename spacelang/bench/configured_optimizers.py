"""Parse the optimizers of a comparison from texts: `blds`, `blds:disc=2`, `hyperband:b=50:eta=3`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spacelang.optimizers import OPTIMIZERS
from spacelang.plugins import NestedPlugin, OptionError, UnknownPluginError, split_outside_brackets


class ConfiguredOptimizersError(ValueError):
    """An error for optimizers or options that do not exist.

    `mistakes` has all of them, each with its help.
    """

    def __init__(self, mistakes: Iterable[UnknownPluginError | OptionError]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(f"{each.message}: {each.help}" if each.help else each.message for each in mistakes))


@dataclass(frozen=True, slots=True)
class ConfiguredOptimizer:
    """A configured optimizer, with its `label` in the comparison."""

    label: str
    optimizer: NestedPlugin


def parse_optimizers(texts: Iterable[str]) -> tuple[ConfiguredOptimizer, ...]:
    """Parse texts of the form `NAME` or `NAME:OPTION=VALUE:OPTION=VALUE`.

    The labels have the form `NAME OPTION=VALUE OPTION=VALUE`. Empty texts are skipped. Raises ConfiguredOptimizersError
    with all mistakes, which include duplicates and an empty list.
    """
    found: list[ConfiguredOptimizer] = []
    mistakes: list[UnknownPluginError | OptionError] = []
    for text in filter(None, map(str.strip, texts)):
        read = _parse_optimizer(text)
        if isinstance(read, ConfiguredOptimizer):
            mistakes += _duplicate_errors(read, found)
            found.append(read)
        else:
            mistakes += read
    if not found and not mistakes:
        mistakes.append(OptionError("no optimizer is given", f"choose from {_join_names(OPTIMIZERS.names())}"))
    if mistakes:
        raise ConfiguredOptimizersError(mistakes)
    return tuple(found)


def _parse_optimizer(text: str) -> ConfiguredOptimizer | list[UnknownPluginError | OptionError]:
    name, *pairs = (part.strip() for part in split_outside_brackets(text, ":"))
    try:
        plugin = OPTIMIZERS.load(name)
    except UnknownPluginError as error:
        return [error]
    given: dict[str, str] = {}
    mistakes: list[UnknownPluginError | OptionError] = []
    for pair in pairs:
        option, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not option:
            mistakes.append(OptionError(f"`{pair}` in `{text}` is not an option", f"write `{name}:OPTION=VALUE`"))
        elif option in given:
            mistakes.append(OptionError(f"the option `{option}` of `{name}` is set twice"))
        else:
            given[option] = value
            mistakes += _option_errors(plugin, {option: value})
    # Values that are valid one by one may be invalid together.
    mistakes = mistakes or [*_option_errors(plugin, given)]
    if mistakes:
        return mistakes
    label = " ".join([name, *(f"{option}={value}" for option, value in given.items())])
    return ConfiguredOptimizer(label, OPTIMIZERS.create(name, given))


def _option_errors(plugin: type[Any], options: Mapping[str, str]) -> Iterator[OptionError]:
    try:
        OPTIMIZERS.configure(plugin, options)
    except OptionError as error:
        yield error


def _duplicate_errors(contestant: ConfiguredOptimizer, others: Iterable[ConfiguredOptimizer]) -> Iterator[OptionError]:
    for other in others:
        if other.optimizer == contestant.optimizer:
            same = "is given twice" if other.label == contestant.label else f"is the same as `{other.label}`"
            yield OptionError(f"`{contestant.label}` {same}", "change an option of one of them, or leave one out")


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
