"""Forms made of questions, for libraries whose spaces are built by calling functions: text, DOT, JSON and code."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import describe
from spacelang.ir.space import Choice, Hyperparameter
from spacelang.ir.value import Value
from spacelang.reductions import case_splits
from spacelang.reductions.case_splits import (
    Case,
    CaseSplit,
    GuardedParts,
    IndependentHyperparameter,
    RangeComparison,
    UnfoldedPart,
    UnfoldedParts,
    ValueSwitch,
)
from spacelang.reductions.quantile_reduction import QuantileReduction
from spacelang.reductions.space_questions import DrawnPiece, FixedPiece, Questions
from spacelang.targets._exports import python_expression_tree as py
from spacelang.targets._exports.python_conditions import ConditionTextWriter
from spacelang.targets._lowering import FormWithTextRepr
from spacelang.targets._text_and_dot import digraph, quote_dot, wrap_words
from spacelang.text import count_with_noun


class LibraryFunctionForm(FormWithTextRepr, ABC):
    """A compiled space whose choices and draws are expressed with the functions of a library."""

    def __init__(self, named: Questions, reduction: QuantileReduction) -> None:
        """Store the questions of the reduced space; objects of the library are built when they are first used."""
        self.questions, self.reduction = named, reduction

    @abstractmethod
    def encode(self, configuration: Configuration) -> dict[str, Any]:
        """Return the encoding of a member for the library."""

    @abstractmethod
    def to_python(self) -> str:
        """Return the source of a module that needs nothing but the library."""

    @abstractmethod
    def sampling_function_names(self, part: CaseSplit | IndependentHyperparameter) -> str:
        """Return the names of the library functions that draw a part."""

    @cached_property
    def default(self) -> dict[str, Any]:
        """The encoding of the default configuration, or of the valid one nearest to it."""
        return self.encode(self.reduction.decode(self.questions.default))

    def to_json(self) -> dict[str, object]:
        """Return a JSON document with numbered parts, the numbers of the outermost parts, and the Python module.

        Each case has the numbers of the parts inside it.
        """
        numbers = {id(part): number for number, part in enumerate(self.questions.every_unfolded_part)}
        return {
            "products": self.questions.product_count,
            "root": [numbers[id(part)] for part in self.questions.parts],
            "parts": [self._part_to_json(part, numbers) for part in self.questions.every_unfolded_part],
            **self.additional_json_keys(),
            "python": self.to_python(),
        }

    def additional_json_keys(self) -> dict[str, object]:
        """Return the keys that a subclass adds to the JSON document; by default, the default encoding."""
        return {"default": self.default}

    def to_text(self) -> str:
        """Return the parts as a text tree; a part that occurs in several places is expanded once."""
        return "\n".join([self._title, *self._part_lines(self.questions.parts, "", set())])

    def to_dot(self) -> str:
        """Return a DOT graph with a node for each part and an edge for each case that leads to it."""
        numbers = {id(part): f"p{number}" for number, part in enumerate(self.questions.every_unfolded_part)}
        edges = [f"root -> {numbers[id(part)]}" for part in self.questions.parts]
        nodes = ['root [label="", shape=point]']
        for part in self.questions.every_unfolded_part:
            shape = ", shape=plaintext" if isinstance(part, IndependentHyperparameter) else ""
            own = numbers[id(part)]
            nodes.append(f"{own} [label={quote_dot(self._part_title(part))}{shape}]")
            for place, (label, inside) in enumerate(self._labelled_cases(part)):
                words = quote_dot(label)
                edges += [f"{own} -> {numbers[id(inner)]} [label={words}]" for inner in inside]
                if not inside:
                    nodes.append(f"{own}_{place} [label={words}, shape=plaintext]")
                    edges.append(f"{own} -> {own}_{place}")
        return digraph(self.questions.space.name, self._title, [*nodes, *edges])

    @cached_property
    def _condition_text(self) -> ConditionTextWriter:
        return ConditionTextWriter(self.questions.space, self.questions.names)

    @property
    def _title(self) -> str:
        draws = sum(1 for _ in self.questions.drawn_pieces())
        forks, drawn = count_with_noun(len(self.questions.forks), "choice"), count_with_noun(draws, "hyperparameter")
        products = count_with_noun(self.questions.product_count, "product")
        return f"{self.questions.space.name}: {forks}, {drawn}, {products} of independent hyperparameters"

    def _part_to_json(self, part: UnfoldedPart, numbers: Mapping[int, int]) -> dict[str, object]:
        node = None if isinstance(part, GuardedParts | RangeComparison) else part.node
        address = {} if node is None else {"address": node.address, "key": node.key}
        if isinstance(part, IndependentHyperparameter):
            asked = [*self.questions.draws[id(part)].questions]
            said = {"domain": describe(part.domain), "as": self.sampling_function_names(part)}
            return {"kind": "hyperparameter", **address, "names": asked, **said}
        labelled = self._labelled_cases(part)
        cases = [{"case": label, "parts": [numbers[id(inner)] for inner in inside]} for label, inside in labelled]
        return {"kind": _kind(part), **address, "name": self.questions.forks.get(id(part)), "cases": cases}

    def _labelled_cases(self, part: UnfoldedPart) -> list[tuple[str, UnfoldedParts]]:
        """Return the label of each case of a part, with the parts inside it; nothing for a part without cases."""
        match part:
            case CaseSplit():
                return [(case_label(part, case), case.parts) for case in part.cases]
            case ValueSwitch():
                return [(describe(case.domain), case.parts) for case in part.cases if case.domain is not None]
            case GuardedParts():
                return [("true", part.parts)]
            case _:
                return []

    def _part_lines(self, several: UnfoldedParts, indent: str, seen: set[int]) -> Iterator[str]:
        for part in several:
            mark, deeper = ("└─ ", "   ") if part is several[-1] else ("├─ ", "│  ")
            is_again = id(part) in seen and any(inside for _, inside in self._labelled_cases(part))
            yield f"{indent}{mark}{self._part_title(part)}{', as above' * is_again}"
            if not is_again:
                seen.add(id(part))
                yield from self._case_lines(part, indent + deeper, seen)

    def _case_lines(self, part: UnfoldedPart, indent: str, seen: set[int]) -> Iterator[str]:
        labelled = self._labelled_cases(part)
        if isinstance(part, GuardedParts) or len(labelled) == 1:
            yield from self._part_lines(labelled[0][1], indent, seen)
            return
        plain: list[str] = []
        for place, (label, inside) in enumerate(labelled):
            if not inside:
                plain.append(f"• {label}")
                continue
            yield from wrap_words(plain, indent, indent)
            plain = []
            yield f"{indent}• {label}"
            # Do not repeat a value that the label of the case already shows.
            shown = (
                inner for inner in inside if not (isinstance(part, CaseSplit) and self._is_implied(inner, part, place))
            )
            yield from self._part_lines(tuple(shown), indent + "  ", seen)
        yield from wrap_words(plain, indent, indent)

    def _is_implied(self, part: UnfoldedPart, fork: CaseSplit, place: int) -> bool:
        """Return True if a part has a single value, which the label of the case at index `place` already shows."""
        if not isinstance(part, IndependentHyperparameter) or part.domain != fork.cases[place].domain:
            return False
        return all(isinstance(piece, FixedPiece) for piece in self.questions.draws[id(part)].pieces)

    def _part_title(self, part: UnfoldedPart) -> str:
        match part:
            case GuardedParts():
                return f"if {self._condition_text.text(part.condition)}"
            case ValueSwitch():
                return f"by {self.questions.names.name_of(part.node)}"
            case RangeComparison():
                raise TypeError("comparisons of ranges must be replaced before a form is shown")
            case CaseSplit() | IndependentHyperparameter():
                name = self.questions.forks.get(id(part), self.questions.base_name(part))
        if isinstance(part, CaseSplit):
            if len(part.cases) == 1:
                return f"{name} = {case_label(part, part.cases[0])}"
            return f"{name}: {self.sampling_function_names(part)}"
        is_drawn = any(isinstance(piece, DrawnPiece) for piece in self.questions.draws[id(part)].pieces)
        return f"{name} : {describe(part.domain)}" + (f"   {self.sampling_function_names(part)}" if is_drawn else "")


def _kind(part: UnfoldedPart) -> str:
    """Return the kind of a part in JSON documents: `guard`, `switch`, `decision`, or `case` for other case splits."""
    if isinstance(part, GuardedParts | ValueSwitch):
        return "guard" if isinstance(part, GuardedParts) else "switch"
    is_decision = isinstance(part, CaseSplit) and part.node is not None and not isinstance(part.node, Hyperparameter)
    return "decision" if is_decision else "case"


def case_label(fork: CaseSplit, case: Case) -> str:
    """Return the label of a case of a case split: its branch or its domain, or `inactive` if it has neither.

    The cases of a case split without a variable are called `way 1`, `way 2`, and so on.
    """
    if case.branch is not None:
        return case.branch
    if case.domain is not None:
        return describe(case.domain)
    return f"way {fork.cases.index(case) + 1}" if fork.node is None else "inactive"


ChoiceCode: TypeAlias = Callable[[str, Sequence[py.Code], Sequence[float] | None], py.Code]
"""Makes code that chooses an option: takes the name of the choice, the options, and their shares unless equal."""
SwitchCode: TypeAlias = Callable[[ValueSwitch, Sequence[py.Code]], py.Code]
"""Makes code that takes the option of a switch."""
FLATTEN_SOURCE: Final = '''\
def flattened(sample):
    """Return the values of a sample, in which every choice may add a nested dictionary."""
    found = {}
    for name, value in sample.items():
        found.update(flattened(value) if isinstance(value, dict) else {name: value})
    return found'''
"""The source of `flattened` for generated modules, which do not import spacelang."""


def flattened(sample: Mapping[str, object]) -> dict[str, Value]:
    """Return the entries of a sample in one dictionary; in the sample, each choice may add a nested dictionary."""
    found: dict[str, Value] = {}
    for name, value in sample.items():
        found.update(flattened(value) if isinstance(value, dict) else {name: value})  # type: ignore[dict-item]
    return found


class NestedCodeGenerator:
    """A converter of parts into the code of nested dictionaries, as libraries with nested choices take them.

    An option of a choice is a dictionary of what its case adds, or a plain value if that is all. Guards are ignored: a
    hyperparameter inside a guard is always an entry, with its name in `entry_names`.
    """

    def __init__(
        self,
        named: Questions,
        choice: ChoiceCode,
        draw: Callable[[IndependentHyperparameter], py.Code],
        switch: SwitchCode | None = None,
        entry_names: Mapping[str, str] | None = None,
    ) -> None:
        self._named, self._choice, self._draw, self._switch = named, choice, draw, switch
        self._entry_names = {} if entry_names is None else entry_names
        self._known: dict[int, py.Code] = {}

    def entries(self, several: UnfoldedParts, first: Sequence[tuple[str, py.Code]] = ()) -> py.DictNode:
        """Return the code of a dictionary with the entries of sibling parts, after those in `first`."""
        settled, open_parts = _split_settled(_without_guards(several))
        found: dict[str, py.Code] = {**dict(first), **dict(settled)}
        taken = {*found, *(self._key(part) for part in open_parts)}
        for part in open_parts:
            if (key := self._key(part)) is None:
                # The options are dictionaries, so the name carries no meaning; it only has to be unique.
                key = self._name(part)
                while key in taken:
                    key += "'"
                taken.add(key)
            found[key] = self._part_code(part)
        return py.DictNode(tuple(found.items()))

    def _name(self, part: UnfoldedPart) -> str:
        match part:
            case ValueSwitch():
                return f"by {self._named.names.name_of(part.node)}"
            case _:
                return self._named.forks[id(part)]

    def _key(self, part: UnfoldedPart) -> str | None:
        """Return the key under which a part must be an entry, or None if its entry may have any key.

        The entry may have any key if its options are dictionaries, which are flattened later.
        """
        if not isinstance(part, CaseSplit | IndependentHyperparameter):
            return None
        if isinstance(part, IndependentHyperparameter):
            return self._entry_names.get(part.node.address, part.node.key)
        return part.node.key if part.node is not None and self._named.names.has_unique_key(part.node) else None

    def _part_code(self, part: UnfoldedPart) -> py.Code:
        if id(part) not in self._known:
            self._known[id(part)] = self._new_code(part)
        return self._known[id(part)]

    def _new_code(self, part: UnfoldedPart) -> py.Code:
        match part:
            case IndependentHyperparameter():
                return self._draw(part)
            case CaseSplit():
                options = [self._option_code(part, case) for case in part.cases]
                return self._choice(
                    self._named.forks[id(part)], options, self._named.case_weights.case_probabilities(part)
                )
            case ValueSwitch():
                assert self._switch is not None
                return self._switch(part, [self.entries(case.parts) for case in part.cases])
            case RangeComparison() | GuardedParts():
                raise TypeError("comparisons of ranges and guards must be replaced before code is written")

    def _option_code(self, fork: CaseSplit, case: Case) -> py.Code:
        option = self.entries(case.parts, _branch(fork, case))
        match option.items:
            case ((key, value),) if key == self._key(fork):
                return value
            case _:
                return option


def _without_guards(several: UnfoldedParts) -> UnfoldedParts:
    """Return sibling parts with the contents of guards in place of the guards."""
    return tuple(inner for part in several for inner in (part.parts if isinstance(part, GuardedParts) else (part,)))


def _split_settled(several: UnfoldedParts) -> tuple[list[tuple[str, py.Code]], list[UnfoldedPart]]:
    """Return the entries that need no choice, and the parts that are left.

    A case split with only one case is replaced by the content of this case.
    """
    said: list[tuple[str, py.Code]] = []
    left: list[UnfoldedPart] = []
    for part in several:
        if isinstance(part, CaseSplit) and len(part.cases) == 1:
            inner, others = _split_settled(_without_guards(part.cases[0].parts))
            said += [*_branch(part, part.cases[0]), *inner]
            left += others
        else:
            left.append(part)
    return said, left


def _branch(fork: CaseSplit, case: Case) -> list[tuple[str, py.Code]]:
    if not isinstance(fork.node, Choice) or case.branch is None:
        return []
    return [(fork.node.key, py.LiteralNode(case.branch))]


Entry: TypeAlias = tuple[str, IndependentHyperparameter | tuple[str, ...]]
"""A key, with an independent hyperparameter or with the branches that a decision may take."""
Dictionary: TypeAlias = tuple[Entry, ...]


def group_cases(fork: CaseSplit) -> list[tuple[tuple[Entry, ...], UnfoldedParts]]:
    """Return pairs of entries and inner parts: one for all branches of a decision with the same inner parts.

    Any other case is a pair without entries.
    """
    others: list[tuple[tuple[Entry, ...], UnfoldedParts]] = [
        ((), case.parts) for case in fork.cases if case.branch is None
    ]
    together: dict[tuple[int, ...], tuple[list[str], UnfoldedParts]] = {}
    for case in fork.cases:
        if case.branch is not None:
            branches, _ = together.setdefault(tuple(map(id, case.parts)), ([], case.parts))
            branches.append(case.branch)
    key = fork.node.key if fork.node is not None else ""
    return [*others, *((((key, tuple(names)),), parts) for names, parts in together.values())]


def count_dictionaries(parts: UnfoldedParts) -> int:
    """Return the number of results of `iter_dictionaries`, without making them."""
    return case_splits.count_combinations(parts, lambda fork: (inner for _, inner in group_cases(fork)))


def iter_dictionaries(parts: UnfoldedParts) -> Iterator[Dictionary]:
    """Yield the parameter dictionaries, as entries, whose products together are all configurations of the parts."""
    for ways in product(*(_part_dictionaries(part) for part in parts)):
        yield tuple(entry for way in ways for entry in way)


def _part_dictionaries(part: UnfoldedPart) -> list[Dictionary]:
    match part:
        case IndependentHyperparameter():
            return [((part.node.key, part),)]
        case CaseSplit():
            return [(*own, *inner) for own, parts in group_cases(part) for inner in iter_dictionaries(parts)]
        case RangeComparison() | GuardedParts() | ValueSwitch():
            raise TypeError("only case splits and hyperparameters can be entries of a parameter dictionary")
