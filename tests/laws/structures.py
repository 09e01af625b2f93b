"""Random pipelines of abstract operators that use every form of structure, each with its meaning worked out here.

What a pipeline means is put together from its parts as REFERENCE.md describes them: a set of configurations for every
part, and rules for names; nothing of the compiler is used.
"""

from dataclasses import dataclass, field
from functools import cache
from itertools import permutations, product
from typing import Any, Literal

from hypothesis import assume
from hypothesis import strategies as st

LARGEST = 150
"""The most configurations of a pipeline."""

Document = dict[str, Any]
Meaning = list[Document]
"""Every configuration of a part: what it decides and which values it has, by key."""

OPERATORS: dict[str, dict[str, tuple[str, tuple[Any, ...]]]] = {
    "Apple": {},
    "Berry": {"size": ("int[1, 2]", (1, 2))},
    "Cherry": {"ripe": ("bool", (True, False))},
    "Date": {"size": ("int[1, min(2, n_features)]", (1, 2))},
}
"""The operators with their parameters; two of them share one by `include`."""

HEADER = """\
space drawn
params sized { size : int[1, 2] }
abstract Apple
abstract Berry { include sized }
abstract Cherry { ripe : bool }
abstract Date { include sized, size : int[1, min(2, n_features)] }
"""


@dataclass(frozen=True)
class Use:
    """An operator or a stage by its name."""

    name: str
    alias: str = ""


@dataclass(frozen=True)
class Nothing:
    """`none`."""


@dataclass(frozen=True)
class Joined:
    """Parts joined by a sign, perhaps in brackets with a name."""

    sign: Literal["|", "->", "&"]
    parts: tuple["Part", ...]
    alias: str = ""


@dataclass(frozen=True)
class Maybe:
    """A part with a question mark."""

    part: "Part"
    alias: str = ""


@dataclass(frozen=True)
class Columns:
    """Parts for columns."""

    parts: tuple[tuple[str, "Part"], ...]


@dataclass(frozen=True)
class Permute:
    """Steps in every order."""

    parts: tuple["Part", ...]


Part = Use | Nothing | Joined | Maybe | Columns | Permute


# ---- drawing

_SELECTORS = ("numeric", "categorical", '"^x"', "rest")


@cache
def parts(stages: tuple[str, ...], depth: int = 2) -> st.SearchStrategy[Part]:
    """A structure over the operators and some stages."""
    names = st.sampled_from([*OPERATORS, *stages, *stages])
    leaf: st.SearchStrategy[Part] = names.map(Use)
    if depth == 0:
        return leaf
    inner = parts(stages, depth - 1)
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    alias = st.sampled_from(("", "", "", f"named{depth}"))
    return st.one_of(
        leaf,
        leaf,
        st.builds(Joined, st.sampled_from(("|", "->", "&")), several, alias),
        st.builds(Joined, st.just("|"), several, alias),
        st.builds(Maybe, inner, alias),
        st.lists(inner, min_size=1, max_size=2).map(lambda found: Columns(tuple(zip(_SELECTORS, found, strict=False)))),
        several.map(Permute),
        st.just(Nothing()),
    )


@dataclass
class Drawn:
    """A text, its configurations, and how many structures they have."""

    text: str
    members: Meaning

    @property
    def structures(self) -> int:
        """The configurations that differ in more than values: those are numbers and truth values here."""
        return len({tuple(sorted((k, v) for k, v in m.items() if isinstance(v, str))) for m in self.members})


@st.composite
def drawings(draw: st.DrawFn) -> Drawn:
    """A text with a pipeline line, or with stages alone."""
    stages: dict[str, Part] = {"first": draw(parts(()))}
    stages["second"] = draw(parts(("first",)))
    if draw(st.booleans()):
        pipeline: Part | None = draw(parts(("first", "second"), 3))
    else:
        pipeline = None
    stages = dict(draw(st.permutations([*stages.items()])))
    reader = _Reader(stages)
    members = reader.pipeline(pipeline)
    assume(not reader.is_faulty and not reader.is_empty and len(members) <= LARGEST)
    lines = [f"stage {name} = {text(part)}" for name, part in stages.items()]
    if pipeline is not None:
        lines.insert(draw(st.integers(0, len(lines))), f"pipeline = {text(pipeline)}")
    return Drawn(HEADER + "\n".join(lines) + "\n", members)


