"""The syntax tree: what an author wrote, every node with the span that it came from.

Trees are equal when they say the same: spans are left out of comparisons.
"""

from dataclasses import field
from typing import Literal, TypeAlias

from spacelang.facts import fact
from spacelang.text import Span


@fact
class Word:
    """One identifier, or a name in quotes or `ticked`: in backticks."""

    text: str
    span: Span = field(compare=False, repr=False)
    ticked: bool = field(default=False, compare=False, repr=False)


@fact
class Dotted:
    """Names joined by dots."""

    words: tuple[Word, ...]
    span: Span = field(compare=False, repr=False)

    @property
    def text(self) -> str:
        """The name as it is written, without quotes."""
        return ".".join(word.text for word in self.words)


# ---- values


@fact
class Number:
    """A number; `12` is an integer, `12.0` and `1e3` are not."""

    value: int | float
    span: Span = field(compare=False, repr=False)


@fact
class Text:
    """A string in quotes."""

    value: str
    span: Span = field(compare=False, repr=False)


@fact
class Keyword:
    """`true`, `false` or `none`."""

    value: bool | None
    span: Span = field(compare=False, repr=False)


@fact
class Tuple:
    """Values in parentheses."""

    items: tuple["Value", ...]
    span: Span = field(compare=False, repr=False)


@fact
class OperatorValue:
    """An operator with a body where a value stands."""

    name: Dotted
    body: "Body"
    span: Span = field(compare=False, repr=False)


Value: TypeAlias = Number | Text | Keyword | Tuple | Dotted | OperatorValue
"""A bare word is a `Dotted` of one word."""


@fact
class Annotation:
    """`@name(arguments)`: guides a search and never changes the set."""

    name: Word
    arguments: tuple[Value, ...]
    span: Span = field(compare=False, repr=False)


# ---- expressions


@fact
class Quantity:
    """A number with a unit, as the task block has them."""

    number: float
    unit: str
    span: Span = field(compare=False, repr=False)


@fact
class Binary:
    """Two expressions joined by a comparison or an arithmetic sign."""

    operator: str
    left: "Expression"
    right: "Expression"
    span: Span = field(compare=False, repr=False)


@fact
class Logical:
    """Expressions joined by `and` or by `or`."""

    operator: Literal["and", "or"]
    terms: tuple["Expression", ...]
    span: Span = field(compare=False, repr=False)


@fact
class Unary:
    """`not` or a minus sign before an expression."""

    operator: Literal["not", "-"]
    term: "Expression"
    span: Span = field(compare=False, repr=False)


@fact
class Membership:
    """`expression in {values}`."""

    item: "Expression"
    values: tuple[Value, ...]
    span: Span = field(compare=False, repr=False)


@fact
class IsTest:
    """`decision is Operator`; `None` stands for `none`."""

    decision: "Expression"
    operator: Dotted | None
    span: Span = field(compare=False, repr=False)


@fact
class FunctionCall:
    """A function of expressions."""

    function: Word
    arguments: tuple["Expression", ...]
    span: Span = field(compare=False, repr=False)


Expression: TypeAlias = (
    Number | Text | Keyword | Dotted | Tuple | Quantity | Binary | Logical | Unary | Membership | IsTest | FunctionCall
)


# ---- structure


@fact
class Nothing:
    """`none`: the step is left out."""

    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False, repr=False)


@fact
class Operator:
    """A class, a stage or an abstract operator by its name, perhaps with a body and another name for it."""

    name: Dotted
    alias: Word | None
    body: "Body | None"
    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False, repr=False)


@fact
class Joined:
    """Structures joined by `|` (one of them), `->` (in sequence) or `&` (side by side)."""

    sign: Literal["|", "->", "&"]
    parts: tuple["Structure", ...]
    span: Span = field(compare=False, repr=False)


@fact
class Maybe:
    """`A?`: it or nothing."""

    part: "Structure"
    span: Span = field(compare=False, repr=False)


