"""Parts as nested dictionaries of a tool's own choices and draws, and the configuration of a sample of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Choice
from spacelang.ir.value import Value
from spacelang.reductions.questions import Questions
from spacelang.reductions.unfolding import Case, Fork, Free, Parts
from spacelang.targets._exports.python import Code, Keyed, Literal

Choosing: TypeAlias = Callable[[str, Sequence[Code], Sequence[float] | None], Code]
"""The code that takes one of some options, by the name of the choice, with their shares where they are not alike."""

FLATTEN: Final = '''def configuration(sample):
    """The configuration of a sample, which holds what a choice brings along as a dictionary of its own."""
    found = {}
    for name, value in sample.items():
        found.update(configuration(value) if isinstance(value, dict) else {name: value})
    return found'''
"""The source of `configuration_of` for modules that stand alone."""


def configuration_of(sample: Mapping[str, object]) -> Configuration:
    """The configuration of a sample, which holds what a choice brings along as a dictionary of its own."""
    return Configuration(_flattened(sample))


def _flattened(sample: Mapping[str, object]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, value in sample.items():
        found.update(_flattened(value) if isinstance(value, dict) else {name: value})  # type: ignore[dict-item]
    return found


class Nested:
    """Parts as code of a tool: `choice` is what it calls one of several options, `draw` what it draws a value by.

    Options are dictionaries of what a case brings along, plain values where it brings nothing but a value. The same
    part is the same object of code, and so one object of the tool.
    """

    def __init__(self, named: Questions, choice: Choosing, draw: Callable[[Free], Code]) -> None:
        self._named = named
        self._choice = choice
        self._draw = draw
        self._known: dict[int, Code] = {}

    def entries(self, several: Parts, first: Sequence[tuple[str, Code]] = ()) -> Keyed:
        """What parts side by side bring into a sample."""
        settled, open_parts = _settled(several)
        found: dict[str, Code] = {**dict(first), **dict(settled)}
        taken = {*found, *(self._key(part) for part in open_parts)}
        for part in open_parts:
            if (key := self._key(part)) is None:
                # Its options are dictionaries, so that the name says nothing; it only has to be another one.
                assert isinstance(part, Fork)
                key = _fresh(self._named.forks[id(part)], taken)
            found[key] = self._code(part)
        return Keyed(tuple(found.items()))

    def _key(self, part: Fork | Free) -> str | None:
        """The key that a part's entry must have; None where it may have any."""
        if isinstance(part, Free):
            return part.node.key
        return part.node.key if part.node is not None and self._named.names.has_own_key(part.node) else None

    def _code(self, part: Fork | Free) -> Code:
        if id(part) not in self._known:
            made = self._fork(part) if isinstance(part, Fork) else self._draw(part)
            self._known[id(part)] = made
        return self._known[id(part)]

    def _fork(self, fork: Fork) -> Code:
        options = [self._option(fork, case) for case in fork.cases]
        return self._choice(self._named.forks[id(fork)], options, shares(fork))

    def _option(self, fork: Fork, case: Case) -> Code:
        """A dictionary of what the case brings along; where that is the value of the entry itself, the value."""
        option = self.entries(case.parts, _branch(fork, case))
        match option.items:
            case ((key, value),) if key == self._key(fork):
                return value
            case _:
                return option


def shares(fork: Fork) -> tuple[float, ...] | None:
    """The shares of a fork's cases where some weigh more than others."""
    weights = fork.weights
    return tuple(weight / sum(weights) for weight in weights) if len(set(weights)) > 1 else None


def _settled(several: Parts) -> tuple[list[tuple[str, Code]], list[Fork | Free]]:
    """What parts side by side say without a choice, and the others."""
    said: list[tuple[str, Code]] = []
    left: list[Fork | Free] = []
    for part in several:
        if isinstance(part, Fork) and len(part.cases) == 1:
            inner, others = _settled(part.cases[0].parts)
            said += [*_branch(part, part.cases[0]), *inner]
            left += others
        else:
            assert isinstance(part, Fork | Free)
            left.append(part)
    return said, left


def _branch(fork: Fork, case: Case) -> list[tuple[str, Code]]:
    if not isinstance(fork.node, Choice) or case.branch is None:
        return []
    return [(fork.node.key, Literal(case.branch))]


def _fresh(name: str, taken: set[str | None]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name
