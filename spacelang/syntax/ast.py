"""The nodes of the syntax tree: the text as its author wrote it, with source spans, which comparisons ignore."""

from collections.abc import Iterator
from dataclasses import field
from typing import Literal, TypeAlias

from spacelang.frozen import frozen
from spacelang.text import Span


@frozen
class Word:
    """A single name: an identifier, a name in quotes, or a name in backticks (`ticked`).

    In expressions, an index belongs to the name: `hidden_layer_sizes[1]`, or `step[1]` for a use of a chain.
    """

    text: str
    span: Span = field(compare=False, repr=False)
    ticked: bool = field(default=False, compare=False, repr=False)


@frozen
class DottedName:
    """Names joined by dots."""

    words: tuple[Word, ...]
    span: Span = field(compare=False, repr=False)

    @property
    def text(self) -> str:
        """The whole name as it is written, without quotes."""
        return ".".join(word.text for word in self.words)


# ---- values


@frozen
class Number:
    """A number. `12` is an integer; `12.0` and `1e3` are floats."""

    value: int | float
    span: Span = field(compare=False, repr=False)


@frozen
class QuotedString:
    """A string in quotes."""

    value: str
    span: Span = field(compare=False, repr=False)


@frozen
class NamedConstant:
    """One of the constants `true`, `false` and `none`."""

    value: bool | None
    span: Span = field(compare=False, repr=False)


@frozen
class TupleLiteral:
    """Values in parentheses."""

    items: tuple["Value", ...]
    span: Span = field(compare=False, repr=False)


@frozen
class OperatorValue:
    """An operator with a body, used as a value."""

    name: DottedName
    body: "Body"
    span: Span = field(compare=False, repr=False)


Value: TypeAlias = Number | QuotedString | NamedConstant | TupleLiteral | DottedName | OperatorValue
"""A value. A bare word is a `DottedName` with a single word."""


@frozen
class Annotation:
    """An annotation `@name(arguments)`. It guides a search and never changes the set of configurations."""

    name: Word
    arguments: tuple[Value, ...]
    span: Span = field(compare=False, repr=False)


# ---- expressions


@frozen
class NumberWithUnit:
    """A number with a unit, as used in the task block."""

    number: float
    unit: str
    span: Span = field(compare=False, repr=False)


@frozen
class BinaryOperation:
    """Two expressions joined by a comparison, an arithmetic operator, or `implies`."""

    operator: str
    left: "Expression"
    right: "Expression"
    span: Span = field(compare=False, repr=False)


@frozen
class LogicalOperation:
    """Expressions joined by `and` or by `or`."""

    operator: Literal["and", "or"]
    terms: tuple["Expression", ...]
    span: Span = field(compare=False, repr=False)


@frozen
class UnaryOperation:
    """An expression preceded by `not` or a minus sign."""

    operator: Literal["not", "-"]
    term: "Expression"
    span: Span = field(compare=False, repr=False)


@frozen
class Membership:
    """A test `expression in {values}`."""

    item: "Expression"
    values: tuple[Value, ...]
    span: Span = field(compare=False, repr=False)


@frozen
class IsTest:
    """A test `decision is Operator`. The operator is `None` for the alternative `none`."""

    decision: "Expression"
    operator: DottedName | None
    span: Span = field(compare=False, repr=False)


@frozen
class FunctionCall:
    """A call of a function with expressions as arguments."""

    function: Word
    arguments: tuple["Expression", ...]
    span: Span = field(compare=False, repr=False)


Expression: TypeAlias = (
    Number
    | QuotedString
    | NamedConstant
    | DottedName
    | TupleLiteral
    | NumberWithUnit
    | BinaryOperation
    | LogicalOperation
    | UnaryOperation
    | Membership
    | IsTest
    | FunctionCall
)


# ---- structure


@frozen
class NoneStep:
    """The alternative `none`: the step is left out."""

    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False, repr=False)


