"""Helpers of the tests of the syntax."""

from spacelang.syntax import ast
from spacelang.syntax.parser import ParseResult, parse
from spacelang.text import Source


def read(text: str) -> ParseResult:
    return parse(Source("test.space", text))


def item(text: str) -> ast.Item:
    """The only item of a text without mistakes."""
    parsed = read(text)
    assert not parsed.diagnostics, parsed.diagnostics
    (only,) = parsed.file.items
    return only


def structure(text: str) -> ast.Structure:
    pipeline = item(f"pipeline = {text}")
    assert isinstance(pipeline, ast.Pipeline)
    assert pipeline.structure.span.text == text
    return pipeline.structure


def members(text: str) -> tuple[ast.Member, ...]:
    params = item(f"params p {{\n{text}\n}}")
    assert isinstance(params, ast.ParameterGroup)
    return params.body.members


def parameter(text: str) -> ast.Parameter:
    (only,) = members(text)
    assert isinstance(only, ast.Parameter)
    assert only.span.text == text
    return only


def domain(text: str) -> ast.Domain:
    found = parameter(f"x : {text}").domain
    assert found.span.text == text
    return found


def value(text: str) -> ast.Value:
    (only,) = members(f"x = {text}")
    assert isinstance(only, ast.FixedParameter)
    assert only.value.span.text == text
    return only.value


def expression(text: str) -> ast.Expression:
    rule = item(f"forbid {text}")
    assert isinstance(rule, ast.ConstraintStatement)
    assert rule.expression.span.text == text
    return rule.expression


def codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in read(text).diagnostics]
