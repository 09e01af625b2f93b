"""Each construct gives its tree, and each node's span covers exactly its text."""

import pytest

from spacelang.syntax import ast
from spacelang.text import NO_SPAN
from tests.unit.syntax.reading import domain, expression, item, members, parameter, read, structure, value


def word(text: str) -> ast.Word:
    return ast.Word(text, NO_SPAN)


def dotted(text: str) -> ast.DottedName:
    return ast.DottedName(tuple(map(word, text.split("."))), NO_SPAN)


def number(value: float) -> ast.Number:
    return ast.Number(value, NO_SPAN)


def operator(name: str) -> ast.OperatorReference:
    return ast.OperatorReference(dotted(name), None, None, (), NO_SPAN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('space a "T"', ast.SpaceName(word("a"), ast.QuotedString("T", NO_SPAN), NO_SPAN)),
        ("space a", ast.SpaceName(word("a"), None, NO_SPAN)),
        ('import "b.space" as b', ast.Import(ast.QuotedString("b.space", NO_SPAN), word("b"), NO_SPAN)),
        ("use a.b", ast.CatalogueUse(dotted("a.b"), NO_SPAN)),
        ("abstract A", ast.AbstractOperator(word("A"), None, NO_SPAN)),
        ("params p {}", ast.ParameterGroup(word("p"), ast.Body((), NO_SPAN), NO_SPAN)),
        ("stage s = | A", ast.Stage(word("s"), (), operator("A"), NO_SPAN)),
        ("pipeline = A", ast.Pipeline(operator("A"), NO_SPAN)),
        ("forbid a", ast.ConstraintStatement(True, dotted("a"), NO_SPAN)),
        ("require a", ast.ConstraintStatement(False, dotted("a"), NO_SPAN)),
        ("task regression {}", ast.Task(word("regression"), (), NO_SPAN)),
    ],
)
def test_items(text: str, expected: ast.Item) -> None:
    found = item(text)
    assert found == expected
    assert found.span.text == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A & B -> C | D", "(((A & B) -> C) | D)"),
        ("A | B -> C & D", "(A | (B -> (C & D)))"),
        ("A? -> B", "((A)? -> B)"),
        ("A & B? | C", "((A & (B)?) | C)"),
    ],
)
def test_precedence_of_structure(text: str, expected: str) -> None:
    def shown(node: ast.Structure) -> str:
        match node:
            case ast.JoinedStructures(sign=sign, parts=parts):
                return "(" + f" {sign} ".join(map(shown, parts)) + ")"
            case ast.OptionalStructure(part=part):
                return f"({shown(part)})?"
            case _:
                return node.span.text

    assert shown(structure(text)) == expected


def test_groups_columns_and_permutations() -> None:
    group = structure("(A | none) as x @weight(0.5)")
    assert isinstance(group, ast.Parenthesised)
    assert group.alias == word("x")
    assert group.annotations[0].span.text == "@weight(0.5)"
    columns = structure('columns(numeric: A -> B, "x.*": none,)')
    assert isinstance(columns, ast.ColumnSplit)
    assert [selector for selector, _ in columns.parts] == [word("numeric"), ast.QuotedString("x.*", NO_SPAN)]
    permute = structure("permute(A, B | C)")
    assert isinstance(permute, ast.Permutation)
    assert [part.span.text for part in permute.parts] == ["A", "B | C"]
    plain = structure("columns -> permute")
    assert isinstance(plain, ast.JoinedStructures)
    assert plain.parts == (operator("columns"), operator("permute"))


def test_an_operator_with_everything() -> None:
    found = structure("lib.A as b { include p } @default @weight(2)")
    assert isinstance(found, ast.OperatorReference)
    assert (found.name, found.alias) == (dotted("lib.A"), word("b"))
    assert found.body is not None
    assert found.body.span.text == "{ include p }"
    assert [each.span.text for each in found.annotations] == ["@default", "@weight(2)"]


@pytest.mark.parametrize(
    ("text", "lower_open", "upper_open", "log", "step"),
    [
        ("float[0, 1]", False, False, False, None),
        ("float(0, 1]", True, False, False, None),
        ("int[0, 1)", False, True, False, None),
        ("int(0, n_samples) log", True, True, True, None),
        ("float[0, 1] step 0.5", False, False, False, 0.5),
        ("int[1, 9] log step 2", False, False, True, 2),
        ("int[1, 9] step 2 log", False, False, True, 2),
    ],
)
def test_ranges(text: str, lower_open: bool, upper_open: bool, log: bool, step: float | None) -> None:
    found = domain(text)
    assert isinstance(found, ast.Range)
    assert (found.lower_open, found.upper_open) == (lower_open, upper_open)
    assert (found.log is not None) == log
    assert (found.step.value if found.step else None) == step
    assert text.startswith(found.kind)


