"""Hypothesis strategies of syntax trees: every tree that a text can say, of all constructs."""

import re
from typing import TypeVar

from hypothesis import strategies as st

from spacelang.syntax import ast
from spacelang.syntax.inline_printer import is_last_part_annotatable
from spacelang.text import NO_SPAN

T = TypeVar("T")

KEYWORD_LIKE = re.findall(
    r"\w+",
    """logger stages inner is_fitted none_of step log space use import params stage pipeline task forbid require include
    as when and or in is by to limit subject from float_ int_ true_ nonesuch columns permute min max min_ _x a1 ordered_
    minimize validate fidelity abstract""",
)
SIGNS = ("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/")
DEPTH = 3
UNITS = ("us", "ms", "s", "min", "m", "h", "kB", "KB", "MB", "GB", "TB")
NOT_WORDS = frozenset({"True", "False", "None"})
NOT_VALUES = NOT_WORDS | {"true", "false", "none"}
NOT_REFERENCES = NOT_VALUES | {"not"}
NOT_DOMAINS = NOT_VALUES | {"float", "int", "bool", "ordered"}

identifiers = st.one_of(
    st.sampled_from(KEYWORD_LIKE),
    st.sampled_from(["PCA", "SVC", "scaler", "C", "kernel", "gamma"]),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True),
)


def words(without: frozenset[str] = NOT_WORDS) -> st.SearchStrategy[ast.Word]:
    return st.builds(ast.Word, identifiers.filter(lambda text: text not in without), st.just(NO_SPAN))


def dotted(without: frozenset[str] = NOT_VALUES) -> st.SearchStrategy[ast.DottedName]:
    rest = st.lists(words(), max_size=2)
    return st.builds(lambda first, more: ast.DottedName((first, *more), NO_SPAN), words(without), rest)


def tuples(elements: st.SearchStrategy[T], least: int = 0, most: int = 3) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(elements, min_size=least, max_size=most).map(tuple)


nowhere = st.just(NO_SPAN)
finite = st.floats(allow_nan=False, allow_infinity=False)
numbers = st.builds(ast.Number, st.one_of(st.integers(), st.integers(-(10**30), 10**30), finite), nowhere)
texts = st.builds(ast.QuotedString, st.text(max_size=8), nowhere)
keywords = st.builds(ast.NamedConstant, st.sampled_from([True, False, None]), nowhere)
names = st.none() | words()
quoted = st.builds(ast.Word, st.text(max_size=8), nowhere)
called = st.none() | words() | quoted
ticked = st.builds(
    ast.Word, st.text(max_size=8).filter(lambda text: not set(text) & set("`\r\n")), nowhere, st.just(True)
)
parameter_names = words() | ticked
indexed = words(NOT_REFERENCES).map(lambda word: ast.Word(f"{word.text}[2]", NO_SPAN))
plain_values = st.one_of(numbers, texts, keywords, dotted())


@st.composite
def values(draw: st.DrawFn, depth: int) -> ast.Value:
    kind = draw(st.integers(0, 5 if depth else 3))
    if kind == 4:
        return ast.TupleLiteral(draw(tuples(values(depth - 1))), NO_SPAN)
    if kind == 5:
        return ast.OperatorValue(draw(dotted()), draw(bodies(depth - 1)), NO_SPAN)
    return draw(plain_values)


annotations = tuples(st.builds(ast.Annotation, words(frozenset()), tuples(plain_values), nowhere), most=2)

# ---- expressions

positive = st.floats(0, 1e12, allow_subnormal=False)
quantities = st.builds(ast.NumberWithUnit, positive.map(abs), st.sampled_from(UNITS), nowhere)
paths = st.builds(
    lambda first, more: ast.DottedName((first, *more), NO_SPAN),
    words(NOT_REFERENCES) | ticked | indexed,
    st.lists(words() | quoted | ticked | indexed, max_size=2),
)
tuples_of_values = st.builds(ast.TupleLiteral, tuples(plain_values), nowhere)
atoms = st.one_of(numbers, texts, keywords, paths, quantities, tuples_of_values)


quoted_path = st.builds(lambda name: ast.DottedName((name,), NO_SPAN), quoted)