@frozen
class OperatorReference:
    """A class, a stage or an abstract operator by its name, with an optional alias and body."""

    name: DottedName
    alias: Word | None
    body: "Body | None"
    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False, repr=False)


@frozen
class JoinedStructures:
    """Structures joined by `|` (one of them), `->` (in sequence) or `&` (in parallel)."""

    sign: Literal["|", "->", "&"]
    parts: tuple["Structure", ...]
    span: Span = field(compare=False, repr=False)


@frozen
class OptionalStructure:
    """An optional structure `A?`: `A` or nothing."""

    part: "Structure"
    span: Span = field(compare=False, repr=False)


@frozen
class Parenthesised:
    """A structure in parentheses, with an optional alias."""

    part: "Structure"
    alias: Word | None
    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False, repr=False)


@frozen
class ColumnSplit:
    """A column split `columns(selector: structure, ...)`."""

    parts: tuple[tuple[Word | QuotedString, "Structure"], ...]
    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False, repr=False)


@frozen
class Permutation:
    """A permutation `permute(a, name: b, ...)`: every order of its steps. `labels` may be empty."""

    parts: tuple["Structure", ...]
    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False, repr=False)
    labels: tuple[Word | None, ...] = ()


@frozen
class Repetition:
    """A chain `repeat(stage, least, most)`: a stage used a variable number of times in a row.

    The parser accepts any structure as `part` and any number of `counts`; the analysis reports what is not valid.
    """

    part: "Structure"
    counts: tuple[Number, ...]
    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False, repr=False)


Structure: TypeAlias = (
    NoneStep
    | OperatorReference
    | JoinedStructures
    | OptionalStructure
    | Parenthesised
    | ColumnSplit
    | Permutation
    | Repetition
)


# ---- domains and bodies


@frozen
class Range:
    """A range `float[a, b]` or `int(a, b]` with its modifiers."""

    kind: Literal["float", "int"]
    lower: Expression
    upper: Expression
    lower_open: bool
    upper_open: bool
    log: Word | None
    step: Expression | None
    span: Span = field(compare=False, repr=False)


@frozen
class BooleanDomain:
    """The domain `bool`."""

    span: Span = field(compare=False, repr=False)


@frozen
class ValueSet:
    """A set of values `{a, b}` or `ordered {a, b}`."""

    values: tuple[Value, ...]
    ordered: bool
    span: Span = field(compare=False, repr=False)


@frozen
class TupleDomain:
    """Tuples of variable length: `tuple[least, greatest] of element`.

    The analysis checks the bounds and the element.
    """

    least: Expression
    greatest: Expression
    element: "Domain"
    span: Span = field(compare=False, repr=False)


@frozen
class UnionDomain:
    """Domains joined by `|`."""

    parts: tuple["Domain", ...]
    span: Span = field(compare=False, repr=False)


Domain: TypeAlias = (
    Range | BooleanDomain | ValueSet | TupleDomain | UnionDomain | NoneStep | OperatorReference | Parenthesised
)
"""A domain. The last three are structures as values, that is, a nested decision."""


def domain_parts(domain: Domain) -> tuple[Domain, ...]:
    """Return the parts of a union, or any other domain itself as the only part."""
    return domain.parts if isinstance(domain, UnionDomain) else (domain,)


def names_in(expression: Expression) -> Iterator[DottedName]:
    """Yield the names in an expression; a word in a set of values is none."""
    match expression:
        case DottedName():
            yield expression
        case LogicalOperation(terms=inner) | FunctionCall(arguments=inner):
            for part in inner:
                yield from names_in(part)
        case BinaryOperation(left=left, right=right):
            yield from names_in(left)
            yield from names_in(right)
        case UnaryOperation(term=part) | Membership(item=part) | IsTest(decision=part):
            yield from names_in(part)
        case _:
            return