def test_other_domains() -> None:
    assert domain("bool") == ast.BooleanDomain(NO_SPAN)
    assert domain("{}") == ast.ValueSet((), False, NO_SPAN)
    assert domain("ordered {a, b,}") == ast.ValueSet((dotted("a"), dotted("b")), True, NO_SPAN)
    assert domain("none") == ast.NoneStep((), NO_SPAN)
    union = domain("{none} | int[2, 50] | A { x = 1 } | (A -> B)")
    assert isinstance(union, ast.UnionDomain)
    assert [type(part) for part in union.parts] == [ast.ValueSet, ast.Range, ast.OperatorReference, ast.Parenthesised]


def test_a_parameter_with_everything() -> None:
    found = parameter("C : float[1e-4, 1e4] log = 1 @split(4) @prior(normal, 0, 2) when a == b and c")
    assert found.default == number(1)
    assert [each.name.text for each in found.annotations] == ["split", "prior"]
    assert found.annotations[1].arguments == (dotted("normal"), number(0), number(2))
    assert found.condition is not None
    assert found.condition.span.text == "a == b and c"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10_000", 10000),
        ("1e-4", 1e-4),
        (".5", 0.5),
        ("5.", 5.0),
        ("3.0517578125e-05", 3.0517578125e-05),
        ("-3", -3),
        ("- 2.5E+3", -2500.0),
        ("0", 0),
    ],
)
def test_numbers(text: str, expected: float) -> None:
    found = value(text)
    assert isinstance(found, ast.Number)
    assert (found.value, type(found.value)) == (expected, type(expected))


def test_other_values() -> None:
    assert value("rbf") == dotted("rbf")
    assert value("true") == ast.NamedConstant(True, NO_SPAN)
    assert value("none") == ast.NamedConstant(None, NO_SPAN)
    assert value("()") == ast.TupleLiteral((), NO_SPAN)
    assert value("(1,)") == ast.TupleLiteral((number(1),), NO_SPAN)
    assert value("(1, (a, b))") == ast.TupleLiteral(
        (number(1), ast.TupleLiteral((dotted("a"), dotted("b")), NO_SPAN)), NO_SPAN
    )
    made = value("A { x = 1, y : bool }")
    assert isinstance(made, ast.OperatorValue)
    assert len(made.body.members) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [('"a b"', "a b"), (r'"\"\\"', '"\\'), (r'"\n\t\r"', "\n\t\r"), (r'"\d"', "d"), ('"#{}"', "#{}"), ('"é"', "é")],
)
def test_strings(text: str, expected: str) -> None:
    assert value(text) == ast.QuotedString(expected, NO_SPAN)


@pytest.mark.parametrize(
    ("text", "kind", "inner"),
    [
        ("(a + b) * c", ast.BinaryOperation, ["(a + b)", "c"]),
        ("a * (b)", ast.BinaryOperation, ["a", "(b)"]),
        ("(a)", ast.DottedName, []),
        ("((a or b)) and not (c)", ast.LogicalOperation, ["((a or b))", "not (c)"]),
        ("(a) in {x}", ast.Membership, ["(a)"]),
        ("(s) is none", ast.IsTest, ["(s)"]),
        ("f(a, (b))", ast.FunctionCall, ["a", "(b)"]),
        ("not (a)", ast.UnaryOperation, ["(a)"]),
        ("(a) == (b)", ast.BinaryOperation, ["(a)", "(b)"]),
        ("a.b < 10us", ast.BinaryOperation, ["a.b", "10us"]),
        ("- a", ast.UnaryOperation, ["a"]),
    ],
)
def test_spans_of_expressions(text: str, kind: type, inner: list[str]) -> None:
    found = expression(text)
    assert isinstance(found, kind)
    match found:
        case ast.BinaryOperation(left=left, right=right):
            parts = [left, right]
        case ast.LogicalOperation(terms=terms) | ast.FunctionCall(arguments=terms):
            parts = list(terms)
        case ast.UnaryOperation(term=term) | ast.Membership(item=term) | ast.IsTest(decision=term):
            parts = [term]
        case _:
            parts = []
    assert [part.span.text for part in parts] == inner