def _expressions(inner: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    # A minus sign before a number is a part of the number.
    negated = inner.filter(lambda term: not isinstance(term, ast.Number))
    return st.one_of(
        st.builds(ast.BinaryOperation, st.sampled_from(SIGNS), inner, inner, nowhere),
        st.builds(ast.LogicalOperation, st.sampled_from(["and", "or"]), tuples(inner, 2), nowhere),
        st.builds(ast.UnaryOperation, st.just("not"), inner, nowhere),
        st.builds(ast.UnaryOperation, st.just("-"), negated, nowhere),
        st.builds(ast.Membership, inner, tuples(plain_values), nowhere),
        st.builds(ast.IsTest, inner, st.none() | dotted(NOT_WORDS | {"none"}) | quoted_path, nowhere),
        st.builds(ast.FunctionCall, words(NOT_REFERENCES), tuples(inner, 1), nowhere),
    )


expressions = st.recursive(atoms, _expressions, max_leaves=8)

# ---- structure

selectors = words() | texts
nothing = st.builds(ast.NoneStep, annotations, nowhere)


@st.composite
def operators(draw: st.DrawFn, depth: int, without: frozenset[str] = NOT_VALUES) -> ast.OperatorReference:
    body = draw(st.none() | bodies(depth - 1)) if depth else None
    return ast.OperatorReference(draw(dotted(without)), draw(called), body, draw(annotations), NO_SPAN)


@st.composite
def structures(draw: st.DrawFn, depth: int, lowest: int = 0) -> ast.Structure:
    """A structure that binds at least as tightly as `lowest`: 0 for `|`, 1 `->`, 2 `&`, 3 `?`, 4 a step."""
    level = draw(st.sampled_from([0, 1, 2, 3, 4, 4, 4])) if depth else 4
    if level >= max(lowest, 0) and level < 3:
        parts = draw(tuples(structures(depth - 1, level + 1), 2))
        return ast.JoinedStructures(("|", "->", "&")[level], parts, NO_SPAN)
    if level == 3 and lowest <= 3:
        return ast.OptionalStructure(draw(structures(depth - 1, 4)), NO_SPAN)
    return draw(_step(depth))


@st.composite
def _step(draw: st.DrawFn, depth: int) -> ast.Structure:
    match draw(st.integers(0, 5 if depth else 2)):
        case 0:
            return draw(nothing)
        case 1 | 2:
            return draw(operators(depth))
        case 3:
            return draw(groups(depth))
        case 4:
            parts = draw(tuples(st.tuples(selectors, structures(depth - 1)), 1))
            return ast.ColumnSplit(parts, draw(annotations), NO_SPAN)
        case _:
            parts = draw(tuples(structures(depth - 1), 1))
            labels = draw(st.just(()) | st.tuples(*(called for _ in parts)))
            return ast.Permutation(parts, draw(annotations), NO_SPAN, labels if any(labels) else ())


def groups(depth: int) -> st.SearchStrategy[ast.Parenthesised]:
    single = structures(depth - 1, 1).map(lambda part: ast.JoinedStructures("|", (part,), NO_SPAN))
    return st.builds(ast.Parenthesised, structures(depth - 1) | single, called, annotations, nowhere)


# ---- domains and bodies

ranges = st.builds(
    ast.Range,
    st.sampled_from(["float", "int"]),
    expressions,
    expressions,
    st.booleans(),
    st.booleans(),
    st.none() | st.just(ast.Word("log", NO_SPAN)),
    st.none() | numbers | expressions,
    nowhere,
)


@st.composite
def domains(draw: st.DrawFn, depth: int) -> ast.Domain:
    match draw(st.integers(0, 7 if depth else 4)):
        case 0:
            return draw(ranges)
        case 7:
            element = draw(domains(depth - 1).filter(lambda part: not isinstance(part, ast.UnionDomain)))
            return ast.TupleDomain(draw(expressions), draw(expressions), element, NO_SPAN)
        case 1:
            return ast.BooleanDomain(NO_SPAN)
        case 2:
            return ast.ValueSet(draw(tuples(values(depth))), draw(st.booleans()), NO_SPAN)
        case 3:
            return draw(nothing)
        case 4:
            return draw(operators(depth, NOT_DOMAINS))
        case 5:
            return draw(groups(depth))
        case _:
            parts = domains(depth - 1).filter(lambda part: not isinstance(part, ast.UnionDomain))
            return ast.UnionDomain(draw(tuples(parts, 2)), NO_SPAN)


@st.composite
def parameters(draw: st.DrawFn, depth: int) -> ast.Parameter:
    domain = draw(domains(depth))
    default, condition = draw(st.none() | values(depth) | expressions), draw(st.none() | expressions)
    # Annotations right behind an operator are the operator's.
    free = default is not None or condition is not None or not is_last_part_annotatable(domain)
    return ast.Parameter(draw(parameter_names), domain, default, condition, draw(annotations) if free else (), NO_SPAN)


rules = st.builds(ast.ConstraintStatement, st.booleans(), expressions, nowhere)


def members(depth: int) -> st.SearchStrategy[ast.Member]:
    return st.one_of(
        parameters(depth),
        st.builds(ast.FixedParameter, parameter_names, values(depth) | expressions, nowhere, st.none() | expressions),
        st.builds(ast.ParameterGroupInclusion, dotted(NOT_WORDS), nowhere),
        rules,
    )


@st.composite
def bodies(draw: st.DrawFn, depth: int) -> ast.Body:
    return ast.Body(draw(tuples(members(depth))), NO_SPAN)


# ---- items

counts = st.builds(ast.Number, st.integers(0, 10**6) | st.floats(0, 1e6), nowhere)
settings = st.one_of(
    st.builds(ast.TaskSetting, st.sampled_from(["minimize", "maximize"]), st.tuples(expressions), nowhere),
    st.builds(ast.TaskSetting, st.just("subject to"), st.tuples(expressions), nowhere),
    st.builds(
        lambda name, number, options: ast.TaskSetting("validate", (name, number, *options), NO_SPAN),
        words() | st.sampled_from(["cv", "holdout", "time"]).map(lambda kind: ast.Word(kind, NO_SPAN)),
        counts,
        st.lists(st.builds(ast.SplitOption, words(), called, nowhere), max_size=3),
    ),
    st.builds(ast.TaskSetting, st.just("fidelity"), st.tuples(words(), counts, counts), nowhere),
    st.builds(lambda name, limits: ast.TaskSetting("limit", (name, *limits), NO_SPAN), words(), tuples(quantities, 1)),
)
items = st.one_of(
    st.builds(ast.SpaceName, words(), st.none() | texts, nowhere),
    st.builds(ast.Import, texts, names, nowhere),
    st.builds(ast.CatalogueUse, dotted(NOT_WORDS), nowhere),
    st.builds(ast.ParameterGroup, words(), bodies(DEPTH), nowhere),
    st.builds(ast.AbstractOperator, words(), st.none() | bodies(DEPTH), nowhere),
    st.builds(ast.Stage, words(), annotations, structures(DEPTH), nowhere),
    st.builds(ast.Pipeline, structures(DEPTH), nowhere),
    rules,
    st.builds(ast.Task, words(), tuples(settings), nowhere),
)
files = st.builds(ast.File, tuples(items, most=4), nowhere)
