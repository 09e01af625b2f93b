"""The parts of random texts of the whole language, with functions that write them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Value = Any


@dataclass(eq=False)
class Leaf:
    """A hyperparameter: its domain as text, and its values for so many features (None: not bound)."""

    name: str
    kind: Literal["number", "truth", "word"]
    text: str
    values: Any
    condition: "Expression | None" = None
    default: str = ""
    marks: str = ""


@dataclass(eq=False)
class Fixed:
    """A parameter that has a value."""

    name: str
    value: Value


@dataclass(eq=False)
class Nested:
    """A decision between structures as a value."""

    name: str
    part: "Part"


@dataclass(eq=False)
class Inside:
    """An operator as the only value of a parameter."""

    name: str
    use: "Use"


@dataclass(eq=False)
class Include:
    """The members of a group; its name begins with that of the file if it is in another one."""

    group: str


@dataclass(eq=False)
class Body:
    """What stands between braces."""

    members: list[Leaf | Fixed | Nested | Inside | Include] = field(default_factory=list)
    rules: list["Rule"] = field(default_factory=list)


@dataclass(eq=False)
class Use:
    """An operator, a stage or a file by its name."""

    name: str
    alias: str = ""
    body: Body | None = None
    marks: str = ""


@dataclass(eq=False)
class Nothing:
    """`none`."""

    alias = ""


@dataclass(eq=False)
class Joined:
    """Parts joined by a sign, perhaps in brackets with a name."""

    sign: Literal["|", "->", "&"]
    parts: list["Part"]
    alias: str = ""


@dataclass(eq=False)
class Maybe:
    """A part with a question mark."""

    part: "Part"
    alias: str = ""


@dataclass(eq=False)
class Columns:
    """Parts for columns."""

    parts: list[tuple[str, "Part"]]
    alias = ""


@dataclass(eq=False)
class Permute:
    """Steps in every order."""

    parts: list["Part"]
    alias: str = ""


@dataclass(eq=False)
class Repeat:
    """A chain of a stage, by its name."""

    name: str
    least: int
    most: int
    alias: str = ""


Part = Use | Nothing | Joined | Maybe | Columns | Permute | Repeat


# ---- expressions: names as they are written, and what they stand for is found where they stand


@dataclass(frozen=True)
class Compare:
    """Two sides, which are numbers, words, names or sums of these."""

    left: "Side"
    sign: str
    right: "Side"


@dataclass(frozen=True)
class Name:
    """A hyperparameter as it is called at a place."""

    text: str


@dataclass(frozen=True)
class Constant:
    """A value."""

    value: Value


@dataclass(frozen=True)
class Symbol:
    """How many features the data has."""


@dataclass(frozen=True)
class Sum:
    """Two numbers joined by a sign."""

    left: "Side"
    sign: Literal["+", "-", "*"]
    right: "Side"


Side = Name | Constant | Symbol | Sum


@dataclass(frozen=True)
class Truth:
    """A hyperparameter that is true or false."""

    name: Name


@dataclass(frozen=True)
class Among:
    """A hyperparameter that has one of these values."""

    name: Name
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Is:
    """A decision that takes one of these alternatives."""

    decision: str
    alternatives: tuple[str, ...]


@dataclass(frozen=True)
class Count:
    """A comparison of the number of members of the lists of a decision."""

    decision: str
    sign: str
    number: int


@dataclass(frozen=True)
class Not:
    """What does not hold."""

    term: "Expression"


@dataclass(frozen=True)
class Both:
    """Two conditions joined by a word."""

    left: "Expression"
    word: Literal["and", "or"]
    right: "Expression"


Expression = Compare | Truth | Among | Is | Count | Not | Both


@dataclass(frozen=True)
class Rule:
    """A constraint."""

    forbidden: bool
    expression: Expression


# ---- files


@dataclass
class File:
    """A file: what it declares, and the line that puts the pipeline together."""

    name: str
    stages: dict[str, Part] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    groups: dict[str, Body] = field(default_factory=dict)
    abstracts: dict[str, Body | None] = field(default_factory=dict)
    imports: dict[str, "File"] = field(default_factory=dict)
    pipeline: Part | None = None
    rules: list[Rule] = field(default_factory=list)
    task: str = ""

    def home(self, name: str) -> tuple["File", str]:
        """The file that declares a name, and what it is called there."""
        first, _, rest = name.partition(".")
        return (self.imports[first], rest) if rest and first in self.imports else (self, name)

    @property
    def text(self) -> str:
        """The file as it is written."""
        lines = [f"space {self.name}"]
        lines += [f'import "{other.name}.space" as {alias}' for alias, other in self.imports.items()]
        lines += [f"params {name} {braces(body)}" for name, body in self.groups.items()]
        for name, body in self.abstracts.items():
            lines.append(f"abstract {name}" + ("" if body is None else f" {braces(body)}"))
        lines += [f"stage {name}{self.marks.get(name, '')} = {whole(part)}" for name, part in self.stages.items()]
        if self.pipeline is not None:
            lines.insert(len(lines) // 2 + 1, f"pipeline = {whole(self.pipeline)}")
        return "\n".join([*lines, *map(rule, self.rules), self.task]) + "\n"


def braces(body: Body) -> str:
    """A body with its braces."""
    return "{ " + ", ".join([*map(member, body.members), *map(rule, body.rules)]) + " }"


def member(written: Leaf | Fixed | Nested | Inside | Include) -> str:
    """A member of a body."""
    match written:
        case Leaf():
            when = "" if written.condition is None else f" when {expression(written.condition)}"
            return f"{written.name} : {written.text}{written.default}{written.marks}{when}"
        case Fixed():
            return f"{written.name} = {literal(written.value)}"
        case Nested():
            between = written.part.parts if _is_choice(written.part) else [written.part]
            return f"{written.name} : " + " | ".join(map(_as_value, between))
        case Inside():
            return f"{written.name} = {whole(written.use)}"
        case Include():
            return f"include {written.group}"


def _is_choice(part: Part) -> bool:
    return isinstance(part, Joined) and part.sign == "|" and not part.alias


def _as_value(part: Part) -> str:
    written = whole(part)
    return written if isinstance(part, Use | Nothing) or (written.startswith("(") and part.alias) else f"({written})"


def rule(written: Rule) -> str:
    """A constraint."""
    return f"{'forbid' if written.forbidden else 'require'} {expression(written.expression)}"


# ---- structures


def title(part: Part) -> str:
    """What a part is called where it has no name of its own: itself, without bodies."""
    return _alone(part, is_title=True)


def whole(part: Part) -> str:
    """A part where nothing is joined to it."""
    return _alone(part, is_title=False)


def _written(part: Part, *, is_title: bool) -> str:
    match part:
        case Use() if is_title:
            return part.alias or part.name
        case Use():
            alias = f" as {part.alias}" if part.alias else ""
            return f"{part.name}{alias}" + ("" if part.body is None else f" {braces(part.body)}") + part.marks
        case Nothing():
            return "none"
        case Maybe():
            return f"{_within(part.part, is_title=is_title)}?"
        case Joined():
            return f" {part.sign} ".join(_within(inner, is_title=is_title) for inner in part.parts)
        case Columns():
            return f"columns({_listed((f'{s}: ', inner) for s, inner in part.parts)(is_title)})"
        case Permute():
            return f"permute({_listed(('', inner) for inner in part.parts)(is_title)})"
        case Repeat():
            return f"repeat({part.name}, {part.least}, {part.most})"


def _listed(parts: Iterable[tuple[str, Part]]) -> Any:
    return lambda is_title: ", ".join(f"{before}{_alone(inner, is_title=is_title)}" for before, inner in parts)


def _alone(part: Part, *, is_title: bool) -> str:
    if isinstance(part, Use) or not part.alias:
        return _written(part, is_title=is_title)
    return part.alias if is_title else f"({_written(part, is_title=False)}) as {part.alias}"


def _within(part: Part, *, is_title: bool) -> str:
    """A part that something is joined to: in brackets wherever it is more than a name."""
    is_joined_by = isinstance(part, Joined | Maybe) and not part.alias
    written = _alone(part, is_title=is_title)
    return f"({written})" if is_joined_by else written


# ---- expressions


def expression(written: Expression) -> str:
    """An expression in which whatever is joined stands in brackets."""
    match written:
        case Compare():
            return f"{_side(written.left)} {written.sign} {_side(written.right)}"
        case Truth():
            return written.name.text
        case Among():
            return f"{written.name.text} in {{{', '.join(map(literal, written.values))}}}"
        case Is(alternatives=(only,)):
            return f"{written.decision} {'==' if only.isdecimal() else 'is'} {only}"
        case Is():
            return f"{written.decision} in {{{', '.join(written.alternatives)}}}"
        case Count():
            return f"count({written.decision}) {written.sign} {written.number}"
        case Not():
            return f"not ({expression(written.term)})"
        case Both():
            return f"({expression(written.left)}) {written.word} ({expression(written.right)})"


def _side(side: Side) -> str:
    match side:
        case Name():
            return side.text
        case Constant():
            return literal(side.value)
        case Symbol():
            return "n_features"
        case Sum():
            return f"({_side(side.left)} {side.sign} {_side(side.right)})"


def literal(value: Value) -> str:
    """A value."""
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))},)"
    return {"True": "true", "False": "false", "None": "none"}.get(str(value), str(value))