def test_precedence_of_expressions() -> None:
    assert expression("not a == 1 + 2 * 3 and b or c") == ast.LogicalOperation(
        "or",
        (
            ast.LogicalOperation(
                "and",
                (
                    ast.UnaryOperation(
                        "not",
                        ast.BinaryOperation(
                            "==",
                            dotted("a"),
                            ast.BinaryOperation(
                                "+", number(1), ast.BinaryOperation("*", number(2), number(3), NO_SPAN), NO_SPAN
                            ),
                            NO_SPAN,
                        ),
                        NO_SPAN,
                    ),
                    dotted("b"),
                ),
                NO_SPAN,
            ),
            dotted("c"),
        ),
        NO_SPAN,
    )
    assert expression("a - b - c") == ast.BinaryOperation(
        "-", ast.BinaryOperation("-", dotted("a"), dotted("b"), NO_SPAN), dotted("c"), NO_SPAN
    )


def test_the_task_block() -> None:
    text = """task classification {
      minimize 1 - roc_auc
      subject  to latency <= 1_0.5us
      validate holdout(0.3)
      fidelity samples from 100 by 2
      limit trial 300s 4GB
    }"""
    task = item(text)
    assert isinstance(task, ast.Task)
    assert [setting.keyword for setting in task.settings] == ["minimize", "subject to", "validate", "fidelity", "limit"]
    _, constraint, validate, fidelity, limit = task.settings
    assert constraint.arguments == (
        ast.BinaryOperation("<=", dotted("latency"), ast.NumberWithUnit(10.5, "us", NO_SPAN), NO_SPAN),
    )
    assert validate.arguments == (word("holdout"), number(0.3))
    assert fidelity.arguments == (word("samples"), number(100), number(2))
    assert limit.arguments == (
        word("trial"),
        ast.NumberWithUnit(300, "s", NO_SPAN),
        ast.NumberWithUnit(4, "GB", NO_SPAN),
    )
    assert limit.span.text == "limit trial 300s 4GB"


WORDS = (
    "logger stages inner is_fitted none_of step space use stage task forbid require include as when and or in is limit"
)


@pytest.mark.parametrize("name", WORDS.split())
def test_keywords_are_names_where_a_colon_or_an_equals_sign_follows(name: str) -> None:
    found = members(f"a : A\n{name} : int[1, 9]\nb : bool when x == 1\n{name} = 3\ninclude q\n{name} : bool")
    assert [each.name.text for each in found if not isinstance(each, ast.ConstraintStatement)] == [
        "a",
        name,
        "b",
        name,
        "q",
        name,
    ]
    assert isinstance(item(f"stage {name} = A"), ast.Stage)
    reference = item(f"forbid {name}x == a.{name}")
    assert isinstance(reference, ast.ConstraintStatement)


def test_log_and_step_are_modifiers_and_names() -> None:
    found = members(
        "a : int[1, 9] log step 2 = 3\nlog : bool\nstep : bool\nb : int[1, 9]\nstep = 1\nc : int[1, 9],\nlog = 5"
    )
    assert [each.name.text for each in found if isinstance(each, ast.Parameter | ast.FixedParameter)] == [
        "a", "log", "step", "b", "step", "c", "log",
    ]  # fmt: skip
    (only,) = members("a : int[1, 9]\nlog = 5")
    assert isinstance(only, ast.Parameter)
    assert only.default == number(5)


@pytest.mark.parametrize("between", ["\n", "\r\n", "\r", ",", " , # x\n", "\n\n\t\f"])
def test_members_are_separated_by_lines_or_commas(between: str) -> None:
    assert len(members(f"a : bool{between}b : bool")) == 2


def test_line_ends_and_a_byte_order_mark() -> None:
    plain = "space a # one\nstage s = # two\n  | A\n\t| B { x : bool }\f\n"
    expected = read(plain)
    assert not expected.diagnostics
    for text in ("\ufeff" + plain, plain.replace("\n", "\r\n"), plain.replace("\n", "\r")):
        found = read(text)
        assert not found.diagnostics
        assert found.file == expected.file
        assert [each.span.text.split()[0] for each in found.file.items] == ["space", "stage"]