# ---- text


def text(part: Part) -> str:
    """A part as it is written where nothing is joined to it."""
    written = title(part, bracketed=True)
    return f"({written}) as {part.alias}" if isinstance(part, Joined | Maybe) and part.alias else written


def title(part: Part, *, bracketed: bool = False) -> str:
    """A part as it is written; it is also what an alternative without a name of its own is called."""
    match part:
        case Use():
            return f"{part.name} as {part.alias}" if part.alias else part.name
        case Nothing():
            return "none"
        case Maybe():
            return f"{_within(part.part, bracketed=bracketed)}?"
        case Joined():
            return f" {part.sign} ".join(_within(inner, bracketed=bracketed) for inner in part.parts)
        case Columns():
            inside = (f"{selector}: {_whole(inner, bracketed)}" for selector, inner in part.parts)
            return f"columns({', '.join(inside)})"
        case Permute():
            return f"permute({', '.join(_whole(inner, bracketed) for inner in part.parts)})"


def _whole(part: Part, bracketed: bool) -> str:
    """A part between commas."""
    if isinstance(part, Joined | Maybe) and part.alias:
        return f"({title(part, bracketed=True)}) as {part.alias}" if bracketed else part.alias
    return title(part, bracketed=bracketed)


def _within(part: Part, *, bracketed: bool) -> str:
    """A part that something is joined to: in brackets wherever it is more than a name."""
    if isinstance(part, Joined | Maybe) and part.alias:
        return f"({title(part, bracketed=True)}) as {part.alias}" if bracketed else part.alias
    written = title(part, bracketed=bracketed)
    return f"({written})" if isinstance(part, Joined | Maybe) else written


# ---- meaning


@dataclass
class _Spot:
    """What keys begin with, and the names that are taken."""

    prefix: str = ""
    taken: set[str] = field(default_factory=set)

    def inside(self, name: str) -> str:
        return f"{self.prefix}.{name}" if self.prefix else name


