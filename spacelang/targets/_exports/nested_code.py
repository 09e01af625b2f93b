"""Parts of an unfolded space as nested dictionaries of choices and draws, and configurations of their samples."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Choice
from spacelang.ir.value import Value
from spacelang.reductions.questions import Questions
from spacelang.reductions.unfolding import Case, Fork, FreeHyperparameter, Parts
from spacelang.targets._exports.python_nodes import Code, DictNode, LiteralNode

ChoiceCode: TypeAlias = Callable[[str, Sequence[Code], Sequence[float] | None], Code]
"""Makes code that chooses an option: takes the name of the choice, the options, and their shares unless equal."""

FLATTEN_SOURCE: Final = '''def configuration(sample):
    """Return the configuration of a sample, in which every choice may add a nested dictionary."""
    found = {}
    for name, value in sample.items():
        found.update(configuration(value) if isinstance(value, dict) else {name: value})
    return found'''
"""The source of `configuration_of` for generated modules, which do not import spacelang."""


def configuration_of(sample: Mapping[str, object]) -> Configuration:
    """Return the configuration of a sample, in which every choice may add a nested dictionary."""
    return Configuration(_flattened(sample))


def _flattened(sample: Mapping[str, object]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, value in sample.items():
        found.update(_flattened(value) if isinstance(value, dict) else {name: value})  # type: ignore[dict-item]
    return found


class NestedCode:
    """A converter of parts into code: `choice` makes the code of a choice, `draw` the code of a draw.

    An option is a dictionary of what its case adds, or a plain value if it adds only that. Equal parts share one code
    object, and so one object of the library.
    """

    def __init__(self, named: Questions, choice: ChoiceCode, draw: Callable[[FreeHyperparameter], Code]) -> None:
        self._named = named
        self._choice = choice
        self._draw = draw
        self._known: dict[int, Code] = {}

    def entries(self, several: Parts, first: Sequence[tuple[str, Code]] = ()) -> DictNode:
        """Return a dictionary of the entries that sibling parts add to a sample; `first` are entries to put first."""
        settled, open_parts = _split_settled(several)
        found: dict[str, Code] = {**dict(first), **dict(settled)}
        taken = {*found, *(self._key(part) for part in open_parts)}
        for part in open_parts:
            if (key := self._key(part)) is None:
                # The options are dictionaries, so the name carries no meaning; it only has to be unique.
                assert isinstance(part, Fork)
                key = _unique_name(self._named.forks[id(part)], taken)
            found[key] = self._part_code(part)
        return DictNode(tuple(found.items()))

    def _key(self, part: Fork | FreeHyperparameter) -> str | None:
        """Return the key that the entry of a part must have, or None if any key will do."""
        if isinstance(part, FreeHyperparameter):
            return part.node.key
        return part.node.key if part.node is not None and self._named.names.has_own_key(part.node) else None

    def _part_code(self, part: Fork | FreeHyperparameter) -> Code:
        if id(part) not in self._known:
            made = self._fork_code(part) if isinstance(part, Fork) else self._draw(part)
            self._known[id(part)] = made
        return self._known[id(part)]

    def _fork_code(self, fork: Fork) -> Code:
        options = [self._option_code(fork, case) for case in fork.cases]
        return self._choice(self._named.forks[id(fork)], options, case_shares(fork))

    def _option_code(self, fork: Fork, case: Case) -> Code:
        """Return a dictionary of what a case adds, or just the value if that is the value of the entry itself."""
        option = self.entries(case.parts, _branch(fork, case))
        match option.items:
            case ((key, value),) if key == self._key(fork):
                return value
            case _:
                return option


def case_shares(fork: Fork) -> tuple[float, ...] | None:
    """Return the normalized weights of the cases of a fork, or None if all weights are equal."""
    weights = fork.weights
    return tuple(weight / sum(weights) for weight in weights) if len(set(weights)) > 1 else None


def _split_settled(several: Parts) -> tuple[list[tuple[str, Code]], list[Fork | FreeHyperparameter]]:
    """Return the entries of sibling parts that involve no choice, and the parts that involve one."""
    said: list[tuple[str, Code]] = []
    left: list[Fork | FreeHyperparameter] = []
    for part in several:
        if isinstance(part, Fork) and len(part.cases) == 1:
            inner, others = _split_settled(part.cases[0].parts)
            said += [*_branch(part, part.cases[0]), *inner]
            left += others
        else:
            assert isinstance(part, Fork | FreeHyperparameter)
            left.append(part)
    return said, left


def _branch(fork: Fork, case: Case) -> list[tuple[str, Code]]:
    if not isinstance(fork.node, Choice) or case.branch is None:
        return []
    return [(fork.node.key, LiteralNode(case.branch))]


def _unique_name(name: str, taken: set[str | None]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name