@frozen
class Parameter:
    """A hyperparameter `name : domain = default when condition @annotations`.

    `is_var` marks a hyperparameter after `var`, which is not a parameter of an operator.
    """

    name: Word
    domain: Domain
    default: Value | Expression | None
    condition: Expression | None
    annotations: tuple[Annotation, ...]
    span: Span = field(compare=False, repr=False)
    is_var: bool = False


@frozen
class FixedParameter:
    """A parameter with a fixed value: `name = value when condition`."""

    name: Word
    value: Value | Expression
    span: Span = field(compare=False, repr=False)
    condition: Expression | None = None


@frozen
class ParameterFormula:
    """A parameter whose value is computed: `name := expression`."""

    name: Word
    expression: Expression
    span: Span = field(compare=False, repr=False)


@frozen
class Let:
    """A name for an expression: `let name := expression`."""

    name: Word
    expression: Expression
    span: Span = field(compare=False, repr=False)


@frozen
class Simplex:
    """Shares of a whole, numbers in [0, 1] whose sum is 1: `simplex a, b, c = (0.5, 0.3, 0.2)`."""

    names: tuple[Word, ...]
    default: TupleLiteral | None
    span: Span = field(compare=False, repr=False)


@frozen
class ParameterGroupInclusion:
    """An inclusion of a parameter group: `include name`."""

    name: DottedName
    span: Span = field(compare=False, repr=False)


@frozen
class ConstraintStatement:
    """A constraint `forbid E` or `require E`."""

    forbidden: bool
    expression: Expression
    span: Span = field(compare=False, repr=False)


NamedMember: TypeAlias = Parameter | FixedParameter | ParameterFormula | Let
Member: TypeAlias = NamedMember | Simplex | ParameterGroupInclusion | ConstraintStatement


@frozen
class Body:
    """The members between braces."""

    members: tuple[Member, ...]
    span: Span = field(compare=False, repr=False)


# ---- items


@frozen
class SpaceName:
    """The header of a file: `space name "title"`."""

    name: Word
    title: QuotedString | None
    span: Span = field(compare=False, repr=False)


@frozen
class Import:
    """An import of another file: `import "file" as name`."""

    path: QuotedString
    alias: Word | None
    span: Span = field(compare=False, repr=False)


@frozen
class CatalogueUse:
    """A line that takes a catalogue into use: `use catalogue`."""

    name: DottedName
    span: Span = field(compare=False, repr=False)


@frozen
class ParameterGroup:
    """A declaration of a parameter group: `params name { ... }`."""

    name: Word
    body: Body
    span: Span = field(compare=False, repr=False)


@frozen
class AbstractOperator:
    """A declaration of an abstract operator: `abstract name { ... }`."""

    name: Word
    body: Body | None
    span: Span = field(compare=False, repr=False)


@frozen
class Stage:
    """A declaration of a stage: `stage name = structure`."""

    name: Word
    annotations: tuple[Annotation, ...]
    structure: Structure
    span: Span = field(compare=False, repr=False)


@frozen
class Pipeline:
    """The pipeline of a file: `pipeline = structure`."""

    structure: Structure
    span: Span = field(compare=False, repr=False)


@frozen
class SplitOption:
    """An option of a validation: `keep`, or `group=column` with a name or a string."""

    name: Word
    value: Word | None
    span: Span = field(compare=False, repr=False)


@frozen
class TaskSetting:
    """One line of a task block: its keyword and the arguments after it."""

    keyword: str
    arguments: tuple[Expression | Word | SplitOption, ...]
    span: Span = field(compare=False, repr=False)


@frozen
class Task:
    """A task block: `task kind { ... }`."""

    kind: Word
    settings: tuple[TaskSetting, ...]
    span: Span = field(compare=False, repr=False)


Item: TypeAlias = (
    SpaceName
    | Import
    | CatalogueUse
    | ParameterGroup
    | AbstractOperator
    | Stage
    | Pipeline
    | ConstraintStatement
    | Parameter
    | Let
    | Task
)


@frozen
class File:
    """The tree of a whole file."""

    items: tuple[Item, ...]
    span: Span = field(compare=False, repr=False)