@fact
class Parenthesised:
    """A structure in parentheses."""

    part: "Structure"
    alias: Word | None
    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False, repr=False)


@fact
class Columns:
    """`columns(selector: structure, ...)`."""

    parts: tuple[tuple[Word | Text, "Structure"], ...]
    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False, repr=False)


@fact
class Permute:
    """`permute(a, name: b, ...)`: every order of the steps; `labels` is empty where no step has one."""

    parts: tuple["Structure", ...]
    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False, repr=False)
    labels: tuple[Word | None, ...] = ()


Structure: TypeAlias = Nothing | Operator | Joined | Maybe | Parenthesised | Columns | Permute


# ---- domains and bodies


@fact
class Range:
    """`float[a, b]` or `int(a, b]` with its modifiers."""

    kind: Literal["float", "int"]
    lower: Expression
    upper: Expression
    lower_open: bool
    upper_open: bool
    log: Word | None
    step: Expression | None
    span: Span = field(compare=False, repr=False)


@fact
class Booleans:
    """`bool`."""

    span: Span = field(compare=False, repr=False)


@fact
class Values:
    """`{a, b}` or `ordered {a, b}`."""

    values: tuple[Value, ...]
    ordered: bool
    span: Span = field(compare=False, repr=False)


@fact
class UnionDomain:
    """Domains joined by `|`."""

    parts: tuple["Domain", ...]
    span: Span = field(compare=False, repr=False)


Domain: TypeAlias = Range | Booleans | Values | UnionDomain | Nothing | Operator | Parenthesised
"""The last three are structures as values: a nested decision."""


@fact
class Parameter:
    """`name : domain = default when condition @annotations`."""

    name: Word
    domain: Domain
    default: Value | Expression | None
    condition: Expression | None
    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False, repr=False)


@fact
class Fixed:
    """`name = value when condition`."""

    name: Word
    value: Value | Expression
    span: Span = field(compare=False, repr=False)
    condition: Expression | None = None


@fact
class Include:
    """`include name`."""

    name: Dotted
    span: Span = field(compare=False, repr=False)


@fact
class Rule:
    """`forbid E` or `require E`."""

    forbidden: bool
    expression: Expression
    span: Span = field(compare=False, repr=False)


Member: TypeAlias = Parameter | Fixed | Include | Rule


@fact
class Body:
    """The members between braces."""

    members: tuple[Member, ...]
    span: Span = field(compare=False, repr=False)


# ---- items


@fact
class SpaceName:
    """`space name "title"`."""

    name: Word
    title: Text | None
    span: Span = field(compare=False, repr=False)


@fact
class Import:
    """`import "file" as name`."""

    path: Text
    alias: Word | None
    span: Span = field(compare=False, repr=False)


@fact
class Use:
    """`use catalogue`."""

    name: Dotted
    span: Span = field(compare=False, repr=False)


@fact
class Params:
    """`params name { ... }`."""

    name: Word
    body: Body
    span: Span = field(compare=False, repr=False)


@fact
class Abstract:
    """`abstract name { ... }`."""

    name: Word
    body: Body | None
    span: Span = field(compare=False, repr=False)


@fact
class Stage:
    """`stage name = structure`."""

    name: Word
    annotations: tuple[Annotation, ...]
    structure: Structure
    span: Span = field(compare=False, repr=False)


@fact
class Pipeline:
    """`pipeline = structure`."""

    structure: Structure
    span: Span = field(compare=False, repr=False)


@fact
class Setting:
    """One line of a task block: its keyword and what follows it."""

    keyword: str
    arguments: tuple[Expression | Word, ...]
    span: Span = field(compare=False, repr=False)


@fact
class Task:
    """`task kind { ... }`."""

    kind: Word
    settings: tuple[Setting, ...]
    span: Span = field(compare=False, repr=False)


Item: TypeAlias = SpaceName | Import | Use | Params | Abstract | Stage | Pipeline | Rule | Task


@fact
class File:
    """A whole file."""

    items: tuple[Item, ...]
    span: Span = field(compare=False, repr=False)