class _Reader:
    """Works out configurations; what would be reported as a mistake makes it faulty."""

    def __init__(self, stages: dict[str, Part]) -> None:
        self.stages = stages
        self.top = _Spot()
        self.is_faulty = False
        self.is_empty = True

    def pipeline(self, part: Part | None) -> Meaning:
        if part is not None:
            found, is_empty = self.meaning(part, self.top), self.is_empty
            for name in self.stages:
                if name not in self.top.taken:  # left out, and read all the same
                    self.stage(name, "")
            self.is_empty = is_empty
            return found
        inner = {name for stage in self.stages.values() for name in _names(stage)}
        return _all(self.stage(name, "") for name in self.stages if name not in inner)

    def meaning(self, part: Part, spot: _Spot) -> Meaning:
        match part:
            case Nothing():
                return [{}]
            case Use():
                if part.name in self.stages:
                    return self.stage(part.name, part.alias)
                return self.operator(part.name, spot.inside(self.called(part.name, part.alias, spot)))
            case Maybe() | Joined(sign="|"):
                called = self.called(self.free("choice", spot), part.alias, spot)
                return self.choice(part, spot.inside(called))
            case Joined():
                within = spot
                if part.alias:
                    within = _Spot(spot.inside(self.called("", part.alias, spot)))
                return _all(self.meaning(inner, within) for inner in part.parts)
            case Columns():
                return _all(self.meaning(inner, spot) for _, inner in part.parts)
            case Permute():
                key = spot.inside(self.called("order", "", spot))
                labels = _apart([_whole(inner, False) for inner in part.parts])
                orders: Meaning = [{key: ", ".join(order)} for order in permutations(labels)]
                return _all([orders, *(self.meaning(inner, spot) for inner in part.parts)])

    def stage(self, name: str, alias: str) -> Meaning:
        return self.choice(self.stages[name], self.called(name, alias, self.top), is_named=False)

    def choice(self, part: Part, key: str, *, is_named: bool = True) -> Meaning:
        """A decision; where the name of the part is already that of the decision, it names no alternative."""
        alternatives = _alternatives(part, is_named=is_named)
        names = [name for name, _, _ in alternatives]
        self.is_faulty |= len(set(names)) < len(names)
        found: Meaning = []
        for name, inner, alias in alternatives:
            found.extend({key: name} | document for document in self.branch(inner, alias, key))
        return found

    def branch(self, part: Part, alias: str, key: str) -> Meaning:
        """An alternative: a single operator has its hyperparameters right below the decision."""
        if isinstance(part, Use) and part.name not in self.stages:
            return self.operator(part.name, key)
        spot = _Spot(key)
        if alias and isinstance(part, Maybe | Joined):
            if isinstance(part, Joined) and part.sign != "|":
                return _all(self.meaning(inner, spot) for inner in part.parts)
            spot.taken.add(alias)
            return self.choice(part, spot.inside(alias))
        return self.meaning(part, spot)

    def operator(self, name: str, place: str) -> Meaning:
        self.is_empty = False
        parameters = OPERATORS[name]
        keys = [f"{place}.{parameter}" for parameter in parameters]
        values = [values for _, values in parameters.values()]
        return [dict(zip(keys, chosen, strict=True)) for chosen in product(*values)]

    def called(self, wanted: str, alias: str, spot: _Spot) -> str:
        if alias:
            self.is_faulty |= alias in spot.taken
            spot.taken.add(alias)
            return alias
        called = _numbered(wanted, spot.taken, set(self.stages))
        spot.taken.add(called)
        return called

    def free(self, word: str, spot: _Spot) -> str:
        number = 1
        while f"{word}_{number}" in spot.taken:
            number += 1
        return f"{word}_{number}"


def _numbered(wanted: str, taken: set[str], reserved: set[str]) -> str:
    called, number = wanted, 1
    while called in taken or (number > 1 and called in reserved):
        number += 1
        called = f"{wanted}_{number}"
    return called


def _apart(labels: list[str]) -> list[str]:
    found: list[str] = []
    for label in labels:
        found.append(_numbered(label, set(found), set()))
    return found


def _alternatives(part: Part, *, is_named: bool) -> list[tuple[str, Part, str]]:
    """The alternatives of a decision with their names; `|` and `?` without a name of their own are parts of it."""
    found: list[tuple[str, Part, str]] = []
    optional = False
    waiting: list[Part | None] = [part]
    while waiting:
        inner = waiting.pop(0)
        opens = (inner is part and is_named) or (isinstance(inner, Joined | Maybe) and not inner.alias)
        match inner:
            case None if not optional:
                optional = True
                found.append(("none", Nothing(), ""))
            case None:
                continue
            case Maybe() if opens:
                waiting[:0] = [None, inner.part]
            case Joined(sign="|") if opens:
                waiting[:0] = [*inner.parts]
            case Joined() | Maybe():
                found.append((inner.alias or title(inner), inner, inner.alias))
            case Use():
                found.append((inner.alias or inner.name, inner, inner.alias))
            case _:
                found.append((title(inner), inner, ""))
    return found


def _names(part: Part) -> set[str]:
    match part:
        case Use():
            return {part.name}
        case Nothing():
            return set()
        case Maybe():
            return _names(part.part)
        case Joined() | Permute():
            return {name for inner in part.parts for name in _names(inner)}
        case Columns():
            return {name for _, inner in part.parts for name in _names(inner)}


def _all(meanings: Any) -> Meaning:
    """Every way to take one of each."""
    found: Meaning = [{}]
    for meaning in meanings:
        found = [one | other for one in found for other in meaning]
        if len(found) > 50 * LARGEST:
            assume(False)
    return found
